"""Journal entries as the files that QuickBooks Online, Xero and Odoo import."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kusanya_books.pack.journals.account_map import AccountMap
from kusanya_books.pack.journals.journal_entries import JournalEntry, Journals
from kusanya_books.pack.tables import escape_formula

_XERO_LINES: Final = 300
"""Lines that Xero takes of one file."""
Row = tuple[Any, ...]


def files(entries: Sequence[JournalEntry], accounts: AccountMap, form: str) -> list[bytes]:
    """Return the files to import in a form of FORMS: one, or more where a file is limited.

    An entry is never split. Text that a spreadsheet would take for a formula is escaped.
    """
    header, rows, most = FORMS[form]
    parts: list[list[Row]] = [[]]
    for entry in entries:
        made = list(rows(entry, accounts))
        if most is not None and parts[-1] and len(parts[-1]) + len(made) > most:
            parts.append([])
        parts[-1] += made
    return [_csv(header, part) for part in parts]


def not_booked(booked: Journals) -> bytes:
    """Return the file of what is a break and in no entry, with its sums."""
    rows = [
        (each.day, each.channel or "", each.break_code or "", each.amount)
        for each in booked.not_booked
    ]
    return _csv(("business_day", "channel", "break_code", "amount"), rows)


def missing(booked: Journals) -> bytes:
    """Return the file of the accounts that are missing, and how many entries need each."""
    return _csv(("account", "entries"), sorted(booked.missing.items()))


def names(stem: str, made: Sequence[bytes]) -> list[str]:
    """Return a file name for each: stem.csv, or stem-1.csv and so on where there are more."""
    if len(made) == 1:
        return [f"{stem}.csv"]
    return [f"{stem}-{number}.csv" for number in range(1, len(made) + 1)]


def _csv(header: Row, rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().encode()


def _sides(amount: int) -> tuple[int | str, int | str]:
    return (amount, "") if amount > 0 else ("", -amount)


def _quickbooks(entry: JournalEntry, accounts: AccountMap) -> Iterator[Row]:
    day = entry.day.strftime(accounts.quickbooks.date_format)
    for line in entry.lines:
        sides = _sides(line.amount)
        head = (entry.number, day, accounts.currency, entry.memo)
        yield (*head, line.account, *sides, line.text)


def _xero(entry: JournalEntry, accounts: AccountMap) -> Iterator[Row]:
    # Xero has no number of its own here: lines of one narration and date are one journal.
    narration = f"{entry.number} {entry.memo}"
    for line in entry.lines:
        head = (narration, f"{entry.day:%d/%m/%Y}", line.text, line.account)
        yield (*head, accounts.xero.tax_rate, line.amount)


def _odoo(entry: JournalEntry, accounts: AccountMap) -> Iterator[Row]:
    # The external id lets a second import find the entry; it holds no dot beside the module's.
    head: Row = (
        *(f"kusanya_{entry.number.replace('-', '_').lower()}", "entry", entry.number),
        *(entry.day.isoformat(), accounts.odoo.journal),
    )
    for line in entry.lines:
        debit, credit = max(line.amount, 0), max(-line.amount, 0)
        yield (*head, line.account, line.text, debit, credit)
        head = ("",) * len(head)


FORMS: Final[
    dict[str, tuple[Row, Callable[[JournalEntry, AccountMap], Iterator[Row]], int | None]]
] = {
    "quickbooks": (
        (
            *("*JournalNo", "*JournalDate", "Currency", "Memo"),
            *("*AccountName", "*Debits", "*Credits", "Description"),
        ),
        _quickbooks,
        None,
    ),
    "xero": (
        ("*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount"),
        _xero,
        _XERO_LINES,
    ),
    "odoo": (
        (
            *("id", "move_type", "ref", "date", "journal_id"),
            *("line_ids/account_id", "line_ids/name", "line_ids/debit", "line_ids/credit"),
        ),
        _odoo,
        None,
    ),
}
"""Header, rows of an entry, and lines that one file may have."""
