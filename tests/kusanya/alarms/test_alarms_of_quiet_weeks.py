"""No false alarm: weeks of ordinary business in virtual time, in which nobody is told anything.

Ordinary are: prompts that some customers ignore until they expire, customers' own mistakes, busy
and quiet hours, and a delivery here and there that only its first retry brings home.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.watched_shop import NOON, WatchedShop

from kusanya.clock import ManualClock
from kusanya.store import Store

CHANNELS = ("MPESA_TZ", "AIRTEL_TZ", "HALOPESA_TZ")
A_DAY = 120
"""Payments."""
READ_EVERY = timedelta(hours=2)
"""And minutes later again, so that what was seen then could be sent."""


class Week:
    """One seeded week of a shop."""

    def __init__(self, shop: WatchedShop, seed: int) -> None:
        self.shop = shop
        self.chance = random.Random(seed)  # noqa: S311 - simulated business
        self._order = itertools.count()
        self._queue: list[tuple[datetime, int, Callable[[], None]]] = []

    def at(self, when: datetime, what: Callable[[], None]) -> None:
        """Let something happen at an instant."""
        heapq.heappush(self._queue, (when, next(self._order), what))

    def run(self, days: int) -> None:
        """Let the days pass."""
        watcher = self.shop.watcher()
        start = self.shop.clock.now()
        for day in range(days):
            for _ in range(A_DAY):
                hour = min(max(self.chance.gauss(14, 5), 0), 23.9)
                self.at(start + timedelta(days=day, hours=hour), self.create)
        reading = start
        while reading < start + timedelta(days=days):
            reading += READ_EVERY * self.chance.uniform(0.5, 1.5)
            for minutes in (0, 3, 6):
                self.at(reading + timedelta(minutes=minutes), watcher.round)
            self.at(reading - timedelta(seconds=1), self.shop.poller_runs)
            self.at(reading + timedelta(minutes=4), self.shop.poller_runs)
        while self._queue:
            when, _, what = heapq.heappop(self._queue)
            self.shop.clock.sleep(max((when - self.shop.clock.now()).total_seconds(), 0))
            what()

    def create(self) -> None:
        """Create a payment and let its customer do what customers do."""
        now, chance = self.shop.clock.now(), self.chance
        phone = f"2557{chance.randrange(10**8):08}"
        channel = chance.choice(CHANNELS)
        key = self.shop.opened(phone=phone, channel=channel)
        seconds = min(chance.lognormvariate(2.9, 0.5), 115)
        what = {"status": "succeeded"}
        if chance.random() < 0.06:
            seconds, what = 120, {"status": "expired"}
        elif chance.random() < 0.12:
            what = {"status": "failed", "failure_code": "insufficient_funds"}
        done = now + timedelta(seconds=seconds)
        fields: Any = {**what, "channel": channel, "phone": phone, "completed_at": done}
        came = done + timedelta(seconds=chance.uniform(0.2, 3))
        if chance.random() < 0.01:
            self.at(came, lambda: self.shop.delivered_of(key, now, answer=503, **fields))
            came += timedelta(seconds=chance.uniform(60, 75))
        self.at(came, lambda: self.shop.delivered_of(key, now, **fields))


def messages_of_a_week(folder: Path, seed: int, *, days: int = 7) -> list[str]:
    clock = ManualClock(NOON)
    with Store.open(folder / f"week-{seed}.db", clock=clock) as store:
        shop = WatchedShop(store, clock)
        Week(shop, seed).run(days)
        return [message.body for _, message in shop.inbox.messages]


@pytest.mark.merge
def test_two_quiet_days_raise_nothing(tmp_path: Path) -> None:
    assert messages_of_a_week(tmp_path, 1, days=2) == []


@pytest.mark.ci
@pytest.mark.timeout(7_200)
def test_two_hundred_quiet_weeks_raise_nothing(tmp_path: Path) -> None:
    for seed in range(200):
        assert messages_of_a_week(tmp_path, seed) == [], seed
        (tmp_path / f"week-{seed}.db").unlink()
