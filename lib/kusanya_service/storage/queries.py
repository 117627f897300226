"""Every read, by name. Each is one indexed look-up or one page."""

from typing import Final

from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import (
    ApiKey,
    AttemptRow,
    DeliveryRow,
    Endpoint,
    OpenCollection,
    OpenDelivery,
    PendingDelivery,
)

_ENDPOINT: Final = (
    "seq, id, mode, url, secret, old_secret, old_secret_until, lit_at, disabled_at, created_at,"
    " deleted_at"
)
_DELIVERY: Final = (
    "SELECT delivery.seq, delivery.id, event.id, endpoint.id, endpoint.url, endpoint.mode,"
    " delivery.status, delivery.due_at FROM delivery"
    " JOIN event ON event.seq = delivery.event"
    " JOIN endpoint ON endpoint.seq = delivery.endpoint"
)


def meta(connection: Connection, name: str) -> str | None:
    """Return a remembered value, or None."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def collection_body(connection: Connection, collection_id: str, mode: str) -> bytes | None:
    """Return a collection's present JSON, or None when this mode has no such collection."""
    row = connection.execute(
        "SELECT coalesce(final_body, created_body) FROM collection WHERE id = ? AND mode = ?",
        (collection_id, mode),
    ).fetchone()
    return None if row is None else row[0]


def collections_page(
    connection: Connection, *, mode: str, after: int, limit: int
) -> list[tuple[int, bytes]]:
    """Return (number, JSON) of the next collections in order of creation."""
    rows: list[tuple[int, bytes]] = connection.execute(
        "SELECT seq, coalesce(final_body, created_body) FROM collection"
        " WHERE seq > ? AND mode = ? ORDER BY seq LIMIT ?",
        (after, mode, limit),
    ).fetchall()
    return rows


def collection_number(connection: Connection, collection_id: str) -> int | None:
    """Return the number of a collection, the cursor of its page."""
    row = connection.execute("SELECT seq FROM collection WHERE id = ?", (collection_id,)).fetchone()
    return None if row is None else row[0]


def event_body(connection: Connection, event_id: str, mode: str) -> bytes | None:
    """Return an event's JSON, or None when this mode has no such event."""
    row = connection.execute(
        "SELECT body FROM event WHERE id = ? AND mode = ?", (event_id, mode)
    ).fetchone()
    return None if row is None else row[0]


def key_answer(connection: Connection, scope: bytes) -> tuple[bytes, int, bytes] | None:
    """Return (body digest, received at, the 202's bytes) of an idempotency key, or None."""
    row: tuple[bytes, int, bytes] | None = connection.execute(
        "SELECT idempotency.body, received_at, created_body FROM idempotency"
        " JOIN collection ON collection.seq = idempotency.collection WHERE scope = ?",
        (scope,),
    ).fetchone()
    return row


def keys(connection: Connection) -> list[ApiKey]:
    """Return all API keys in the order they were made."""
    rows = connection.execute(
        "SELECT id, mode, access, digest, hint, created_at, revoked_at FROM api_key ORDER BY seq"
    )
    return [
        ApiKey(
            id=row[0],
            mode=row[1],
            access=row[2],
            digest=row[3],
            hint=row[4],
            created_at=row[5],
            revoked_at=row[6],
        )
        for row in rows
    ]


def endpoints(connection: Connection) -> list[Endpoint]:
    """Return all endpoints that were not deleted, in the order they were made."""
    rows = connection.execute(
        f"SELECT {_ENDPOINT} FROM endpoint WHERE deleted_at IS NULL ORDER BY seq"  # noqa: S608
    )
    return [_endpoint(row) for row in rows]


def endpoint(connection: Connection, seq: int) -> Endpoint:
    """Return one endpoint, deleted or not."""
    row = connection.execute(
        f"SELECT {_ENDPOINT} FROM endpoint WHERE seq = ?",  # noqa: S608
        (seq,),
    ).fetchone()
    return _endpoint(row)


def open_collection(connection: Connection, seq: int) -> OpenCollection | None:
    """Return a collection whose outcome is still to come, or None."""
    row = connection.execute(
        "SELECT mode, outcome, twice, due_at, created_body FROM collection"
        " WHERE seq = ? AND due_at IS NOT NULL",
        (seq,),
    ).fetchone()
    return None if row is None else OpenCollection(*row)


def open_outcomes(connection: Connection) -> list[tuple[int, int]]:
    """Return (number, due at) of every collection whose outcome is still to come."""
    rows: list[tuple[int, int]] = connection.execute(
        "SELECT seq, due_at FROM collection WHERE due_at IS NOT NULL ORDER BY due_at, seq"
    ).fetchall()
    return rows


