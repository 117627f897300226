"""What people see: escaped, marked, complete or saying what is left out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, DType, Schema
from kusanya_books.judge import failures, fees, report
from kusanya_books.match import ledger
from kusanya_books.present import chart, stories, views
from kusanya_books.read import load
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.sample import month as sample
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period

LIBRARY = Path(__file__).parents[2] / "lib" / "kusanya_books"
HOSTILE = '<img src=x onerror=alert(1)> & "q"\x1b[31m\u202e \u0000'
Make = Callable[..., pd.DataFrame]


def one_column(name: str, *values: str | None) -> pd.DataFrame:
    return columns.frame(Schema("one", {name: DType.TEXT}), {name: list(values)})


def test_markup_in_a_cell_a_header_and_a_title_is_shown_and_not_run() -> None:
    shown = views.table(one_column(HOSTILE, HOSTILE), HOSTILE).to_html()
    assert "<img" not in shown
    assert shown.count("&lt;img src=x") == 3
    assert not {"\x1b", "\u202e", "\x00"} & set(shown)


def test_money_has_separators_and_missing_values_are_a_dash() -> None:
    frame = columns.frame(
        Schema("t", {"amount": DType.WHOLE, "share": DType.SHARE, "day": DType.DAY}),
        {"amount": [2**53 + 1, None], "share": [0.1234, None], "day": ["2026-03-05", None]},
    )
    shown = views.table(frame, "t").to_html()
    assert "9,007,199,254,740,993" in shown
    assert "12.3%" in shown
    assert ">2026-03-05<" in shown
    assert shown.count(">–<") == 3


def test_a_table_says_how_many_rows_it_leaves_out() -> None:
    frame = one_column("name", *["x"] * 12)
    assert "the first 5 of 12 rows" in views.table(frame, "t", rows=5).to_html()
    assert "rows" not in views.table(frame, "t", rows=12).to_html()


def test_the_same_table_is_the_same_bytes() -> None:
    frame = one_column("name", "x")
    assert views.table(frame, "t").to_html() == views.table(frame, "t").to_html()


@pytest.mark.parametrize("rows", [0, 1, 400])
def test_charts_are_pictures_for_any_month_and_the_same_bytes_twice(rows: int) -> None:
    frame, march = sample.collections(rows=rows), period("2026-03")
    for draw, table in (
        (chart.daily, fees.daily(frame, period=march)),
        (chart.pareto, failures.pareto(frame, period=march)),
    ):
        picture = draw(table).png()
        assert picture.startswith(b"\x89PNG")
        assert picture == draw(table).png()


def test_two_currencies_and_two_modes_are_never_in_one_sum(collections_of: Make) -> None:
    march = period("2026-03")
    frame = collections_of({}, {"currency": "KES"}, {"mode": "test"}, {"currency": "KES"})
    prices = fees.tariff(frame, period=march)
    drawn: Any = chart.bands(fees.expected(frame, period=march, tariff=prices))
    assert sorted(bar.get_height() for axes in drawn.axes for bar in axes.patches) == [18, 18, 36]
    labels = [axes.get_ylabel().replace("\n", " ") for axes in drawn.axes]
    assert labels == ["MPESA_TZ KES, live", "MPESA_TZ TZS, live", "MPESA_TZ TZS, test"]
    days = chart.daily(fees.daily(frame, period=march))
    assert [axes.get_ylabel() for axes in days.axes] == ["KES, live", "TZS, live", "TZS, test"]
    failed = frame.assign(status=frame["status"].replace("succeeded", "failed"))
    codes = chart.pareto(failures.pareto(failed, period=march))
    named = [label.get_text() for label in codes.axes[0].get_yticklabels()]
    assert named == [f"(no code) · {part}" for part in ("live · KES", "live · TZS", "test · TZS")]
    with pytest.raises(ValueError, match="choose one mode"):
        chart.hours(failures.by_hour(frame, period=march))


def test_an_hour_of_few_attempts_has_no_colour(collections_of: Make) -> None:
    frame = collections_of(*[{"status": "failed"}] * 3)
    for small_n, coloured in ((3, 1), (4, 0)):
        hours = failures.by_hour(frame, period=period("2026-03"), small_n=small_n)
        drawn: Any = chart.hours(hours)
        (image,) = drawn.axes[0].images
        shown = pd.DataFrame(image.get_array().filled(float("nan")))
        assert shown.notna().to_numpy().sum() == coloured


def test_a_band_without_a_price_has_no_mark_of_the_tariff(collections_of: Make) -> None:
    march = period("2026-03")
    frame = collections_of({}, {"amount": 50})
    rule = fees.tariff(frame, period=march).assign(low=pd.array([1_000], dtype="Int64"))
    drawn: Any = chart.bands(fees.expected(frame, period=march, tariff=rule))
    (axes,) = drawn.axes
    assert [bar.get_height() for bar in axes.patches] == [18, 18]
    (marks,) = axes.lines
    assert list(marks.get_xdata()) == [1]


def test_without_a_ledger_the_picture_of_ages_says_so() -> None:
    assert chart.ages(None).png().startswith(b"\x89PNG")


def test_breaks_are_read_with_what_they_mean_and_the_columns_that_matter() -> None:
    month = sample_faults.month(rows=1_200)
    found = ledger.match(month.collections, month.ledger, period=month.period)
    shown = views.leg(found, "rows", "Breaks").to_html()
    assert "booked twice" in shown
    assert "Delete the second line." in shown
    assert "not_billable" not in shown
    names = list(views.brief(found.rows).columns)
    assert names[:2] == ["break_code", "meaning"]
    assert {"suggested_action", "at_stake", "age_days"} < set(names)
    assert len(names) == 12
    assert "0–1 days" in views.leg(found, "ageing", "Ages").to_html()


def test_hostile_text_in_a_chart_is_neither_mathematics_nor_an_error(collections_of: Make) -> None:
    frame = collections_of(
        {"status": "failed", "failure_code": r"$\frac{1}{", "currency": "$x^$"},
        {"status": "failed", "failure_code": "𓀀\x1b[0m", "currency": "$x^$"},
    )
    table = failures.pareto(frame, period=period("2026-03"))
    assert chart.pareto(table).png().startswith(b"\x89PNG")
    daily = fees.daily(frame, period=period("2026-03"))
    assert chart.daily(daily).png().startswith(b"\x89PNG")


def test_tables_are_made_in_one_room_only() -> None:
    for path in LIBRARY.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert ".style" not in text or path.name == "views.py", path.name
        assert "allow_html" not in text
        assert "to_excel" not in text


def test_an_empty_frame_is_a_table_with_headers() -> None:
    shown = views.table(columns.empty(COLLECTIONS), "none").to_html()
    assert "business day" in shown
    assert "<td" not in shown


def test_a_table_to_sort_escapes_its_text_and_leads_to_the_stories_that_there_are() -> None:
    frame = pd.DataFrame(
        {
            "collection_id": pd.array(["col_1", "</script><b>"], dtype=DType.TEXT.pandas),
            "amount": pd.array([1_000, None], dtype="Int64"),
        }
    )
    shown = views.sortable(frame, "<i>Breaks</i>", linked=["col_1", "</script><b>"])
    assert isinstance(shown, views.SortableTable)
    page = shown._repr_html_()
    assert "&lt;i&gt;Breaks" in page
    assert "</script><b>" not in page
    assert "story-col_1" in page
    assert shown.numbers == {"amount"}
    assert shown.frame["amount"].tolist() == ["1,000", ""]
    plain = views.sortable(frame, "t")
    assert isinstance(plain, views.SortableTable)
    assert "story-" not in plain._repr_html_()


def test_a_table_to_sort_says_where_it_was_cut() -> None:
    frame = pd.DataFrame({"amount": pd.array([3, 2, 1], dtype="Int64")})
    whole, cut = (views.sortable(frame, "Breaks", rows=rows) for rows in (3, 2))
    assert isinstance(whole, views.SortableTable)
    assert isinstance(cut, views.SortableTable)
    assert (whole.title, len(whole.frame)) == ("Breaks", 3)
    assert (cut.title, len(cut.frame)) == ("Breaks · the first 2 of 3 rows", 2)


@pytest.mark.merge
def test_a_story_has_the_facts_of_every_side_and_its_text_is_escaped() -> None:
    month = sample_faults.month(seed=1, rows=900)
    parts = {name: getattr(month, name) for name in ("collections", "other_mode", "intents")}
    plain = msgspec.structs.replace(
        load.inputs(CloseRequest(mode="live", period="2020-01")), **parts
    )
    made = report.report(
        msgspec.structs.replace(
            plain, ledger=month.ledger, period=month.period, judged_on=month.period.last
        )
    )
    found = stories.of(made)
    late = made.items[made.items["break_code"] == "late_success"].iloc[0]
    rows = found.facts[late["collection_id"]]
    assert [what for _, what, _ in rows] == [
        *("asked for", "succeeded", "in the books", "paid, the books say not"),
    ]
    page = stories.Stories({"<b>": [(None, "<i>", "<script>")]}).to_html()
    assert "<script>" not in page
    assert 'id="story-b"' in page
