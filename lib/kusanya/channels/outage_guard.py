"""Whether a channel is in trouble: more payments end without money than is usual, for certain.

An e-detector (Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential
change detection"): a mixture of Shiryaev-Roberts sums of likelihood ratios. Of payments that fail
no more often than the usual bound it raises, on average, at most one false alarm within
`PROMISE` of the channel's business, whenever and however often one looks. The end of a trouble is
found the same way, with the shares exchanged.
"""

from datetime import datetime, timedelta
from math import exp, log
from typing import Final

import msgspec

from kusanya.channels.history import (
    FailureClass,
    FailureRate,
    History,
    UsualFailures,
    class_of,
)
from kusanya.store import Store
from kusanya.store.records import CollectionRow, Key, SortOrder
from kusanya.wire import Mode

PROMISE_DAYS: Final = 90
"""One false alarm of a channel in so many days of its business, on average."""
_FEWEST_A_DAY: Final = 20
"""A quiet channel is taken to have so many payments a day: a promise of few is none."""
_STEPS: Final = (0.25, 0.5, 0.75, 0.97)
"""The troubles that are looked for: so far from the usual share towards all of them."""
_ONE_PHONE: Final = timedelta(minutes=10)
"""Failures of one phone within so long are one: they depend on each other."""
_PHONES_KEPT: Final = 10_000
_END_DAYS: Final = 1
"""One false end of a trouble in so many days of it, on average."""
_LOOKED_BACK: Final = timedelta(hours=24)
_FIRST_LOOK: Final = 3_000
_PAGE: Final = 1_000
_HUGE: Final = 700.0
"""The largest exponent that a float holds, nearly."""


class _Sum:
    """One Shiryaev-Roberts sum, kept as its logarithm, and where its likeliest change began."""

    def __init__(self) -> None:
        self.log = float("-inf")
        self._run = 0.0
        self.began: datetime | None = None
        self.finals = self.failed = 0

    def add(self, ratio: float, at: datetime, *, failed: bool) -> None:
        """Take a payment whose likelihood ratio has this logarithm."""
        # log(exp(log) + 1) + ratio, without overflow.
        grown = self.log if self.log > _HUGE else log(exp(self.log) + 1.0)
        self.log = grown + ratio
        if self._run <= 0:
            self._run, self.began, self.finals, self.failed = 0.0, at, 0, 0
        self._run += ratio
        self.finals += 1
        self.failed += failed


class OutageGuard:
    """What one channel's payments say of one class of failures, in the order of their ends."""

    def __init__(self, whose: FailureClass = FailureClass.NETWORK) -> None:
        self._whose = whose
        self.trouble: FailureRate | None = None
        self._sums = [_Sum() for _ in _STEPS]
        self._end = _Sum()
        self._phones: dict[str, datetime] = {}

    def take(self, row: CollectionRow, usual: UsualFailures) -> None:
        """Take a payment that ended."""
        at = row.final_seen_at or row.created_at
        if row.completed_at is not None:
            at = min(at, row.completed_at)
        failed = class_of(row.status, row.failure_code) is self._whose
        if failed and not self._is_first(row.phone, at):
            return
        bound = usual.bound(at)
        if self.trouble is None:
            self._look(row.channel, at, bound, usual, failed=failed)
        else:
            self._look_for_end(at, usual, bound, failed=failed)

    def _is_first(self, phone: str, at: datetime) -> bool:
        """Return whether no failure of this phone was counted shortly before."""
        before = self._phones.get(phone)
        if before is not None and at - before < _ONE_PHONE:
            return False
        if len(self._phones) >= _PHONES_KEPT:
            self._phones.clear()
        self._phones[phone] = at
        return True

    def _look(
        self, channel: str, at: datetime, bound: float, usual: UsualFailures, *, failed: bool
    ) -> None:
        for step, one in zip(_STEPS, self._sums, strict=True):
            worse = bound + (1 - bound) * step
            one.add(_ratio(worse, bound, failed=failed), at, failed=failed)
        mixed = sum(exp(min(one.log, _HUGE)) for one in self._sums) / len(self._sums)
        # The promise is one of a channel: its guards share it.
        promised = PROMISE_DAYS * len(FailureClass)
        if mixed < promised * max(usual.finals_a_day, _FEWEST_A_DAY):
            return
        best = max(self._sums, key=lambda one: one.log)
        self.trouble = FailureRate(
            channel=channel,
            whose=self._whose,
            since=best.began or at,
            finals=best.finals,
            failed=best.failed,
            usual=usual.share,
        )
        self._end = _Sum()

    def _look_for_end(
        self, at: datetime, usual: UsualFailures, bound: float, *, failed: bool
    ) -> None:
        trouble = self.trouble
        if trouble is None:
            return
        share = max(trouble.failed / trouble.finals, bound)
        middle = (bound + share) / 2
        self._end.add(_ratio(bound / 2, middle, failed=failed), at, failed=failed)
        if self._end.log >= log(_END_DAYS * max(usual.finals_a_day, _FEWEST_A_DAY)):
            self.trouble = None
            self._sums = [_Sum() for _ in _STEPS]
            return
        self.trouble = msgspec.structs.replace(
            trouble, finals=trouble.finals + 1, failed=trouble.failed + failed
        )


def _ratio(share: float, usual: float, *, failed: bool) -> float:
    """Return the logarithm of how much likelier one payment is under `share` than `usual`."""
    return log(share / usual) if failed else log((1 - share) / (1 - usual))


class OutageReader:
    """Reads what ended since the last look; a new reader looks back a day, and 3,000 payments.

    `read` reads the store: on one thread, one call at a time.
    """

    def __init__(self, store: Store, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._guards: dict[tuple[str, FailureClass], OutageGuard] = {}
        self._last: Key | None = None

    def read(self, history: History, *, now: datetime) -> tuple[FailureRate, ...]:
        """Return the channels that are in trouble, and whose matter each is. Raises StoreError."""
        for row in self._new(now):
            for whose in FailureClass:
                place = (row.channel, whose)
                guard = self._guards.setdefault(place, OutageGuard(whose))
                guard.take(row, history.usual_failures.get(place) or UsualFailures())
            self._last = row.key_in(SortOrder.FINAL)
        found = (guard.trouble for _, guard in sorted(self._guards.items()))
        return tuple(one for one in found if one is not None)

    def _new(self, now: datetime) -> list[CollectionRow]:
        """Return what ended since the last look, in the order in which it became known."""
        collections = self._store.collections
        if self._last is None:
            newest = collections.latest_finals(self._mode, limit=_FIRST_LOOK)
            since = now - _LOOKED_BACK
            return [row for row in newest[::-1] if row.final_seen_at and row.final_seen_at >= since]
        found: list[CollectionRow] = []
        after = self._last
        while True:
            page = collections.page(
                self._mode, order=SortOrder.FINAL, newer_than=after, limit=_PAGE
            )
            # What is still open stands above all that ended.
            ended = [row for row in page.rows[::-1] if row.final_seen_at is not None]
            found += ended
            if not page.more or len(ended) < len(page.rows):
                return found
            after = ended[-1].key_in(SortOrder.FINAL)
