"""What could be read two ways is refused, row by row, in the words of the file, with its money."""

import io
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kusanya.errors import InputRefused
from kusanya_books.read import files
from kusanya_books.read.mapping import Layout, Skip, Take
from kusanya_books.request.quality import Quality, unread, unread_lines

xlsxwriter: Any = import_module("xlsxwriter")
Write = Callable[..., Path]
RowReasons = list[tuple[int | None, str | None, int | None]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(*lines: str, header: str = "Kumbukumbu;Kiasi;Sarafu;Tarehe") -> Path:
        path = tmp_path / "vitabu.csv"
        path.write_text("\n".join((header, *lines, "")), encoding="utf-8")
        return path

    return written


def rejected(quality: Quality) -> RowReasons:
    return [(each.row, each.column, each.amount) for each in quality.rejected]


def test_one_row_that_contradicts_the_others_is_named_with_the_row_that_it_contradicts(
    write: Write,
) -> None:
    path = write(
        "A;5;TZS;13/05/2026", "B;6;TZS;14/05/2026", "C;7;TZS;05/15/2026", "D;8;TZS;01/02/2026"
    )
    frame, quality = files.ledger(path)
    assert frame["reference"].tolist() == ["A", "B", "D"]
    assert rejected(quality) == [(4, "Tarehe", 7)]
    assert quality.rejected[0].reason == "booked_at is written another way than row 2"
    assert frame["booked_day"].dt.month.tolist() == [5, 5, 2]


def test_a_column_that_leaves_day_and_month_open_is_refused_until_the_mapping_says(
    write: Write,
) -> None:
    path = write("A;5;TZS;05/03/2026", "B;6;TZS;06/06/2026")
    frame, quality = files.ledger(path)
    assert frame["reference"].tolist() == ["B"]
    assert rejected(quality) == [(2, "Tarehe", 5)]
    assert 'say date_order = "day" or "month"' in quality.rejected[0].reason
    names = {"reference": "Kumbukumbu", "amount": "Kiasi", "currency": "Sarafu"}
    for order, month in (("day", 3), ("month", 5)):
        layout = Layout(columns={**names, "booked_at": "Tarehe"}, date_order=order)
        assert files.ledger(path, layout)[0]["booked_day"].dt.month.tolist() == [month, 6]


@pytest.mark.parametrize(
    ("amounts", "read", "wrong"),
    [
        (("5.000", "700"), [700], [2]),
        (("5.000", "1.250.000"), [5_000, 1_250_000], []),
        (("5.000", "1.250,00"), [5_000, 1_250], []),
        (("5,000", "700.00"), [5_000, 700], []),
        (("5,000", "1.250,00"), [1_250], [2]),
        (("5000,00", "700"), [5_000, 700], []),
        (("5.000", "700,0"), [5_000, 700], []),
        (("5,000", "700,00"), [700], [2]),
        (("5000,00", "700.00"), [700], [2]),
        (("(5,000)", "-700"), [-5_000, -700], []),
        (("700-", "TZS -5,000.00"), [-700, -5_000], []),
        (("1,00,000", "5"), [5], [2]),
        (("KES 5", "TZS 6"), [6], [2]),
        (("--5", "5 abc"), [], [2, 3]),
    ],
)
def test_a_mark_is_decided_by_its_column_or_not_at_all(
    write: Write, amounts: tuple[str, str], read: list[int], wrong: list[int]
) -> None:
    path = write(*(f"A{place};{amount};TZS;2026-03-05" for place, amount in enumerate(amounts)))
    frame, quality = files.ledger(path)
    assert frame["amount"].tolist() == read
    assert [remark.row for remark in quality.rejected] == wrong


def test_a_negative_line_is_a_reversal_and_said_so(write: Write) -> None:
    frame, quality = files.ledger(write("A;5000;TZS;2026-03-05", "A;-5000;TZS;2026-03-06"))
    assert frame["kind"].tolist() == ["payment", "reversal"]
    (warned,) = (each for each in quality.remarks if each.row == 3)
    assert (warned.verdict, warned.column) == ("warned", "Kiasi")


def dated(*days: datetime | str) -> bytes:
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {"in_memory": True})
    sheet, form = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yyyy"})
    sheet.write_row(0, 0, ["reference", "amount", "currency", "booked_at"])
    for row, day in enumerate(days, start=1):
        sheet.write_row(row, 0, [f"A{row}", row, "TZS"])
        if isinstance(day, str):
            sheet.write_string(row, 3, day)
        else:
            sheet.write_datetime(row, 3, day, form)
    book.close()
    return packed.getvalue()


