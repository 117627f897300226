"""The feed: what changed in the store since we last looked, as one frozen snapshot a tick.

`FeedReader.read` runs on one thread, one call at a time, and never on the event loop. It starts at
the feed's head before it counts, so an overlap is possible and a gap is not. Counts come from
rollups: no call costs more when the history is longer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.alarms import inputs
from kusanya.alarms.inputs import AlarmInputs, AlarmReader
from kusanya.clock import Clock
from kusanya.domain.business_day import day_start
from kusanya.domain.status import FINAL, PAID, Status
from kusanya.health.report import Health
from kusanya.store import Store
from kusanya.store.records import (
    Change,
    ChangeKind,
    CollectionRow,
    DeliveryRollupRow,
    RollupRow,
    Verdict,
)
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_STEP: Final = 1000
_STEPS: Final = 5
"""A backlog is read in at most so many steps a tick, so that the screen keeps moving."""
TREND_MINUTES: Final = 15
EXAMINED_EVERY: Final = timedelta(seconds=5)
"""How old the alarms' inputs and the last hour's figures may grow: they take some ten queries."""
_EXAMINED_EVERY_S: Final = EXAMINED_EVERY.total_seconds()
_TREND_ROWS: Final = 1000


class Tally(msgspec.Struct, frozen=True):
    """How many collections stand in one status, and what they come to in one currency."""

    count: int = 0
    amount: int = 0
    fee: int = 0


class CollectionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one span of time, in one mode, sums in `currency` alone."""

    statuses: dict[str, Tally]
    currency: str
    """The currency with the most collections."""
    other_currencies: bool = False
    """True when collections in further currencies are counted but not summed."""

    def of(self, status: str) -> Tally:
        """Return the tally of one status."""
        return self.statuses.get(status, Tally())

    @property
    def paid(self) -> Tally:
        """Return what the customers have paid."""
        mine = [self.of(status) for status in PAID]
        return Tally(
            sum(one.count for one in mine),
            sum(one.amount for one in mine),
            sum(one.fee for one in mine),
        )

    @property
    def finals(self) -> int:
        """Count the collections in a final state."""
        return sum(self.of(status).count for status in FINAL)

    @property
    def others(self) -> int:
        """Count the collections in no status the specification names."""
        named = set(Status)
        return sum(tally.count for word, tally in self.statuses.items() if word not in named)


class Arrivals(msgspec.Struct, frozen=True):
    """The deliveries of one span of time, by verdict."""

    verdicts: dict[Verdict, int]

    @property
    def total(self) -> int:
        """Count all of them."""
        return sum(self.verdicts.values())


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What the console knows of the store at one instant; applied whole or not at all."""

    mode: Mode
    seq: int
    """The feed has been read up to here."""
    at: datetime
    """When the store was read."""
    hour: CollectionCounts
    """Of the last 60 minutes."""
    day: CollectionCounts
    arrivals: Arrivals
    trends: dict[str, tuple[int, ...]]
    """Per status, collections by the minute of their creation; the last is the present minute."""
    alarm_inputs: AlarmInputs
    changed: frozenset[str] = frozenset()
    """Ids of collections with news since the snapshot before."""
    arrived: frozenset[str] = frozenset()
    """Ids of deliveries that came since the snapshot before."""
    intents: frozenset[str] = frozenset()
    audited: frozenset[str] = frozenset()
    """Ids of audit rows written since the snapshot before, of either mode."""
    behind: timedelta = timedelta()
    """Age of the oldest change not yet read; zero when all are."""

    @property
    def health(self) -> Health:
        """Return how endpoints and channels stand."""
        return self.alarm_inputs.health


class _PartOfHour(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in the last 60 minutes and before the present hour, as of one instant."""

    at: datetime
    collections: tuple[RollupRow, ...]
    arrivals: tuple[DeliveryRollupRow, ...]


