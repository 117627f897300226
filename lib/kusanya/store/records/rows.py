"""The rows that lists and look-ups return: collections, intents, rollups.

Instants are aware UTC datetimes, amounts integers in whole units of their currency, durations
integer microseconds (`_us`). `kusanya.store.records` has them all, with those of what arrives
(`arrivals`), of people (`notes_and_audit`, `breaks`) and of lists (`paging`).
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.domain.status import PAID
from kusanya.privacy import mask_phone, mask_text
from kusanya.state.observation import ShownStatus
from kusanya.store.records.paging import Key
from kusanya.store.tables.values import clean, to_us
from kusanya.wire import Mode

OPEN_FIRST: Final = 2**61
"""Added to the creation of an open collection where finals are in order: it is above them all."""


class SortOrder(StrEnum):
    """The indexed orders of collections, each of all of them; the newest or largest comes first.

    In FINAL the open ones come before, the newest first, then those that became final last.
    """

    CREATED = "created"
    FINAL = "final"
    AMOUNT = "amount"


class CollectionRow(msgspec.Struct, frozen=True):
    """One collection in a list: the projection of its state. Its repr masks the phone."""

    id: str
    seq: int
    """The journal position of its latest change."""
    mode: Mode
    status: ShownStatus
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

    def key_in(self, order: "SortOrder") -> Key:
        """Return this record's place in `order`, for paging in it."""
        if order is SortOrder.AMOUNT:
            return Key(self.amount, self.id)
        if order is SortOrder.CREATED:
            return self.key
        if self.final_seen_at is None:
            return Key(OPEN_FIRST + to_us(self.created_at), self.id)
        return Key(to_us(self.final_seen_at), self.id)

    @property
    def is_paid(self) -> bool:
        """Return whether the customer has paid, as far as the facts say."""
        return self.status in PAID

    @property
    def missing_event(self) -> bool:
        """Return whether the final state was learned without any event."""
        return self.final_seen_at is not None and self.event_id is None

    @property
    def net(self) -> int | None:
        """Return amount less fee for a succeeded collection, None for any other."""
        return self.amount - self.fee if self.is_paid else None

    def __repr__(self) -> str:
        return (
            f"CollectionRow(id={self.id!r}, mode={self.mode.value!r}, status={str(self.status)!r}, "
            f"amount={self.amount}, fee={self.fee}, phone={mask_phone(self.phone)!r})"
        )


class OpenPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The collections of one channel without a final state: how many, and of which age."""

    channel: str
    count: int
    oldest_at: datetime
    phones: int
    """On how many phones those of one age are."""
    older: Mapping[str, int]
    """How many have reached an age, by its name."""


class MetadataTerm(msgspec.Struct, frozen=True):
    """A condition on metadata: any of these names with its whole value, in any case; or none."""

    entries: tuple[tuple[str, str], ...]
    negated: bool = False


class CollectionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which collections a list holds: terms are joined by AND, the values of one term by OR.

    An empty term does not restrict. `unwell` keeps what is not plainly well: failed, expired, an
    unknown status, a contradiction or a missing event.
    """

    statuses: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    failure_codes: tuple[str, ...] = ()
    words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other indexed columns of words by their names, and the values of each."""
    ids: tuple[str, ...] = ()
    reference_part: str | None = None
    """Three characters at least, in any case."""
    description_part: str | None = None
    """Three characters at least, in any case."""
    metadata: tuple[MetadataTerm, ...] = ()
    phone: str | None = None
    amount_min: int | None = None
    amount_max: int | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    """Up to, not including."""
    unwell: bool = False

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Return the values that each restricted column of words may have, by its name."""
        named = {
            "status": self.statuses,
            "channel": self.channels,
            "failure_code": self.failure_codes,
            **dict(self.words),
        }
        return {name: values for name, values in named.items() if values}


AMOUNT_COUNTED_MAX: Final = 10**12
"""The most that one collection adds to a rollup: a larger number is a fault, and sums must hold."""


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
    BREAK = "break"
    RECEIPT = "receipt"
    OUTCOME = "outcome"


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
    """A sentence: the service's error code, the event or the person that resolved it, and why."""
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


class NewIntent(msgspec.Struct, frozen=True, kw_only=True):
    """A creation that is about to be sent for the first time. Its repr shows nothing of it."""

    idempotency_key: str
    body: bytes
    mode: Mode
    profile: str
    reference: str
    amount: int
    phone: str
    repeat: "Repeat | None" = None
    """Why its order may be asked once more."""

    def __repr__(self) -> str:
        return f"NewIntent(mode={self.mode.value!r})"


class AttemptStart(msgspec.Struct, frozen=True, kw_only=True):
    """An intent under a key: `new` where its first attempt began just now."""

    intent: IntentRow
    new: bool


class AttemptFinish(msgspec.Struct, frozen=True, kw_only=True):
    """An intent after an attempt, and of an answered one the collection as the store has it."""

    intent: IntentRow
    collection: CollectionRow | None = None


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """Who uses a reference once more, and why; audited."""

    actor: str
    reason: str
    although_paid: bool = False
    """Whether a person overrules that the order is paid, or that only a person can say."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Who decided an intent, and what and why; audited."""

    actor: str
    detail: str


class AttemptEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended: `AttemptRow` says what its fields mean."""

    at: datetime
    outcome: str
    status: int | None = None
    request_id: str | None = None
    took_us: int | None = None


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


class StoreFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which a store disagrees with itself, and what to do about it."""

    kind: str
    """A stable word: integrity, fact, projection, rollup, delivery count, journal, event,
    intent or receipt."""
    subject: str | None
    sentence: str


class RebuildResult(msgspec.Struct, frozen=True, kw_only=True):
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


class ExportResult(msgspec.Struct, frozen=True, kw_only=True):
    """What an export wrote: one file per business day."""

    days: int
    rows: int
