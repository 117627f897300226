"""Every write, by name. Each runs in the writer's transaction and decides nothing by itself."""

from collections.abc import Sequence
from typing import Final, Literal

from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import ApiKey, AttemptRow, OpenDelivery

Table = Literal["collection", "event", "delivery", "endpoint", "api_key"]
_PURGED_AT_ONCE: Final = 256
"""Old keys removed at a time, far more than are added between two times."""


def next_number(connection: Connection, table: Table) -> int:
    """Return the number that the next row of a table gets."""
    number: int = connection.execute(
        f"SELECT coalesce(max(seq), 0) + 1 FROM {table}"  # noqa: S608 - one of the names above
    ).fetchone()[0]
    return number


def set_meta(connection: Connection, name: str, value: str) -> None:
    """Store a value under a name."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))


def add_key(connection: Connection, key: ApiKey) -> None:
    """Add an API key."""
    connection.execute(
        "INSERT INTO api_key (id, mode, access, digest, hint, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (key.id, key.mode, key.access, key.digest, key.hint, key.created_at),
    )


def revoke_key(connection: Connection, key_id: str, at_ms: int) -> None:
    """Mark an API key as revoked; an earlier revocation stands."""
    connection.execute(
        "UPDATE api_key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (at_ms, key_id)
    )


def add_collection(
    connection: Connection,
    *,
    seq: int,
    collection_id: str,
    mode: str,
    outcome: str,
    twice: bool,
    due_at: int | None,
    body: bytes,
) -> None:
    """Add a collection in the state created."""
    connection.execute(
        "INSERT INTO collection (seq, id, mode, status, outcome, twice, due_at, created_body)"
        " VALUES (?, ?, ?, 'created', ?, ?, ?, ?)",
        (seq, collection_id, mode, outcome, twice, due_at, body),
    )


def add_key_use(
    connection: Connection, scope: bytes, body: bytes, collection: int, received_at: int
) -> None:
    """Store what an idempotency key was used for, in place of an expired use."""
    connection.execute(
        "INSERT OR REPLACE INTO idempotency (scope, body, collection, received_at)"
        " VALUES (?, ?, ?, ?)",
        (scope, body, collection, received_at),
    )


def extend_key_uses(connection: Connection, by_ms: int) -> None:
    """Count all idempotency keys as received later by a span."""
    connection.execute("UPDATE idempotency SET received_at = received_at + ?", (by_ms,))


def purge_key_uses(connection: Connection, *, received_until: int) -> None:
    """Remove a few keys that were received at or before an instant."""
    connection.execute(
        "DELETE FROM idempotency WHERE scope IN (SELECT scope FROM idempotency"
        " WHERE received_at <= ? ORDER BY received_at LIMIT ?)",
        (received_until, _PURGED_AT_ONCE),
    )


def finalise_collection(connection: Connection, seq: int, status: str, body: bytes) -> None:
    """Set the final state of a collection; only from created. Source: States and transitions."""
    connection.execute(
        "UPDATE collection SET status = ?, final_body = ?, due_at = NULL"
        " WHERE seq = ? AND status = 'created'",
        (status, body, seq),
    )


def add_event(
    connection: Connection,
    *,
    seq: int,
    event_id: str,
    collection: int,
    mode: str,
    event_type: str,
    body: bytes,
) -> None:
    """Add the one event of a collection."""
    connection.execute(
        "INSERT INTO event (seq, id, collection, mode, type, body) VALUES (?, ?, ?, ?, ?, ?)",
        (seq, event_id, collection, mode, event_type, body),
    )


def add_delivery(
    connection: Connection,
    *,
    seq: int,
    delivery_id: str,
    event: int,
    endpoint: int,
    copies: int,
    status: str,
    due_at: int | None,
) -> None:
    """Add a delivery; `copies` is how often the event is sent again after its first success."""
    connection.execute(
        "INSERT INTO delivery (seq, id, event, endpoint, copies, status, tried, due_at)"
        " VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
        (seq, delivery_id, event, endpoint, copies, status, due_at),
    )


def add_attempt(connection: Connection, delivery: int, attempt: AttemptRow) -> None:
    """Add an attempt to a delivery."""
    connection.execute(
        "INSERT INTO attempt (delivery, number, manual, started_at, ended_at, duration_ms, outcome,"
        " status_code, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            delivery,
            attempt.number,
            attempt.manual,
            attempt.started_at,
            attempt.ended_at,
            attempt.duration_ms,
            attempt.outcome,
            attempt.status_code,
            attempt.error,
        ),
    )


def move_delivery(
    connection: Connection, seq: int, *, status: str, tried: int, due_at: int | None
) -> None:
    """Set where a delivery stands."""
    connection.execute(
        "UPDATE delivery SET status = ?, tried = ?, due_at = ? WHERE seq = ?",
        (status, tried, due_at, seq),
    )


def postpone_deliveries(connection: Connection, later: Sequence[OpenDelivery]) -> None:
    """Move waiting deliveries to other instants without counting an attempt."""
    connection.executemany(
        "UPDATE delivery SET due_at = ? WHERE seq = ? AND status = 'pending'",
        [(one.due_at, one.seq) for one in later],
    )


def hold_deliveries(connection: Connection, endpoint: int) -> None:
    """Hold the pending deliveries of a disabled endpoint; each keeps its place in the schedule.

    Source: assumption DISABLED_HOLDS_DELIVERIES.
    """
    connection.execute(
        "UPDATE delivery SET status = 'held' WHERE endpoint = ? AND status = 'pending'",
        (endpoint,),
    )


def release_deliveries(
    connection: Connection, endpoint: int, monotonic_ms: int
) -> list[OpenDelivery]:
    """Release an endpoint's held deliveries; returns them in order.

    What was due meanwhile is due now; what was not due yet keeps its time, so that an endpoint
    that is disabled and enabled at once gets nothing before its schedule says
    so. Source: Delivery rule 2.
    """
    rows = connection.execute(
        "UPDATE delivery SET status = 'pending', due_at = max(coalesce(due_at, ?1), ?1)"
        " WHERE endpoint = ?2 AND status = 'held' RETURNING due_at, seq",
        (monotonic_ms, endpoint),
    ).fetchall()
    return [OpenDelivery(seq, endpoint, due_at) for due_at, seq in sorted(rows)]


def fail_deliveries(connection: Connection, endpoint: int) -> None:
    """Mark the open deliveries of a deleted endpoint as failed."""
    connection.execute(
        "UPDATE delivery SET status = 'failed', due_at = NULL"
        " WHERE endpoint = ? AND status IN ('pending', 'held')",
        (endpoint,),
    )


def add_endpoint(
    connection: Connection,
    *,
    seq: int,
    endpoint_id: str,
    mode: str,
    url: str,
    secret: str,
    at_ms: int,
) -> None:
    """Add an endpoint with a new fuse."""
    connection.execute(
        "INSERT INTO endpoint (seq, id, mode, url, secret, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (seq, endpoint_id, mode, url, secret, at_ms),
    )


def set_fuse(
    connection: Connection, endpoint: int, *, lit_at: int | None, disabled_at: int | None
) -> None:
    """Set how long an endpoint has failed. Source: Delivery rules 3."""
    connection.execute(
        "UPDATE endpoint SET lit_at = ?, disabled_at = ? WHERE seq = ?",
        (lit_at, disabled_at, endpoint),
    )


def rotate_secret(connection: Connection, endpoint: int, *, secret: str, old_until: int) -> None:
    """Replace the signing secret of an endpoint; the old one signs too until an instant."""
    connection.execute(
        "UPDATE endpoint SET old_secret = secret, old_secret_until = ?, secret = ? WHERE seq = ?",
        (old_until, secret, endpoint),
    )


def delete_endpoint(connection: Connection, endpoint: int, at_ms: int) -> None:
    """Mark an endpoint as deleted; its deliveries stay readable."""
    connection.execute("UPDATE endpoint SET deleted_at = ? WHERE seq = ?", (at_ms, endpoint))
