"""Alarms about orders: paid twice, paid and nothing done for it, work that waits for a person."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.kit.payments import by_event
from tests.kit.watched_shop import WatchedShop, assert_no_phone

from kusanya.alarms.alarm import Alarm
from kusanya.alarms.inputs import AlarmReader
from kusanya.alarms.rules import raised
from kusanya.clock import ManualClock
from kusanya.outcomes import Consumer, Kind, Outcome, Park, ddl
from kusanya.store import Store
from kusanya.wire import Mode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
LATE = timedelta(seconds=90)
"""So long after its creation a payment is heard of."""


class Shop:
    """A store, its alarms, and the shop's own database."""

    def __init__(self, store: Store, clock: ManualClock, path: Path) -> None:
        self.store, self.clock, self._path = store, clock, path
        self._reader = AlarmReader(store, Mode.LIVE)
        with self.connect() as connection:
            connection.execute(ddl("sqlite"))

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction of the shop's database."""
        with closing(sqlite3.connect(self._path)) as connection, connection:
            yield connection

    def paid(self, key: str, **fields: Any) -> None:
        """Let the store hear now of a payment."""
        self.store.record(by_event(key, self.clock.now() - LATE, **fields))

    def alarms(self) -> dict[str, Alarm]:
        """Return the alarms by their codes."""
        self.store.outcomes.tell()
        inputs = self._reader.read(now=self.clock.now())
        found = raised(inputs, format_time=lambda at: f"{at:%H:%M}")
        assert_no_phone(found)
        return {one.code: one for one in found}


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[Shop]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        yield Shop(store, clock, tmp_path / "shop.db")


def test_a_second_payment_of_an_order_says_how_much_to_give_back_for_a_week(shop: Shop) -> None:
    shop.paid("a", reference="INV-1", amount=5000)
    shop.paid("b", reference="INV-2", amount=7000)
    shop.paid("c", reference="INV-1", amount=5000, status="failed", failure_code="invalid_pin")
    assert "paid_again" not in shop.alarms(), "a failure is no payment"
    shop.clock.sleep(60)
    shop.paid("d", reference="INV-1", amount=5000)
    first = shop.alarms()["paid_again"]
    assert first.sentence == "paid again: 1 payment came beside another one of the same order."
    assert first.next_step == "To do: give TZS 5,000 back, or say why not; the newest is col_d."
    shop.clock.sleep(3_600)
    shop.paid("e", reference="INV-2", amount=7000)
    second = shop.alarms()["paid_again"]
    assert "give TZS 12,000 back" in second.next_step
    assert second.key == first.key
    assert second.id != first.id, "a further one is news"
    shop.clock.sleep(timedelta(days=7).total_seconds())
    assert "paid_again" not in shop.alarms()


def test_a_payment_that_nobody_acts_on_is_an_alarm_after_a_quarter_of_an_hour(shop: Shop) -> None:
    shop.store.outcomes.add("shipping", mode=Mode.LIVE, begin=None, actor="asha")
    shop.paid("a", reference="INV-1")
    assert "undone" not in shop.alarms()
    shop.clock.sleep(15 * 60)
    alarm = shop.alarms()["undone"]
    assert alarm.sentence == (
        "not done: a customer paid at 12:00, and consumer shipping has not acted on it; 1 outcome "
        "waits."
    )
    consumer = Consumer(shop.store, "shipping", mode=Mode.LIVE, clock=shop.clock)
    consumer.on(*Kind)(lambda outcome, tx: None)
    assert consumer.drain(shop.connect) == 1
    assert "undone" not in shop.alarms()


def test_an_outcome_that_waits_for_a_person_is_an_alarm_until_one_decides(shop: Shop) -> None:
    shop.store.outcomes.add("shipping", mode=Mode.LIVE, begin=None, actor="asha")
    consumer = Consumer(shop.store, "shipping", mode=Mode.LIVE, clock=shop.clock)

    @consumer.on(*Kind)
    def ship(outcome: Outcome, tx: Any) -> None:
        raise Park("no stock")

    shop.paid("a", reference="INV-1")
    consumer.drain(shop.connect)
    found = shop.alarms()
    assert found["parked"].sentence == "parked: 1 outcome waits for a person at consumer shipping."
    assert "undone" not in found
    shop.clock.sleep(15 * 60)
    assert "undone" in shop.alarms(), "parked or not, the customer waits"
    [work] = shop.store.outcomes.work("shipping")
    shop.store.outcomes.skip("shipping", work.outcome.id, actor="asha", why="given back")
    assert not shop.alarms().keys() & {"parked", "undone"}


@pytest.mark.merge
def test_who_watches_is_told_though_no_consumer_ever_ran(shop: Shop) -> None:
    shop.store.outcomes.add("shipping", mode=Mode.LIVE, begin=None, actor="asha")
    watched = WatchedShop(shop.store, shop.clock)
    shop.paid("a", reference="INV-1")
    watched.run([watched.watcher()], timedelta(minutes=20))
    assert "undone" in watched.inbox.codes
