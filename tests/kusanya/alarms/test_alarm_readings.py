"""What the alarm rules read of a store: usual times, failure rates, anomalies, pollers."""

from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from tests.kit.intents import begin_intent, end_attempt
from tests.kit.payments import by_event, polled
from tests.kit.polling import events_arrive
from tests.kit.watched_shop import assert_no_phone

from kusanya import handover
from kusanya.alarms.alarm import Alarm
from kusanya.alarms.inputs import AlarmReader
from kusanya.alarms.rules import raised
from kusanya.clock import ManualClock
from kusanya.say import Language, in_language
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Shop:
    """A store and what its alarms say."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.reader = AlarmReader(store, Mode.LIVE)
        self._writes: list[Future[int]] = []

    def paid(self, key: object, ago: timedelta, *, took_s: int = 25, **fields: Any) -> None:
        """Keep a payment of so long ago, reported by its event."""
        made = self.clock.now() - ago
        fields = {"completed_at": made + timedelta(seconds=took_s), **fields}
        self._writes.append(self.store.submit(by_event(key, made, **fields)))

    def open(self, key: int, ago: timedelta, **fields: Any) -> None:
        """Keep a payment of so long ago that has no final state."""
        fact = polled(key, self.clock.now() - ago, status="created", completed_at=None, **fields)
        self.store.record(msgspec.structs.replace(fact, observed_at=self.clock.now()))

    def stuck(self) -> str | None:
        """Return what stuck prompts say while events of other channels arrive."""
        events_arrive(self.store, timedelta(minutes=5))
        found = self.alarms().get("stuck")
        return None if found is None else found.sentence

    def alarms(self) -> dict[str, Alarm]:
        """Return the alarms by their codes."""
        for write in self._writes:
            write.result()
        inputs = self.reader.read(now=self.clock.now())
        found = raised(inputs, format_time=lambda at: f"{at:%H:%M}")
        assert_no_phone(found)
        return {one.code: one for one in found}


@pytest.fixture
def shop(tmp_path: Path, empty_store: Path) -> Iterator[Shop]:
    clock = ManualClock(NOON)
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store:
        yield Shop(store, clock)


def phone(number: int) -> str:
    return f"25575400{number:04}"


def a_usual_week(shop: Shop, *, took_s: int = 25) -> None:
    for number in range(150):
        shop.paid(f"w{number}", timedelta(days=1 + number % 6, minutes=number), took_s=took_s)


def test_a_channel_is_measured_by_its_own_usual_time(shop: Shop) -> None:
    a_usual_week(shop)
    for number in range(7):
        shop.open(number, timedelta(seconds=70), phone=phone(number))
    said = "stuck: 7 prompts of M-Pesa wait over 55 s, where 95 % take 25 s at most, on 7 phones"
    assert (shop.stuck() or "").startswith(said)


def test_a_slow_channel_is_left_more_time(shop: Shop) -> None:
    a_usual_week(shop, took_s=200)
    for number in range(7):
        shop.open(number, timedelta(seconds=220), phone=phone(number))
    assert shop.stuck() is None
    shop.clock.sleep(10)
    assert "wait over 230 s, where" in (shop.stuck() or "")


def test_one_in_twenty_that_takes_long_is_no_alarm_and_two_past_any_expiry_are(shop: Shop) -> None:
    a_usual_week(shop)
    for number in range(60):
        shop.paid(f"n{number}", timedelta(seconds=90))
    for number in range(4):
        shop.open(number, timedelta(seconds=90), phone=phone(number))
    assert shop.stuck() is None
    shop.clock.sleep(61)
    assert "4 prompts" in (shop.stuck() or "")


@pytest.mark.merge
@pytest.mark.parametrize("cause", ["service_silent", "unwatched"])
def test_at_no_moment_is_a_network_named_for_what_nobody_could_learn(
    shop: Shop, cause: str
) -> None:
    a_usual_week(shop)
    for number in range(7):
        shop.open(number, timedelta(seconds=20), phone=phone(number))
    assert shop.stuck() is None
    begin, seen = shop.clock.now(), set()
    for _ in range(90):
        shop.clock.sleep(5)
        if cause == "service_silent":
            shop.store.poll_leases.record_poll(Mode.LIVE, by="till-3:17:ab", silent_since=begin)
        seen |= set(shop.alarms())
    assert seen == {cause}


def test_after_an_outage_of_ours_no_network_is_named_while_a_poller_catches_up(shop: Shop) -> None:
    a_usual_week(shop)
    ages = [timedelta(seconds=420 - 10 * number) for number in range(40)]
    for number, age in enumerate(ages):
        shop.open(number, age, phone=phone(number))
    began, left = shop.clock.now(), list(enumerate(ages))
    while left:
        shop.clock.sleep(5)
        passed = shop.clock.now() - began
        events_arrive(shop.store, min(passed, timedelta(seconds=19)))
        shop.store.poll_leases.record_poll(Mode.LIVE, by="till-3:17:ab")
        asked, left = left[:4], left[4:]
        for number, age in asked:
            shop.paid(number, age + passed, phone=phone(number))
        assert shop.alarms().keys() <= {"missing_events", "silent"}


def test_a_network_that_hung_before_the_service_fell_silent_is_named(shop: Shop) -> None:
    a_usual_week(shop)
    for number in range(7):
        shop.open(number, timedelta(seconds=70), phone=phone(number))
    assert shop.stuck()
    shop.clock.sleep(20)
    silent_since = shop.clock.now() - timedelta(seconds=10)
    shop.store.poll_leases.record_poll(Mode.LIVE, by="till-3:17:ab", silent_since=silent_since)
    assert "7 prompts of M-Pesa wait over 55 s" in shop.alarms()["stuck"].sentence


def test_without_history_two_minutes_are_too_long(shop: Shop) -> None:
    for number in range(2):
        shop.open(number, timedelta(seconds=119), phone=phone(number))
    assert shop.stuck() is None
    shop.clock.sleep(1)
    assert "2 prompts of M-Pesa wait over 2 min on 2 phones" in (shop.stuck() or "")


def test_far_more_failures_than_the_week_before_are_an_alarm_until_they_end(shop: Shop) -> None:
    a_usual_week(shop)
    failed: dict[str, Any] = {"status": "failed", "failure_code": "network_unavailable"}
    for number in range(30):
        fate = failed if number % 3 else {}
        shop.paid(f"f{number}", timedelta(minutes=5, seconds=-number), phone=phone(number), **fate)
    alarm = shop.alarms()["failure_rate"]
    assert alarm.sentence == (
        "failures: 20 of 29 payments by M-Pesa since 11:55 ended without money; usual are 0%."
    )
    assert shop.alarms()["failure_rate"].id == alarm.id, "one outbreak"
    for number in range(200):
        shop.paid(f"p{number}", timedelta(minutes=4))
    assert "failure_rate" not in shop.alarms()


def test_a_contradiction_stands_until_somebody_acknowledges_it_and_a_second_is_news(
    shop: Shop,
) -> None:
    shop.paid("a", HOUR)
    shop.paid("a", HOUR, status="expired", took_s=120)
    shop.paid("fee", HOUR, fee=18)
    shop.store.record(polled("fee", NOON - HOUR, fee=30))
    first = shop.alarms()
    assert "1 payment has facts that cannot all be true (two finals" in first["contradictions"].text
    assert first["fee_changes"].sentence == "fees: 1 payment was reported with two different fees."
    shop.paid("b", timedelta(minutes=30))
    shop.paid("b", timedelta(minutes=30), status="failed", failure_code="invalid_pin")
    second = shop.alarms()["contradictions"]
    assert second.key == first["contradictions"].key
    assert (second.stage, first["contradictions"].stage) == ("col_b", "col_a")
    for anomaly in shop.reader.read(now=NOON).anomalies:
        shop.store.acknowledgements.record(anomaly.id, actor="asha", reason="asked")
    assert not shop.alarms().keys() & {"contradictions", "fee_changes"}


def test_old_disputes_are_found_at_the_first_reading_behind_many_failures(shop: Shop) -> None:
    shop.paid("a", timedelta(days=2))
    shop.paid("a", timedelta(days=2), status="expired", took_s=120)
    for number in range(250):
        shop.paid(number, HOUR, status="failed", failure_code="invalid_pin")
    assert "contradictions" in shop.alarms()
    assert "contradictions" in shop.alarms(), "it is looked up again by its id"


def unknown(shop: Shop, number: int, sent_ago: timedelta, **closed: Any) -> None:
    """Keep a creation without an answer that was sent so long ago."""
    at = shop.clock.now() - sent_ago
    begun = begin_intent(
        shop.store,
        idempotency_key=f"k{number}",
        body=b"{}",
        mode=Mode.LIVE,
        profile="shop",
        reference=f"INV-{number}",
        amount=5000,
        phone=phone(number),
        at=at,
        by="me",
        until=at,
    ).result()
    end_attempt(
        shop.store,
        begun.intent.id,
        1,
        at=at,
        outcome="lost",
        status=None,
        request_id=None,
        took_us=1,
        state=IntentState.UNKNOWN,
    )


def test_windows_that_close_are_counted_behind_however_many_newer_creations(shop: Shop) -> None:
    second = timedelta(seconds=1)
    for number, ago in enumerate((23 * HOUR, 23 * HOUR - second, 22 * HOUR, 21 * HOUR, 20 * HOUR)):
        unknown(shop, number, ago)
    for number in range(10, 115):
        unknown(shop, number, timedelta(minutes=5))
    alarm = shop.alarms()["closing"]
    assert "3 creations without an answer may be replayed for less than 2 h" in alarm.sentence
    page = handover.load(shop.store, Mode.LIVE, since=NOON - HOUR, now=NOON)
    text = " ".join(in_language(one.text, Language.ENGLISH) for one in handover.lines(page))
    assert "and 90 more creations of unknown outcome" in text


def test_every_open_payment_is_counted_in_a_hand_over(shop: Shop) -> None:
    made = shop.clock.now() - HOUR
    writes = [
        shop.store.submit(polled(n, made, status="created", completed_at=None))
        for n in range(1_003)
    ]
    for write in writes:
        write.result()
    page = handover.load(shop.store, Mode.LIVE, since=NOON - HOUR, now=NOON)
    assert page.open_prompts == 1_003
    text = [in_language(one.text, Language.ENGLISH) for one in handover.lines(page)]
    assert "1,003 collections have no final state yet" in text


def test_an_event_is_missing_after_an_hour_while_others_arrive(shop: Shop) -> None:
    shop.store.record(polled("m", NOON - timedelta(hours=3)))
    for minutes in (65, 5):
        shop.store.record(polled(minutes, NOON - timedelta(minutes=minutes)))
    inputs = shop.reader.read(now=NOON)
    assert inputs.missing_events == 2
    quiet = msgspec.structs.replace(inputs, silence=None)
    [alarm] = [one for one in raised(quiet, format_time=str) if one.code == "missing_events"]
    assert "2 final states were learned by polling within 24 h" in alarm.sentence


def test_what_a_poller_noted_of_its_clock_is_read_while_it_runs(shop: Shop) -> None:
    leases = shop.store.poll_leases
    leases.record_poll(Mode.LIVE, by="till-3:17:ab", clock_offset=timedelta(seconds=-200))
    leases.record_poll(Mode.LIVE, by="other:17:ab")
    leases.record_poll(Mode.TEST, by="test:17:ab", clock_offset=timedelta(seconds=500))
    alarm = shop.alarms()["clock_skew"]
    assert "till-3 is 200 s ahead of the service's answers" in alarm.sentence
    leases.record_poll(Mode.LIVE, by="till-3:17:ab", clock_offset=timedelta())
    assert "clock_skew" not in shop.alarms()
    leases.record_poll(Mode.LIVE, by="till-3:17:ab", clock_offset=timedelta(seconds=-200))
    shop.clock.sleep(700)
    assert "clock_skew" not in shop.alarms(), "it is long ago"
