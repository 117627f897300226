"""What the store takes and gives: frozen values, one class per kind of record.

Instants are aware UTC datetimes, amounts integers in whole units of their currency, durations
integer microseconds (`_us`). `kusanya.store.records` gives them all, with those of what arrives
(`arrivals`) and of lists (`paging`).
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from kusanya.privacy import mask_phone, mask_text
from kusanya.store.records.paging import Key
from kusanya.store.tables.values import clean, to_us
from kusanya.wire import Mode


class Order(StrEnum):
    """The indexed orders of collections; the newest or largest comes first."""

    CREATED = "created"
    FINAL = "final"
    AMOUNT = "amount"


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

    def belongs_to(self, profile: str) -> bool:
        """Return whether the intent was made under this profile."""
        return clean(profile) == self.profile

    @property
    def key(self) -> Key:
        """Return this record's place in the order of preparation."""
        return Key(to_us(self.prepared_at), self.id)

    def __repr__(self) -> str:
        return (
            f"IntentRow(id={self.id!r}, state={self.state.value!r}, "
            f"reference={mask_text(self.reference)!r}, amount={self.amount}, "
            f"phone={mask_phone(self.phone)!r})"
        )


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """An intent under a key: `new` where its first attempt began just now."""

    intent: IntentRow
    new: bool


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """Who uses a reference once more, and why; audited."""

    actor: str
    reason: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Who decided an intent, and what and why; audited."""

    actor: str
    detail: str


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
    """A stable word: integrity, fact, projection, rollup, delivery count, journal, event or
    intent."""
    subject: str | None
    sentence: str


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows a rebuild changed; both are 0 for a sound store."""

    collections: int
    rollups: int


class CopyResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy as of an instant holds."""

    facts: int
    """Rows of the journal."""
    seq: int
    """The last place of the journal that is in the copy."""
    left_out: int
    """Facts dated up to that instant that were written after a later one, and so are not in it."""


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote: one file per business day."""

    days: int
    rows: int
