"""The steps of `pay`, for both clients: look, go on with what is open, and only then ask anew."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from kusanya import channels
from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.client.requests import CreateRequest
from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.errors import (
    AmountChanged,
    Conflict,
    IntentError,
    IntentReason,
    NoAnswer,
    NotSent,
    RateLimited,
    ServiceUnavailable,
)
from kusanya.intents.creating import create, mode_of, proceed
from kusanya.orders.order import NotAsked, Order, order_of, read, seconds
from kusanya.platform.arguments import check_whole
from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.store.records.order import (
    OrderFacts,
    OrderJudgement,
    OrderStatus,
    attempts_of,
    judge,
)
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_AGAIN_S: Final = 60.0
"""After so long it is worth asking whether a channel is still down."""
_READ: Final = 50
"""So many payments of a phone are read, and more where a limit is higher."""
_WRONG_PIN: Final = "invalid_pin"
_PASSING: Final = (NoAnswer, NotSent, Conflict, RateLimited, ServiceUnavailable)
"""What the next call may find gone; the creation is kept and open."""
_STAYS_OPEN: Final = frozenset(
    {IntentReason.BEING_SENT, IntentReason.WINDOW_CLOSED, IntentReason.CLOCK_BEHIND,
     IntentReason.NOTHING_CREATED}
)  # fmt: skip
"""Why a creation without an answer is not sent again now, or need not be."""
_OTHERS: Final = frozenset(
    {IntentReason.REFERENCE_OPEN, IntentReason.REFERENCE_USED, IntentReason.KEY_USED,
     IntentReason.BEING_SENT}
)  # fmt: skip
"""Why an attempt was not made: another worker was quicker, and the store tells what came of it."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How often a customer is asked at the most; raises ValueError for less than once."""

    attempts: int = 5
    """Of one order."""
    phone_hour: int = 5
    """Prompts on one phone within an hour, of all orders."""
    phone_day: int = 20
    wrong_pins: int = 2
    """After so many wrong PINs on a phone within an hour none is sent: the network may lock it."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_whole(f"limit {name}", getattr(self, name))


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be paid. Its repr shows nothing of the customer."""

    reference: str
    amount: int
    phone: str
    description: str | None = None
    metadata: Mapping[str, str] | None = None
    profile: str = DEFAULT_PROFILE
    unless_down: bool = False

    def request(self, attempt: int) -> CreateRequest:
        """Return what the attempt of this number creates."""
        return CreateRequest(
            amount=self.amount,
            phone=self.phone,
            reference=self.reference,
            description=self.description,
            metadata=self.metadata,
            profile=self.profile,
            force_repeat_reason=f"attempt {attempt} of the order" if attempt > 1 else None,
        )

    def __repr__(self) -> str:
        return f"Wish(reference={self.reference!r}, amount={self.amount})"


def paying(store: Store, core: Core, wish: Wish, limits: Limits) -> Effects[Order]:
    """Have an order paid, and return what it has come to."""
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is an orders.Limits, not {type(limits).__name__}")
    mode = mode_of(core)
    phone = wish.request(1).wire_phone()  # what cannot be sent is refused before anything
    look = partial(_look, store, core, wish.reference, mode=mode, phone=phone, limits=limits)
    facts, recent = yield from call(look)
    found = judge(facts)
    if found.status is OrderStatus.UNKNOWN and found.intent is not None:
        _check_amount(found, wish)
        try:
            wait_s = core.retry_policy.timeout_s
            yield from proceed(store, core, found.intent, profile=wish.profile, wait_s=wait_s)
        except _PASSING:
            pass  # it stays unknown; the store says how far it came
        except IntentError as error:
            if error.reason not in _STAYS_OPEN:
                raise
        facts, recent = yield from call(look)
        found = judge(facts)
    _check_amount(found, wish)
    not_asked = None
    if found.may_be_asked:
        not_asked = _held_back(facts, recent, limits=limits, now=core.clock.now())
        if not_asked is None and wish.unless_down:
            not_asked = yield from call(partial(_channel_down, store, mode, phone))
        if not_asked is None:
            asked = yield from _ask(store, core, wish, facts)
            if asked is not None:
                return order_of(asked, now=core.clock.now())
    again = partial(read, store, mode, wish.reference, now=core.clock.now(), not_asked=not_asked)
    return (yield from call(again))


def _ask(store: Store, core: Core, wish: Wish, facts: OrderFacts) -> Effects[OrderFacts | None]:
    """Make the next attempt, unless another worker makes it at this moment.

    Returns the facts with its open prompt; None for any other end: the store says how far it came.
    """
    try:
        request = wish.request(len(attempts_of(facts)) + 1)
        made = yield from create(store, core, request, order=facts)
    except _PASSING:
        return None
    except IntentError as error:
        if error.reason not in _OTHERS:
            raise
        return None
    if made.row is None or made.row.final_seen_at is not None:
        return None
    # Nothing else of the order was open or paid in the transaction that began the attempt.
    return facts.with_attempt(made.intent, made.row)


def _check_amount(found: OrderJudgement, wish: Wish) -> None:
    """Raise AmountChanged where another amount may be charged for the order, or was."""
    if found.status is OrderStatus.UNPAID:
        return
    known = found.collection or found.intent
    if known is not None and known.amount != wish.amount:
        raise AmountChanged(
            f"this order is {found.status.value} with an amount of {known.amount:,}, not "
            f"{wish.amount:,}: a reference names one sale of one amount"
        )


def _look(
    store: Store, core: Core, reference: str, *, mode: Mode, phone: str, limits: Limits
) -> tuple[OrderFacts, tuple[CollectionRow, ...]]:
    """Return what is known of the order, and of the payments of its phone within a day."""
    enough = max(_READ, limits.phone_hour, limits.phone_day)
    since = core.clock.now() - _DAY
    return store.intents.order_and_phone(mode, reference, phone, since=since, limit=enough)


def _held_back(
    facts: OrderFacts, recent: Sequence[CollectionRow], *, limits: Limits, now: datetime
) -> NotAsked | None:
    """Return the limit that another prompt would break, or None."""
    if len(attempts_of(facts)) >= limits.attempts:
        return NotAsked(limit="attempts", wait_s=None)
    rows = [row for row in recent if row.created_at > now - _DAY]
    hour = [row for row in rows if row.created_at > now - _HOUR]
    pins = [row for row in hour if row.failure_code == _WRONG_PIN]
    for limit, found, most, span in (
        ("wrong_pins", pins, limits.wrong_pins, _HOUR),
        ("phone_hour", hour, limits.phone_hour, _HOUR),
        ("phone_day", rows, limits.phone_day, _DAY),
    ):
        if len(found) >= most:
            # Room is made by the oldest of the newest that are too many.
            frees = sorted(row.created_at for row in found)[-most]
            return NotAsked(limit=limit, wait_s=seconds(frees + span - now))
    return None


def _channel_down(store: Store, mode: Mode, phone: str) -> NotAsked | None:
    """Return the channel of a phone that is down, or None.

    A phone's channel is that of its newest payment: numbers move between networks. Of a new phone
    it is not known, and nothing is held back.
    """
    known = store.collections.by_phone(mode, phone, limit=1)
    if not known:
        return None
    mine = next(
        (one for one in channels.now(store, mode=mode) if one.channel == known[0].channel), None
    )
    if mine is None or mine.state is not channels.ChannelState.DOWN:
        return None
    return NotAsked(limit="channel_down", wait_s=_AGAIN_S, channel=mine)
