"""Money, phones and hostile text in every export: no formula, no link, nothing cut in silence."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from kusanya.errors import PackRefused
from kusanya_books import columns
from kusanya_books.columns import KEYS, LEDGER
from kusanya_books.judge import report
from kusanya_books.pack import cells, close, tables, workbook
from kusanya_books.pack.imprint import Imprint
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.report_inputs import Inputs

openpyxl: Any = import_module("openpyxl")
Make = Callable[..., pd.DataFrame]
HOSTILE = [
    '=HYPERLINK("http://evil.example","x")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "＝1+1",
    "http://evil.example",
    "<script>alert(1)</script>",
    "\x1b[31mred\x07",
    "\u202egnp.exe",
    "00123",
    "1e5",
    "TRUE",
    "x" * 40_000,
    '"quoted", and, commas',
    "line\nbreak",
    "=cmd|'/C calc'!A0",
    'paid;=cmd|"/C calc"!A0',
    'paid;"+1+1',
    "－1+1",
]
PHONE = "255754123456"


def hostile_inputs(make: Make) -> Inputs:
    frame = make(
        *({"reference": text, "channel": text[:60], "phone": PHONE} for text in HOSTILE),
        *(
            {"reference": "r", "status": "failed", "failure_code": text[:60], "phone": PHONE}
            for text in HOSTILE
        ),
        {"reference": "huge", "amount": 2**53 + 1, "fee": 1},
    )
    books = columns.frame(
        LEDGER,
        {
            "row_no": [1],
            "collection_id": [None],
            "reference": ["\ud800surrogate".encode("utf-8", "replace").decode()],
            "amount": [5],
            "fee": [None],
            "currency": ["TZS"],
            "channel": ["=1"],
            "status": ["paid"],
            "booked_at": [datetime(2026, 3, 5, tzinfo=UTC)],
            "booked_day": [pd.Timestamp("2026-03-05")],
        },
    )
    plain = load.inputs(CloseRequest(mode="live", period="2020-01"))
    keys = columns.empty(KEYS)
    return msgspec.structs.replace(
        plain,
        collections=frame,
        ledger=books,
        other_mode=keys,
        period=period("2026-03"),
        judged_on=datetime(2026, 3, 31, tzinfo=UTC).date(),
    )


@pytest.fixture(scope="module")
def made(module_collections: Make) -> report.Report:
    return report.report(hostile_inputs(module_collections))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, made: report.Report) -> Path:
    written = close.pack(made, out=tmp_path_factory.mktemp("packs")).folder
    assert written is not None
    return written


@pytest.fixture(scope="module")
def pages(folder: Path) -> Any:
    return sheets(folder)


def sheets(folder: Path) -> Any:
    book = openpyxl.load_workbook(folder / "pack.xlsx")
    return {sheet.title: sheet for sheet in book.worksheets}


@pytest.mark.merge
def test_a_workbook_has_no_formula_but_sums_of_its_own_cells_and_no_link(
    folder: Path, pages: Any
) -> None:
    with zipfile.ZipFile(folder / "pack.xlsx") as packed:
        text = "".join(
            packed.read(name).decode() for name in packed.namelist() if name.endswith(".xml")
        )
    assert "<f " not in text
    assert "<hyperlink" not in text
    formulas = re.findall(r"<f>(.*?)</f>", text)
    assert formulas
    cells = r"[A-Z]{1,2}\d+"
    column = rf"{cells}:{cells}"
    part = rf"(?:SUM\({column}\)|SUMPRODUCT\(--EXACT\({column},{cells}\),{column}\))"
    for formula in formulas:
        assert re.fullmatch(rf"{part}(?:\+{part})*(?:-{cells})?", formula), formula
    listed = [cell for sheet in pages.values() for row in sheet.iter_rows() for cell in row]
    assert len([cell for cell in listed if cell.data_type == "f"]) == len(formulas)
    assert not [cell for cell in listed if cell.hyperlink]


def rows_of(sheet: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the headings of a sheet's table and its rows by their reference."""
    head = [cell.value for cell in sheet[3]]
    at = head.index("reference")
    return head, {str(row[at].value): row for row in sheet.iter_rows(min_row=4)}


