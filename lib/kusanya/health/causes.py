"""Why collections end without money, and how long they take to end, over an hour, a day or a week.

Counts come from rollups and times from one bounded list, so nothing here costs more when the
history is longer. What is usual is the median of the same part of earlier days or weeks.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from statistics import median
from typing import Final

import msgspec

from kusanya.domain.business_day import day_start
from kusanya.domain.status import cause_of
from kusanya.store import Store
from kusanya.store.records import CollectionRow, RollupRow
from kusanya.wire import Mode

TIMED: Final = 1_000
"""Times to a final state are those of so many collections, the last that became final."""
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(days=7)
_DAYS_BEFORE: Final = 7


class Lookback(StrEnum):
    """How much time is counted, by the time of creation."""

    HOUR = "last 60 minutes"
    DAY = "today"
    """Since midnight in East Africa."""
    WEEK = "last 7 days"


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One failure code, or an expiry, in one span of time."""

    word: str
    """The failure code as received; in brackets a status that has none, or (no code)."""
    channels: dict[str, int]
    count: int
    usual: int
    """The median of the same part of earlier days; for a week, the week before.

    Rounded up: hours that lie partly inside count by their part.
    """
    amount: int
    """What these collections come to, in the currency of the report."""
    seen_before: bool
    """False for a code that nothing before had."""


class Causes(msgspec.Struct, frozen=True):
    """The causes of one time, the most frequent first, with the currency of their amounts."""

    causes: tuple[Cause, ...]
    currency: str


def begins(lookback: Lookback, now: datetime) -> datetime:
    """Return the first instant that is counted."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    if lookback is Lookback.HOUR:
        return now - _HOUR
    return day_start(now) if lookback is Lookback.DAY else hour - _WEEK


def causes(store: Store, mode: Mode, *, lookback: Lookback, now: datetime) -> Causes:
    """Return why collections of that time ended without money; raises StoreError."""
    since, turn = begins(lookback, now), now.replace(minute=0, second=0, microsecond=0)
    if lookback is Lookback.HOUR:
        part = store.rollups.within(mode, since=since, until=turn)
        whole = store.rollups.collections(mode, since=turn, until=turn + _HOUR)
        rows = _failed((*part, *whole))
    else:
        rows = _failed(store.rollups.collections(mode, since=since, until=turn + _HOUR))
    if lookback is Lookback.WEEK:
        earlier = [(since - _WEEK, now - _WEEK)]
    else:
        earlier = [(since - n * _DAY, now - n * _DAY) for n in range(1, _DAYS_BEFORE + 1)]
    before = [_weighed(store, mode, begin, end) for begin, end in earlier]
    currencies = Counter[str]()
    for _, row in rows:
        currencies[row.currency] += row.count
    currency = max(currencies, key=lambda code: (currencies[code], code), default="TZS")
    found = [_cause(word, rows, before, currency) for word in sorted({word for word, _ in rows})]
    return Causes(tuple(sorted(found, key=lambda cause: (-cause.count, cause.word))), currency)


def _cause(
    word: str,
    rows: Sequence[tuple[str, RollupRow]],
    before: Sequence[Mapping[str, float]],
    currency: str,
) -> Cause:
    mine = [row for named, row in rows if named == word]
    channels = Counter[str]()
    for row in mine:
        channels[row.channel] += row.count
    usual = [past.get(word, 0.0) for past in before]
    return Cause(
        word=word,
        channels=dict(channels),
        count=sum(row.count for row in mine),
        usual=ceil(median(usual)),
        amount=sum(row.amount for row in mine if row.currency == currency),
        seen_before=any(usual),
    )


def _weighed(store: Store, mode: Mode, since: datetime, until: datetime) -> Mapping[str, float]:
    """Return the count of each word; an hour that lies partly inside counts by its part."""
    begin = since.replace(minute=0, second=0, microsecond=0)
    found: dict[str, float] = defaultdict(float)
    for word, row in _failed(store.rollups.collections(mode, since=begin, until=until)):
        inside = min(row.hour + _HOUR, until) - max(row.hour, since)
        found[word] += row.count * (inside / _HOUR)
    return found


def _failed(rows: Sequence[RollupRow]) -> list[tuple[str, RollupRow]]:
    """Return the rows that brought no money, each with its cause."""
    named = ((cause_of(row.status, row.failure_code), row) for row in rows if row.count)
    return [(word, row) for word, row in named if word is not None]


class TimeToFinal(msgspec.Struct, frozen=True, kw_only=True):
    """How long the prompts of one channel took from creation to completion."""

    channel: str
    count: int
    p50: timedelta
    p95: timedelta


def times_to_final(store: Store, mode: Mode, *, since: datetime) -> tuple[TimeToFinal, ...]:
    """Return how long collections took that were created since then, channel by channel.

    Only the last `TIMED` final ones are looked at, and those that name both instants in order.
    Raises StoreError.
    """
    rows = store.collections.latest_finals(mode, limit=TIMED)
    taken: dict[str, list[timedelta]] = {}
    for row in rows:
        length = _length(row)
        if row.created_at >= since and length is not None:
            taken.setdefault(row.channel, []).append(length)
    return tuple(
        TimeToFinal(
            channel=channel,
            count=len(lengths),
            p50=at_share(sorted(lengths), 50),
            p95=at_share(sorted(lengths), 95),
        )
        for channel, lengths in sorted(taken.items())
    )


def at_share(lengths: Sequence[timedelta], per_cent: int) -> timedelta:
    """Return the shortest length that so many per cent do not exceed: nearest rank, no mean.

    `lengths` are sorted and not empty.
    """
    return lengths[max(-(-len(lengths) * per_cent // 100) - 1, 0)]


def _length(row: CollectionRow) -> timedelta | None:
    if row.completed_at is None or row.completed_at < row.created_at:
        return None
    return row.completed_at - row.created_at
