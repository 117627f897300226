"""An order as a shop sees it: what it has come to, its attempts, and what to tell the customer."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.domain.status import CONTRADICTION
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow, IntentState
from kusanya.store.records.order import (
    OrderFacts,
    OrderJudgement,
    OrderReason,
    OrderStatus,
    judge,
)
from kusanya.wire import Mode
from kusanya.wording import UNKNOWN_OUTCOME, Advice, advise, is_late

_SOON_S: Final = 2.0
"""After so many seconds an open prompt, or an answer that is awaited, is worth another look."""


class NotAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that held a prompt back, and how many seconds it will; None where it stays."""

    limit: str
    wait_s: float | None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to have an order paid: a creation, the collection that it became, or both."""

    intent: IntentRow | None
    """None for a collection that no creation of this store made."""
    collection: CollectionRow | None
    """None where it is not known what became of the creation."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What an order has come to."""

    reference: str
    mode: Mode
    status: OrderStatus
    reason: OrderReason
    attempts: tuple[Attempt, ...]
    """Oldest first; creations of which nothing came are left out."""
    collection: CollectionRow | None
    """The paid one, else the one that `reason` is about."""
    wait_s: float | None
    """After how many seconds another look, or another `pay`, may bring something new; None where
    only a person or the customer can."""
    customer: Advice | None
    """What to tell the customer, in English and Swahili; None before the first attempt."""
    not_asked: NotAsked | None = None
    """What held a prompt back that was safe otherwise."""


def read(
    store: Store,
    mode: Mode,
    reference: str,
    *,
    now: datetime,
    not_asked: NotAsked | None = None,
) -> Order:
    """Return an order as the store knows it. Raises StoreError."""
    facts = store.intents.order(mode, reference)
    found = judge(facts)
    is_open = found.status in {OrderStatus.ASKED, OrderStatus.UNKNOWN}
    held_s = None if not_asked is None else not_asked.wait_s
    return Order(
        reference=reference,
        mode=mode,
        status=found.status,
        reason=found.reason,
        attempts=attempts_of(facts),
        collection=found.collection,
        wait_s=_SOON_S if is_open else held_s,
        customer=_words(found, now=now),
        not_asked=not_asked,
    )


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


def _words(found: OrderJudgement, *, now: datetime) -> Advice | None:
    row = found.collection
    if found.reason is OrderReason.NEVER_ASKED:
        return None
    if found.reason is OrderReason.CONTRADICTION:
        return advise(CONTRADICTION)
    if row is None or found.status is OrderStatus.NEEDS_PERSON:
        return advise(UNKNOWN_OUTCOME)
    return advise(
        row.status,
        failure_code=row.failure_code,
        amount=row.amount,
        currency=row.currency,
        late=is_late(row.created_at, now=now),
    )


def seconds(left: timedelta) -> float:
    """Return a length of time in seconds, at least 0."""
    return max(left.total_seconds(), 0.0)
