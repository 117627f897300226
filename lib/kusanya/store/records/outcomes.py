"""What facts mean for an order: one outcome for each change of it. Pure.

`news` tells what is to be said of an order that was not said yet. It reads all that is known of the
order and all that was said, so it may be asked at any time and as often as one likes: what changed
twice in between is said once, as it stands. Source: States and transitions, Idempotency; assumption
REPEATED_REFERENCE.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from itertools import chain
from typing import Final

import msgspec

from kusanya.domain.assumptions import CURRENCY
from kusanya.domain.status import CONTRADICTION
from kusanya.privacy import mask_text
from kusanya.store.records.order import OrderFacts, OrderStatus, judge
from kusanya.store.records.rows import CollectionRow, IntentRow, IntentState
from kusanya.text import safe
from kusanya.wire import Mode

_CONSUMER: Final = re.compile(r"[a-z0-9][a-z0-9_.\-]{0,63}")


def check_consumer_name(name: object) -> None:
    """Raise ValueError for what cannot name a new consumer."""
    if not isinstance(name, str) or _CONSUMER.fullmatch(name) is None:
        raise ValueError(
            f"{safe(str(name), 70)} is no name for a consumer: small letters, digits, - and _"
        )


class Kind(StrEnum):
    """What an outcome says. A shop answers each kind, or ignores it by name with a reason."""

    PAID = "paid"
    """The first success of the order, with the amount that was asked for: ship."""
    NOT_PAID = "not_paid"
    """An attempt ended without money, and nothing that is known can still bring it."""
    PAID_AGAIN = "paid_again"
    """Another success of the order: give the money back, ship nothing."""
    UNEXPECTED = "unexpected"
    """Money came that a person has to look at: another amount or currency than was asked for, an
    attempt that no creation of this store made, or beside one that is disputed."""
    DISPUTED = "disputed"
    """Facts about an attempt contradict each other, before or after it was paid: ship nothing."""
    CORRECTED = "corrected"
    """What was said of an attempt does not hold any more: `is_paid` is what does."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A change of what an order means, as a fact of the journal. Its repr masks the reference."""

    id: str
    """The same wherever the same facts are told in the same order, also after a restore."""
    seq: int
    mode: Mode
    reference: str
    kind: Kind
    collection_id: str | None
    """None for a creation that came to nothing."""
    intent_id: str | None
    """The creation of this store that made the attempt; None where none did."""
    is_paid: bool
    """Whether money is with the merchant by this attempt, beyond dispute."""
    amount: int
    """In whole units of `currency`."""
    fee: int
    currency: str
    expected_amount: int | None
    """What the creation asked for."""
    failure_code: str | None
    ordinal: int
    """How many attempts of the order had brought money by then, this one included."""
    at: datetime
    """When its fact became known."""
    previous: str | None
    """The id of what was said of this attempt before."""
    evidence: str
    """The event that said so, else where the state was learned from."""

    @property
    def about(self) -> str:
        """Return the id of the attempt: of its collection, else of its creation."""
        return self.collection_id or self.intent_id or ""

    @property
    def effect_key(self) -> str:
        """Return what to hand on as idempotency key of an effect outside of the shop's database."""
        return self.id

    def __repr__(self) -> str:
        return (
            f"Outcome(id={self.id!r}, kind={self.kind.value!r}, mode={self.mode.value!r}, "
            f"reference={mask_text(self.reference)!r}, amount={self.amount})"
        )


_MAY_HAVE_MADE_IT: Final = frozenset(IntentState) - {IntentState.REFUSED}
_CAME_TO_NOTHING: Final = frozenset({IntentState.REFUSED, IntentState.SETTLED})


DECISIVE: Final = frozenset({"status", "mode", "amount", "currency", "reference"})
"""Fields of a payment about which two facts that differ leave nothing to act on."""


def news(
    order: OrderFacts,
    said: Sequence[Outcome],
    *,
    now: datetime,
    doubted: Collection[str] = frozenset(),
) -> Iterator[Outcome]:
    """Yield what is to be said of an order beside what was `said` of it, oldest first.

    `doubted` are the ids of its paid collections of which facts differ in a decisive field. The
    `seq` of what is yielded is 0: whoever writes it gives it its place.
    """
    told = list(said)
    is_over = judge(order).status is OrderStatus.UNPAID
    # Among several successes the first one known is the order's; the others are to be given back.
    rows = sorted(order.collections, key=lambda row: (row.final_seen_at or now, row.seq))
    for row in rows:
        is_disputed = row.status == CONTRADICTION or row.id in doubted
        kind = _kind(order, row, told, is_over=is_over, is_disputed=is_disputed)
        if kind is not None:
            told.append(_outcome(order, row, kind, told, now=now))
            yield told[-1]
    for intent in reversed(order.intents):
        if (
            is_over
            and intent.collection_id is None
            and intent.state in _CAME_TO_NOTHING
            and _last(told, intent.id) is None
        ):
            yield _nothing_came(order, intent, told, now=now)


def _kind(
    order: OrderFacts,
    row: CollectionRow,
    told: Sequence[Outcome],
    *,
    is_over: bool,
    is_disputed: bool,
) -> Kind | None:
    """Return what is to be said of one attempt, None where nothing is new."""
    before = _last(told, row.id)
    if is_disputed:
        return None if before is not None and before.kind is Kind.DISPUTED else Kind.DISPUTED
    if row.is_paid:
        if before is None:
            return _success(order, row, told)
        return None if before.is_paid else Kind.CORRECTED
    if row.final_seen_at is None:
        return None
    if before is None:
        return Kind.NOT_PAID if is_over else None
    return Kind.CORRECTED if before.is_paid or before.kind is Kind.DISPUTED else None


