"""MT940, SWIFT's customer statement: read line by line with the library mt-940.

Each `:61:` is read by itself, so that one which cannot be read does not take the others with it.
"""

import logging
import re
from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module
from typing import Any, Final

from kusanya.text import plain
from kusanya_books.read.bank.entries import (
    NO_AMOUNT,
    NO_DATE,
    BankEntry,
    Entries,
    check_size,
    cut,
    hundredths,
    moved,
    running,
)

_TAG: Final = re.compile(r":(\d{2}[A-Z]?):")
_BALANCE: Final = re.compile(r"([CD])\d{6}([A-Z]{3})([\d,.]{1,20})")
_START: Final = 4_096
_CHARGES: Final = frozenset({"CHG", "COM"})
_RETURNED: Final = frozenset({"RTI"})
_NOT_CLOSED: Final = (
    "a statement has no closing balance: that all its entries are here is not proven; "
    "ask the bank for the whole file"
)
_LINE_MAX: Final = 2_000
_TEXT_MAX: Final = 500


def is_mt940(data: bytes) -> bool:
    """Return whether a file is an MT940 statement."""
    start = data[:_START]
    return b":20:" in start and b":25:" in start and (b":60F:" in start or b":60M:" in start)


def read(name: str, data: bytes) -> Entries:
    """Return the entries of all statements of a file. Raises InputRefused where it is too large."""
    check_size(name, data)
    # Its complaints quote what they could not read.
    logging.getLogger("mt940").disabled = True
    text = plain(data.decode("utf-8-sig", errors="replace"))
    entries: list[BankEntry] = []
    balances: list[int | None] = []
    notes: list[str] = []
    ends: list[int | None] = []
    currency, opening, begun = None, None, 0
    is_open, unproven = False, ""
    fields = list(_fields(text))
    for place, (line, tag, value) in enumerate(fields):
        if tag in {"60F", "60M"}:
            unproven = _NOT_CLOSED if is_open else unproven
            currency, opening = _balance(value)
            begun, is_open = len(entries), True
        elif tag == "61":
            more = fields[place + 1][2] if fields[place + 1 : place + 2] else ""
            has_more = bool(fields[place + 1 : place + 2]) and fields[place + 1][1] == "86"
            entries.append(_entry(line, value, more if has_more else "", currency))
            balances.append(None)
        elif tag in {"62F", "62M"}:
            closing = _balance(value)[1]
            found = running(opening, closing, entries[begun:])
            if entries[begun:] and None in found:
                notes.append(f"the entries before line {line} do not lead to its closing balance")
            balances[begun:] = found
            ends.append(moved(opening, closing))
            begun, is_open = len(entries), False
    if is_open:
        unproven = _NOT_CLOSED
    if unproven:
        ends.append(None)
    return Entries(
        entries=tuple(entries),
        balances=tuple(balances),
        notes=tuple(notes),
        moved=tuple(ends),
        unproven=unproven,
    )


def _fields(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield every field with the number of its first line; further lines belong to it."""
    first, tag, value = 0, "", [""]
    for number, line in enumerate(text.splitlines(), start=1):
        found = _TAG.match(line)
        if found is None:
            if not line.startswith(("-", "{")):
                value.append(line)
            continue
        if tag:
            yield first, tag, "\n".join(value)
        first, tag, value = number, found[1], [line[found.end() :]]
    if tag:
        yield first, tag, "\n".join(value)


def _balance(value: str) -> tuple[str | None, int | None]:
    found = _BALANCE.match(value.strip())
    if found is None:
        return None, None
    amount = hundredths(found[3])
    return found[2], amount if amount is None or found[1] == "C" else -amount


def _entry(line: int, value: str, more: str, currency: str | None) -> BankEntry:
    library: Any = import_module("mt940")
    details = " ".join(more.split())[:_TEXT_MAX]
    text = f":20:1\n:60F:C000101{currency or 'TZS'}0,\n:61:{value.rstrip()[:_LINE_MAX]}"
    try:
        (found,) = library.parse(text)
    except (RuntimeError, ValueError, ArithmeticError, LookupError, TypeError):
        return BankEntry(
            row=line, currency=currency, reason="the line cannot be read", column=":61:"
        )
    said = found.data
    amount: Decimal = said["amount"].amount
    status = str(said.get("status") or "")
    # The library knows D alone as money out; a credit that is taken back is that too.
    signed = hundredths(str(-abs(amount) if status == "RC" else amount))
    day = said.get("entry_date") or said.get("date")
    kind = said.get("id") or ""
    reason = NO_AMOUNT if signed is None else (NO_DATE if day is None else None)
    if currency is None:
        reason = "the statement names no currency"
    returned = kind[1:] in _RETURNED or status.startswith("R")
    extra = " ".join(str(said.get("extra_details") or "").split())
    return BankEntry(
        row=line,
        day=day,
        currency=currency,
        amount=signed,
        receipt=cut(said.get("bank_reference")),
        reference=cut(said.get("customer_reference")),
        kind="charge" if kind[1:] in _CHARGES else ("reversal" if returned else "other"),
        details=f"{details} {extra}".strip()[:_TEXT_MAX],
        reason=reason,
        column=None if reason is None else ":61:",
    )