def test_dates_that_a_spreadsheet_exchanged_in_silence_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "books.xlsx"
    # 05/03/2026 became 3 May in a spreadsheet with American settings, 13/03/2026 stayed a text.
    path.write_bytes(dated(datetime(2026, 5, 3), "13/03/2026", "14/03/2026"))  # noqa: DTZ001
    frame, quality = files.ledger(path)
    assert frame["reference"].tolist() == ["A2", "A3"]
    assert 'excel_dates = "right" or "swapped"' in quality.rejected[0].reason
    swapped, _ = files.ledger(path, Layout(excel_dates="swapped"))
    assert swapped["booked_day"].dt.month.tolist() == [3, 3, 3]
    form = Layout(date_format="%d/%m/%Y", excel_dates="swapped")
    assert files.ledger(path, form)[0]["booked_day"].dt.month.tolist() == [3, 3, 3]


def test_a_number_in_a_cell_has_a_decimal_point_whatever_the_texts_have(tmp_path: Path) -> None:
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {"in_memory": True})
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["reference", "amount", "currency", "booked_at"])
    sheet.write_row(1, 0, ["A", "1.250,00", "TZS", "2026-03-05"])
    sheet.write_row(2, 0, ["B", 5.125, "TZS", "2026-03-05"])
    book.close()
    path = tmp_path / "books.xlsx"
    path.write_bytes(packed.getvalue())
    frame, quality = files.ledger(path)
    assert frame["amount"].tolist() == [1_250]
    assert [each.row for each in quality.rejected] == [3]


def test_two_sheets_with_the_columns_are_refused_until_one_is_named(tmp_path: Path) -> None:
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {"in_memory": True})
    for name in ("March", "April"):
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, ["reference", "amount", "currency", "booked_at"])
        sheet.write_row(1, 0, [name, 5, "TZS", "2026-03-05"])
    book.close()
    path = tmp_path / "books.xlsx"
    path.write_bytes(packed.getvalue())
    with pytest.raises(InputRefused, match="March and April both have these columns"):
        files.ledger(path)
    assert files.ledger(path, Layout(sheet="April"))[0]["reference"].tolist() == ["April"]


def test_kinds_and_references_come_out_of_a_text_by_words_and_patterns(write: Write) -> None:
    path = write(
        "Malipo Acc. INV-1;5000;2026-03-05",
        "Refund Acc. INV-2;700;2026-03-05",
        "Total sales note;9;2026-03-05",
        "Private note;1;2026-03-05",
        header="Text;Sum;Day",
    )
    layout = Layout(
        columns={"details": "Text", "amount": "Sum", "booked_at": "Day", "currency": "=TZS"},
        take=(Take(column="Text", pattern=r"Acc\. (?P<reference>\S+)$"),),
        kinds={"refund": ("refund*",), "charge": ("vat",), "payment": ("malipo",)},
        signs="kind",
        skip_when=Skip(column="Text", equals=("Total sales note",)),
    )
    frame, quality = files.ledger(path, layout)
    assert frame["reference"].tolist() == ["INV-1", "INV-2"]
    assert frame["kind"].tolist() == ["payment", "refund"]
    assert frame["amount"].tolist() == [5_000, -700]
    assert rejected(quality) == [(5, None, 1)]


def test_unread_rows_are_reported_together_and_summed_by_currency(write: Write) -> None:
    path = write("A;5000;TZS;jana", "B;700;KES;13/13/2026", "C;x;TZS;2026-03-05", ";9;TZS;kesho")
    _, quality = files.ledger(path)
    table = unread(quality)
    assert table["row"].tolist() == [2, 3, 4, 5]
    assert table["column"].tolist() == ["Tarehe", "Tarehe", "Kiasi", "Tarehe"]
    lines = unread_lines(quality)
    assert lines["currency"].tolist() == ["KES", "TZS"]
    assert lines["rows"].tolist() == [1, 3]
    assert lines["amount"].tolist() == [700, 5_009]
