"""Values become the same words everywhere, and nothing from outside gets through raw."""

from datetime import UTC, datetime, timedelta

import pytest

from kusanya_console.lists.figures import bars
from kusanya_console.ui.format import (
    Look,
    TimeFormat,
    cell,
    fit,
    fit_id,
    format_clock,
    format_duration,
    format_gap,
    format_instant,
    format_money,
    format_percent,
    text,
    wrapped,
)
from kusanya_console.ui.vocabulary import channel, event_type, reason, status

NOW = datetime(2026, 3, 4, 12, 24, 7, tzinfo=UTC)
LOOK = Look(NOW)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (NOW - timedelta(seconds=1), "15:24:06"),
        (datetime(2026, 3, 3, 21, 0, tzinfo=UTC), "00:00:00"),
        (datetime(2026, 3, 3, 20, 59, 59, tzinfo=UTC), "Tue 23:59"),
        (NOW + timedelta(hours=20), "Thu 11:24"),
        (datetime(2025, 11, 19, 8, 0, tzinfo=UTC), "19 Nov 25"),
    ],
)
def test_an_instant_is_an_eat_time_and_another_day_is_named(at: datetime, said: str) -> None:
    assert format_instant(at, LOOK) == said


def test_the_clock_names_its_zone() -> None:
    assert format_clock(LOOK) == "Wed 15:24:07 EAT"
    assert format_clock(Look(NOW, TimeFormat.UTC)) == "Wed 12:24:07 UTC"


def test_an_age_counts_from_now() -> None:
    assert (
        format_instant(NOW - timedelta(minutes=3, seconds=10), Look(NOW, TimeFormat.AGE)) == "3 min"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0 s"), (59, "59 s"), (190, "3 min 10 s"), (5_760, "1 h 36 min"), (188_400, "2 d 4 h")],
)
def test_a_span_is_written_in_two_units(seconds: int, said: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == said


def test_a_short_gap_is_written_in_milliseconds() -> None:
    assert format_gap(timedelta(milliseconds=182)) == "+182 ms"
    assert format_gap(timedelta(seconds=20)) == "+20 s"


def test_money_is_grouped_and_a_foreign_currency_stands_in_its_cell() -> None:
    assert format_money(85_000, "TZS") == "TZS 85,000"
    assert format_money(85_000, "TZS", expected="TZS") == "85,000"
    assert format_money(12, "USD", expected="TZS") == "USD 12"


def test_a_share_is_rounded_down_so_that_100_means_all() -> None:
    assert format_percent(1284, 1344) == "95.5 %"
    assert format_percent(9_999, 10_000) == "99.9 %"
    assert format_percent(0, 0) == "—"


def test_text_fills_exactly_its_cells_also_where_letters_are_wide() -> None:
    assert fit("漢字カナ", 5) == "漢字…"
    assert fit("7", 3, right=True) == "  7"
    assert fit_id("evt_4kQ81mZ7pXw2", 12) == "evt_…mZ7pXw2"
    assert fit_id("evt_1", 12) == "evt_1       "


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("created", "○ created"),
        ("succeeded", "● succeeded"),
        ("failed", "✕ failed"),
        ("expired", "⊘ expired"),
        ("contradiction", "≠ contradiction"),
        ("on_hold", "? on_hold"),
        ("\x1b[31m", "? ␛[31m"),
    ],
)
@pytest.mark.spec("states")
def test_a_status_is_glyph_and_word_and_an_unknown_one_is_kept(word: str, said: str) -> None:
    assert status(word)[0] == said


def test_channels_types_and_reasons_have_names_and_unknown_ones_are_kept() -> None:
    assert channel("TIGO_TZ") == "Mixx by Yas"
    assert channel("TTCL_TZ") == "T-Pesa"
    assert channel("NEW_TZ") == "NEW_TZ"
    assert event_type("collection.expired") == "expired"
    assert event_type("collection.refunded") == "collection.refunded"
    assert reason("no_match") == "the digest matches none of this endpoint's secrets"
    assert reason("other") == "other"


def test_markup_in_outside_text_stays_text() -> None:
    shown = text([(cell("[@click=app.quit]pay[/]"), cell("\x1b]52;c;QQ\x07"))])
    assert shown.plain == "[@click=app.quit]pay[/]␛]52;c;QQ␇"
    assert all(
        not format_duration.style or isinstance(format_duration.style, str)
        for format_duration in shown.spans
    )


def test_bars_grow_with_the_counts_and_the_highest_is_full() -> None:
    assert bars((0, 1, 7, 14)) == " ▁▄▇"
    assert bars((0, 0)) == "▁▁"


def test_a_sentence_is_wrapped_by_cells_and_a_long_word_is_split() -> None:
    lines = wrapped("漢字 カナ 漢字 kana", 12, label="say", indent=0)
    assert ["".join(piece for piece, _ in line).rstrip() for line in lines] == [
        "say         漢字 カナ",
        "            漢字 kana",
    ]
    assert [line[1][0] for line in wrapped("W" * 30, 12)] == ["W" * 12, "W" * 12, "W" * 6]