def _success(order: OrderFacts, row: CollectionRow, told: Sequence[Outcome]) -> Kind:
    made_by = _made_by(order, row)
    if made_by is None or (made_by.amount, CURRENCY) != (row.amount, row.currency):
        return Kind.UNEXPECTED
    return kind_of_success([one for one in told if one.kind is not Kind.UNEXPECTED])


def kind_of_success(told: Sequence[Outcome]) -> Kind:
    """Return what the first word on a success is, beside what was told of the other attempts."""
    others = [last for of in {one.about for one in told} if (last := _last(told, of)) is not None]
    if any(one.is_paid for one in others):
        return Kind.PAID_AGAIN
    # The parcel may be on its way for an attempt of which nobody knows whether it was paid.
    return Kind.UNEXPECTED if any(one.kind is Kind.DISPUTED for one in others) else Kind.PAID


def _made_by(order: OrderFacts, row: CollectionRow) -> IntentRow | None:
    """Return the creation that made a collection, or without doubt meant it.

    The event of a payment may come before the answer to its creation, or instead of it.
    """
    made = [one for one in order.intents if one.collection_id == row.id]
    meant = [
        one for one in order.intents if one.collection_id is None and one.state in _MAY_HAVE_MADE_IT
    ]
    fitting = [one for one in meant if one.amount == row.amount]
    return next(chain(made, fitting, meant), None)


def _outcome(
    order: OrderFacts, row: CollectionRow, kind: Kind, told: Sequence[Outcome], *, now: datetime
) -> Outcome:
    made_by, before = _made_by(order, row), _last(told, row.id)
    return Outcome(
        id=_id(order.mode, row.id, kind, told),
        seq=0,
        mode=order.mode,
        reference=order.reference,
        kind=kind,
        collection_id=row.id,
        intent_id=None if made_by is None else made_by.id,
        is_paid=row.is_paid and kind is not Kind.DISPUTED,
        amount=row.amount,
        fee=row.fee,
        currency=row.currency,
        expected_amount=None if made_by is None else made_by.amount,
        failure_code=row.failure_code,
        ordinal=_ordinal(order, row.id if row.is_paid else None, told),
        # What is said for the first time became known then; what is said anew becomes so now.
        at=(row.final_seen_at or now) if before is None else now,
        previous=None if before is None else before.id,
        evidence=row.event_id or row.learned_from or "",
    )


def _nothing_came(
    order: OrderFacts, intent: IntentRow, told: Sequence[Outcome], *, now: datetime
) -> Outcome:
    return Outcome(
        id=_id(order.mode, intent.id, Kind.NOT_PAID, told),
        seq=0,
        mode=order.mode,
        reference=order.reference,
        kind=Kind.NOT_PAID,
        collection_id=None,
        intent_id=intent.id,
        is_paid=False,
        amount=intent.amount,
        fee=0,
        currency=CURRENCY,
        expected_amount=intent.amount,
        failure_code=None,
        ordinal=_ordinal(order, None, told),
        at=now,
        previous=None,
        evidence=intent.state.value,
    )


def _last(told: Sequence[Outcome], about: str) -> Outcome | None:
    return next((one for one in reversed(told) if one.about == about), None)


def _ordinal(order: OrderFacts, of: str | None, told: Sequence[Outcome]) -> int:
    paid = {row.id for row in order.collections if row.is_paid}
    return len({one.about for one in told if one.about in paid} | ({of} if of else set()))


def _id(mode: Mode, about: str, kind: Kind, told: Sequence[Outcome]) -> str:
    nth = sum(one.about == about and one.kind is kind for one in told)
    return f"out_{sha256(f'{mode.value} {about} {kind.value} {nth}'.encode()).hexdigest()[:24]}"


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer has not done yet."""

    outcome: Outcome
    consumer: str
    tries: int
    due_at: datetime
    parked: bool
    """It waits for a person, and with it all later outcomes of its order."""
    why: str
    """What the last try came to, masked."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What a try of one outcome came to: done, or when and why it is due again, or parked."""

    seq: int
    due_at: datetime | None = None
    """None where it is done, or parked."""
    parked: bool = False
    why: str = ""
    is_try: bool = True
    """Whether it counts: who asks for more time has not failed."""
    is_away: bool = False
    """Whether the shop's database could not be reached: nothing else is tried now."""

    @property
    def done(self) -> bool:
        """Return whether nothing is left to do."""
        return self.due_at is None and not self.parked


class ConsumerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer of outcomes, and how far it is."""

    name: str
    mode: Mode
    place: int
    """Outcomes of the journal up to here were taken over."""
    begins_at: datetime | None
    """Earlier outcomes are not for it; None where it began with what became known afterwards."""
    epoch: str
    added_at: datetime
    waiting: int = 0
    """Outcomes not done, and of those after `place` 10,000 at most; without parked ones."""
    parked: int = 0
    newest_parked: datetime | None = None
    oldest_paid: datetime | None = None
    """When the customer paid who waits longest, with what is parked."""

    @property
    def began_at(self) -> datetime:
        """Return from when on outcomes are for it."""
        return self.begins_at or self.added_at