def test_another_library_reads_what_was_written_cell_by_cell(pages: Any) -> None:
    head, found = rows_of(pages["breaks"])
    at = head.index("reference")
    assert found['=HYPERLINK("http://evil.example","x")'][at].data_type == "s"
    assert found["00123"][at].value == "00123"
    assert found["TRUE"][at].data_type == "s"
    assert head[:2] == ["code", "meaning"]
    amount = found["00123"][head.index("amount of the service")]
    assert (amount.value, amount.number_format) == (1_000, "#,##0")


def test_what_a_cell_cannot_hold_is_counted(pages: Any) -> None:
    summary = {row[0].value: row[1].value for row in pages["summary"].iter_rows()}
    assert summary["cells cut at 32,767 characters"] >= 1
    assert summary["whole numbers of 16 digits and more, written as text"] >= 1
    assert summary["rows past 100,000 of a sheet, in the CSV only"] == 0
    head, found = rows_of(pages["breaks"])
    (long,) = (name for name in found if name.startswith("x" * 40))
    assert len(long) == 32_767
    service = head.index("amount of the service")
    assert found["huge"][service].value == str(2**53 + 1)
    # What is text in its cell would be left out of a formula: such a sum is written as it is.
    total = [row for row in pages["breaks"].iter_rows(min_row=4) if row[0].value == "total"]
    assert {row[service].data_type for row in total} == {"s"}


def test_a_spreadsheet_csv_has_no_cell_that_begins_like_a_formula(folder: Path) -> None:
    for path in (folder / "csv").glob("*.csv"):
        if path.name.endswith(".raw.csv"):
            continue
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        # Where the comma is the decimal mark, a spreadsheet parts the cells at semicolons instead.
        for row in (*csv.reader(lines), *csv.reader(lines, delimiter=";")):
            for cell in row:
                number = re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?(,.*)?", cell)
                begins = cell.lstrip(" \"'")[:1] if cell[:1] != "'" else "'"
                assert number or begins not in set("=+-@＝＋－＠"), (path.name, cell)
                assert not {"\t", "\r", "\x1b", "\u202e"} & set(cell)


def test_a_spreadsheet_csv_counts_what_it_cut(folder: Path) -> None:
    summary = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["cells_cut"]
    with (folder / "csv" / "breaks.csv").open(encoding="utf-8-sig", newline="") as file:
        cut = [cell for row in csv.reader(file) for cell in row if len(cell) == 32_767]
    assert summary["csv/breaks.csv"] == len(cut) > 0
    assert all(cell.endswith("…") for cell in cut)


