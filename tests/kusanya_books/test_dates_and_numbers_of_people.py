"""Dates and numbers as people write them: each is spelled here from what it means, then read."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.domain.business_day import EAT
from kusanya_books.columns import DType
from kusanya_books.read.tables import dates, numbers

SWAHILI = "Januari Februari Machi Aprili Mei Juni Julai Agosti Septemba Oktoba Novemba Desemba"
MONTHS = {
    "en": [datetime(2026, month, 1, tzinfo=UTC).strftime("%B") for month in range(1, 13)],
    "sw": SWAHILI.split(),
}
ZONES = {
    **dict.fromkeys(("", "EAT", "+03:00"), EAT),
    **dict.fromkeys(("Z", " UTC"), timezone(timedelta(0))),
    "+0530": timezone(timedelta(minutes=330)),
    "-04:30": timezone(-timedelta(minutes=270)),
    "+1245": timezone(timedelta(minutes=765)),
}
NOON = datetime(2026, 3, 5, 12, tzinfo=EAT)


def column(*cells: str | None) -> Any:
    """Return a column of texts whose rows are named from 10 on."""
    index = range(10, 10 + len(cells))
    return pd.Series(list(cells), index=index, dtype=DType.TEXT.pandas)


def read(*cells: str | None, zone: str = "Africa/Dar_es_Salaam", **said: Any) -> list[Any]:
    """Return the instant of each cell, or the reason why it has none."""
    found = dates.read(column(*cells), zone=zone, **said)
    return [
        None if pd.isna(at) and pd.isna(why) else (why if pd.isna(at) else at.to_pydatetime())
        for at, why in zip(found.instants, found.reasons, strict=True)
    ]


@st.composite
def written(draw: st.DrawFn) -> tuple[str, datetime, bool]:
    """Draw a date as somebody writes it, what it means, and whether it is a whole day."""
    seconds = st.integers(0, 100 * 365 * 86_400)
    micros = st.just(0) | st.integers(0, 999_999)
    begin = datetime(2000, 1, 1, tzinfo=UTC)
    at = begin + timedelta(seconds=draw(seconds), microseconds=draw(micros))
    name = draw(st.sampled_from(MONTHS["en"] + MONTHS["sw"]))
    names = MONTHS["en"] if name in MONTHS["en"] else MONTHS["sw"]
    month = names[at.month - 1]
    if draw(st.booleans()):
        month = month[:3]
    day, year, short = f"{at.day}", f"{at.year}", f"{at.year % 100:02}"
    form = draw(st.sampled_from(["ymd", "named", "named-short", "american", "compact"]))
    text = {
        "ymd": f"{year}{draw(st.sampled_from('-/.'))}{at.month:02}-{at.day:02}",
        "named": f"{draw(st.sampled_from(['', 'Thu, ']))}{day} {month} {year}",
        "named-short": f"{day}-{month.upper()}-{short}",
        "american": f"{month} {day}, {year}",
        "compact": f"{year}{at.month:02}{at.day:02}",
    }[form]
    clock = draw(st.sampled_from(["", "hm", "hms", "fraction", "half", "half-s"]))
    if not clock:
        return text, datetime(at.year, at.month, at.day, tzinfo=EAT), True
    half, hour = "PM" if at.hour >= 12 else "a.m.", at.hour % 12 or 12
    spelled, kept = {
        "hm": (f"{at.hour:02}:{at.minute:02}", at.replace(second=0, microsecond=0)),
        "hms": (f"{at:%H:%M:%S}", at.replace(microsecond=0)),
        "fraction": (f"{at:%H:%M:%S}.{at.microsecond:06}", at),
        "half": (f"{hour}:{at.minute:02} {half}", at.replace(second=0, microsecond=0)),
        "half-s": (f"{hour}:{at:%M:%S} {half}", at.replace(microsecond=0)),
    }[clock]
    zone = draw(st.sampled_from(sorted(ZONES)))
    means = kept.replace(tzinfo=ZONES[zone])
    whole = zone == "" and (kept.hour, kept.minute, kept.second, kept.microsecond) == (0, 0, 0, 0)
    return f"{text}{draw(st.sampled_from(['T', ' ', ', ']))}{spelled}{zone}", means, whole


@given(st.lists(written(), min_size=1, max_size=4))
def test_every_spelling_of_a_date_is_that_date(cells: list[tuple[str, datetime, bool]]) -> None:
    texts = [text for text, _, _ in cells]
    assert read(*texts) == [at for _, at, _ in cells]
    found = dates.read(column(*texts), zone="Africa/Dar_es_Salaam")
    assert found.days_only is all(whole for _, _, whole in cells)
    assert found.day_first is None


@pytest.mark.parametrize(
    ("cell", "days_only"),
    [("2026-03-05 00:00", True), ("2026-03-05", True), ("2026-03-05 00:01", False)],
)
def test_a_column_of_midnights_is_one_of_days(cell: str, *, days_only: bool) -> None:
    assert dates.read(column(cell, "2026-03-06"), zone="UTC").days_only is days_only
    assert not dates.read(column("2026-03-05 00:00Z", None), zone="UTC").days_only


@pytest.mark.parametrize(
    "cell",
    [
        *("2026-03-05 24:00", "2026-03-05 23:60", "2026-03-05 23:59:60", "2026-03-05 99:00"),
        *("2026-03-05 0:30 PM", "2026-03-05 13:30 am", "2026-02-30", "2026-13-01", "5 Mwezi 2026"),
        *("yesterday", "2026", "5/3", "2026-03-05 12:00 maybe"),
        *("0001-01-01", "0000-00-00", "0026-03-05", "0100-03-05", "1899-12-31", "5 March 0026"),
        *("9999-12-31", "31/12/9999", "9999-12-31T23:59:59Z"),
    ],
)
def test_what_no_calendar_and_no_clock_shows_is_no_date(cell: str) -> None:
    assert read(cell, "2026-03-05") == [dates.NO_DATE, datetime(2026, 3, 5, tzinfo=EAT)]


@pytest.mark.parametrize(
    ("cell", "at"),
    [
        *(
            ("2026-03-05 00:00:59", NOON.replace(hour=0, second=59)),
            ("2026-03-05 12:59", NOON.replace(minute=59)),
        ),
        ("2026-03-05 1:00 pm", NOON.replace(hour=13)),
        ("2026-03-05 12:00 AM", NOON.replace(hour=0)),
        ("2026-03-05 12:00 PM", NOON),
        ("2026-03-05 1:05 a.m.", NOON.replace(hour=1, minute=5)),
        ("2026-03-05 23:00", NOON.replace(hour=23)),
        ("2026-03-05 12:00:00,5", NOON.replace(microsecond=500_000)),
        ("2026-03-05 12:00:00.1234567", NOON.replace(microsecond=123_456)),
        ("5 Sept 99", datetime(2099, 9, 5, tzinfo=EAT)),
        ("1900-01-01 03:00Z", datetime(1900, 1, 1, 3, tzinfo=UTC)),
        ("5 Dis 00", datetime(2000, 12, 5, tzinfo=EAT)),
    ],
)
def test_clocks_and_years_at_their_ends(cell: str, at: datetime) -> None:
    assert read(cell) == [at]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Africa/Dar_es_Salaam"])
def test_what_a_cell_says_of_its_zone_stands_above_what_the_mapping_says(zone: str) -> None:
    for cell in ("2026-03-05 12:00 EAT", "2026-03-05 12:00+03:00", "2026-03-05 09:00Z"):
        assert read(cell, zone=zone) == [NOON]


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, tzinfo=EAT)


@pytest.mark.parametrize(
    ("cells", "found", "first"),
    [
        (["05/06/2026", "13/06/2026"], [day(6, 5), day(6, 13)], True),
        (["05/06/2026", "06/13/2026"], [day(5, 6), day(6, 13)], False),
        (["05/06/2026", "12/06/2026"], [dates.EITHER, dates.EITHER], None),
        (["05/06/2026", "06/12/2026"], [dates.EITHER, dates.EITHER], None),
        (["07/07/2026"], [day(7, 7)], None),
        (
            ["06/13/2026", "06/14/2026", "13/06/2026", "2026-06-13", None, "June"],
            [
                *(day(6, 13), day(6, 14), "is written another way than row 10"),
                *(day(6, 13), None, dates.NO_DATE),
            ],
            False,
        ),
        (
            ["13/06/2026", "14/06/2026", "06/13/2026", "05/12/2026"],
            [
                *(day(6, 13), day(6, 14), "is written another way than row 10"),
                day(12, 5),
            ],
            True,
        ),
        (
            ["06/13/2026", "06/14/2026", "13/06/2026", "12/05/2026"],
            [
                *(day(6, 13), day(6, 14), "is written another way than row 10"),
                day(12, 5),
            ],
            False,
        ),
        (["12/13/2026"], [day(12, 13)], False),
        (["13/12/2026"], [day(12, 13)], True),
        (["05/06/2026", None], [dates.EITHER, None], None),
        (
            ["05/06/2026", "13/06/2026", "14/06/2026", "06/13/2026"],
            [day(6, 5), day(6, 13), day(6, 14), "is written another way than row 11"],
            True,
        ),
        (
            ["05/06/2026", "13/06/2026", "06/14/2026", "06/13/2026", "01/12/2026"],
            [day(5, 6), "is written another way than row 12", day(6, 14), day(6, 13), day(1, 12)],
            False,
        ),
        (
            ["13/06/2026", "06/13/2026"],
            [day(6, 13), "is written another way than row 10"],
            True,
        ),
        (["13/14/2026", "05/06/2026"], [dates.EITHER, dates.EITHER], None),
    ],
)
def test_one_column_has_one_order_which_a_day_above_12_proves(
    cells: list[str | None], found: list[Any], first: bool | None
) -> None:
    assert read(*cells) == found
    assert dates.read(column(*cells), zone="UTC").day_first is first


def test_the_mapping_says_the_order_where_no_day_does() -> None:
    assert read("05/06/2026", day_first=True) == [day(6, 5)]
    assert read("05/06/2026", day_first=False) == [day(5, 6)]
    assert read("05/06/2026", "13/06/2026", day_first=False) == [day(5, 6), dates.NO_DATE]


@pytest.mark.parametrize(
    ("cells", "was", "is_swapped"),
    [
        (["13/05/2026", "2026-12-05"], [False, True], True),
        (["05/13/2026", "2026-12-05"], [False, True], True),
        (["13/05/2026", "2026-12-05", "2026-05-12"], [False, True, True], True),
        (["13/05/2026", "2026-12-05", "2026-05-13"], [False, True, True], False),
        (["12/05/2026", "13/05/2026", "2026-12-05"], [False, False, True], False),
        (["2026-12-05"], [True], False),
        (["13/05/2026", "2026-12-05"], [False, False], False),
        (["13/05/2026", None, "2026-12-05"], [False, True, True], True),
    ],
)
def test_a_spreadsheet_that_exchanged_day_and_month_is_noticed(
    cells: list[str | None], was: list[bool], is_swapped: bool
) -> None:
    flags = pd.Series(was)
    found = read(*cells, was_date=flags)
    dated = [at for at, flag, cell in zip(found, was, cells, strict=True) if flag and cell]
    assert all(at == dates.SWAPPED for at in dated) is (is_swapped or not dated)
    turned = read("13/05/2026", "2026-12-05", was_date=pd.Series([False, True]), swapped=True)
    assert turned == [day(5, 13), day(5, 12)]
    right = read("13/05/2026", "2026-12-05", was_date=pd.Series([False, True]), swapped=False)
    assert right == [day(5, 13), day(12, 5)]


@pytest.mark.parametrize(
    ("cell", "at"),
    [
        ("46086", NOON.replace(hour=0)),
        ("46086.5", NOON),
        ("46086.999988", NOON.replace(hour=23, minute=59, second=59)),
        ("20000", datetime(1954, 10, 3, tzinfo=EAT)),
        ("19999", dates.NO_DATE),
        ("79999", datetime(2119, 1, 10, tzinfo=EAT)),
        ("80000", dates.NO_DATE),
        ("20260305", NOON.replace(hour=0)),
        ("2026-03-05", NOON.replace(hour=0)),
    ],
)
def test_a_number_of_a_workbook_is_a_day_since_its_first(cell: str, at: Any) -> None:
    [found] = read(cell, zone="Africa/Nairobi", was_number=pd.Series([True]))
    assert found == at
    if cell.isdigit() and len(cell) == 5:
        assert read(cell) == [dates.NO_DATE], "as a text it is none"


def test_months_in_swahili_are_english_where_a_form_spells_them() -> None:
    texts = column("5 Machi 2026", "05-mac-26", "Agosti", "ags 5", "Jumatatu 5 June")
    assert dates.in_english(texts).tolist() == [
        "5 March 2026", "05-Mar-26", "August", "Aug 5", "Jumatatu 5 June",
    ]  # fmt: skip


# --- numbers ---------------------------------------------------------------------------------

NOT_WHOLE = "is not a whole number"
TWO_SIGNS = "has two signs"
DIGITS = "9" * numbers.DIGITS_MAX


def of_numbers(*cells: str | None, **said: Any) -> list[tuple[Any, ...]]:
    """Return value, currency and reason of each cell."""
    found = numbers.read(column(*cells), **said)
    return [
        tuple(None if pd.isna(one) else one for one in row)
        for row in zip(found.whole, found.currencies, found.reasons, strict=True)
    ]


@pytest.mark.parametrize(
    ("cell", "value", "currency", "reason"),
    [
        ("5,000", 5_000, None, None),
        ("5 000", 5_000, None, None),
        ("5'000", 5_000, None, None),
        ("5\u00a0000", 5_000, None, None),
        ("5,000.00", 5_000, None, None),
        ("5000.0", 5_000, None, None),
        ("1,234,567", 1_234_567, None, None),
        ("5000/=", 5_000, None, None),
        ("5,000/-", 5_000, None, None),
        ("(5,000)", -5_000, None, None),
        ("-5,000", -5_000, None, None),
        ("5,000-", -5_000, None, None),
        ("+5,000", 5_000, None, None),
        ("\u22125,000", -5_000, None, None),
        ("(-5,000)", None, None, TWO_SIGNS),
        ("-5,000-", None, None, TWO_SIGNS),
        ("- TZS -5,000", None, "TZS", TWO_SIGNS),
        ("(5,000", None, None, NOT_WHOLE),
        ("5,000)", None, None, NOT_WHOLE),
        ("TZS 5,000", 5_000, "TZS", None),
        ("Tsh. 5,000", 5_000, "TZS", None),
        ("5,000 KES", 5_000, "KES", None),
        ("Sh 5,000", 5_000, None, None),
        ("TZS -5,000", -5_000, "TZS", None),
        ("TZS 5,000 TZS", None, None, NOT_WHOLE),
        ("abc 5,000", None, None, NOT_WHOLE),
        ("5,000 abc", None, None, NOT_WHOLE),
        ("5,000.50", None, None, NOT_WHOLE),
        ("5.000", None, None, f"has . for thousands or a fraction: {numbers.SAY}"),
        ("TZS 5.000", None, "TZS", f"has . for thousands or a fraction: {numbers.SAY}"),
        ("1,23", None, None, NOT_WHOLE),
        ("", None, None, NOT_WHOLE),
        ("five", None, None, NOT_WHOLE),
        (f"{DIGITS}.0", int(DIGITS), None, None),
        (f"9{DIGITS}.0", None, None, NOT_WHOLE),
        ("0.0", 0, None, None),
        ("-0", 0, None, None),
        (f"{'x' * 200}", None, None, NOT_WHOLE),
        (f"{'x' * 201}", None, None, "has more than 200 characters: no number is so long"),
        (f"1{' ' * 197}.0", None, None, NOT_WHOLE),
    ],
)
def test_every_spelling_of_a_number_is_that_number_or_has_a_reason(
    cell: str, value: int | None, currency: str | None, reason: str | None
) -> None:
    assert of_numbers(cell, "12", None) == [
        (value, currency, reason), (12, None, None), (None, None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["1.234,50"], "."),
        (["1,234.50"], ","),
        (["1.234.567"], "."),
        (["1,234,567"], ","),
        (["1.234"], None),
        (["1,234"], None),
        (["1.234.567", "1,234,567"], None),
        (["1.234.567", "1,234,567", "1.234,5"], "."),
        (["1.234.567", "1,234,567", "1,234.5"], ","),
        (["12"], None),
        ([], None),
        ([f"{'1,234,567':>250}"], ","),
        ([f"{'1' * 190},234,567,890,123"], None),
    ],
)
def test_a_column_proves_which_mark_its_thousands_have(cells: list[str], mark: str | None) -> None:
    assert numbers.mark_of([column(*cells), column(None)]) == mark
    if mark is not None:
        other = {".": "5.000", ",": "5,000"}[mark]
        assert of_numbers(*cells, other)[-1] == (5_000, None, None)
        against = {".": "5,000", ",": "5.000"}[mark]
        assert of_numbers(*cells, against)[-1][0] is None


def test_the_longest_cell_that_is_a_number_still_tells_the_mark() -> None:
    longest = f"Sh12{',345' * 49}"
    assert len(longest) == 200
    assert numbers.mark_of([column(longest)]) == ","
    assert numbers.mark_of([column(f"{longest}-")]) is None


def test_the_mapping_may_say_the_mark() -> None:
    assert of_numbers("5.000", thousands=".") == [(5_000, None, None)]
    assert of_numbers("5.000,00", thousands=".") == [(5_000, None, None)]
    assert of_numbers("5,000", thousands=".")[0][0] is None
    assert of_numbers("5 000,00", thousands=" ")[0] == (5_000, None, None)


def test_a_cell_that_was_a_number_has_its_decimal_point() -> None:
    was = pd.Series([True, True, False, True, False, True])
    found = of_numbers("5.000", "-7", "5,000", "12", "-8", None, was_number=was)
    assert found == [
        (None, None, NOT_WHOLE), (-7, None, None), (5_000, None, None), (12, None, None),
        (-8, None, None), (None, None, None),
    ]  # fmt: skip
    none = pd.Series([False, False])
    assert of_numbers("-7", "5,000", was_number=none) == [(-7, None, None), (5_000, None, None)]


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("/=", "TZS"),
        ("Tsh", "TZS"),
        ("TShs.", "TZS"),
        ("tsh/=", "TZS"),
        ("T Z S", "TZS"),
        ("Ksh", "KES"),
        ("USh", "UGX"),
        ("usd", "USD"),
        ("Sh", "Sh"),
        ("gold", "gold"),
    ],
)
def test_a_currency_has_one_code_by_any_of_its_names(word: str, code: str) -> None:
    assert numbers.currency_of(word) == code
