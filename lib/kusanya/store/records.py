"""What the store takes and gives: frozen values, one class per kind of record.

Instants are aware UTC datetimes, amounts integers in whole units of their currency, durations
integer microseconds (`_us`). Every list is read by keyset: a `Key` names the record after which a
page begins, so that a page costs the same at the newest end and ten million records back.
"""

from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from kusanya.privacy import mask_phone
from kusanya.state.observation import Observation
from kusanya.store.values import delivery_id, to_us
from kusanya.wire import Mode

Record = TypeVar("Record")


class Key(msgspec.Struct, frozen=True, order=True):
    """A record's place in an order: the sort value, then the id.

    The sort value of instants is microseconds since the epoch.
    """

    value: int
    id: str


class Page(msgspec.Struct, Generic[Record], frozen=True):
    """Records in display order, and whether more lie in the direction that was read."""

    rows: tuple[Record, ...]
    more: bool


class Order(StrEnum):
    """The indexed orders of collections; the newest or largest comes first."""

    CREATED = "created"
    FINAL = "final"
    AMOUNT = "amount"


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
    """Authentic, but its event's mode is not the endpoint's: kept and flagged, no effect."""
    CONFLICT = "conflict"
    """Authentic, but its event id is known with other contents: kept and flagged, no effect."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery as it arrived, judged: what the receiver asks the journal to make durable.

    `body` and `headers` are exact bytes. The fields after `verdict` are what the body says when the
    verdict is an authentic one, and what it merely *claims* when it is REJECTED.
    """

    arrived_at: datetime
    endpoint: str
    """The name of our endpoint, from the receiver's configuration."""
    heard_in: Mode
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
    """The fact to fold in; present exactly when the verdict is VERIFIED."""
    answer: int
    """The HTTP status we are about to answer."""
    took_us: int
    """From the first byte to the moment the row was handed to the journal."""

    def __repr__(self) -> str:
        return f"Arrival(endpoint={self.endpoint!r}, verdict={self.verdict.value!r})"


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What the journal made of an arrival, once it is durable."""

    delivery_id: str
    verdict: Verdict
    seq: int


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One arrival in a list; `delivery_body` gives its bytes."""

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


class CollectionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One collection in a list: the projection of its state. Its repr masks the phone."""

    id: str
    seq: int
    """The journal position of its latest change."""
    mode: Mode
    status: str
    amount: int
    fee: int
    currency: str
    channel: str
    phone: str
    reference: str
    description: str | None
    failure_code: str | None
    failure_message: str | None
    created_at: datetime
    completed_at: datetime | None
    first_seen_at: datetime
    final_seen_at: datetime | None
    learned_from: str | None
    event_id: str | None
    """The event that reported the final state; None while none has arrived."""
    contradictions: int

    @property
    def key(self) -> Key:
        """Return this record's place in the order of creation."""
        return Key(to_us(self.created_at), self.id)

    def key_in(self, order: "Order") -> Key:
        """Return this record's place in `order`, for paging in it.

        Raises ValueError in Order.FINAL for a collection without a final state.
        """
        if order is Order.AMOUNT:
            return Key(self.amount, self.id)
        if order is Order.CREATED:
            return self.key
        if self.final_seen_at is None:
            raise ValueError("a collection without a final state has no place among final ones")
        return Key(to_us(self.final_seen_at), self.id)

    @property
    def missing_event(self) -> bool:
        """Tell whether the final state was learned without any event."""
        return self.final_seen_at is not None and self.event_id is None

    @property
    def net(self) -> int | None:
        """Return amount less fee for a succeeded collection, None for any other."""
        return self.amount - self.fee if self.status == "succeeded" else None

    def __repr__(self) -> str:
        return (
            f"CollectionRow(id={self.id!r}, mode={self.mode.value!r}, status={self.status!r}, "
            f"amount={self.amount}, fee={self.fee}, phone={mask_phone(self.phone)!r})"
        )


class CollectionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which collections a list holds: terms are joined by AND, the values of one term by OR.

    An empty term does not restrict. `unwell` keeps what is not plainly well: failed, expired, an
    unknown status, a contradiction or a missing event.
    """

    statuses: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    failure_codes: tuple[str, ...] = ()
    reference_prefix: str | None = None
    phone: str | None = None
    amount_min: int | None = None
    amount_max: int | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    """Up to, not including."""
    unwell: bool = False


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


class RollupRow(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and sums of one hour of creation; `hour` is its first instant, UTC."""

    hour: datetime
    mode: Mode
    channel: str
    currency: str
    status: str
    failure_code: str | None
    count: int
    amount: int
    fee: int


class DeliveryRollupRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many deliveries of one kind arrived in one hour; `hour` is its first instant, UTC."""

    hour: datetime
    endpoint: str
    mode: Mode
    verdict: Verdict
    reason: str | None
    count: int


class ChangeKind(StrEnum):
    """What a change in the feed is about."""

    OBSERVATION = "observation"
    DELIVERY = "delivery"
    INTENT = "intent"
    NOTE = "note"
    AUDIT = "audit"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One committed row of the journal: `id` is its own, `collection_id` whom it concerns."""

    seq: int
    kind: ChangeKind
    id: str
    mode: Mode | None
    collection_id: str | None
    at: datetime


class IntentState(StrEnum):
    """How far a creation has come."""

    PREPARED = "prepared"
    SENT = "sent"
    ANSWERED = "answered"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    SETTLED = "settled"


class IntentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A creation that was made durable before it was sent. Its repr masks the phone."""

    id: str
    seq: int
    """The journal position of its latest change."""
    idempotency_key: str
    body: bytes
    """The exact bytes that are sent, on every attempt."""
    mode: Mode
    profile: str
    reference: str
    amount: int
    phone: str
    state: IntentState
    prepared_at: datetime
    first_sent_at: datetime | None
    collection_id: str | None
    outcome: str | None
    """A sentence: the service's error code, the event or the person that settled it, and why."""
    attempts: int
    claimed_by: str | None = None
    """The process that is sending it now."""
    claimed_until: datetime | None = None
    target: str | None = None
    """Where it was sent first: the base address, and `#` and the merchant where that was asked."""
    window_closed_at: datetime | None = None
    """When its replay window was closed before its time, for good; None where it runs."""

    @property
    def key(self) -> Key:
        """Return this record's place in the order of preparation."""
        return Key(to_us(self.prepared_at), self.id)

    def __repr__(self) -> str:
        return (
            f"IntentRow(id={self.id!r}, state={self.state.value!r}, reference={self.reference!r}, "
            f"amount={self.amount}, phone={mask_phone(self.phone)!r})"
        )


class AttemptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One sending of an intent: saved before its first byte leaves, completed afterwards."""

    intent_id: str
    number: int
    sent_at: datetime
    ended_at: datetime | None
    outcome: str | None
    """None while in flight; then a stable word: answered, refused, retryable, lost, not_sent."""
    status: int | None
    request_id: str | None
    took_us: int | None


class NoteRow(msgspec.Struct, frozen=True, kw_only=True):
    """A person's remark on a collection or an intent; its text is searched by the lookup."""

    id: str
    seq: int
    subject: str
    """The id it belongs to."""
    mode: Mode
    author: str
    at: datetime
    text: str


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """An act of a person: what, on what, why, how it ended."""

    id: str
    seq: int
    at: datetime
    actor: str
    act: str
    subject: str | None
    detail: str
    outcome: str

    @property
    def key(self) -> Key:
        """Return this record's place in the journal, for paging."""
        return Key(self.seq, self.id)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a store disagrees with itself, and what to do about it."""

    kind: str
    """A stable word: integrity, fact, projection, rollup, delivery count, journal, event."""
    subject: str | None
    sentence: str


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows a rebuild changed; both are 0 for a sound store."""

    collections: int
    rollups: int


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote: one file per business day."""

    days: int
    rows: int
