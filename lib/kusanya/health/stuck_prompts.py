"""Prompts that wait longer than they should, channel by channel.

A channel is measured by its own usual time where the last week had enough prompts, else by the two
minutes in which a prompt of live mode expires.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.wire import Mode

_LATE: Final = timedelta(seconds=60)
_STUCK: Final = timedelta(seconds=120)
_AFTER_USUAL: Final = timedelta(seconds=30)
_LIMIT_LEAST: Final = timedelta(seconds=45)
_PAST_EXPIRY: Final = timedelta(seconds=150)
"""An expired prompt of live mode is two minutes old, and its event on its way."""
_FINALS_COMPARED: Final = 500
_LATE_SHARE: Final = 0.05
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
    opened: Sequence[CollectionRow],
    usual_times: Mapping[str, timedelta],
    *,
    now: datetime,
) -> tuple[StuckChannel, ...]:
    """Return every channel with an open collection, and whether its overdue ones are no chance.

    One in twenty may take longer than the usual time on a good day. Two that are past any expiry
    are no chance; of younger ones, those count that were created since the oldest open one. Raises
    StoreError.
    """
    found = _stuck(opened, now, usual_times)
    unsure = [one for one in found if one.usual is not None and one.overdue]
    if not unsure:
        return found
    finals = store.collections.latest_finals(mode, limit=_FINALS_COMPARED)
    judged: dict[str, StuckChannel] = {}
    for one in unsure:
        until = now - one.limit
        expired = sum(
            row.channel == one.channel and now - row.created_at >= max(one.limit, _PAST_EXPIRY)
            for row in opened
        )
        since = min(row.created_at for row in opened if row.channel == one.channel)
        ended = sum(
            row.channel == one.channel and since <= row.created_at <= until for row in finals
        )
        unusual = expired > 1 or _chance(one.overdue, of=one.overdue + ended) < _NO_CHANCE
        judged[one.channel] = msgspec.structs.replace(one, is_unusual=unusual)
    return tuple(judged.get(one.channel, one) for one in found)


def _stuck(
    rows: Sequence[CollectionRow], now: datetime, usual_times: Mapping[str, timedelta]
) -> tuple[StuckChannel, ...]:
    ages: dict[str, list[datetime]] = {}
    phones: dict[str, set[str]] = {}
    for row in rows:
        ages.setdefault(row.channel, []).append(row.created_at)
        if now - row.created_at >= _limit(usual_times.get(row.channel)):
            phones.setdefault(row.channel, set()).add(row.phone)
    return tuple(
        StuckChannel(
            channel=channel,
            young=sum(now - at < _LATE for at in born),
            late=sum(_LATE <= now - at < _STUCK for at in born),
            stuck=sum(now - at >= _STUCK for at in born),
            oldest_at=min(born),
            phones=len(phones.get(channel, ())),
            overdue=sum(now - at >= _limit(usual_times.get(channel)) for at in born),
            limit=_limit(usual_times.get(channel)),
            usual=usual_times.get(channel),
        )
        for channel, born in sorted(ages.items())
    )


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
