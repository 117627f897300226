"""One month's books, written in as many ways as programs and people have, are one frame."""

import io
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya_books.columns import LEDGER
from kusanya_books.read import files
from kusanya_books.read.mapping import Layout

xlsxwriter: Any = import_module("xlsxwriter")
Cells = list[list[Any]]
MONTH = (
    ("A-1", 5_000, date(2026, 3, 13)),
    ("A-2", 1_250_000, date(2026, 3, 5)),
    ("A-3", 750, date(2026, 5, 30)),
    ("00417", 12_000, date(2026, 10, 1)),
)
ENGLISH = ("reference", "amount", "currency", "booked_at")
SWAHILI = ("Kumbukumbu", "Kiasi", "Sarafu", "Tarehe")
SAID = ("Invoice No", "Paid (gross)", "Ccy", "When")
MAPPED = dict(zip(ENGLISH, SAID, strict=True))
MONTHS = {3: "Machi", 5: "Mei", 10: "Oktoba"}
SHORT = {3: "Mac", 5: "Mei", 10: "Okt"}
AMERICAN: dict[int, str] = {3: "Mar", 5: "May", 10: "Oct"}


def iso(day: date) -> str:
    return day.isoformat()


def rows(
    headers: Sequence[str] = ENGLISH,
    *,
    amount: Callable[[int], Any] = str,
    day: Callable[[date], Any] = iso,
    above: Cells | None = None,
    below: Cells | None = None,
) -> Cells:
    body = [[reference, amount(sum_), "TZS", day(at)] for reference, sum_, at in MONTH]
    return [*(above or []), list(headers), *body, *(below or [])]


def text(cells: Cells, mark: str = ",", end: str = "\n") -> str:
    def quoted(cell: Any) -> str:
        written = "" if cell is None else str(cell)
        return f'"{written}"' if mark in written or '"' in written else written

    return end.join(mark.join(map(quoted, row)) for row in cells) + end


def book(cells: Cells, *, merged: bool = False, beside: str | None = None) -> bytes:
    packed = io.BytesIO()
    made = xlsxwriter.Workbook(packed, {"in_memory": True})
    if beside is not None:
        made.add_worksheet(beside).write_row(0, 0, ["About", "this export"])
    sheet = made.add_worksheet("Lines")
    dated = made.add_format({"num_format": "dd/mm/yyyy"})
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            if isinstance(cell, date):
                at = datetime(cell.year, cell.month, cell.day)  # noqa: DTZ001 - Excel
                sheet.write_datetime(row, column, at, dated)
            elif cell is not None:
                sheet.write(row, column, cell)
    if merged:
        sheet.merge_range(0, 0, 0, 3, cells[0][0])
    made.close()
    return packed.getvalue()


def european(sum_: int) -> str:
    return f"{sum_:,}".replace(",", ".") + ",00"


def said(**more: Any) -> Layout:
    return Layout(columns=dict(MAPPED), **more)


PREAMBLE: Cells = [["Duka la Mfano"], ["Kipindi", "2026-03-01 hadi 2026-10-31"], []]
FOOTER: Cells = [["Total", "1,267,750", "", ""], [], ["Printed on 1 November 2026"]]
JUMLA: Cells = [["", "1,267,750", "", "Jumla Kuu"], ["Mwisho wa taarifa"]]
Spelling = tuple[str, str | bytes, Layout | None]