def test_a_machine_csv_is_exact(folder: Path) -> None:
    with (folder / "csv" / "breaks.raw.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["reference"] for row in rows} >= set(HOSTILE)
    assert {row["amount_service"] for row in rows} >= {str(2**53 + 1)}


def test_the_page_runs_nothing_and_loads_nothing(folder: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    # Links lead to places on the page itself.
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:|#[A-Za-z0-9_-]+")""", text)
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert not {"\x1b", "\u202e"} & set(text)


def test_no_export_holds_a_full_phone(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            assert PHONE.encode() not in path.read_bytes(), path.name
    with zipfile.ZipFile(folder / "pack.xlsx") as packed:
        for name in packed.namelist():
            assert PHONE.encode() not in packed.read(name)


def test_a_sheet_ends_at_its_limit_and_says_so(
    tmp_path: Path, made: report.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook, "SHEET_ROWS", 4)
    plain = Imprint(
        entity="",
        period="",
        mode="live",
        run_id="r",
        verdict=report.ReportVerdict.RECONCILED,
        sentence="",
    )
    workbook.to_xlsx(made, tmp_path / "pack.xlsx", summary=[], imprint=plain)
    found = sheets(tmp_path)
    summary = {row[0].value: row[1].value for row in found["summary"].iter_rows()}
    left = [value for name, value in summary.items() if str(name).startswith("rows past")]
    assert left[0] > 0
    rows = len(made.page("breaks").frame)
    assert f"the first 4 of {rows} rows" in found["breaks"]["A1"].value
    assert found["breaks"].auto_filter.ref.endswith("7")


def test_a_name_of_the_books_reaches_no_formula_field_or_style(
    tmp_path: Path, made: report.Report
) -> None:
    name = 'A&B "; } </style><script>x</script> &P=1'
    written = close.pack(made, out=tmp_path, entity=name).folder
    assert written is not None
    page = (written / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert page.count("</style>") == page.count("<style")
    # In a footer an ampersand begins a field: a doubled one is itself.
    foot = sheets(written)["breaks"].oddFooter
    assert "A&&B" in foot.left.text
    assert "&&P=1" in foot.left.text


def test_a_cell_that_the_workbook_does_not_take_is_refused() -> None:
    xlsxwriter: Any = import_module("xlsxwriter")
    book = xlsxwriter.Workbook(io.BytesIO())
    sheet = book.add_worksheet()
    with pytest.raises(PackRefused, match=r"not written \(code -1\)"):
        cells.write(sheet, (1_048_576, 0), "x", {"text": None}, cells.Counts())
    book.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1", "'=1"),
        ("  =1", "'  =1"),
        ("-5", "'-5"),
        ("\t=1", "'→=1"),
        ("plain", "plain"),
        ("", ""),
        ("a=b", "a=b"),
        ("＠x", "'＠x"),
        ("＝x", "'＝x"),
        ("\r=1", "'␍=1"),
        ("\n@x", "'⏎@x"),
        ("\u00a0=1", "'⟨00A0⟩=1"),
        ("=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"),
        # A spreadsheet that reads a comma as the decimal mark ends the cell at the semicolon.
        ("a;=cmd|'/C calc'!A0", "a;'=cmd|'/C calc'!A0"),
        ('a; "@x";-1', "a;' \"@x\";'-1"),
        ("one; two", "one; two"),
        # Invisible beginnings become visible, so that the cell begins with a mark.
        ("\u200b=1", "⟨200B⟩=1"),
        ("\ufeff=1", "⟨FEFF⟩=1"),
        ("\x00=1", "⟨0000⟩=1"),
    ],
)
def test_text_that_begins_like_a_formula_is_made_plain(text: str, shown: str) -> None:
    assert tables.escape_formula(text) == shown


def test_what_was_exported_for_machines_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    frame = columns.frame(KEYS, {"id": ["=1", '"', None], "reference": ["a,b", "é", "\u202e"]})
    tables.to_raw_csv(frame, path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["id", "reference"], ["=1", "a,b"], ['"', "é"], ["", "\u202e"]]


@pytest.mark.parametrize("odd", [None, "=1", "a,b", 'a"b', " a", "a\nb", "é", "x" * 200, "1;=2"])
def test_a_long_table_is_written_at_once_where_that_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str | None
) -> None:
    frame = columns.frame(
        columns.PAIRS,
        {
            **{name: ["TZS"] * 3 for name in ("currency", "collection_id", "channel")},
            **{name: [1, None, -(2**53) - 1] for name in ("row_no", "fee_service")},
            **{name: [1_000, 2, 0] for name in ("amount_ledger", "amount_service")},
            **{name: ["2026-03-05", None, "2026-03-06"] for name in ("booked_day", "business_day")},
            "reference": ["INV-2603-000001", None, odd],
        },
    )
    written = []
    for long in (1, 10):
        monkeypatch.setattr(tables, "_LONG", long)
        cut = tables.to_csv(frame, tmp_path / "x.csv")
        tables.to_raw_csv(frame, tmp_path / "x.raw.csv")
        written.append(
            (cut, *((tmp_path / f"x{end}").read_bytes() for end in (".csv", ".raw.csv")))
        )
    assert written[0] == written[1]
