"""What is known of an order, and whether its customer may be asked to pay. Pure.

An order is everything under one reference of one mode: the creations of this store and every
collection that was seen, wherever it came from. Whoever wants to know whether another prompt is
safe for it asks `judge`; a creation asks it inside the transaction that makes the intent, so no two
can both be allowed. Source: States and transitions; assumption REPEATED_REFERENCE.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import chain
from typing import Final

import msgspec

from kusanya.domain.status import CONTRADICTION
from kusanya.store.records.rows import CollectionRow, IntentRow, IntentState
from kusanya.wire import Mode


class OrderStatus(StrEnum):
    """What an order has come to."""

    UNPAID = "unpaid"
    """No money came, and nothing that is known can still bring it: it may be asked for."""
    ASKED = "asked"
    """A prompt may be open on a phone."""
    UNKNOWN = "unknown"
    """It is not known whether a creation reached the customer."""
    PAID = "paid"
    NEEDS_PERSON = "needs_person"


class OrderReason(StrEnum):
    """Why an order has its status."""

    NEVER_ASKED = "never_asked"
    NO_MONEY = "no_money"
    """Every attempt ended without money."""
    PROMPT_OPEN = "prompt_open"
    NO_ANSWER = "no_answer"
    """A creation has no answer yet."""
    PAID = "paid"
    PAID_AGAIN = "paid_again"
    """More than one attempt succeeded: one is to be given back."""
    CONTRADICTION = "contradiction"
    """Facts about an attempt contradict each other."""
    CLAIMED = "claimed"
    """An attempt that is known as not paid has a receipt."""
    UNSEEN = "unseen"
    """A person named a collection that the store does not know."""


class OrderJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """What an order has come to, and by which creation or collection."""

    status: OrderStatus
    reason: OrderReason
    intent: IntentRow | None = None
    collection: CollectionRow | None = None

    @property
    def may_be_asked(self) -> bool:
        """Return whether a prompt can charge nobody twice for this order."""
        return self.status is OrderStatus.UNPAID


OVER: Final = frozenset({IntentState.ANSWERED, IntentState.REFUSED, IntentState.SETTLED})
"""States of an intent after which nothing is sent for it any more."""


class OrderFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known under one reference of one mode, newest first."""

    mode: Mode
    reference: str
    intents: tuple[IntentRow, ...]
    collections: tuple[CollectionRow, ...]
    claimed: frozenset[str] = frozenset()
    """The ids of its collections that are not known as paid, and have a receipt."""

    def with_attempt(self, intent: IntentRow, row: CollectionRow) -> "OrderFacts":
        """Return what is known once a creation became a collection that nobody knew before."""
        intents = (intent, *self.intents)
        rows = (row, *self.collections)
        return msgspec.structs.replace(
            self,
            intents=tuple(sorted(intents, key=lambda one: (one.prepared_at, one.id), reverse=True)),
            collections=tuple(sorted(rows, key=lambda one: (one.created_at, one.id), reverse=True)),
        )


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to have an order paid: a creation, the collection that it became, or both."""

    intent: IntentRow | None
    """None for a collection that no creation of this store made."""
    collection: CollectionRow | None
    """None where it is not known what became of the creation."""


def attempts_of(facts: OrderFacts) -> tuple[Attempt, ...]:
    """Return the attempts of an order, oldest first, without creations that came to nothing."""
    rows = {row.id: row for row in facts.collections}
    made = [
        (one.prepared_at, Attempt(intent=one, collection=rows.pop(one.collection_id or "", None)))
        for one in reversed(facts.intents)
        if one.collection_id is not None
        or one.state not in {IntentState.REFUSED, IntentState.SETTLED}
    ]
    made += [(row.created_at, Attempt(intent=None, collection=row)) for row in rows.values()]
    return tuple(attempt for _, attempt in sorted(made, key=lambda one: one[0]))


def judge(order: OrderFacts) -> OrderJudgement:
    """Return what an order has come to.

    Money that came decides before anything that may still come: an order that is paid is asked for
    nothing more, whatever else stands under its reference.
    """
    return next(chain(_decided(order), _under_way(order), _doubtful(order), _over(order)))


def _decided(order: OrderFacts) -> Iterator[OrderJudgement]:
    rows = order.collections
    paid = [row for row in rows if row.is_paid]
    if paid:
        reason = OrderReason.PAID_AGAIN if len(paid) > 1 else OrderReason.PAID
        yield _of(OrderStatus.PAID, reason, row=paid[-1])
    for row in rows:
        if row.status == CONTRADICTION:
            yield _of(OrderStatus.NEEDS_PERSON, OrderReason.CONTRADICTION, row=row)


def _under_way(order: OrderFacts) -> Iterator[OrderJudgement]:
    for intent in order.intents:
        if intent.state not in OVER:
            yield _of(OrderStatus.UNKNOWN, OrderReason.NO_ANSWER, intent=intent)
    for row in order.collections:
        if row.final_seen_at is None:
            yield _of(OrderStatus.ASKED, OrderReason.PROMPT_OPEN, row=row)


def _doubtful(order: OrderFacts) -> Iterator[OrderJudgement]:
    seen = {row.id for row in order.collections}
    for intent in order.intents:
        if intent.collection_id is not None and intent.collection_id not in seen:
            yield _of(OrderStatus.NEEDS_PERSON, OrderReason.UNSEEN, intent=intent)
    for row in order.collections:
        if row.id in order.claimed:
            yield _of(OrderStatus.NEEDS_PERSON, OrderReason.CLAIMED, row=row)


def _over(order: OrderFacts) -> Iterator[OrderJudgement]:
    for row in order.collections:
        yield _of(OrderStatus.UNPAID, OrderReason.NO_MONEY, row=row)
    yield _of(OrderStatus.UNPAID, OrderReason.NEVER_ASKED)


def _of(
    status: OrderStatus,
    reason: OrderReason,
    *,
    intent: IntentRow | None = None,
    row: CollectionRow | None = None,
) -> OrderJudgement:
    return OrderJudgement(status=status, reason=reason, intent=intent, collection=row)
