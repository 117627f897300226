"""OFX, as banks' web pages export it: cut into elements by the library ofxtools, then read by us.

A bank's export is seldom valid to the letter, and one wrong field is no reason to lose the others.
"""

import io
import re
from importlib import import_module
from typing import Any, Final

from kusanya.errors import InputRefused
from kusanya.reconcile.inputs.bank.entries import (
    NO_AMOUNT,
    NO_DATE,
    BankEntry,
    Entries,
    check_size,
    cut,
    running,
    whole,
)

OFX_MAX: Final = 50_000_000
"""Largest file, in bytes: its elements are all kept."""
_START: Final = 1_000
_DEPTH_MAX: Final = 40
_TAG: Final = re.compile(rb"<(/?)([A-Za-z0-9._]{1,64})\s*>\s*([^<\s]?)")
_CHARGES: Final = frozenset({"FEE", "SRVCHG"})
_TEXT_MAX: Final = 500


def is_ofx(data: bytes) -> bool:
    """Return whether a file is OFX, of either generation."""
    start = data[:_START].lstrip(b"\xef\xbb\xbf \r\n").upper()
    return start.startswith(b"OFXHEADER") or (b"<?OFX" in start and start.startswith(b"<?XML"))


def read(name: str, data: bytes) -> Entries:
    """Return the entries of all statements of a file. Raises InputRefused for what is no OFX."""
    check_size(name, data, OFX_MAX)
    _check_depth(name, data)
    parser: Any = import_module("ofxtools.Parser")
    tree = parser.OFXTree()
    try:
        root = tree.parse(io.BytesIO(data))
    except (SyntaxError, ValueError, LookupError, AssertionError, TypeError, AttributeError):
        raise InputRefused(f"{name} is not OFX that can be read") from None
    if root is None:
        raise InputRefused(f"{name} is not OFX that can be read: it has no element")
    entries: list[BankEntry] = []
    balances: list[int | None] = []
    for statement in (*root.iter("STMTRS"), *root.iter("CCSTMTRS")):
        currency = (statement.findtext("CURDEF") or "").strip() or None
        found = [
            _entry(len(entries) + place, element, currency)
            for place, element in enumerate(statement.iter("STMTTRN"), start=1)
        ]
        # The standard has no opening balance: the running one would be a guess.
        balances.extend(running(None, None, found))
        entries.extend(found)
    return Entries(entries=tuple(entries), balances=tuple(balances))


def _check_depth(name: str, data: bytes) -> None:
    """Refuse elements within elements beyond all measure: freeing them ends the process."""
    open_: list[bytes] = []
    for closing, tag, text in _TAG.findall(data):
        if closing:
            if open_ and open_[-1] == tag:
                open_.pop()
        elif not text:
            open_.append(tag)
            if len(open_) > _DEPTH_MAX:
                raise InputRefused(f"{name} is not OFX: its elements lie too deep in one another")


def _entry(row: int, element: Any, currency: str | None) -> BankEntry:
    def said(tag: str) -> str:
        return (element.findtext(tag) or "").strip()

    own = element.find("CURRENCY")
    currency = (own.findtext("CURSYM") if own is not None else None) or currency
    amount, at = whole(said("TRNAMT")), _moment(said("DTPOSTED"))
    wrong = None
    if amount is None:
        wrong = (NO_AMOUNT, "TRNAMT")
    elif at is None:
        wrong = (NO_DATE, "DTPOSTED")
    elif currency is None:
        wrong = ("the statement names no currency", "CURDEF")
    days_only = len(said("DTPOSTED").partition("[")[0]) <= 8  # noqa: PLR2004 - YYYYMMDD
    kind = said("TRNTYPE").upper()
    details = " ".join(f"{said('NAME')} {said('MEMO')}".split())
    return BankEntry(
        row=row,
        at=None if days_only else at,
        day=at.date() if days_only and at is not None else None,
        currency=currency,
        amount=amount,
        receipt=cut(said("FITID")),
        reference=cut(said("REFNUM") or said("CHECKNUM")),
        kind="charge" if kind in _CHARGES else "other",
        details=details[:_TEXT_MAX],
        reason=None if wrong is None else wrong[0],
        column=None if wrong is None else wrong[1],
    )


def _moment(text: str) -> Any:
    types: Any = import_module("ofxtools.Types")
    try:
        return types.DateTime().convert(text) if text else None
    except ValueError:
        return None
