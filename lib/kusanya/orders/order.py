"""An order as a shop sees it: what it has come to, its attempts, and what to tell the customer."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.channels import ChannelNow
from kusanya.domain.status import CONTRADICTION
from kusanya.platform.arguments import plain_text
from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.store.records.order import (
    Attempt,
    OrderFacts,
    OrderJudgement,
    OrderReason,
    OrderStatus,
    attempts_of,
    judge,
)
from kusanya.wire import Mode
from kusanya.wording import NEVER_ASKED, UNKNOWN_OUTCOME, Advice, advise, advise_held_back, is_late

_SOON_S: Final = 2.0
"""After so many seconds an open prompt, or an answer that is awaited, is worth another look."""


class NotAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that held a prompt back, and how many seconds it will; None where it stays."""

    limit: str
    """`attempts`, `phone_hour`, `phone_day`, `wrong_pins` or `channel_down`."""
    wait_s: float | None
    channel: ChannelNow | None = None
    """The channel that is down, where that is why."""


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
    customer: Advice
    """What to tell the customer, in English and Swahili: why no prompt was sent now, where a limit
    held it back, else what the order has come to."""
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
    facts = store.intents.order(mode, plain_text("reference", reference))
    return order_of(facts, now=now, not_asked=not_asked)


def order_of(facts: OrderFacts, *, now: datetime, not_asked: NotAsked | None = None) -> Order:
    """Return the order that `facts` make."""
    found = judge(facts)
    is_open = found.status in {OrderStatus.ASKED, OrderStatus.UNKNOWN}
    held_s = None if not_asked is None else not_asked.wait_s
    return Order(
        reference=facts.reference,
        mode=facts.mode,
        status=found.status,
        reason=found.reason,
        attempts=attempts_of(facts),
        collection=found.collection,
        wait_s=_SOON_S if is_open else held_s,
        customer=_words(found, not_asked, now=now),
        not_asked=not_asked,
    )


def _words(found: OrderJudgement, not_asked: NotAsked | None, *, now: datetime) -> Advice:
    row = found.collection
    if not_asked is not None:
        held = advise_held_back(not_asked.limit)
        down = not_asked.channel
        if down is None or down.english is None or down.swahili is None:
            return held
        return msgspec.structs.replace(held, english=down.english, swahili=down.swahili)
    if found.reason is OrderReason.NEVER_ASKED:
        return advise(NEVER_ASKED)
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
