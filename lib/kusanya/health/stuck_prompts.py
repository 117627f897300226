"""Prompts that wait longer than they should, channel by channel.

A channel is measured by its own usual time where the last week had enough prompts, else by the two
minutes in which a prompt of live mode expires.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.domain.status import CONTRADICTION, FINAL
from kusanya.store import Store
from kusanya.store.records import OpenPrompts
from kusanya.wire import Mode

_LATE: Final = timedelta(seconds=60)
_STUCK: Final = timedelta(seconds=120)
_AFTER_USUAL: Final = timedelta(seconds=30)
_LIMIT_LEAST: Final = timedelta(seconds=45)
_PAST_EXPIRY: Final = timedelta(seconds=150)
"""An expired prompt of live mode is two minutes old, and its event on its way."""
_FORGOTTEN: Final = timedelta(hours=1)
"""No prompt is open so long: the service has lost it, or its network has."""
_COMPARED: Final = timedelta(minutes=30)
"""So far back a prompt is compared with those of its time."""
_TICK: Final = timedelta(microseconds=1)
_ENDED: Final = FINAL | {CONTRADICTION}
_LATE_SHARE: Final = 0.05
OPEN_LOOKED_AT: Final = 20_000
_NO_CHANCE: Final = 1e-9
"""Judged some ten thousand times a week and channel."""


class StuckChannel(msgspec.Struct, frozen=True, kw_only=True):
    """The open collections of one channel, by how long they have been open."""

    channel: str
    young: int
    """Under 60 s."""
    late: int
    """60 to 120 s."""
    stuck: int
    """Over 120 s: past any usual expiry."""
    phones: int = 0
    """On how many phones the overdue ones are: one is a customer, many are an outage."""
    oldest_at: datetime
    overdue: int = 0
    """Open for longer than `limit`."""
    forgotten: int = 0
    """Open for over an hour, as the service says itself."""
    limit: timedelta = _STUCK
    """When a prompt is overdue on this channel: some time after its usual one."""
    usual: timedelta | None = None
    """The time that 95 % of the last week's did not exceed; None without enough of them."""
    is_unusual: bool = True
    """Whether so many overdue ones are no chance."""

    @property
    def is_outage(self) -> bool:
        """Return whether prompts hang for certain, and on several phones."""
        return self.overdue > 1 and self.is_unusual and self.phones > 1


def load_stuck(
    store: Store,
    mode: Mode,
    usual_times: Mapping[str, timedelta],
    *,
    now: datetime,
    listened: tuple[datetime, datetime] | None = None,
) -> tuple[tuple[StuckChannel, ...], bool]:
    """Return every channel with an open collection, and whether its overdue ones are no chance.

    Beside them, whether more are open than were looked at, which are the newest. One in twenty may
    take longer than the usual time on a good day. Two that are past any expiry are no chance; of
    younger ones, those count that were created since the oldest open one. A prompt is overdue by
    its age when it was last known to be open: when we asked about it, or, where it was made since
    its events were `listened` to, first instant and last, at the last. Raises StoreError.
    """
    limits: dict[str | None, timedelta] = {name: _limit(of) for name, of in usual_times.items()}
    limits[None] = _STUCK
    expired = {name: max(limit, _PAST_EXPIRY) for name, limit in limits.items()}
    opened = store.collections.open_by_channel(
        mode,
        {"late": {None: _LATE}, "stuck": {None: _STUCK}},
        now=now,
        known={"overdue": limits, "expired": expired, "forgotten": {None: _FORGOTTEN}},
        listened=listened,
        phones="overdue",
        limit=OPEN_LOOKED_AT + 1,
    )
    more = sum(one.count for one in opened) > OPEN_LOOKED_AT
    found = [_stuck(one, usual_times.get(one.channel)) for one in opened]
    has_expired = {one.channel for one in opened if one.older["expired"] > 1}
    return tuple(
        one
        if one.usual is None or not one.overdue or one.channel in has_expired
        else _judged(store, mode, one, now=now)
        for one in found
    ), more


def _stuck(opened: OpenPrompts, usual: timedelta | None) -> StuckChannel:
    older = opened.older
    return StuckChannel(
        channel=opened.channel,
        young=opened.count - older["late"],
        late=older["late"] - older["stuck"],
        stuck=older["stuck"],
        oldest_at=opened.oldest_at,
        phones=opened.phones,
        overdue=older["overdue"],
        forgotten=older["forgotten"],
        limit=_limit(usual),
        usual=usual,
    )


def _judged(store: Store, mode: Mode, one: StuckChannel, *, now: datetime) -> StuckChannel:
    since, until = max(one.oldest_at, now - _COMPARED), now - one.limit
    rows = store.rollups.within(mode, since=since, until=until + _TICK) if since <= until else ()
    ended = sum(row.count for row in rows if row.channel == one.channel and row.status in _ENDED)
    unusual = _chance(one.overdue, of=one.overdue + ended) < _NO_CHANCE
    return msgspec.structs.replace(one, is_unusual=unusual)


def _limit(usual: timedelta | None) -> timedelta:
    if usual is None:
        return _STUCK
    seconds = timedelta(seconds=1)
    return max(-(-usual // seconds) * seconds + _AFTER_USUAL, _LIMIT_LEAST)


def _chance(count: int, *, of: int) -> float:
    """Return how likely it is that so many or more of them are late, where one in twenty is."""
    late, timely = math.log(_LATE_SHARE), math.log(1 - _LATE_SHARE)
    every = math.lgamma(of + 1)
    return sum(
        math.exp(
            every - math.lgamma(n + 1) - math.lgamma(of - n + 1) + n * late + (of - n) * timely
        )
        for n in range(count, of + 1)
    )
