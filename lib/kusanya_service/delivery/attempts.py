"""What an attempt's end means: the next attempt, giving up, the endpoint's fuse.

Attempts are recorded in the order of the arguments, each in the state that the one before
left. Source: Delivery rules 1 to 4; assumptions RETRY_TIMES_ARE_GAPS, FUSE_BURNS_FROM_FIRST_FAILURE
and DISABLED_HOLDS_DELIVERIES.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from kusanya.webhooks.schedule import Fuse, next_attempt
from kusanya_service.simulation.clock import from_ms, to_ms
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import AttemptRow, Endpoint, OpenDelivery

SUCCEEDED: Final = "succeeded"


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to record; `ended_at` is monotonic, the others are wall time."""

    delivery: int
    manual: bool
    started_wall: int
    ended_wall: int
    ended_at: int
    duration_ms: int
    outcome: str
    status_code: int | None
    error: str | None

    @property
    def delivered(self) -> bool:
        """Return whether the endpoint answered 2xx in time."""
        return self.outcome == SUCCEEDED


def record(
    connection: Connection, ended: Sequence[AttemptResult], rules: Rules
) -> list[OpenDelivery]:
    """Record attempts and what follows from them; returns the deliveries that are to be sent later.

    Source: Delivery rules 2 and 3.
    """
    opened: list[OpenDelivery] = []
    for attempt in ended:
        opened.extend(_record_one(connection, attempt, rules))
    return opened


def _record_one(connection: Connection, ended: AttemptResult, rules: Rules) -> list[OpenDelivery]:
    pending = queries.pending_delivery(connection, ended.delivery)
    endpoint = queries.endpoint(connection, pending.endpoint)
    changes.add_attempt(
        connection,
        pending.seq,
        AttemptRow(
            number=pending.attempts + 1,
            manual=ended.manual,
            started_at=ended.started_wall,
            ended_at=ended.ended_wall,
            duration_ms=ended.duration_ms,
            outcome=ended.outcome,
            status_code=ended.status_code,
            error=ended.error,
        ),
    )
    enabled = _update_fuse(connection, endpoint, ended)
    tried = pending.tried if ended.manual else pending.tried + 1
    if ended.delivered:
        changes.move_delivery(connection, pending.seq, status=SUCCEEDED, tried=tried, due_at=None)
        first = pending.status != SUCCEEDED
        return _schedule_copy(connection, pending.seq, ended.ended_at, rules) if first else []
    if ended.manual or pending.status not in {"pending", "held"}:
        # A failed resend changes nothing: what was scheduled stays scheduled. A scheduled failure
        # counts also where another one, of the same moment, has just disabled the endpoint.
        return []
    due = next_attempt(tried, failed_at=from_ms(ended.ended_at))
    if due is None:
        changes.move_delivery(connection, pending.seq, status="failed", tried=tried, due_at=None)
        return []
    due_at = to_ms(due)
    status = "pending" if enabled else "held"
    changes.move_delivery(connection, pending.seq, status=status, tried=tried, due_at=due_at)
    return [OpenDelivery(pending.seq, pending.endpoint, due_at)] if enabled else []


def _update_fuse(connection: Connection, endpoint: Endpoint, ended: AttemptResult) -> bool:
    """Update the endpoint's fuse and return whether it may still be sent to."""
    before = Fuse(
        lit_at=None if endpoint.lit_at is None else from_ms(endpoint.lit_at),
        blown_at=None if endpoint.disabled_at is None else from_ms(endpoint.disabled_at),
    )
    after = before.after(at=from_ms(ended.ended_at), delivered=ended.delivered)
    if after != before:
        changes.set_fuse(
            connection,
            endpoint.seq,
            lit_at=None if after.lit_at is None else to_ms(after.lit_at),
            disabled_at=None if after.blown_at is None else to_ms(after.blown_at),
        )
    if after.blown_at is not None and before.blown_at is None:
        changes.hold_deliveries(connection, endpoint.seq)
    return after.blown_at is None and endpoint.deleted_at is None


def _schedule_copy(
    connection: Connection, delivery: int, monotonic_ms: int, rules: Rules
) -> list[OpenDelivery]:
    event, endpoint, copies = queries.delivery_copies(connection, delivery)
    if copies == 0:
        return []
    number = changes.next_number(connection, "delivery")
    changes.add_delivery(
        connection,
        seq=number,
        delivery_id=rules.random.identifier("dlv", number),
        event=event,
        endpoint=endpoint,
        copies=copies - 1,
        status="pending",
        due_at=monotonic_ms,
    )
    return [OpenDelivery(number, endpoint, monotonic_ms)]
