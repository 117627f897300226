"""The retry plan, what can be inferred from it, and the disable fuse."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kusanya.webhooks.schedule import ATTEMPTS, Fuse, infer_attempt, next_attempt, plan

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.mark.spec("delivery-2")
def test_seven_attempts_spread_over_20_hours_36_minutes() -> None:
    assert [(at - NOON) // MINUTE for at in plan(first_at=NOON)] == [0, 1, 6, 36, 156, 516, 1236]
    assert ATTEMPTS == 7


@pytest.mark.spec("delivery-2")
@pytest.mark.parametrize(
    ("attempt", "gap"),
    [
        (1, 1 * MINUTE),
        (2, 5 * MINUTE),
        (3, 30 * MINUTE),
        (4, 2 * HOUR),
        (5, 6 * HOUR),
        (6, 12 * HOUR),
        (7, None),
    ],
)
def test_each_gap_counts_from_the_failure_before_it(attempt: int, gap: timedelta | None) -> None:
    expected = None if gap is None else NOON + gap
    assert next_attempt(attempt, failed_at=NOON) == expected


@pytest.mark.parametrize("attempt", [0, -1, 8])
def test_an_attempt_outside_one_to_seven_is_the_callers_mistake(attempt: int) -> None:
    with pytest.raises(ValueError, match="1 to 7"):
        next_attempt(attempt, failed_at=NOON)


@pytest.mark.spec("delivery-2")
@given(st.lists(st.timedeltas(timedelta(), timedelta(seconds=10)), min_size=6, max_size=6))
def test_the_plan_is_the_earliest_that_failures_allow(delays: list[timedelta]) -> None:
    at, attempts = NOON, [NOON]
    for number, delay in enumerate(delays, start=1):
        following = next_attempt(number, failed_at=at + delay)
        assert following is not None
        at = following
        attempts.append(at)
    assert next_attempt(7, failed_at=at) is None
    for real, earliest in zip(attempts, plan(first_at=NOON), strict=True):
        assert earliest <= real <= earliest + timedelta(minutes=1)


@given(st.lists(st.timedeltas(timedelta(), timedelta(seconds=10)), min_size=6, max_size=6))
def test_every_attempt_is_recognised_by_its_times_however_slow_the_endpoint_was(
    delays: list[timedelta],
) -> None:
    at = NOON
    for number in range(1, 8):
        # Both are cut to whole seconds on the wire.
        signed_at = at.replace(microsecond=0)
        assert infer_attempt(signed_at=signed_at, event_created_at=NOON) == number
        if number < 7:
            following = next_attempt(number, failed_at=at + delays[number - 1])
            assert following is not None
            at = following


@pytest.mark.parametrize(
    ("age", "attempt"),
    [
        pytest.param(timedelta(seconds=-1), 1, id="cut to the second"),
        pytest.param(timedelta(seconds=-2), None, id="before the event"),
        pytest.param(timedelta(seconds=29), 1, id="the first, late"),
        pytest.param(timedelta(seconds=45), None, id="between the slots"),
        pytest.param(timedelta(seconds=60), 2, id="the second"),
        pytest.param(3 * HOUR, None, id="sent again by hand"),
        pytest.param(2 * DAY, None, id="after the plan"),
    ],
)
def test_a_time_that_fits_no_slot_is_no_attempt(age: timedelta, attempt: int | None) -> None:
    assert infer_attempt(signed_at=NOON + age, event_created_at=NOON) == attempt


@pytest.mark.spec("delivery-3")
def test_71_59_59_of_failure_do_not_disable_and_72_00_00_do() -> None:
    lit = Fuse().after(at=NOON, delivered=False)
    assert (lit.lit_at, lit.blows_at) == (NOON, NOON + 72 * HOUR)
    nearly = lit.after(at=NOON + 72 * HOUR - timedelta(seconds=1), delivered=False)
    assert nearly == lit
    assert nearly.after(at=NOON + 72 * HOUR, delivered=False).blown_at == NOON + 72 * HOUR


@pytest.mark.spec("delivery-3")
def test_a_success_clears_a_burning_fuse_but_not_a_blown_one() -> None:
    assert Fuse().blows_at is None
    lit = Fuse(lit_at=NOON)
    assert lit.after(at=NOON + 9 * DAY, delivered=True) == Fuse()
    blown = Fuse(lit_at=NOON, blown_at=NOON + 3 * DAY)
    for delivered in (True, False):
        assert blown.after(at=NOON + 9 * DAY, delivered=delivered) == blown


outcomes = st.lists(st.tuples(st.timedeltas(timedelta(), 9 * DAY), st.booleans()), max_size=12)


@pytest.mark.spec("delivery-3")
@given(outcomes)
@example([(timedelta(), False), (2 * DAY, True), (3 * DAY, False), (5 * DAY, False)])
def test_the_fuse_blows_at_the_first_failure_three_days_into_an_unbroken_run(
    outcomes: list[tuple[timedelta, bool]],
) -> None:
    fuse, expected, run = Fuse(), None, list[timedelta]()
    for age, delivered in sorted(outcomes):
        fuse = fuse.after(at=NOON + age, delivered=delivered)
        if expected is None:
            run = [] if delivered else [*run, age]
            if run and run[-1] - run[0] >= 3 * DAY:
                expected = NOON + age
    assert fuse.blown_at == expected