def open_deliveries(connection: Connection) -> list[OpenDelivery]:
    """Return every delivery that waits for an attempt, the longest due first."""
    rows = connection.execute(
        "SELECT seq, endpoint, due_at FROM delivery WHERE status = 'pending' ORDER BY due_at, seq"
    )
    return [OpenDelivery(*row) for row in rows]


def pending_delivery(connection: Connection, delivery: int) -> PendingDelivery:
    """Return what an attempt of a delivery needs."""
    row = connection.execute(
        "SELECT delivery.seq, delivery.id, endpoint, status, tried, due_at, event.seq, event.id,"
        " body, (SELECT count(*) FROM attempt WHERE delivery = delivery.seq)"
        " FROM delivery JOIN event ON event.seq = delivery.event WHERE delivery.seq = ?",
        (delivery,),
    ).fetchone()
    return PendingDelivery(
        seq=row[0],
        id=row[1],
        endpoint=row[2],
        status=row[3],
        tried=row[4],
        due_at=row[5],
        event=row[6],
        event_id=row[7],
        body=row[8],
        attempts=row[9],
    )


def delivery_copies(connection: Connection, delivery: int) -> tuple[int, int, int]:
    """Return (event, endpoint, copies still to send) of a delivery."""
    row: tuple[int, int, int] = connection.execute(
        "SELECT event, endpoint, copies FROM delivery WHERE seq = ?", (delivery,)
    ).fetchone()
    return row


def delivery_number(connection: Connection, delivery_id: str) -> int | None:
    """Return the number of a delivery, or None."""
    row = connection.execute("SELECT seq FROM delivery WHERE id = ?", (delivery_id,)).fetchone()
    return None if row is None else row[0]


def delivery(connection: Connection, seq: int) -> DeliveryRow:
    """Return one delivery."""
    return _delivery(connection.execute(f"{_DELIVERY} WHERE delivery.seq = ?", (seq,)).fetchone())


def deliveries_of_event(connection: Connection, event_id: str) -> list[DeliveryRow]:
    """Return all deliveries of one event."""
    rows = connection.execute(f"{_DELIVERY} WHERE event.id = ? ORDER BY delivery.seq", (event_id,))
    return [_delivery(row) for row in rows]


def deliveries_of_collection(connection: Connection, collection_id: str) -> list[DeliveryRow]:
    """Return all deliveries of the event of one collection."""
    found = (
        f"{_DELIVERY} JOIN collection ON collection.seq = event.collection"
        " WHERE collection.id = ? ORDER BY delivery.seq"
    )
    return [_delivery(row) for row in connection.execute(found, (collection_id,))]


def deliveries_page(
    connection: Connection,
    *,
    mode: str | None,
    status: str | None,
    endpoint_id: str | None,
    after: int,
    limit: int,
) -> list[DeliveryRow]:
    """Return the next deliveries in order of creation, filtered by what is not None."""
    wanted = {
        "delivery.seq > ?": after,
        "endpoint.mode = ?": mode,
        "delivery.status = ?": status,
        "endpoint.id = ?": endpoint_id,
    }
    conditions = {condition: value for condition, value in wanted.items() if value is not None}
    rows = connection.execute(
        f"{_DELIVERY} WHERE {' AND '.join(conditions)} ORDER BY delivery.seq LIMIT ?",
        (*conditions.values(), limit),
    )
    return [_delivery(row) for row in rows]


def attempts(connection: Connection, delivery: int) -> list[AttemptRow]:
    """Return the attempts of one delivery in order."""
    rows = connection.execute(
        "SELECT number, manual, started_at, ended_at, duration_ms, outcome, status_code, error"
        " FROM attempt WHERE delivery = ? ORDER BY number",
        (delivery,),
    )
    return [
        AttemptRow(
            number=row[0],
            manual=bool(row[1]),
            started_at=row[2],
            ended_at=row[3],
            duration_ms=row[4],
            outcome=row[5],
            status_code=row[6],
            error=row[7],
        )
        for row in rows
    ]


def _delivery(row: tuple[int, str, str, str, str, str, str, int | None]) -> DeliveryRow:
    return DeliveryRow(
        seq=row[0],
        id=row[1],
        event_id=row[2],
        endpoint_id=row[3],
        url=row[4],
        mode=row[5],
        status=row[6],
        due_at=row[7],
    )


def _endpoint(
    row: tuple[
        int, str, str, str, str, str | None, int | None, int | None, int | None, int, int | None
    ],
) -> Endpoint:
    return Endpoint(
        seq=row[0],
        id=row[1],
        mode=row[2],
        url=row[3],
        secret=row[4],
        old_secret=row[5],
        old_secret_until=row[6],
        lit_at=row[7],
        disabled_at=row[8],
        created_at=row[9],
        deleted_at=row[10],
    )
