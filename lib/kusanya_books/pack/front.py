"""The first sheet of the workbook, its list of facts, and the sheet to sign."""

import textwrap
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

from kusanya.text import safe, shorten
from kusanya_books import columns
from kusanya_books.judge import coverage, findings
from kusanya_books.judge.reconciliation import LineRole
from kusanya_books.judge.report import Report
from kusanya_books.pack import cells
from kusanya_books.pack.cells import SUM, Formula
from kusanya_books.pack.imprint import Imprint
from kusanya_books.pack.sheets import HEAD, Worksheet, statement_sums
from kusanya_books.pack.summary import Summary
from kusanya_books.present import views

_FIRST, _WORDS, _CODE, _STANDING, _ROWS, _AMOUNT = 0, 0, 3, 5, 6, 7
_COLUMNS: Final = 8
"""Columns of an upright page; the words of a line run over the empty cells beside them."""
_NARROW: Final = 9.5
_COUNT: Final = 8.0
_LABEL: Final = 19.5
_LABEL_LETTERS: Final = 22
"""Letters of a label that its column holds."""
_SIGNED_LETTERS: Final = 32
"""Letters of a label on the sheet to sign."""
_UPRIGHT: Final = 88.0
"""What all of them together are wide."""
_NIL_LETTERS: Final = 105
"""Letters of what is nil that a line of the upright page holds."""
_OPENING, _ADJUSTED = 2, 5
_BRIEF: Final = ("balance", "breaks", "carried", "adjusted", "counted", "difference")
_STANDINGS: Final = {"break": "break", "expected": "carried", "ok": "agrees"}
_SIGNATURES: Final = ("prepared by", "reviewed by", "approved by")


def fill_statement(sheet: Worksheet, made: Report, imprint: Imprint) -> None:
    """Write the reconciliation statement: one page that leads from total to total, down to 0."""
    sheet.head("Reconciliation statement", imprint, across=_COLUMNS)
    money = _money_width(made)
    sheet.sheet.set_column(0, 0, max(_UPRIGHT - _COUNT - money * (_COLUMNS - 2), _LABEL))
    sheet.sheet.set_column(1, 1, _COUNT)
    sheet.sheet.set_column(2, _COLUMNS - 1, money)
    sheet.sheet.set_default_row(12.5)
    sheet.sheet.repeat_rows(0, 1)
    sheet.sheet.hide_gridlines(2)
    sheet.print_across(upright=True)
    row = HEAD
    for name, value in _facts(made, imprint):
        sheet.write((row, 0), name, "line")
        sheet.write((row, 1), value, "line")
        row += 1
    lines = made.page("reconciliation").frame
    row = _needs(sheet, made, row + 1)
    row = _brief(sheet, made.page("balances").frame, row + 1)
    for name in ("providers", "control_totals"):
        page = made.page(name)
        if not page.frame.empty:
            row = _block(sheet, page.frame, page.title, row + 1)
    row = _block(sheet, _went(made), made.page("accounted").title, row + 1)
    row += 1
    _part_head(sheet, "SHA-256 of what went in and of the facts that were closed", row)
    row += 1
    for name, digest in imprint.hashes:
        # The summary has the whole name; of a hash each digit counts.
        sheet.write((row, 0), shorten(safe(name), _LABEL_LETTERS), "line")
        sheet.write((row, 1), digest, "line")
        row += 1
    # Line by line from the second page on: the first one holds for every month.
    sheet.sheet.set_h_pagebreaks([row])
    _lines(sheet, lines, row)


def _went(made: Report) -> pd.DataFrame:
    """Return where the money of every file went, one line each; its own sheet has the rows too."""
    frame = made.page("accounted").frame
    sums = [name for name in frame.columns if str(name).startswith("amount_")]
    shown = frame[["input", "currency", *sums]]
    return shown.rename(columns={name: str(name).removeprefix("amount_") for name in sums})


def _brief(sheet: Worksheet, frame: pd.DataFrame, row: int) -> int:
    """Write one line per bridge, from its total to the other side's; return the row below."""
    for _, part in frame.groupby("part", sort=False):
        for place in range(_COLUMNS):
            sheet.write((row, place), "", "part")
        sheet.write((row, _FIRST), part["part"].iloc[0], "part")
        for place, name in enumerate(_BRIEF, start=_OPENING):
            sheet.write((row, place), name, "part_number")
        for line in columns.records(part):
            row += 1
            _brief_line(sheet, line, row)
        row += 2
    return row - 1


