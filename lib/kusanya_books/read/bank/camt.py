"""camt.053, the XML of ISO 20022 for a bank's statement, in any of its versions.

Read entry by entry, so that memory does not grow with the file. A document type, an entity and
anything external are refused before they are looked at.
"""

import io
from datetime import date, datetime
from importlib import import_module
from typing import Any, Final
from zoneinfo import ZoneInfo

from kusanya.domain.business_day import YEARS, read_day
from kusanya.errors import InputRefused
from kusanya.text import plain
from kusanya_books.read.bank.entries import (
    COMPLETED,
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
from kusanya_books.read.mapping import EAT_NAME
from kusanya_books.read.tables.sheet import CELL_MAX

_START: Final = 4_096
_DEPTH_MAX: Final = 40
_SIGNS: Final = {"CRDT": 1, "DBIT": -1}
_CHARGES: Final = frozenset({"CHRG", "COMM", "COME"})
_TAXES: Final = frozenset({"TAXE", "COMT"})
_WHOLE: Final = frozenset({"Ntry", "Bal"})
"""Elements that are read when they end, with all that is in them."""
_PARTS_MAX: Final = 500_000
_TEXT_MAX: Final = 500


def is_camt(data: bytes) -> bool:
    """Return whether a file is an ISO 20022 statement."""
    start = data[:_START]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.replace(b"\0", b"")
    return b"camt.053" in start or b"BkToCstmrStmt" in start


def read(name: str, data: bytes) -> Entries:
    """Return the entries of all statements of a file. Raises InputRefused for what is no camt."""
    check_size(name, data)
    xml: Any = import_module("defusedxml.ElementTree")
    forbidden: Any = import_module("defusedxml.common").DefusedXmlException
    reader = _Reader(name)
    try:
        events = xml.iterparse(io.BytesIO(data), events=("start", "end"), forbid_dtd=True)
        for event, element in events:
            reader.take(event, element)
    except forbidden:
        raise InputRefused(f"{name} has a document type or an entity; no statement has") from None
    except (SyntaxError, ValueError, LookupError):
        raise InputRefused(f"{name} is not XML that can be read") from None
    return reader.entries()


class _Reader:
    """What was read so far, of statements one after the other."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._open: list[Any] = []
        self._entries: list[BankEntry] = []
        self._balances: list[int | None] = []
        self._notes: list[str] = []
        self._moved: list[int | None] = []
        self._begun = self._parts = 0
        self._ends: dict[str, int | None] = {}
        self._currency: str | None = None

    def take(self, event: str, element: Any) -> None:
        """Take the next event of the parser."""
        if event == "start":
            self._open.append(element)
            self._parts += 1
            if self._parts > _PARTS_MAX:
                raise InputRefused(f"{self._name} has an entry of over {_PARTS_MAX:,} elements")
            if len(self._open) > _DEPTH_MAX:
                raise InputRefused(f"{self._name} is no statement: its elements lie too deep")
            return
        self._open.pop()
        if len(element.text or "") > CELL_MAX:
            raise InputRefused(f"{self._name} has a text of over {CELL_MAX:,} characters")
        tag = _tag(element)
        parent = _tag(self._open[-1]) if self._open else ""
        if tag == "Ccy" and parent == "Acct":
            self._currency = plain(element.text or "").strip() or None
        elif tag == "Bal" and parent == "Stmt":
            self._ends[_text(element, "Tp/CdOrPrtry/Cd")] = _signed(element)
        elif tag == "Ntry" and parent == "Stmt":
            self._entries.append(_entry(len(self._entries) + 1, element, self._currency))
        elif tag == "Stmt":
            self._close()
        # Its parent would keep it, and with it the whole file.
        if self._open and not any(_tag(each) in _WHOLE for each in self._open):
            self._open[-1].remove(element)
            self._parts = 0

    def _close(self) -> None:
        opening = self._ends.get("OPBD", self._ends.get("PRCD"))
        mine = self._entries[self._begun :]
        found = running(opening, self._ends.get("CLBD"), mine)
        if mine and None in found and "CLBD" in self._ends:
            self._notes.append("the entries of a statement do not lead to its closing balance")
        self._balances.extend(found)
        self._moved.append(moved(opening, self._ends.get("CLBD")))
        self._begun, self._ends, self._currency = len(self._entries), {}, None

    def entries(self) -> Entries:
        """Return everything that was read."""
        rest = [None] * (len(self._entries) - len(self._balances))
        return Entries(
            entries=tuple(self._entries),
            balances=(*self._balances, *rest),
            notes=tuple(self._notes),
            moved=tuple(self._moved),
        )


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _find(element: Any, path: str) -> Any:
    return element.find("/".join(f"{{*}}{step}" for step in path.split("/")))


def _text(element: Any, *paths: str) -> str:
    for path in paths:
        found = _find(element, path)
        said = plain((found.text or "") if found is not None else "").strip()
        if said:
            return said
    return ""


def _signed(element: Any) -> int | None:
    amount = hundredths(_text(element, "Amt"))
    sign = _SIGNS.get(_text(element, "CdtDbtInd"))
    return None if amount is None or sign is None else sign * amount


def _entry(row: int, element: Any, currency: str | None) -> BankEntry:
    sum_ = _find(element, "Amt")
    own = (plain(sum_.get("Ccy") or "").strip() if sum_ is not None else "") or currency
    amount = _signed(element)
    at, day = _moment(element)
    wrong = None
    if _text(element, "CdtDbtInd") not in _SIGNS:
        wrong = ("the entry does not say whether it is a credit or a debit", "CdtDbtInd")
    elif amount is None:
        wrong = (NO_AMOUNT, "Amt")
    elif at is None and day is None:
        wrong = (NO_DATE, "BookgDt")
    elif own is None:
        wrong = ("the entry names no currency", "Ccy")
    details = "NtryDtls/TxDtls"
    words = (
        *(plain(part.text or "") for part in element.iterfind(".//{*}Ustrd")),
        _text(element, "AddtlNtryInf"),
    )
    return BankEntry(
        row=row,
        at=at,
        day=day,
        currency=own,
        amount=amount,
        receipt=cut(_text(element, "AcctSvcrRef", f"{details}/Refs/AcctSvcrRef", "NtryRef")),
        reference=cut(_text(element, f"{details}/Refs/EndToEndId", f"{details}/Refs/TxId")),
        kind=_kind(element),
        status=_status(element),
        details=" ".join(" ".join(words).split())[:_TEXT_MAX],
        reason=None if wrong is None else wrong[0],
        column=None if wrong is None else wrong[1],
    )


def _kind(element: Any) -> str:
    if _text(element, "RvslInd").lower() in {"true", "1"}:
        return "reversal"
    code = _text(element, "BkTxCd/Domn/Fmly/SubFmlyCd")
    return "charge" if code in _CHARGES else ("tax" if code in _TAXES else "other")


def _status(element: Any) -> str:
    said = _text(element, "Sts", "Sts/Cd") or "BOOK"
    return COMPLETED if said == "BOOK" else said


def _moment(element: Any) -> tuple[datetime | None, date | None]:
    for field in ("BookgDt", "ValDt"):
        day, at = _text(element, f"{field}/Dt"), _text(element, f"{field}/DtTm")
        try:
            if at:
                instant = datetime.fromisoformat(at)
                if instant.year not in YEARS:
                    return None, None
                zone = ZoneInfo(EAT_NAME)
                return (instant if instant.tzinfo else instant.replace(tzinfo=zone)), None
            if day:
                return None, read_day(day[:10])
        except ValueError:
            return None, None
    return None, None