class FeedReader:
    """Follows one mode of a store.

    The first `read` primes the figures, each later one tells what changed. Raises StoreError; the
    next call goes on where the last successful one ended.
    """

    def __init__(self, store: Store, *, mode: Mode, clock: Clock) -> None:
        self._store = store
        self._mode = mode
        self._clock = clock
        self._last: Snapshot | None = None
        self._alarms = AlarmReader(store, mode)
        self._inputs: AlarmInputs | None = None
        self._inputs_at = 0.0
        self._part: _PartOfHour | None = None
        self._part_at = 0.0
        self._born: dict[str, tuple[datetime, str]] = {}
        self._counted: Counter[tuple[datetime, str]] = Counter()
        self._buckets: dict[tuple[datetime, str], tuple[datetime, str]] = {}
        self._oldest: datetime | None = None

    def read(self) -> Snapshot:
        """Return what is new since the last call, counted at this instant."""
        now = self._clock.now()
        last = self._last
        changes: list[Change] = []
        recent: Sequence[CollectionRow] = ()
        if last is not None and last.seq > self._store.feed.head():
            last = None  # the store was restored to an earlier day: everything is read anew
        if last is None:
            seq, behind = self._store.feed.head(), timedelta()
            recent = self._store.collections.page(self._mode, limit=_TREND_ROWS).rows
        else:
            seq, changes, behind = self._changes(last.seq, now)
        mine = [change for change in changes if change.mode in {self._mode, None}]
        changed = frozenset(c.collection_id for c in mine if c.collection_id is not None)
        named = changed | _named_elsewhere(changes, self._mode)
        if named:
            known = self._store.collections.by_id(sorted(named), self._mode)
            recent, changed = tuple(known.values()), changed | known.keys()
        self._count_recent(recent, now)
        alarm_inputs = self._alarm_inputs(now)
        if last is None or mine or _minute(now) != _minute(last.at):
            hour, day, arrivals = self._figures(now)
            unknown = inputs.unknown_intents(self._store, self._mode)
        else:
            hour, day, arrivals = last.hour, last.day, last.arrivals
            unknown = last.alarm_inputs.unknown
        snapshot = Snapshot(
            mode=self._mode,
            seq=seq,
            at=now,
            hour=hour,
            day=day,
            arrivals=arrivals,
            trends=self._trends(now),
            alarm_inputs=msgspec.structs.replace(alarm_inputs, at=now, unknown=unknown),
            changed=changed,
            arrived=_ids(mine, ChangeKind.DELIVERY),
            intents=_ids(mine, ChangeKind.INTENT),
            audited=_ids(mine, ChangeKind.AUDIT),
            behind=behind,
        )
        self._last = snapshot
        return snapshot

    def _changes(self, after: int, now: datetime) -> tuple[int, list[Change], timedelta]:
        changes: list[Change] = []
        for _ in range(_STEPS):
            step = self._store.feed.changes(after, limit=_STEP)
            changes.extend(step)
            if step:
                after = step[-1].seq
            if len(step) < _STEP:
                return after, changes, timedelta()
        return after, changes, max(now - changes[-1].at, timedelta())

    def _alarm_inputs(self, now: datetime) -> AlarmInputs:
        waited = self._clock.monotonic() - self._inputs_at
        last = self._inputs
        # A service's clock may stand still for hours while the store goes on, or leap by days.
        if last is None or waited >= _EXAMINED_EVERY_S or abs(now - last.at) >= EXAMINED_EVERY:
            self._inputs_at = self._clock.monotonic()
            self._inputs = last = self._alarms.read(now=now)
        return last

    def _figures(self, now: datetime) -> tuple[CollectionCounts, CollectionCounts, Arrivals]:
        turn = _hour(now)
        until = turn + _HOUR
        rollups = self._store.rollups.collections(self._mode, since=day_start(now), until=until)
        arrivals = self._store.rollups.deliveries(self._mode, since=turn, until=until)
        before = self._before_this_hour(now)
        present = [row for row in rollups if row.hour >= turn]
        return (
            _sum((*before.collections, *present)),
            _sum(rollups),
            _arrivals((*before.arrivals, *arrivals)),
        )

    def _before_this_hour(self, now: datetime) -> "_PartOfHour":
        """Return what lies in the last 60 minutes and before the present hour.

        It is counted by the row, so only every few seconds.
        """
        last, waited = self._part, self._clock.monotonic() - self._part_at
        if last is None or waited >= _EXAMINED_EVERY_S or _minute(now) != _minute(last.at):
            span = {"since": now - _HOUR, "until": _hour(now)}
            self._part_at = self._clock.monotonic()
            self._part = last = _PartOfHour(
                at=now,
                collections=self._store.rollups.within(self._mode, **span),
                arrivals=self._store.rollups.arrivals_within(self._mode, **span),
            )
        return last

    def _count_recent(self, rows: Sequence[CollectionRow], now: datetime) -> None:
        first = _minute(now) - timedelta(minutes=TREND_MINUTES - 1)
        for row in rows:
            if row.mode is not self._mode or row.created_at < first:
                continue
            if row.id in self._born:
                self._counted[self._born[row.id]] -= 1
            born = (_minute(row.created_at), str(row.status))
            # One bucket for all that lie in it: at 100 a second a quarter hour holds 90,000.
            self._born[row.id] = born = self._buckets.setdefault(born, born)
            self._counted[born] += 1
        if first != self._oldest:
            self._oldest = first
            self._born = {key: born for key, born in self._born.items() if born[0] >= first}
            self._counted = Counter(self._born.values())
            self._buckets = {born: born for born in self._counted}

    def _trends(self, now: datetime) -> dict[str, tuple[int, ...]]:
        minutes = [_minute(now) - timedelta(minutes=back) for back in range(TREND_MINUTES)][::-1]
        return {
            status.value: tuple(self._counted[minute, status.value] for minute in minutes)
            for status in Status
        }


def _named_elsewhere(changes: Iterable[Change], mode: Mode) -> frozenset[str]:
    """Return the ids of which the other mode said something: in this one that is an anomaly."""
    return frozenset(
        change.collection_id
        for change in changes
        if change.kind is ChangeKind.OBSERVATION
        and change.mode is not mode
        and change.collection_id is not None
    )


def _ids(changes: Sequence[Change], kind: ChangeKind) -> frozenset[str]:
    return frozenset(change.id for change in changes if change.kind is kind)


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _sum(rollups: Sequence[RollupRow]) -> CollectionCounts:
    currencies: Counter[str] = Counter()
    for row in rollups:
        currencies[row.currency] += row.count
    currency = max(currencies, key=lambda code: (currencies[code], code), default="TZS")
    counts: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    fees: Counter[str] = Counter()
    for row in rollups:
        counts[row.status] += row.count
        if row.currency == currency:
            amounts[row.status] += row.amount
            fees[row.status] += row.fee
    return CollectionCounts(
        statuses={
            status: Tally(count, amounts[status], fees[status])
            for status, count in counts.items()
            if count
        },
        currency=currency,
        other_currencies=sum(count > 0 for count in currencies.values()) > 1,
    )


def _arrivals(rows: Sequence[DeliveryRollupRow]) -> Arrivals:
    counts: Counter[Verdict] = Counter()
    for row in rows:
        counts[Verdict(row.verdict)] += row.count
    return Arrivals(dict(counts))
