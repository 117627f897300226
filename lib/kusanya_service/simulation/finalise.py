"""Finalise a collection: final state, event and deliveries in one transaction.

One event per final state; its data is the collection's bytes at that moment, and its bytes are what
every attempt sends and GET /v1/events/{id} answers. Source: States and transitions; Events.
"""

from collections.abc import Sequence

import msgspec

from kusanya.wire import Mode
from kusanya_service.simulation.clock import iso
from kusanya_service.simulation.networks import FAILURES
from kusanya_service.simulation.resources import Event, Status, encode, final_json
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection
from kusanya_service.storage.records import OpenDelivery


def finalise(
    connection: Connection, numbers: Sequence[int], *, now_ms: int, monotonic_ms: int, rules: Rules
) -> list[OpenDelivery]:
    """Bring collections to the end their plan says; returns the deliveries that are now due.

    One that is final already stays as it is. `completed_at` is the planned instant: after a pause
    of the service the operator's answer is older than the event.
    """
    opened: list[OpenDelivery] = []
    for number in numbers:
        opened.extend(
            _finalise_one(connection, number, now_ms=now_ms, monotonic_ms=monotonic_ms, rules=rules)
        )
    return opened


def _finalise_one(
    connection: Connection, number: int, *, now_ms: int, monotonic_ms: int, rules: Rules
) -> list[OpenDelivery]:
    found = queries.open_collection(connection, number)
    if found is None:
        return []
    code = found.outcome if found.outcome in FAILURES else None
    status = Status.FAILED if code is not None else Status(found.outcome)
    final = final_json(
        found.body,
        status=status,
        failure_code=code,
        message=None if code is None else FAILURES[code],
        at_ms=min(now_ms, found.due_at + now_ms - monotonic_ms),
    )
    changes.finalise_collection(connection, number, status.value, final)
    event = changes.next_number(connection, "event")
    body = Event(
        id=rules.random.identifier("evt", event),
        type=status.event_type,
        created_at=iso(now_ms),
        mode=Mode(found.mode),
        data=msgspec.Raw(final),
    )
    changes.add_event(
        connection,
        seq=event,
        event_id=body.id,
        collection=number,
        mode=found.mode,
        event_type=body.type,
        body=encode(body),
    )
    return _open_deliveries(
        connection,
        event,
        mode=found.mode,
        copies=int(found.twice),
        monotonic_ms=monotonic_ms,
        rules=rules,
    )


def _open_deliveries(
    connection: Connection, event: int, *, mode: str, copies: int, monotonic_ms: int, rules: Rules
) -> list[OpenDelivery]:
    opened = []
    for endpoint in queries.endpoints(connection):
        if endpoint.mode != mode:
            continue
        number = changes.next_number(connection, "delivery")
        changes.add_delivery(
            connection,
            seq=number,
            delivery_id=rules.random.identifier("dlv", number),
            event=event,
            endpoint=endpoint.seq,
            copies=copies,
            status="pending" if endpoint.is_enabled else "held",
            due_at=monotonic_ms if endpoint.is_enabled else None,
        )
        if endpoint.is_enabled:
            opened.append(OpenDelivery(number, endpoint.seq, monotonic_ms))
    return opened
