"""One observation of a collection, and the record of the state that `fold` makes of many.

An observation is one fact with its source: the answer to a create, a verified event, an answer to a
GET. Observations are never changed or removed; the state is computed from them by `fold`.
"""

from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import msgspec

from kusanya.domain.status import PAID, Status
from kusanya.privacy import mask_phone
from kusanya.wire import Collection, Mode


class Source(StrEnum):
    """Where a fact comes from."""

    ANSWER = "answer"
    """The 202 of POST /v1/collections, replayed or not."""
    EVENT = "event"
    """A delivery whose signature was good."""
    EVENT_CHECK = "event_check"
    """GET /v1/events/{id}."""
    POLL = "poll"
    """GET /v1/collections/{id}."""
    RULING = "ruling"
    """A person's, or by the profile's wish the program's, choice among final states that
    contradict each other, by what the service says now."""


class Dispute(StrEnum):
    """Why an authentic fact is evidence only and decides nothing about a collection."""

    OTHER_MODE = "other_mode"
    """A delivery whose event, whose collection and whose endpoint do not agree on one mode."""
    OTHER_BODY = "other_body"
    """A delivery whose event id was known with another body."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One fact about one collection: who said it, when we observed it, what it says.

    `source_id` tells one saying of a source from another: the idempotency key of an answer, the
    event's id, the request id of a poll. `observed_at` is our clock's. `observed_in` is the mode of
    the API key or signing secret through which it came: a collection is known by its id and this
    mode, whatever else a body says.
    """

    source: Source
    source_id: str
    observed_at: datetime
    observed_in: Mode
    collection: Collection
    replayed: bool = False
    """True for an answer that the service replayed: it tells the past, not the present."""
    event_id: str | None = None
    event_type: str | None = None
    event_created_at: datetime | None = None
    disputed: Dispute | None = None
    overrules: tuple[str, ...] = ()
    """Of a ruling the `name` of each fact that it had seen and that says another final state."""

    @property
    def name(self) -> str:
        """Return what a ruling calls this fact: it stays where what is personal is erased."""
        said = f"{self.source.value} {self.source_id} {self.collection.status}"
        return blake2b(said.encode(), digest_size=8).hexdigest()

    def counts_in(self, mode: Mode) -> bool:
        """Return whether this fact decides about the collection of `mode`, or is evidence only.

        A test key or a test signature never decides about a live collection.
        """
        return self.disputed is None and self.observed_in == mode and self.collection.mode == mode


ShownStatus: TypeAlias = Status | Literal["contradiction"]
"""What is shown as the status of a collection."""


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """One field for which different facts were observed; each value with who said it first."""

    field: str
    """The field's name; `mode` also where a fact was observed in the other mode, and `event` where
    an event id arrived with two bodies."""
    values: tuple[str, ...]
    """The different values as text, in the order in which they were first observed; instants in
    UTC, metadata as JSON, phones masked. Of `event` the ids that arrived with two bodies."""
    sources: tuple[Source, ...]
    """For each value the source that said it first."""


class CollectionState(msgspec.Struct, frozen=True, kw_only=True):
    """What all observations of one collection say together.

    `status` is the service's word, or "contradiction" when two different finals were observed; no
    field is chosen silently: where facts differ the earliest is shown and `contradictions` lists
    them all. Instants are aware UTC. Its repr masks the phone.
    """

    id: str
    mode: Mode
    status: ShownStatus
    statuses: tuple[str, ...]
    """Every status observed, sorted; none where they contradict and are hidden from the login."""
    amount: int
    fee: int
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | None = None
    metadata: dict[str, Any] | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    created_at: datetime
    completed_at: datetime | None = None
    first_seen_at: datetime
    """When we first learned of the collection, from any source."""
    final_seen_at: datetime | None = None
    """When we first learned of a final state."""
    learned_from: Source | None = None
    """The source from which we first learned of the final state."""
    confirmed_by: tuple[Source, ...] = ()
    """Every source that reported the final state, sorted."""
    event_ids: tuple[str, ...] = ()
    """Events that arrived for this collection, sorted; more than one is an anomaly. An event that
    was only fetched (EVENT_CHECK) has not arrived."""
    fee_answer: int | None = None
    fee_event: int | None = None
    fee_poll: int | None = None
    """The fee as each kind of source first reported it; None where that source is silent."""
    observations: int
    """How many distinct facts decided; evidence that decides nothing is left out."""
    contradictions: tuple[Contradiction, ...] = ()
    is_ruled: bool = False
    """Whether final states contradicted each other, and the last ruling chose among them."""

    @property
    def is_final(self) -> bool:
        """Return whether a final state was observed, also where two of them contradict."""
        return self.final_seen_at is not None

    @property
    def net(self) -> int | None:
        """Return amount less fee for a succeeded collection, None for any other."""
        return self.amount - self.fee if self.status in PAID else None

    def __repr__(self) -> str:
        return (
            f"CollectionState(id={self.id!r}, mode={self.mode.value!r}, "
            f"status={str(self.status)!r}, amount={self.amount}, fee={self.fee}, "
            f"phone={mask_phone(self.phone)!r}, contradictions={len(self.contradictions)})"
        )
