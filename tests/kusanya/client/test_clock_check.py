"""How far our clock is from the service's, by the dates of its answers."""

from datetime import timedelta
from email.utils import format_datetime

import pytest

from kusanya.client.clock_check import ClockCheck
from kusanya.client.effects import Failure, Response
from kusanya.clock import ManualClock


def answered(
    clock: ManualClock, behind: timedelta, *more: tuple[bytes, bytes], date: str | None = None
) -> Response:
    text = date or format_datetime((clock.now() + behind).replace(microsecond=0), usegmt=True)
    return Response(status=200, headers=((b"Date", text.encode()), *more), body=b"{}")


@pytest.mark.parametrize("seconds", [-400, -30, 0, 45, 3600])
def test_the_offset_is_good_to_a_second(seconds: int) -> None:
    clock = ManualClock()
    check = ClockCheck(clock)
    check.note(answered(clock, timedelta(seconds=seconds)), took_s=0.4)
    assert check.offset is not None
    assert abs(check.offset.total_seconds() - seconds) <= 1


def test_one_answer_that_is_wrong_changes_nothing() -> None:
    clock = ManualClock()
    check = ClockCheck(clock)
    for behind in (0, 0, 5_000):
        check.note(answered(clock, timedelta(seconds=behind)), took_s=0.0)
    assert check.offset == timedelta(seconds=0.5)


def test_what_says_nothing_about_now_is_left_out() -> None:
    clock = ManualClock()
    clock.sleep(100)
    check = ClockCheck(clock)
    check.note(Failure(left=True, why="cut"), took_s=0.1)
    check.note(Response(status=200, headers=(), body=b"{}"), took_s=0.1)
    check.note(answered(clock, timedelta(hours=1)), took_s=6.0)
    check.note(answered(clock, timedelta(hours=1), (b"Age", b"3600")), took_s=0.1)
    check.note(answered(clock, timedelta(), date="yesterday"), took_s=0.1)
    assert check.offset is None
    assert check.is_older_than(10)
    check.note(answered(clock, timedelta()), took_s=0.1)
    clock.sleep(11)
    assert check.is_older_than(10)
    assert not check.is_older_than(11)
