"""The pack's workbook: the statement first, the facts, a sheet for each table, a place to sign."""

import io
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kusanya.domain.business_day import EAT
from kusanya_books.judge.report import Report
from kusanya_books.match.ledger import Progress
from kusanya_books.pack import cells, front, sheets
from kusanya_books.pack.cells import Counts
from kusanya_books.pack.imprint import Imprint
from kusanya_books.pack.sheets import Worksheet
from kusanya_books.pack.summary import Summary

SHEET_ROWS: Final = 100_000
"""Rows that a sheet holds; the CSV has all."""
ON_FRONT: Final = frozenset({"balances", "reconciliation", "providers", "control_totals"})
"""Pages that stand on the first sheet together."""


def to_xlsx(
    made: Report,
    path: Path,
    *,
    summary: Summary,
    imprint: Imprint,
    report_step: Progress = lambda _: None,
) -> None:
    """Write the workbook: the statement, the facts, a sheet per table, a place to sign.

    Text is cut at 32,767 characters, whole numbers of 16 digits and more are text, a sheet ends at
    100,000 rows: each is counted on the summary. The only formulas are sums over a sheet's own
    cells, written with what they come to. Raises PackRefused when a cell is not written.
    """
    xlsxwriter: Any = import_module("xlsxwriter")
    # Into memory first: the library leaves its spill files open when it cannot write the file.
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(
        packed,
        {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
            # Widths are counted in its digits: a font that every program has, or one as wide.
            "default_format_properties": {"font_name": "Arial", "font_size": 10},
        },
    )
    try:
        _fill_workbook(book, made, summary, imprint, report_step)
        report_step("writing the pack: the workbook")
    finally:
        book.close()
    path.write_bytes(packed.getvalue())


def _fill_workbook(
    book: Any, made: Report, summary: Summary, imprint: Imprint, report_step: Progress
) -> None:
    at = made.inputs.as_of_at.astimezone(EAT).replace(tzinfo=None)
    book.set_properties({"title": "Reconciliation", "author": "", "created": at})
    formats, counts = cells.looks(book), Counts()

    def added(name: str) -> Worksheet:
        return Worksheet(book.add_worksheet(name), formats, counts)

    front.fill_statement(added("reconciliation"), made, imprint)
    facts_sheet = added("summary")
    for page in made.pages:
        if page.name not in ON_FRONT:
            report_step(f"writing the pack: sheet {page.name}")
            rows = min(page.sheet_rows or SHEET_ROWS, SHEET_ROWS)
            sheets.fill(added(page.name), page, imprint, rows=rows)
    facts = [
        *summary,
        ("cells cut at 32,767 characters", counts.cut),
        ("whole numbers of 16 digits and more, written as text", counts.as_text),
        (f"rows past {SHEET_ROWS:,} of a sheet, in the CSV only", counts.left_out),
    ]
    front.fill_summary(facts_sheet, facts, imprint)
    front.fill_sign_off(added("sign_off"), imprint)