def _brief_line(sheet: Worksheet, line: Any, row: int) -> None:
    known = (line.channel, line.currency)
    sheet.write((row, _WORDS), ", ".join(str(name) for name in known if not pd.isna(name)), "line")
    values = [int(line.balance), int(line.breaks), int(line.carried)]
    for place, value in enumerate(values, start=_OPENING):
        sheet.write((row, place), value)
    adjusted, other = int(line.adjusted), int(line.counted)
    sums = (
        cells.sum_along(row, (_OPENING, _OPENING + 2), values),
        other,
        cells.difference_along(row, (_ADJUSTED, _ADJUSTED + 1), (adjusted, other)),
    )
    for place, due in enumerate(sums, start=_ADJUSTED):
        sheet.write((row, place), due, f"whole{SUM}")


def _money_width(made: Report) -> float:
    """Return how wide a column must be for the largest amount of the sheet."""
    taken = made.page("providers").frame
    amounts = [
        *made.page("reconciliation").frame["amount"].dropna(),
        *made.page("control_totals").frame["amount_read"],
        sum(map(int, taken["gross"])),
    ]
    longest = max(len(f"{-abs(int(each)):,}") for each in amounts)
    return max(_NARROW, longest * 0.83)


def _facts(made: Report, imprint: Imprint) -> Iterator[tuple[str, str]]:
    inputs = made.inputs
    yield "Verdict", imprint.explained
    if imprint.entity:
        yield "Books of", imprint.entity
    judged_on = f"ages counted to {inputs.judged_on}"
    yield "Business days", f"{imprint.period}, by the day of completion; {judged_on}"
    yield "Mode", f"{imprint.mode}, {inputs.basis} amounts in the books"
    for said in coverage.in_words(made.coverage):
        yield "Compared", said
    yield "Run", f"{imprint.run_id}, facts up to journal position {inputs.as_of:,}"


def _needs(sheet: Worksheet, made: Report, row: int) -> int:
    """Write what needs a person, each with its count and sum; return the row below it."""
    _part_head(sheet, "What needs a person", row)
    found = findings.left(made.findings)
    for line in columns.records(found):
        row += 1
        sheet.write((row, _WORDS), line.finding, "line")
        sheet.write((row, _STANDING), None if pd.isna(line.currency) else line.currency, "line")
        sheet.write((row, _ROWS), int(line.rows))
        sheet.write((row, _AMOUNT), None if pd.isna(line.amount) else int(line.amount))
    if found.empty:
        row += 1
        sheet.write((row, _WORDS), "nothing that was looked for", "line")
    for line in columns.records(made.findings[made.findings["rows"].isna()]):
        row += 1
        sheet.write((row, _WORDS), line.finding, "line")
        sheet.write((row, _CODE), line.note, "line")
    for names in textwrap.wrap("; ".join(findings.nil(made.findings)), _NIL_LETTERS):
        row += 1
        sheet.write((row, _WORDS), f"nil: {names}", "line")
    return row + 1


def _part_head(sheet: Worksheet, title: str, row: int) -> None:
    for place in range(_COLUMNS):
        sheet.write((row, place), "", "part")
    sheet.write((row, _FIRST), title, "part")
    sheet.write((row, _ROWS), "rows", "part_number")
    sheet.write((row, _AMOUNT), "amount", "part_number")


def _lines(sheet: Worksheet, frame: pd.DataFrame, row: int) -> int:
    """Write the statement's lines from a row on and return the row below them."""
    keys = ["part", "channel", "currency"]
    for _, lines in frame.groupby(keys, sort=False, dropna=False):
        named = [str(lines[key].iloc[0]) for key in keys if lines[key].notna().all()]
        _part_head(sheet, ", ".join(named), row)
        row = _part(sheet, lines.reset_index(drop=True), row + 1) + 1
    return row - 1


