"""What a line of books or of a statement is: by the mapping's words, else by its sign."""

import re
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyarrow import compute

from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.read.mapping import CORRECTION
from kusanya_books.read.tables import headers
from kusanya_books.read.tables.reader import SheetReader

_OUT: Final = frozenset(
    {"refund", "credit_note", "chargeback", "charge", "payout", "fee", "tax", "reversal"}
)
"""Kinds that are money out, where signs are known by the kind."""
_CREDITS: Final = "every payment is less than 0: read as money in, as a column of credits has it"
_UNSAID: Final = "amount is less than 0 and no column says why: read as a reversal"


def of_books(reader: SheetReader, amount: Any, *, known: tuple[str, ...]) -> tuple[Any, Any]:
    """Return amounts and kinds of the lines of the books.

    A payment is never negative; such a line, where nothing says what it is, is a reversal. So is a
    correction of less than 0, and any other a payment.
    """
    kind = named(reader, known=known)
    said = kind.notna()
    if reader.layout.kinds or reader.has("kind"):
        wanted = reader.skipped.isna() if reader.layout.kinds else reader.text("kind").notna()
        reader.reject(~said & wanted, "kind is none of those that the mapping names", "kind")
    kind = kind.fillna("payment")
    amount = _signed(reader, amount, kind)
    below = (kind.isin(["payment", CORRECTION]) & (amount < 0)).fillna(False).astype(bool)
    reader.warn(below & (kind == "payment"), _UNSAID, "amount")
    return amount, kind.replace(CORRECTION, "payment").mask(below, "reversal")


def of_movements(
    reader: SheetReader, amount: Any, *, known: tuple[str, ...], bank: bool
) -> tuple[Any, Any]:
    """Return amounts and kinds of a statement's lines; what no word names is `other`.

    Where nothing names kinds, money in is a payment at an operator, and anybody's at a bank.
    """
    kind = named(reader, known=known)
    if not (reader.layout.kinds or reader.has("kind")):
        into = (amount >= 0).fillna(False).astype(bool)
        return amount, kind.mask(into & (not bank), "payment").fillna("other")
    reader.warn(kind.isna(), "kind is none of those that the mapping names: other", "kind")
    kind = kind.fillna("other")
    return _signed(reader, amount, kind), kind


def of_settlement(reader: SheetReader, net: Any, *, known: tuple[str, ...]) -> tuple[Any, Any]:
    """Return nets and kinds of a settlement statement's lines; what no word names is a payment's.

    Where a mapping names kinds, a line below zero that has none is remarkable.
    """
    kind = named(reader, known=known)
    if reader.layout.kinds:
        reader.warn(
            kind.isna() & (net < 0),
            "kind is none of those that the mapping names: taken back",
            "net",
        )
    kind = kind.fillna("payment")
    return _signed(reader, net, kind), kind


def named(reader: SheetReader, *, known: tuple[str, ...]) -> Any:
    """Return the kind that a line names: a word of ours, or one of the mapping's in its text."""
    kind = pd.Series(pd.NA, index=reader.index, dtype=DType.TEXT.pandas)
    if not reader.layout.kinds:
        text = reader.text("kind")
        return text.where(text.isin(known)) if reader.has("kind") else kind
    for column in ("kind", "details"):
        text = reader.text(column)
        for name, words in reader.layout.kinds.items():
            said = text.str.contains(_pattern(words), regex=True).fillna(False).astype(bool)
            kind = kind.mask(said & kind.isna(), name)
    return kind


def _pattern(words: tuple[str, ...]) -> str:
    """Return the pattern of whole words, in any case; one that ends in * is a beginning."""
    each = (
        re.escape(word.removesuffix("*")) + ("" if word.endswith("*") else r"\b") for word in words
    )
    return rf"(?i)\b(?:{'|'.join(each)})"


def taken(reader: SheetReader) -> dict[str, Any]:
    """Return reference, receipt, collection's id and phone: of their columns, else of a text."""
    found = {name: reader.text(name) for name in ("reference", "receipt", "collection_id")}
    found["phone"] = pd.Series(pd.NA, index=reader.index, dtype=DType.TEXT.pandas)
    frame = reader.sheet.frame
    for rule in reader.layout.take:
        column = next(iter(headers.place_of((rule.column,), list(frame.columns))), None)
        if column is None and rule.optional:
            continue
        if column is None:
            raise InputRefused(
                f"{reader.sheet.name} has no column {safe(rule.column)} to take from"
            )
        parts = compute.extract_regex(pa.array(frame[column], pa.string()), rule.pattern)
        for place, field in enumerate(parts.type):
            texts = pd.Series(
                pd.array(compute.struct_field(parts, [place]), dtype=DType.TEXT.pandas),
                index=reader.index,
            ).str.strip()
            texts = texts.mask(texts == "")
            found[field.name] = found[field.name].fillna(texts)
    return found


def _signed(reader: SheetReader, amount: Any, kind: Any) -> Any:
    if reader.layout.signs == "file":
        return amount
    out = kind.isin(_OUT).fillna(False).astype(bool)
    # What a correction does says nothing of how payments are written.
    into = (~out & (kind != CORRECTION)).fillna(False).astype(bool)
    below = (into & (amount < 0)).fillna(False).astype(bool) & reader.kept()
    above = (into & (amount > 0)).fillna(False).astype(bool) & reader.kept()
    # Of payments with both signs, one below zero takes money back.
    if below.any() and not above.any():
        reader.warn_once(below, _CREDITS, "amount")
        amount = amount.mask(~out, -amount)
    return amount.mask(out, -amount.abs())
