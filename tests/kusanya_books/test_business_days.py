"""The business day turns at 21:00Z, moved by the cutoff, whatever zone the process is in."""

import time
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given
from hypothesis.strategies import integers, times

from kusanya.domain.business_day import EAT
from kusanya_books.request.days import (
    Period,
    business_day,
    business_days,
    cutoff,
    format_cutoff,
    month_of,
    named_period,
    period,
)


@pytest.mark.parametrize(
    ("instant", "turn", "day"),
    [
        ("2026-03-04T20:59:59.999999+00:00", "00:00", "2026-03-04"),
        ("2026-03-04T21:00:00+00:00", "00:00", "2026-03-05"),
        ("2026-03-04T22:59:59.999999+00:00", "02:00", "2026-03-04"),
        ("2026-03-04T23:00:00+00:00", "02:00", "2026-03-05"),
        ("2026-03-04T17:59:59.999999+00:00", "-03:00", "2026-03-04"),
        ("2026-03-04T18:00:00+00:00", "-03:00", "2026-03-05"),
    ],
)
def test_the_day_turns_at_midnight_in_east_africa_moved_by_the_cutoff(
    instant: str, turn: str, day: str
) -> None:
    shift = cutoff(turn)
    moment = datetime.fromisoformat(instant)
    column = pd.Series([moment]).astype("datetime64[us, UTC]")
    assert business_day(moment, cutoff=shift) == date.fromisoformat(day)
    assert business_days(column, cutoff=shift)[0] == pd.Timestamp(day)


@given(integers(-8 * 365, 230 * 365), times(), integers(-720, 720))
def test_one_instant_and_a_column_of_them_agree_with_the_zone_database(
    days: int, clock: clock_time, minutes: int
) -> None:
    moment = datetime.combine(date(1970, 1, 1) + timedelta(days=days), clock, UTC)
    shift = timedelta(minutes=minutes)
    column = pd.Series([moment]).astype("datetime64[us, UTC]")
    asked = (moment.astimezone(ZoneInfo("Africa/Dar_es_Salaam")) - shift).date()
    assert business_day(moment, cutoff=shift) == asked
    assert business_days(column, cutoff=shift)[0].date() == asked


def test_the_zone_of_the_process_does_not_move_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        late = pd.Series([datetime(2026, 3, 4, 21, tzinfo=UTC)]).astype("datetime64[us, UTC]")
        assert business_days(late)[0] == pd.Timestamp("2026-03-05")
        assert business_day(datetime(2026, 3, 4, 21, tzinfo=UTC)) == date(2026, 3, 5)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_missing_instant_has_no_day() -> None:
    column = pd.Series([None]).astype("datetime64[us, UTC]")
    assert business_days(column).isna().all()
    assert business_days(column).dtype == "datetime64[us]"


def test_a_month_a_day_and_a_span_are_periods() -> None:
    assert period("2026-12") == Period(first=date(2026, 12, 1), last=date(2026, 12, 31))
    assert period("2028-02").last == date(2028, 2, 29)
    assert period("2026-03-05") == Period(first=date(2026, 3, 5), last=date(2026, 3, 5))
    assert period("2026-03-05..2026-04-01").last == date(2026, 4, 1)
    assert month_of(date(2026, 3, 9)) == period("2026-03")


@pytest.mark.parametrize("text", ["", "March", "2026-13", "2026-3", "2026-03-05..2026-03-01"])
def test_what_is_no_period_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="period"):
        period(text)


@pytest.mark.parametrize("text", ["", "2", "12:01", "-13:00", "00:60", "noon"])
def test_what_is_no_cutoff_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cutoff"):
        cutoff(text)


@pytest.mark.parametrize("text", ["00:00", "02:30", "-03:00", "-00:15"])
def test_a_cutoff_is_shown_as_it_is_read(text: str) -> None:
    assert format_cutoff(cutoff(text)) == text


def test_a_period_begins_and_ends_where_its_days_do() -> None:
    march = period("2026-03", cutoff=cutoff("02:00"))
    assert march.begins == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert march.ends == datetime(2026, 3, 31, 23, tzinfo=UTC)
    assert march.begins.astimezone(EAT).hour == 2
    assert business_day(march.begins, cutoff=march.cutoff) == march.first
    before = march.begins - timedelta(microseconds=1)
    assert business_day(before, cutoff=march.cutoff) < march.first


@pytest.mark.parametrize(
    ("word", "now", "first", "last"),
    [
        ("yesterday", "2026-03-01T20:59:59Z", "2026-02-28", "2026-02-28"),
        # 21:00Z is midnight in East Africa.
        ("yesterday", "2026-03-01T21:00:00Z", "2026-03-01", "2026-03-01"),
        ("last-week", "2026-03-02T09:00:00Z", "2026-02-23", "2026-03-01"),
        ("last-week", "2026-03-08T09:00:00Z", "2026-02-23", "2026-03-01"),
        ("Last-Month", "2026-03-31T09:00:00Z", "2026-02-01", "2026-02-28"),
        ("last-month", "2026-12-31T21:00:00Z", "2026-12-01", "2026-12-31"),
    ],
)
def test_a_named_period_counts_from_the_business_day(
    word: str, now: str, first: str, last: str
) -> None:
    found = named_period(word, now=datetime.fromisoformat(now))
    assert found == Period(first=date.fromisoformat(first), last=date.fromisoformat(last))
    assert named_period("2026-03", now=datetime.fromisoformat(now)) is None