def spellings() -> Iterator[Spelling]:
    plain = rows()
    for name, mark in (("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("bar", "|")):
        yield f"{name}.csv", text(plain, mark), None
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"):
        header = rows([*ENGLISH], below=[["— mwisho —"]])
        yield f"{encoding}.csv", text(header).encode(encoding), None
    for name, end in (("crlf", "\r\n"), ("cr", "\r")):
        yield f"{name}.csv", text(plain, end=end), None
    yield "quoted.csv", "\n".join('"' + '","'.join(map(str, row)) + '"' for row in plain), None
    yield "sep.csv", "sep=;\n" + text(plain, ";"), None
    amounts: dict[str, Callable[[int], str]] = {
        "thousands": lambda sum_: f"{sum_:,}",
        "decimals": lambda sum_: f"{sum_:,}.00",
        "bare decimals": lambda sum_: f"{sum_}.00",
        "european": european,
        "spaces": lambda sum_: f"{sum_:,}".replace(",", " "),
        "narrow spaces": lambda sum_: f"{sum_:,}".replace(",", "\u202f"),
        "apostrophes": lambda sum_: f"{sum_:,}".replace(",", "'"),
        "shillings": lambda sum_: f"{sum_:,}/=",
        "dashed": lambda sum_: f"{sum_:,}/-",
        "currency": lambda sum_: f"TZS {sum_:,}.00",
        "tsh": lambda sum_: f"TSh. {sum_:,}/=",
        "after": lambda sum_: f"{sum_:,} TZS",
        "plus": lambda sum_: f"+{sum_}",
    }
    for name, amount in amounts.items():
        yield f"{name}.csv", text(rows(amount=amount), ";"), None
    dates: dict[str, Callable[[date], str]] = {
        "day first": lambda day: f"{day:%d/%m/%Y}",
        "month first": lambda day: f"{day:%m/%d/%Y}",
        "dots": lambda day: f"{day:%d.%m.%Y}",
        "dashes": lambda day: f"{day:%d-%m-%Y}",
        "short year": lambda day: f"{day:%d/%m/%y}",
        "no zeros": lambda day: f"{day.day}/{day.month}/{day.year}",
        "year first": lambda day: f"{day:%Y/%m/%d}",
        "compact": lambda day: f"{day:%Y%m%d}",
        "month named": lambda day: f"{day.day} {AMERICAN[day.month]} {day.year}",
        "dashed name": lambda day: f"{day.day:02d}-{AMERICAN[day.month]}-{day.year}",
        "american": lambda day: f"{AMERICAN[day.month]} {day.day}, {day.year}",
        "swahili": lambda day: f"{day.day} {MONTHS[day.month]} {day.year}",
        "swahili short": lambda day: f"{day.day}-{SHORT[day.month]}-{day.year}",
    }
    for name, day in dates.items():
        yield f"{name}.csv", text(rows(day=day)), None
    yield "form.csv", text(rows(SAID, day=dates["month first"])), said(date_format="%m/%d/%Y")
    named = rows(SAID, day=dates["swahili"])
    yield "named.csv", text(named), said(date_format="%d %B %Y")
    yield "swahili headers.csv", text(rows(SWAHILI)), None
    yield "capitals.csv", text(rows([name.upper() for name in SWAHILI])), None
    yield "blanks.csv", text(rows([f"  {name.title()} " for name in ENGLISH])), None
    yield "mapped.csv", text(rows(SAID)), said()
    yield "preamble.csv", text(rows(above=PREAMBLE)), None
    yield "far.csv", text(rows(above=[["x"]] * 39)), None
    yield "said row.csv", text(rows(SAID, above=[*PREAMBLE, list(SAID)])), said(header_row=5)
    yield "footer.csv", text(rows(below=FOOTER)), None
    yield "jumla.csv", text(rows(below=JUMLA)), None
    again = rows()
    yield "pages.csv", text([*again[:3], list(ENGLISH), *again[3:]]), None
    ends = rows(SAID, below=[["Closing", "9", "TZS", "2026-12-31"], ["A-9", "9", "TZS", "x"]])
    yield "ends.csv", text(ends), said(footer=("Closing",))
    both = rows(SWAHILI, amount=european, day=dates["swahili"], above=PREAMBLE, below=JUMLA)
    yield "everything.csv", text(both, ";").encode("utf-16"), None
    typed = rows(amount=int, day=lambda day: day)
    yield "typed.xlsx", book(typed), None
    yield "texts.xlsx", book(rows(amount=amounts["currency"], day=dates["day first"])), None
    yield "merged.xlsx", book([*PREAMBLE, *typed, *FOOTER], merged=True), None
    yield "second sheet.xlsx", book(typed, beside="Cover"), None
    yield "called.csv", book(typed), None
    mixed = rows(day=lambda day: day if day.day > 12 else iso(day))
    yield "mixed.xlsx", book(mixed), None
    serial = rows(amount=int, day=lambda day: (day - date(1899, 12, 30)).days)
    yield "serials.xlsx", book(serial), None
    sided = [[*ENGLISH[:1], "Paid In", "Withdrawn", *ENGLISH[2:]]]
    sided += [[row[0], row[1], "", *row[2:]] for row in rows()[1:]]
    yield "sides.csv", text(sided), None


EVERY = list(spellings())


@pytest.mark.parametrize(("name", "content", "layout"), EVERY, ids=[each[0] for each in EVERY])
def test_a_month_in_any_spelling_is_the_same_frame(
    tmp_path: Path, name: str, content: str | bytes, layout: Layout | None
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame, quality = files.ledger(path, layout)
    assert [remark for remark in quality.remarks if remark.verdict == "rejected"] == []
    assert frame["reference"].tolist() == [reference for reference, _, _ in MONTH]
    assert frame["amount"].tolist() == [sum_ for _, sum_, _ in MONTH]
    assert frame["booked_day"].tolist() == [pd.Timestamp(day) for _, _, day in MONTH]
    assert set(frame["currency"]) == {"TZS"}
    assert {str(frame[column].dtype) for column in ("amount", "row_no")} == {"Int64"}
    assert list(frame.columns) == list(LEDGER.columns)
    # Nothing is dropped in silence: every row of the file is kept or has its reason.
    assert quality.rows == quality.kept + quality.count("skipped")


def test_there_are_more_than_fifty_spellings() -> None:
    assert len({name for name, _, _ in EVERY}) == len(EVERY) > 50