def _part(sheet: Worksheet, lines: pd.DataFrame, first: int) -> int:
    roles = [LineRole(role) for role in lines["role"]]
    values = [None if pd.isna(value) else int(value) for value in lines["amount"]]
    places = list(range(len(lines)))
    sums = statement_sums(roles, places, values, _AMOUNT, first)
    for at, (line, role) in enumerate(zip(columns.records(lines), roles, strict=True)):
        row = first + at
        is_sum = role in (LineRole.SUBTOTAL, LineRole.COUNTED, LineRole.DIFFERENCE)
        sheet.write((row, _WORDS), line.line, f"line{SUM}" if is_sum else "line")
        if is_sum:
            for place in range(_WORDS + 1, _ROWS):
                sheet.write((row, place), "", f"line{SUM}")
        if not pd.isna(line.code):
            sheet.write((row, _CODE), line.code, "line")
            sheet.write((row, _STANDING), _STANDINGS[line.standing], "line")
        look = f"whole{SUM}" if is_sum else "whole"
        sheet.write((row, _ROWS), "" if pd.isna(line.rows) else int(line.rows), look)
        sheet.write((row, _AMOUNT), sums.get(at, values[at]), look)
    return first + len(lines)


def _block(sheet: Worksheet, frame: pd.DataFrame, title: str, row: int) -> int:
    """Write a small table whose first two columns share one cell; return the row below it."""
    names = list(frame.columns)[2:]
    of_files = frame.columns[0] == "input"
    sheet.write((row, 0), title, "part")
    for place, name in enumerate(names, start=1):
        sheet.write((row, place), views.label(name), "head_number")
    first = row = row + 1
    for line in frame.itertuples(index=False):
        label = ", ".join(str(part) for part in line[:2] if not pd.isna(part))
        sheet.write((row, 0), label, "line")
        if of_files and len(label) > _LABEL_LETTERS:
            # The name of a file runs over the cells beside it, its sums stand below.
            row += 1
        for place, value in enumerate(line[2:], start=1):
            shown: Any = None if pd.isna(value) else int(value)
            sheet.write((row, place), shown, "whole")
        row += 1
    return row if of_files else _block_totals(sheet, frame, first, row)


def _block_totals(sheet: Worksheet, frame: pd.DataFrame, first: int, row: int) -> int:
    for currency, rows in frame.groupby("currency", sort=True, dropna=True):
        if len(rows) < 2:  # noqa: PLR2004 - one row is its own sum
            continue
        sheet.write((row, 0), f"total, {currency}", f"line{SUM}")
        for place, name in enumerate(list(frame.columns)[2:], start=1):
            values = [None if pd.isna(value) else int(value) for value in rows[name]]
            due: Formula | int | str = ""
            if any(value is not None for value in values):
                due = cells.sum_of(place, [first + int(at) for at in rows.index], values)
            sheet.write((row, place), due, f"whole{SUM}")
        row += 1
    return row


def fill_summary(sheet: Worksheet, facts: Summary, imprint: Imprint) -> None:
    """Write the list of facts: verdict, findings, period, tolerances, hashes."""
    sheet.head("Facts of this run", imprint, across=2)
    sheet.sheet.set_column(0, 0, 56)
    sheet.sheet.set_column(1, 1, 80)
    sheet.sheet.repeat_rows(0, 1)
    sheet.print_across()
    for place, (name, value) in enumerate(facts, start=HEAD):
        sheet.write((place, 0), name)
        sheet.write((place, 1), value, "fact" if isinstance(value, int) else None)


def fill_sign_off(sheet: Worksheet, imprint: Imprint) -> None:
    """Write the sheet to sign: what is signed, by run id, verdict and hashes, and by whom."""
    sheet.head("Sign-off", imprint, across=4)
    for place, width in enumerate((30, 44, 34, 22)):
        sheet.sheet.set_column(place, place, width)
    sheet.print_across()
    facts = [
        ("run id", imprint.run_id),
        ("verdict", imprint.explained),
        ("books of", imprint.entity or "–"),
        ("business days", imprint.period),
        ("mode", imprint.mode),
        *(
            (shorten(f"SHA-256 of {safe(name)}", _SIGNED_LETTERS), digest)
            for name, digest in imprint.hashes
        ),
    ]
    row = HEAD
    for name, value in facts:
        sheet.write((row, 0), name, "line")
        sheet.write((row, 1), value, "line")
        row += 1
    row += 1
    for place, name in enumerate(("", "name", "signature", "date")):
        sheet.write((row, place), name, "part")
    for name in _SIGNATURES:
        row += 1
        sheet.sheet.set_row(row, 30)
        sheet.write((row, 0), name, "rule")
        for place in range(1, 4):
            sheet.write((row, place), "", "rule")
    sheet.sheet.set_row(row + 1, 48)
    sheet.write((row + 1, 0), "comment", "rule")
    for place in range(1, 4):
        sheet.write((row + 1, place), "", "rule")
