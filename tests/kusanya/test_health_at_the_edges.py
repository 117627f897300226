"""Each rule of Health at its edge: one condition, one moment before it and one after."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.kit.polling import events_arrive, poller_runs
from tests.kusanya.test_health import (
    HOUR,
    MINUTE,
    NOON,
    arrival,
    arrived,
    collection,
    plan_of,
    polled,
    states,
)

from kusanya.clock import ManualClock
from kusanya.health import causes as causes_module
from kusanya.health.causes import Lookback, at_share, begins, causes, times_to_final
from kusanya.health.delivery_plan import attempts_due, is_extra_attempt
from kusanya.health.endpoints import EndpointHealth, format_failures, load_endpoints
from kusanya.health.report import health
from kusanya.health.stuck_prompts import StuckChannel, load_stuck
from kusanya.store import Store
from kusanya.store.records import MissingEventRow
from kusanya.webhooks.schedule import Fuse
from kusanya.wire import Mode

SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "health.db"), clock=ManualClock(NOON)) as opened:
        yield opened


# Why collections end without money.


@pytest.mark.parametrize(
    ("lookback", "first"),
    [
        (Lookback.HOUR, datetime(2026, 3, 1, 11, 20, 30, 7, tzinfo=UTC)),
        (Lookback.DAY, datetime(2026, 2, 28, 21, tzinfo=UTC)),
        (Lookback.WEEK, datetime(2026, 2, 22, 12, tzinfo=UTC)),
    ],
)
def test_each_time_begins_where_it_says(lookback: Lookback, first: datetime) -> None:
    assert begins(lookback, NOON + timedelta(minutes=20, seconds=30, microseconds=7)) == first


def failed_at(store: Store, *times: datetime, code: str = "invalid_pin", **fields: Any) -> None:
    for at in times:
        name = f"{code}{at.timestamp()}{fields}".replace(" ", "")
        letters = "".join(filter(str.isalnum, name))
        fact = collection(letters, at=at, status="failed", failure_code=code, **fields)
        polled(store, fact)


def counted(store: Store, lookback: Lookback, now: datetime) -> list[tuple[str, int, int, bool]]:
    found = causes(store, Mode.LIVE, lookback=lookback, now=now).causes
    return [(one.word, one.count, one.usual, one.seen_before) for one in found]


def test_of_the_hour_what_was_created_in_it_is_counted(store: Store) -> None:
    now = NOON + 30 * MINUTE
    failed_at(store, now - HOUR - TICK, now - HOUR, NOON - TICK, NOON, now)
    assert counted(store, Lookback.HOUR, now) == [("invalid_pin", 4, 0, False)]


def test_of_the_day_all_since_midnight_in_east_africa_is_counted(store: Store) -> None:
    midnight = datetime(2026, 2, 28, 21, tzinfo=UTC)
    failed_at(store, midnight - TICK, midnight, NOON + 20 * MINUTE)
    assert counted(store, Lookback.DAY, NOON + 30 * MINUTE) == [("invalid_pin", 2, 0, False)]


def test_of_a_week_the_week_before_is_the_usual(store: Store) -> None:
    now = NOON + 30 * MINUTE
    failed_at(store, NOON - 7 * DAY - TICK, NOON - 7 * DAY, now)
    failed_at(store, *(NOON - 10 * DAY - n * MINUTE for n in range(4)))
    failed_at(store, NOON - 14 * DAY - TICK)
    assert counted(store, Lookback.WEEK, now) == [("invalid_pin", 2, 6, True)], (
        "half of the hour in which the week begins is of the one before too"
    )


def test_the_usual_is_the_median_of_the_same_part_of_seven_days(store: Store) -> None:
    # Of the hour from 11:30 to 12:30 half of each of both hours lies inside.
    now = NOON + 30 * MINUTE
    failed_at(store, now)
    for day in range(1, 9):
        failed_at(store, *(NOON - day * DAY - n * SECOND for n in range(1, 1 + 2 * day)))
    [(_, count, usual, _)] = counted(store, Lookback.HOUR, now)
    assert (count, usual) == (1, 4), "the median of 1 to 7; the eighth day does not count"


def test_an_hour_that_lies_partly_inside_counts_by_its_part(store: Store) -> None:
    now = NOON + 15 * MINUTE
    failed_at(store, now)
    for day in range(1, 8):
        times = (NOON - day * DAY + n * SECOND for n in range(8))
        failed_at(store, *times)
    [(_, _, usual, _)] = counted(store, Lookback.HOUR, now)
    assert usual == 2, "a quarter of the hour from noon on is inside"


def test_amounts_are_of_the_currency_that_most_have(store: Store) -> None:
    failed_at(store, NOON, NOON - SECOND, amount=500)
    failed_at(store, NOON - 2 * SECOND, amount=9, currency="KES")
    found = causes(store, Mode.LIVE, lookback=Lookback.HOUR, now=NOON + MINUTE)
    assert (found.currency, [one.amount for one in found.causes]) == ("TZS", [1_000])
    failed_at(store, NOON - 3 * SECOND, amount=9, currency="KES", code="user_cancelled")
    found = causes(store, Mode.LIVE, lookback=Lookback.HOUR, now=NOON + MINUTE)
    assert found.currency == "TZS", "of as many the later name"
    nothing = causes(store, Mode.TEST, lookback=Lookback.HOUR, now=NOON)
    assert (nothing.causes, nothing.currency) == ((), "TZS")


def test_the_most_frequent_cause_comes_first_and_of_as_many_the_first_name(store: Store) -> None:
    failed_at(store, NOON, NOON - SECOND, code="user_cancelled")
    failed_at(store, NOON, code="timeout")
    failed_at(store, NOON, code="invalid_pin")
    words = [word for word, *_ in counted(store, Lookback.HOUR, NOON + MINUTE)]
    assert words == ["user_cancelled", "invalid_pin", "timeout"]


@pytest.mark.parametrize(
    ("count", "per_cent", "rank"),
    [(1, 50, 1), (1, 95, 1), (2, 50, 1), (3, 50, 2), (20, 95, 19), (21, 95, 20), (100, 95, 95)],
)
def test_a_share_is_the_nearest_rank(count: int, per_cent: int, rank: int) -> None:
    lengths = [n * SECOND for n in range(1, count + 1)]
    assert at_share(lengths, per_cent) == rank * SECOND


def test_times_are_of_what_was_created_since_then_and_names_both_instants_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(name: str, at: datetime, took: timedelta | None, **fields: Any) -> None:
        done = {} if took is None else {"completed_at": at + took}
        polled(store, collection(name, at=at, status="succeeded", **done, **fields))

    ended("before", NOON - TICK, 90 * SECOND)
    ended("at", NOON, 10 * SECOND)
    ended("quick", NOON + SECOND, timedelta())
    ended("backwards", NOON + SECOND, -SECOND)
    ended("unknown", NOON + SECOND, None)
    ended("other", NOON + SECOND, 30 * SECOND, channel="AIRTEL_TZ")
    found = times_to_final(store, Mode.LIVE, since=NOON)
    assert [(one.channel, one.count, one.p50, one.p95) for one in found] == [
        ("AIRTEL_TZ", 1, 30 * SECOND, 30 * SECOND),
        ("MPESA_TZ", 2, timedelta(), 10 * SECOND),
    ]
    monkeypatch.setattr(causes_module, "TIMED", 0)
    assert times_to_final(store, Mode.LIVE, since=NOON) == ()


# The retry plan.


@pytest.mark.parametrize(
    ("after", "due"),
    [(30 * SECOND, 0), (30 * SECOND + TICK, 1), (MINUTE + 30 * SECOND, 1), (2 * MINUTE, 2),
     (30 * HOUR, 7)],
    ids=str,
)  # fmt: skip
def test_an_attempt_is_due_once_it_could_have_been_seen(after: timedelta, due: int) -> None:
    missing = MissingEventRow(
        id="col_1", seq=1, arrived_at=NOON, mode=Mode.LIVE, event_type="collection.succeeded",
        event_created_at=NOON, collection_id="col_1", reference="INV-1", amount=1, currency="TZS",
    )  # fmt: skip
    assert attempts_due(missing, now=NOON + after) == due


@pytest.mark.parametrize(
    ("after", "answer", "attempt", "is_extra"),
    [
        (3 * MINUTE, 200, None, True),
        (timedelta(), 200, 1, False),
        (-3 * MINUTE, 200, None, False),
        (3 * MINUTE, 400, None, False),
    ],
    ids=str,
)
def test_what_was_sent_by_hand_is_genuine_and_outside_the_plan(
    after: timedelta, answer: int, attempt: int | None, *, is_extra: bool
) -> None:
    assert is_extra_attempt(arrival(after, answer=answer, attempt=attempt)) is is_extra


@pytest.mark.parametrize(("late", "second"), [(30 * SECOND, " "), (30 * SECOND + TICK, "·")])
def test_a_2xx_spares_the_attempt_that_was_due_up_to_half_a_minute_before_it(
    late: timedelta, second: str
) -> None:
    failed = arrival(timedelta(), took_us=0)
    # Of the third attempt, so that it fills no slot of the second.
    done = arrival(MINUTE + late, answer=200, attempt=3)
    assert states(plan_of(failed, done, now=NOON + 4 * MINUTE)) == f"x{second}x    "


@pytest.mark.parametrize(("after", "state"), [(30 * SECOND, "?"), (30 * SECOND + TICK, "·")])
def test_an_attempt_counts_as_not_seen_half_a_minute_after_it_was_due(
    after: timedelta, state: str
) -> None:
    failed = arrival(timedelta(), took_us=0)
    assert states(plan_of(failed, now=NOON + MINUTE + after))[1] == state


def test_only_what_was_due_after_an_endpoint_was_disabled_is_held() -> None:
    plan = plan_of(arrival(timedelta(), took_us=0), now=NOON + 3 * MINUTE)
    assert states(plan) == "x·?????"
    assert states(plan.held(since=NOON + MINUTE)) == "x·hhhhh"
    held = plan.held(since=NOON + MINUTE - TICK)
    assert (states(held), held.is_held, held.is_given_up) == ("xhhhhhh", True, False)
    assert (held.next_at, held.gives_up_at) == (None, None)


# Endpoints.


def endpoint(**fields: Any) -> EndpointHealth:
    given: dict[str, Any] = {
        "endpoint": "shop", "last_arrival_at": NOON, "last_success_at": NOON, "failures": 0,
        "reason": None, "fuse": Fuse(),
    }  # fmt: skip
    return EndpointHealth(**given | fields)


def test_a_success_says_something_about_now_for_a_quarter_of_an_hour() -> None:
    assert endpoint().is_recent(now=NOON + 15 * MINUTE)
    assert not endpoint().is_recent(now=NOON + 15 * MINUTE + TICK)
    assert not endpoint(last_success_at=None).is_recent(now=NOON)


def test_failures_are_written_as_far_as_they_are_counted() -> None:
    assert [format_failures(count) for count in (0, 199, 200, 201)] == ["0", "199", "200+", "200+"]


def test_the_endpoint_that_fails_longest_comes_first_then_by_name(store: Store) -> None:
    arrived(store, NOON - 2 * HOUR, answer=400, endpoint="late")
    arrived(store, NOON - 3 * HOUR, answer=400, endpoint="later")
    for name in ("b", "a"):
        arrived(store, NOON - HOUR, answer=200, endpoint=name)
    found = load_endpoints(store, Mode.LIVE, now=NOON)
    assert [one.endpoint for one in found] == ["later", "late", "a", "b"]


def test_an_endpoint_is_remembered_for_seven_days(store: Store) -> None:
    arrived(store, NOON, answer=200)
    names = [
        [one.endpoint for one in load_endpoints(store, Mode.LIVE, now=NOON + after)]
        for after in (7 * DAY, 7 * DAY + HOUR)
    ]
    assert names == [["shop"], []]


# Prompts that wait.


@pytest.mark.parametrize(
    ("overdue", "phones", "is_unusual", "is_outage"),
    [(2, 2, True, True), (1, 2, True, False), (2, 1, True, False), (2, 2, False, False)],
)
def test_an_outage_is_several_overdue_prompts_on_several_phones_that_are_no_chance(
    overdue: int, phones: int, *, is_unusual: bool, is_outage: bool
) -> None:
    one = StuckChannel(
        channel="MPESA_TZ", young=0, late=0, stuck=overdue, phones=phones, oldest_at=NOON,
        overdue=overdue, is_unusual=is_unusual,
    )  # fmt: skip
    assert one.is_outage is is_outage


@pytest.mark.parametrize(
    ("usual", "limit"),
    [(None, 120), (5.0, 45), (15.0, 45), (15.001, 46), (16.0, 46), (90.0, 120), (200.5, 231)],
)
def test_a_prompt_is_overdue_half_a_minute_after_its_usual_time(
    store: Store, usual: float | None, limit: int
) -> None:
    times = {} if usual is None else {"MPESA_TZ": timedelta(seconds=usual)}
    for number, seconds in enumerate((limit, limit - 1)):
        phone = f"25568400000{number}"
        polled(store, collection(f"n{number}", at=NOON - seconds * SECOND, phone=phone))
    events_arrive(store, timedelta(minutes=9))
    [one], more = load_stuck(store, Mode.LIVE, times, now=NOON, listened=(NOON - HOUR, NOON))
    assert (one.overdue, one.limit, more) == (1, limit * SECOND, False)
    assert one.usual == (None if usual is None else timedelta(seconds=usual))


@pytest.mark.parametrize(("ages", "is_unusual"), [((151, 151), True), ((151, 60), False)])
def test_two_prompts_past_any_expiry_are_no_chance_whatever_else_ended(
    store: Store, ages: tuple[int, ...], *, is_unusual: bool
) -> None:
    for number, seconds in enumerate(ages):
        polled(store, collection(f"n{number}", at=NOON - seconds * SECOND))
    for number in range(100):
        at = NOON - 100 * SECOND - number * timedelta(milliseconds=1)
        polled(store, collection(f"q{number}", at=at, status="succeeded"))
    events_arrive(store, timedelta(minutes=9))
    usual = {"MPESA_TZ": 20 * SECOND}
    [one], _ = load_stuck(store, Mode.LIVE, usual, now=NOON, listened=(NOON - HOUR, NOON))
    assert (one.overdue, one.is_unusual) == (2, is_unusual)


@pytest.mark.parametrize(
    ("overdue", "ended", "is_unusual"),
    [(6, 0, False), (7, 0, True), (7, 1, False), (8, 1, True), (10, 20, False), (14, 20, True)],
)
def test_so_many_late_prompts_of_so_many_are_a_chance_of_less_than_one_in_a_billion(
    store: Store, overdue: int, ended: int, *, is_unusual: bool
) -> None:
    for number in range(overdue):
        polled(store, collection(f"n{number}", at=NOON - 80 * SECOND - number * TICK))
    for number in range(ended):
        polled(store, collection(f"q{number}", at=NOON - 70 * SECOND, status="expired"))
    polled(store, collection("young", at=NOON - 20 * SECOND, status="succeeded"))
    polled(store, collection("other", at=NOON - 70 * SECOND, channel="TIGO_TZ", status="expired"))
    events_arrive(store, timedelta(minutes=9))
    usual = {"MPESA_TZ": 20 * SECOND}
    found, _ = load_stuck(store, Mode.LIVE, usual, now=NOON, listened=(NOON - HOUR, NOON))
    assert [(one.overdue, one.is_unusual) for one in found] == [(overdue, is_unusual)]


# Who asks the service.


@pytest.mark.parametrize(("age", "is_told"), [(5 * MINUTE, True), (5 * MINUTE - TICK, False)])
def test_nobody_is_missed_before_a_prompt_is_five_minutes_old(
    store: Store, age: timedelta, *, is_told: bool
) -> None:
    polled(store, collection("open", at=NOON - age))
    found = health(store, Mode.LIVE, now=NOON)
    assert (found.unwatched is not None) is is_told
    if found.unwatched is not None:
        assert (found.unwatched.open_since, found.unwatched.last_poll_at) == (NOON - age, None)
    assert found.channels == ("MPESA_TZ",)


@pytest.mark.parametrize(("age", "is_told"), [(5 * MINUTE, True), (5 * MINUTE - TICK, False)])
def test_a_poller_is_missed_five_minutes_after_its_last_round(
    store: Store, age: timedelta, *, is_told: bool
) -> None:
    polled(store, collection("open", at=NOON - HOUR))
    poller_runs(store)
    found = health(store, Mode.LIVE, now=NOON + age)
    assert (found.unwatched is not None) is is_told
    if found.unwatched is not None:
        assert found.unwatched.last_poll_at == NOON


def test_the_channels_are_those_that_failed_and_those_that_are_open(store: Store) -> None:
    polled(store, collection("open", at=NOON, channel="TIGO_TZ"))
    failed_at(store, NOON, channel="AIRTEL_TZ")
    assert health(store, Mode.LIVE, now=NOON + MINUTE).channels == ("AIRTEL_TZ", "TIGO_TZ")
