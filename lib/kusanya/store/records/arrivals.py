"""What arrives and what is kept of it: deliveries, and the events that they brought."""

from datetime import datetime
from enum import StrEnum

import msgspec

from kusanya.state.observation import Observation
from kusanya.store.records.paging import Key
from kusanya.store.tables.values import delivery_id, to_us
from kusanya.wire import Mode


class Verdict(StrEnum):
    """What became of a delivery that arrived."""

    VERIFIED = "verified"
    """Authentic and new: its event was applied."""
    REPEAT = "repeat"
    """Authentic, and its event was known already: no further effect."""
    REJECTED = "rejected"
    """Not authentic, or not in time: nothing in it is believed."""
    UNPARSEABLE = "unparseable"
    """Authentic, but its body is not an event we can read: kept and flagged, no effect."""
    WRONG_MODE = "wrong_mode"
    """Authentic, but its event's mode is not the endpoint's: kept as evidence, an anomaly of the
    collection that it names, no other effect."""
    CONFLICT = "conflict"
    """Authentic, but its event id is known with other contents: kept as evidence, an anomaly of
    the collections that both name, no other effect."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery as it arrived, judged: what the receiver asks the journal to make durable.

    `body` and `headers` are exact bytes; of the headers a receiver keeps those it knows. The fields
    after `verdict` are what the body says when the verdict is an authentic one, and what it merely
    *claims* when it is REJECTED.
    """

    arrived_at: datetime
    endpoint: str
    """The name of our endpoint, from the receiver's configuration."""
    observed_in: Mode
    """The mode of that endpoint."""
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    verdict: Verdict
    """VERIFIED, REJECTED, UNPARSEABLE or WRONG_MODE; the journal may make it REPEAT or CONFLICT."""
    reason: str | None = None
    """The signature error's stable word for a rejected delivery, or what could not be read."""
    signed_at: datetime | None = None
    secrets_tried: int = 0
    event_id: str | None = None
    event_type: str | None = None
    event_created_at: datetime | None = None
    event_mode: str | None = None
    collection_id: str | None = None
    reference: str | None = None
    amount: int | None = None
    currency: str | None = None
    observation: Observation | None = None
    """What the event says: present when the verdict is VERIFIED, and disputed when WRONG_MODE."""
    answer: int
    """The HTTP status we are about to answer."""
    took_us: int
    """From the first byte to the moment the row was handed to the journal."""

    def __repr__(self) -> str:
        return f"Arrival(endpoint={self.endpoint!r}, verdict={self.verdict.value!r})"


class DeliveryCommit(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal made of an arrival, once it is durable."""

    delivery_id: str
    """Empty where it was counted and no row was kept: a flood, or a repeat of many."""
    verdict: Verdict
    seq: int


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One arrival in a list; `deliveries.body` returns its bytes."""

    id: str
    seq: int
    arrived_at: datetime
    endpoint: str
    mode: Mode
    verdict: Verdict
    reason: str | None
    event_id: str | None
    event_type: str | None
    event_created_at: datetime | None
    collection_id: str | None
    reference: str | None
    amount: int | None
    currency: str | None
    signed_at: datetime | None
    attempt: int | None
    """Which of the seven attempts this is, inferred from its times; None where no slot fits."""
    answer: int
    took_us: int
    body_bytes: int
    secrets_tried: int

    @property
    def key(self) -> Key:
        """Return this record's place in the order of arrival."""
        return Key(to_us(self.arrived_at), self.id)


class DeliveryBody(msgspec.Struct, frozen=True, kw_only=True):
    """The exact bytes of one arrival; `body` is None where retention has removed them."""

    body: bytes | None
    headers: tuple[tuple[bytes, bytes], ...]

    def __repr__(self) -> str:
        return f"DeliveryBody({0 if self.body is None else len(self.body)} bytes)"


class DeliveryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which arrivals a list holds; the same rules as `CollectionFilter`."""

    verdicts: tuple[Verdict, ...] = ()
    endpoints: tuple[str, ...] = ()
    event_id: str | None = None
    collection_id: str | None = None
    arrived_from: datetime | None = None
    arrived_to: datetime | None = None
    unwell: bool = False
    """Everything but VERIFIED."""
    trusted: bool = False
    """Only what the service can have sent: signed by a secret of ours, also too late, or about a
    collection that we know. Anybody can send the rest."""
    only_missing: bool = False
    """Missing events alone, where they are listed among the arrivals."""


class EventRow(msgspec.Struct, frozen=True, kw_only=True):
    """An event, by its first authentic arrival."""

    id: str
    seq: int
    type: str
    mode: Mode
    created_at: datetime
    collection_id: str
    first_arrived_at: datetime
    endpoint: str
    arrivals: int
    checked_at: datetime | None
    """When GET /v1/events/{id} was last compared with it; None until then."""

    @property
    def key(self) -> Key:
        """Return this record's place in the order of first arrival."""
        return Key(to_us(self.first_arrived_at), self.id)

    @property
    def delivery_id(self) -> str:
        """Return the id of the delivery that brought it first."""
        return delivery_id(self.seq)


class DeliveryRollupRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many deliveries of one kind arrived in one hour; `hour` is its first instant, UTC."""

    hour: datetime
    endpoint: str
    mode: Mode
    verdict: Verdict
    reason: str | None
    count: int
