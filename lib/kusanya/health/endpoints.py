"""How each of our endpoints stands, as the sender must see it: its last success, its fuse.

However long an endpoint has been refusing, a few reads by an index find its last success and the
first failure after it. Of refused deliveries the oldest are let go in a flood; the rollups count
them, and say how early the first failure may have been.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import dropwhile, islice, takewhile
from typing import Final

import msgspec

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME, DISABLE_AFTER
from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, DeliveryRollupRow, DeliveryRow, Verdict
from kusanya.webhooks.refusals import SERVICE_REASONS
from kusanya.webhooks.schedule import Fuse
from kusanya.wire import Mode

FAILURES_COUNTED: Final = 200
"""Failures of an endpoint are counted up to here."""
_HOUR: Final = timedelta(hours=1)
_REMEMBERED: Final = timedelta(days=7)
_RECENT: Final = timedelta(minutes=15)
"""An arrival longer ago proves nothing about an endpoint now."""
_UNBROKEN: Final = timedelta(seconds=30)
"""Between two deliveries that were taken, one that came so soon was taken too."""
_REFUSED: Final = frozenset({Verdict.REJECTED, Verdict.WRONG_MODE})


class EndpointHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One of our endpoints as the sender must see it."""

    endpoint: str
    last_arrival_at: datetime
    last_success_at: datetime | None
    """The last 2xx in time; None where there is none."""
    failures: int
    """Arrivals answered otherwise since then, `FAILURES_COUNTED` at most."""
    reason: str | None
    """Why the newest of them failed, as a stable word."""
    fuse: Fuse
    listening_since: datetime | None = None
    """Since when, up to the last success, no event can have been missed; None without a success."""
    is_fuse_estimated: bool = False
    """True where the first failures are not kept: it is lit when the first may have come."""

    @property
    def disables_at(self) -> datetime | None:
        """Return from when on a failure disables the endpoint; None while nothing fails."""
        return self.fuse.blows_at

    def is_recent(self, *, now: datetime) -> bool:
        """Return whether a success is so fresh that it says something about now."""
        last = self.last_success_at
        return last is not None and now - last <= _RECENT


def format_failures(count: int) -> str:
    """Return a count of an endpoint's failures as far as was looked."""
    return f"{FAILURES_COUNTED}+" if count >= FAILURES_COUNTED else f"{count}"


def succeeded(row: DeliveryRow) -> bool:
    """Return whether the sender took our answer for a success: a 2xx within its ten seconds."""
    in_time = timedelta(microseconds=row.took_us) <= ACKNOWLEDGEMENT_TIME
    return row.answer // 100 == 2 and in_time  # noqa: PLR2004 - the 2xx class


def load_endpoints(store: Store, mode: Mode, *, now: datetime) -> tuple[EndpointHealth, ...]:
    """Return the endpoints of the last seven days, those failing longest first, then by name.

    Raises StoreError.
    """
    since = now - _REMEMBERED
    counted = store.rollups.deliveries(mode, since=since, until=now + _HOUR)
    found = []
    for name in sorted({row.endpoint for row in counted}):
        hours = [row for row in counted if row.endpoint == name]
        one = _EndpointReader(store, mode, name, hours).read(since)
        if one is not None:
            found.append(one)
    return tuple(sorted(found, key=lambda one: (one.fuse.lit_at or now, one.endpoint)))


def listened(endpoints: Iterable[EndpointHealth]) -> tuple[datetime, datetime] | None:
    """Return between which two instants events were taken without a gap, of the newest ones."""
    spans = [
        (one.last_success_at, one.listening_since)
        for one in endpoints
        if one.last_success_at is not None and one.listening_since is not None
    ]
    if not spans:
        return None
    until, since = max(spans)
    return since, until


def _listening_since(newest: Sequence[DeliveryRow]) -> datetime:
    """Return when the last unbroken run of successes began; the newest delivery comes first."""
    run = iter(dropwhile(lambda row: not succeeded(row), newest))
    begin = next(run).arrived_at
    for row in run:
        if not succeeded(row) or begin - row.arrived_at > _UNBROKEN:
            break
        begin = row.arrived_at
    return begin


