"""Asking the service for one collection and recording what is news: one way for all pollers."""

import logging

import msgspec

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.client.observations import poll_observation
from kusanya.store import Store
from kusanya.telemetry.tracing import SpanName, record_span
from kusanya.wire import Collection, Mode

_log = logging.getLogger("kusanya.intents.polling")
_log_asked = logging.getLogger("kusanya.intents.polling.asked")
"""One line for each answer: on a logger of its own, because most of them say nothing new."""


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one poll."""

    collection: Collection
    missing_event: bool = False
    """True for a final state that no event has reported."""


def poll_collection(
    store: Store, core: Core, collection_id: str, *, mode: Mode, known_status: str | None = None
) -> Effects[Poll]:
    """Ask for a collection and return it; what is news is durable on return.

    Nothing is recorded where it is not final and still has `known_status`: polling leaves no rows
    behind. Raises what `Client.get_collection` does, and StoreError.
    """
    began = core.clock.monotonic()
    found = yield from core.collection(collection_id)
    record_span(
        SpanName.POLL,
        mode=mode.value,
        reference=found.reference,
        ended_at=core.clock.now(),
        took_s=core.clock.monotonic() - began,
        attributes={"collection_id": found.id, "status": str(found.status)},
    )
    asked = {"collection_id": found.id, "mode": mode.value, "status": str(found.status)}
    _log_asked.info("collection asked about", extra=asked)
    if not found.is_final and found.status == known_status:
        return Poll(collection=found)
    fact = poll_observation(found, at=core.clock.now(), observed_in=mode)
    yield from call(lambda: store.record(fact))
    if not found.is_final:
        return Poll(collection=found)
    row = yield from call(lambda: store.collections.get(found.id, mode))
    _log.info("a final state was learned by asking", extra={"collection_id": found.id})
    return Poll(collection=found, missing_event=row is not None and row.missing_event)
