"""OFX, as banks' web pages export it: the entries of its bank and card statements.

Both generations: SGML, in which a field has no end, and XML. A bank's export is seldom valid to the
letter, and one wrong field is no reason to lose the others; a file that is cut short is refused.
"""

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from kusanya.domain.business_day import YEARS
from kusanya.errors import InputRefused
from kusanya.text import plain
from kusanya_books.read.bank.entries import (
    NO_AMOUNT,
    NO_DATE,
    BankEntry,
    Entries,
    check_size,
    cut,
    hundredths,
)

OFX_MAX: Final = 50_000_000
"""Largest file, in bytes."""
_START: Final = 1_000
_HIDDEN: Final = {"<![CDATA[": "]]>", "<!--": "-->"}
"""What may hold a < that begins no element, with what ends it."""
_STATEMENTS: Final = frozenset({"STMTRS", "CCSTMTRS"})
_ENTRY: Final = "STMTTRN"
_INNER: Final = frozenset({"CURRENCY", "ORIGCURRENCY", "PAYEE", "BANKACCTTO", "CCACCTTO"})
"""What lies within an entry and has fields of its own."""
_ONCE: Final = ("TRNAMT", "DTPOSTED", "FITID")
_MOMENT: Final = re.compile(
    r"(?P<day>[0-9]{8})(?P<clock>[0-9]{4}(?:[0-9]{2}(?:\.[0-9]{1,6})?)?)?"
    r"(?:\[(?P<hours>[+-]?[0-9]{1,2})(?:\.(?P<part>[0-9]{1,2}))?(?::[^\]]{0,20})?\])?"
)
_MINUTES: Final = {
    "0": 0,
    "00": 0,
    "15": 15,
    "25": 15,
    "30": 30,
    "5": 30,
    "50": 30,
    "45": 45,
    "75": 45,
}
"""Of an offset's fraction, which banks write in hours or in minutes; a zone has these alone."""
_HOURS_MAX: Final = 14
_CHARGES: Final = frozenset({"FEE", "SRVCHG"})
_FIELD_MAX: Final = 2_000
_TEXT_MAX: Final = 500
_Fields = dict[str, list[str]]


def is_ofx(data: bytes) -> bool:
    """Return whether a file is OFX, of either generation."""
    start = data[:_START].lstrip(b"\xef\xbb\xbf \r\n").upper()
    return start.startswith(b"OFXHEADER") or (b"<?OFX" in start and start.startswith(b"<?XML"))


def read(name: str, data: bytes) -> Entries:
    """Return the entries of all statements of a file. Raises InputRefused for what is no OFX."""
    check_size(name, data, OFX_MAX)
    entries: list[BankEntry] = []
    currency, statement, inner = "", "", ""
    fields: _Fields | None = None
    waiting: list[tuple[int, _Fields]] = []
    closed = False
    for tag, text in _elements(name, data):
        if tag in _STATEMENTS:
            _expect(name, not statement)
            currency, statement = "", tag
        elif statement and tag == f"/{statement}":
            _expect(name, fields is None)
            entries += [_entry(row, said, currency or None) for row, said in waiting]
            statement, waiting = "", []
        elif statement and tag == _ENTRY:
            _expect(name, fields is None)
            fields, inner = {}, ""
        elif tag == f"/{_ENTRY}":
            _expect(name, fields is not None)
            waiting.append((len(entries) + len(waiting) + 1, fields or {}))
            fields = None
        elif fields is not None and tag.removeprefix("/") in _INNER:
            inner = "" if tag.startswith("/") else f"{tag}."
        elif fields is not None and text:
            fields.setdefault(f"{inner}{tag}", []).append(text)
        elif statement and tag == "CURDEF":
            currency = currency or text
        closed = tag == "/OFX"
    _expect(name, closed and not statement)
    # The standard has no opening balance: a running one would be a guess.
    return Entries(entries=tuple(entries), balances=(None,) * len(entries))


def _expect(name: str, fits: bool) -> None:  # noqa: FBT001 - private
    if not fits:
        raise InputRefused(f"{name} is not OFX that can be read: its elements do not end in turn")


def _elements(name: str, data: bytes) -> Iterator[tuple[str, str]]:
    """Yield every tag in upper case, that of an end with its slash, and the text behind it."""
    for piece in _bare(name, plain(_decoded(data))).split("<")[1:]:
        tag, _, text = piece.partition(">")
        if tag.startswith("!"):
            raise InputRefused(f"{name} has a document type or an entity; no statement has")
        if not tag.startswith("?"):
            yield tag.strip().upper(), html.unescape(text[:_FIELD_MAX]).strip()


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _bare(name: str, text: str) -> str:
    """Return a text without comments, and with the marks of literal text escaped."""
    if "<!" not in text:
        return text
    pieces: list[str] = []
    at = 0
    while (begin := text.find("<!", at)) >= 0:
        mark = next((each for each in _HIDDEN if text.startswith(each, begin)), None)
        if mark is None:
            break
        end = text.find(_HIDDEN[mark], begin + len(mark))
        _expect(name, end >= 0)
        pieces.append(text[at:begin])
        if mark != "<!--":
            pieces.append(html.escape(text[begin + len(mark) : end], quote=False))
        at = end + len(_HIDDEN[mark])
    return "".join((*pieces, text[at:]))


def _entry(row: int, fields: _Fields, currency: str | None) -> BankEntry:
    def said(tag: str) -> str:
        return next(iter(fields.get(tag, ())), "")

    currency = said("CURRENCY.CURSYM") or currency
    amount, (at, day) = hundredths(said("TRNAMT")), _moment(said("DTPOSTED"))
    twice = [tag for tag in _ONCE if len(set(fields.get(tag, ()))) > 1]
    wrong = None
    if twice:
        wrong = (f"the entry says {twice[0]} twice", twice[0])
    elif amount is None:
        wrong = (NO_AMOUNT, "TRNAMT")
    elif at is None and day is None:
        wrong = (NO_DATE, "DTPOSTED")
    elif currency is None:
        wrong = ("the statement names no currency", "CURDEF")
    kind = said("TRNTYPE").upper()
    details = " ".join(f"{said('NAME')} {said('MEMO')}".split())
    return BankEntry(
        row=row,
        at=at,
        day=None if day is None else day.date(),
        currency=currency,
        amount=amount,
        receipt=cut(said("FITID")),
        reference=cut(said("REFNUM") or said("CHECKNUM")),
        kind="charge" if kind in _CHARGES else "other",
        details=details[:_TEXT_MAX],
        reason=None if wrong is None else wrong[0],
        column=None if wrong is None else wrong[1],
    )


def _moment(text: str) -> tuple[datetime | None, datetime | None]:
    """Return the instant that a field says, or its day where it says no time; else nothing.

    Without an offset it is UTC, as the standard has it.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None, None
    clock = (found["clock"] or "").partition(".")[0]
    try:
        at = datetime.strptime(f"{found['day']}{clock:0<6}", "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None, None
    if at.year not in YEARS:
        return None, None
    if not clock:
        return None, at
    hours, part = found["hours"] or "0", found["part"] or "0"
    if abs(int(hours)) > _HOURS_MAX or part not in _MINUTES:
        return None, None
    offset = timedelta(hours=abs(int(hours)), minutes=_MINUTES[part])
    return at.replace(tzinfo=timezone(-offset if hours.startswith("-") else offset)), None
