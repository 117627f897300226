"""Statements of operators and banks, from files into movements: one row per line of money."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pandas as pd

from kusanya.privacy import mask_phone, mask_text
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import MOVEMENTS, DType
from kusanya_books.read import spreadsheets
from kusanya_books.read.bank import camt, mt940, ofx
from kusanya_books.read.bank.entries import Entries
from kusanya_books.read.files import days_of
from kusanya_books.read.mapping import MOVEMENT_KINDS, MOVEMENT_MAY, MOVEMENT_NEEDS, Layout
from kusanya_books.read.tables import kinds, numbers
from kusanya_books.read.tables.reader import SheetReader, fits_of
from kusanya_books.request.quality import Quality

OPERATOR: Final = "operator"
BANK: Final = "bank"
COMPLETED: Final = "completed"
_FORMATS: Final[dict[str, tuple[Callable[[bytes], bool], Callable[[str, bytes], Entries]]]] = {
    "camt.053": (camt.is_camt, camt.read),
    "OFX": (ofx.is_ofx, ofx.read),
    "MT940": (mt940.is_mt940, mt940.read),
}


def read(
    path: Path, layout: Layout | None = None, *, leg: str, cutoff: timedelta = timedelta(0)
) -> tuple[pd.DataFrame, Quality]:
    """Read a statement of an operator or a bank; `leg` says whose.

    A file is a table (CSV, XLSX, XLS), camt.053, MT940 or OFX: its bytes say which. Raises
    InputRefused when the file as a whole cannot be used.
    """
    form = layout or Layout()
    data, digest = spreadsheets.load(path)
    name = format_of(data)
    if name is not None:
        found = _FORMATS[name][1](path.name, data)
        return found.finish(path.name, digest, leg=leg, cutoff=cutoff)
    del data
    return _table(path, form, leg=leg, cutoff=cutoff)


def format_of(data: bytes) -> str | None:
    """Return the name of the bank's format that a file has, None for a table."""
    return next((name for name, (is_one, _) in _FORMATS.items() if is_one(data)), None)


def _table(
    path: Path, form: Layout, *, leg: str, cutoff: timedelta
) -> tuple[pd.DataFrame, Quality]:
    sheet = spreadsheets.read(path, form, fits_of(form, MOVEMENT_NEEDS))
    reader = SheetReader(sheet, form, MOVEMENT_NEEDS, MOVEMENT_MAY, cents=leg == BANK)
    at, days_only = reader.instants("at")
    taken = kinds.taken(reader)
    said, written = reader.money()
    currency = reader.currency(written)
    amount, kind = kinds.of_movements(reader, said, known=MOVEMENT_KINDS, bank=leg == BANK)
    fee = reader.number("fee", signed=True).abs()
    balance = reader.number("balance", signed=True)
    if leg == BANK:
        reader.warn(amount % numbers.HUNDREDTHS != 0, numbers.HAS_CENTS, "amount")
        amount = numbers.made_whole(amount, balance.fillna(numbers.no_balance(amount)))
        fee = numbers.made_whole(fee, numbers.no_balance(fee))
        balance = balance // numbers.HUNDREDTHS
    frame = pd.DataFrame(
        {
            "input": safe(sheet.name),
            "line_no": reader.index,
            "leg": leg,
            "channel": reader.words("channel"),
            "currency": currency,
            "at": at,
            "business_day": days_of(at, form, days_only=days_only, cutoff=cutoff),
            "receipt": taken["receipt"],
            "reference": taken["reference"],
            "collection_id": taken["collection_id"],
            "kind": kind,
            "status": _status(reader),
            "amount": amount,
            "fee": fee,
            "balance": balance,
            "details": _details(reader.text("details"), taken["phone"]),
        }
    )
    reader.numbers_in_text()
    kept, quality = reader.finish(
        leg,
        amount=amount,
        currency=currency,
        written=said,
        counts=frame["status"] == COMPLETED,
    )
    return columns.frame(MOVEMENTS, frame[kept]), quality


def _status(reader: SheetReader) -> Any:
    """Return `completed`, or the statement's own word where the mapping does not name it."""
    if not reader.has("status"):
        return pd.Series(COMPLETED, index=reader.index, dtype=DType.TEXT.pandas)
    text = reader.text("status")
    said = reader.layout.values.get("status", {})  # noqa: PD011 - a mapping, no frame
    words = {word.casefold(): ours for word, ours in said.items()}
    ours = text.str.casefold().map({"completed": COMPLETED, **words})
    found = ours.astype(DType.TEXT.pandas).fillna(text.map(safe, na_action="ignore"))
    return found.fillna("not said")


def _details(text: Any, phone: Any) -> Any:
    each = [
        None if pd.isna(cell) else _masked(str(cell), None if pd.isna(own) else str(own))
        for cell, own in zip(text, phone, strict=True)
    ]
    return pd.Series(each, index=text.index, dtype="object").astype(DType.TEXT.pandas)


def _masked(text: str, phone: str | None) -> str:
    if phone:
        text = text.replace(phone, mask_phone(phone))
    return safe(mask_text(text))
