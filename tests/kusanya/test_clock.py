"""Clocks: real, faster, and standing still until a test moves them."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from kusanya.clock import ManualClock, ScaledClock, SystemClock, parse_speed

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def test_the_machines_clock_is_aware_and_its_durations_only_grow() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    before = clock.monotonic()
    clock.sleep(-1)
    assert clock.monotonic() >= before


def test_two_scaled_clocks_of_one_origin_agree_and_run_ahead() -> None:
    one, other = (ScaledClock(3600, origin=NOON) for _ in range(2))
    assert abs(one.now() - other.now()) < timedelta(minutes=30)
    assert one.now() - NOON > SystemClock().now() - NOON
    for speed in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="above 0"):
            ScaledClock(speed)


@pytest.mark.anyio
async def test_a_scaled_sleep_is_short_in_real_time() -> None:
    clock = ScaledClock(1_000_000)
    began = SystemClock().monotonic()
    clock.sleep(3600)
    await clock.asleep(3600)
    assert SystemClock().monotonic() - began < 5


@pytest.mark.anyio
async def test_sleepers_wake_in_order_each_at_its_own_instant() -> None:
    clock, woken = ManualClock(NOON), list[tuple[str, datetime]]()

    async def sleeper(name: str, *waits: float) -> None:
        for seconds in waits:
            await clock.asleep(seconds)
            woken.append((name, clock.now()))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeper("late", 90))
        tasks.create_task(sleeper("twice", 30, 30))
        tasks.create_task(sleeper("cancelled", 45)).cancel()
        await asyncio.sleep(0)
        await clock.advance(100)
    seconds = [(name, (at - NOON).total_seconds()) for name, at in woken]
    assert seconds == [("twice", 30), ("twice", 60), ("late", 90)]
    assert clock.now() == NOON + timedelta(seconds=100)


@pytest.mark.anyio
async def test_a_sleep_of_nothing_needs_no_advance() -> None:
    clock = ManualClock(NOON)
    await clock.asleep(0)
    await clock.asleep(-5)
    assert clock.now() == NOON


def test_a_stepped_wall_clock_moves_no_duration() -> None:
    clock = ManualClock(NOON)
    clock.step(timedelta(hours=-3))
    assert (clock.now(), clock.monotonic()) == (NOON - timedelta(hours=3), 0.0)
    clock.sleep(60)
    assert (clock.now(), clock.monotonic()) == (NOON - timedelta(hours=2, minutes=59), 60.0)


def test_a_clock_starts_aware_and_in_utc() -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(datetime(2026, 3, 2))  # noqa: DTZ001 - the point
    eat = timezone(timedelta(hours=3))
    assert ManualClock(NOON.astimezone(eat)).now().tzinfo is UTC


@pytest.mark.parametrize(("text", "speed"), [("60x", 60.0), ("0.5X", 0.5), ("1e3x", 1000.0)])
def test_a_speed_is_a_factor(text: str, speed: float) -> None:
    assert parse_speed(text) == speed


@pytest.mark.parametrize("text", ["", "x", "60", "-1x", "0x", "nanx", "infx", "1e9x", "realx"])
def test_anything_else_is_no_speed(text: str) -> None:
    with pytest.raises(ValueError, match="a clock is"):
        parse_speed(text)