class _EndpointReader:
    """Reads one endpoint; `counted` are its rollups of the last days."""

    def __init__(
        self, store: Store, mode: Mode, name: str, counted: Sequence[DeliveryRollupRow]
    ) -> None:
        self._deliveries = store.deliveries
        self._mode = mode
        self._where = DeliveryFilter(endpoints=(name,), trusted=True)
        self._name = name
        self._counted = counted

    def read(self, since: datetime) -> EndpointHealth | None:
        """Return how it stands, or None where nothing came that the service can have sent."""
        newest = self._page(FAILURES_COUNTED)
        if not newest:
            return None
        failures = list(takewhile(lambda row: not succeeded(row), newest))
        has_success = len(failures) < len(newest)
        success = newest[len(failures)] if has_success else self._last_success(since)
        first = failures[-1] if failures else None
        if failures and not has_success:
            first = self._deliveries.oldest(self._mode, where=self._where, after=success)
        fuse, is_estimated = Fuse(), False
        if first is not None:
            fuse, is_estimated = self._fuse(success, first, newest[0], since)
        return EndpointHealth(
            endpoint=self._name,
            last_arrival_at=newest[0].arrived_at,
            last_success_at=None if success is None else success.arrived_at,
            failures=len(failures),
            reason=failures[0].reason if failures else None,
            fuse=fuse,
            listening_since=_listening_since(newest) if has_success else None,
            is_fuse_estimated=is_estimated,
        )

    def _page(self, limit: int) -> Sequence[DeliveryRow]:
        return self._deliveries.page(self._mode, where=self._where, limit=limit).rows

    def _last_success(self, since: datetime) -> DeliveryRow | None:
        """Return the last success: the rollups spare reading the hours in which all was refused."""
        taken = (row.hour for row in self._counted if row.verdict not in _REFUSED)
        before = max(taken, default=since) + _HOUR
        return self._deliveries.last_success(self._mode, self._name, before=before)

    def _fuse(
        self, success: DeliveryRow | None, first: DeliveryRow, last: DeliveryRow, since: datetime
    ) -> tuple[Fuse, bool]:
        """Return the fuse, and whether it is estimated.

        Then it is lit when the first failure may have come, and blown once all that it may have
        been lit at is three days past.
        """
        begin = since if success is None else success.arrived_at
        let_go = self._let_go(begin - _HOUR, first.arrived_at)
        early = next((max(begin, hour) for hour in let_go), None)
        ends = (hour + _HOUR for hour in let_go if hour >= begin)
        late = min(_ended_at(first), next(ends, _ended_at(first)))
        fuse = Fuse().after(at=late, delivered=False)
        if _ended_at(last) - late >= DISABLE_AFTER:
            due = msgspec.structs.replace(self._where, arrived_from=late + DISABLE_AFTER)
            blew = self._deliveries.oldest(self._mode, where=due) or last
            fuse = fuse.after(at=_ended_at(blew), delivered=False)
        if early is None:
            return fuse, False
        return Fuse(lit_at=early, blown_at=fuse.blown_at), True

    def _let_go(self, after: datetime, upto: datetime) -> list[datetime]:
        """Return the hours that began between two instants and whose rows are not all kept.

        No more than the first two are needed: the success may lie in the first.
        """
        hours = (
            hour
            for hour, count in _rejected_by_hour(self._counted)
            if after < hour <= upto
            and count
            > self._deliveries.count_rejected(
                self._mode, self._name, since=hour, until=hour + _HOUR
            )
        )
        return list(islice(hours, 2))


def _rejected_by_hour(counted: Iterable[DeliveryRollupRow]) -> list[tuple[datetime, int]]:
    hours: Counter[datetime] = Counter()
    for row in counted:
        if row.verdict is Verdict.REJECTED and row.reason in SERVICE_REASONS:
            hours[row.hour] += row.count
    return sorted(hours.items())


def _ended_at(row: DeliveryRow) -> datetime:
    return row.arrived_at + timedelta(microseconds=row.took_us)
