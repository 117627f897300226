"""The merchant's books and the provider's settlement statement, from files into frames.

A row that cannot be read is rejected with its number, its column and the reason, never repaired;
with one rejected row the period is not closed.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pandas as pd

from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import LEDGER, STATEMENT, DType
from kusanya_books.read import spreadsheets
from kusanya_books.read.mapping import (
    CHARGE,
    LEDGER_KINDS,
    LEDGER_MAY,
    LEDGER_NEEDS,
    STATEMENT_KINDS,
    STATEMENT_MAY,
    STATEMENT_NEEDS,
    Layout,
)
from kusanya_books.read.tables import kinds
from kusanya_books.read.tables.reader import SheetReader, fits_of
from kusanya_books.request.days import business_days
from kusanya_books.request.quality import Quality

_STATUSES: Final = frozenset({"paid", "open", "not_paid"})
TAKEN_OFF: Final = "no fee has the sign of its gross: read as what is taken off"
"""What is said of the fees of a statement without a net, where all of them were turned."""
NET_DIFFERS: Final = "net is not gross less fee"
_WITH_TAX: Final = "part of the fee: the net is without it"
_NO_TAX: Final = "not read: if it is part of the fee, a mapping says so, as added.fee"


def ledger(
    path: Path, layout: Layout | None = None, *, cutoff: timedelta = timedelta(0)
) -> tuple[pd.DataFrame, Quality]:
    """Read the books. A line without a reference and a collection's id stands for a day's payments.

    Without a status it is paid.

    Raises InputRefused when the file as a whole cannot be used.
    """
    form = layout or Layout()
    sheet = spreadsheets.read(path, form, fits_of(form, LEDGER_NEEDS, books=True))
    reader = SheetReader(sheet, form, LEDGER_NEEDS, LEDGER_MAY, books=True)
    at, days_only = reader.instants("booked_at")
    taken = kinds.taken(reader)
    reference, named = taken["reference"], taken["collection_id"]
    said, written = reader.money()
    amount, kind = kinds.of_books(reader, said, known=LEDGER_KINDS)
    status = _status(reader)
    frame = pd.DataFrame(
        {
            "row_no": reader.index,
            "reference": reference,
            "collection_id": named,
            "amount": amount,
            "fee": reader.number("fee"),
            "currency": (currency := reader.currency(written)),
            "channel": reader.words("channel"),
            "kind": kind,
            "status": status,
            "booked_at": at,
            "booked_day": days_of(at, form, days_only=days_only, cutoff=cutoff),
        }
    )
    # A bank's charge, a refund or a chargeback often names nobody.
    unnamed = reference.isna() & named.isna() & (kind == "payment").fillna(True)
    reader.warn(unnamed, "names no payment: taken for all payments of its day", "reference")
    reader.numbers_in_text()
    kept, quality = reader.finish(
        "ledger", amount=amount, currency=currency, written=said, counts=status == "paid"
    )
    return columns.frame(LEDGER, frame if kept.all() else frame[kept]), quality


def statement(path: Path, layout: Layout | None = None) -> tuple[pd.DataFrame, Quality]:
    """Read a settlement statement: a line per day and channel, or per collection.

    Where it has no net, that is gross less fee. Raises InputRefused when the file as a whole
    cannot be used.
    """
    form = layout or Layout()
    sheet = spreadsheets.read(path, form, fits_of(form, STATEMENT_NEEDS))
    reader = SheetReader(sheet, form, STATEMENT_NEEDS, STATEMENT_MAY)
    named = reader.text("collection_id")
    dated = reader.has("business_day")
    gross, fee, said, written = _sums_of_statement(reader)
    net, kind = kinds.of_settlement(reader, said, known=STATEMENT_KINDS)
    entries = reader.skipped.isna() & (kind != CHARGE)
    if not dated and (named.isna() & entries).any():
        raise InputRefused("a statement has a business_day or a collection_id on every line")
    if named.notna().any() and (named.isna() & entries).any():
        raise InputRefused("a statement names a collection on every line or on none")
    at = reader.instants("business_day")[0] if dated else _no_instants(reader)
    reader.warn(((gross - fee) != net) & (kind != CHARGE), NET_DIFFERS, "net")
    frame = pd.DataFrame(
        {
            "input": safe(sheet.name),
            "line_no": reader.index,
            "batch_id": (batch := reader.text("batch_id")),
            "collection_id": named,
            "business_day": _written_days(at, form),
            "channel": _of_batch(reader.words("channel"), batch, kind),
            "currency": (currency := reader.currency(written)),
            "gross": gross,
            "fee": fee,
            "net": net,
            "count": reader.number("count"),
            "kind": kind,
        }
    )
    reader.numbers_in_text()
    kept, quality = reader.finish("statement", amount=net, currency=currency, written=said)
    return columns.frame(STATEMENT, frame[kept]), quality


def _sums_of_statement(reader: SheetReader) -> tuple[Any, Any, Any, Any]:
    """Return gross, fee and net of a settlement statement, and the currency beside its amounts.

    What a provider takes back or charges is a line below zero. A fee that is written as what is
    taken off, with the other sign, is turned where the net says so.
    """
    has_net = reader.has("net")
    if not (has_net or reader.has("fee")):
        raise InputRefused("a statement without a net has a gross and a fee on every line")
    gross = reader.number("gross", required=not has_net, signed=True)
    written = reader.written
    fee = reader.number("fee", signed=True)
    if not has_net:
        for header, tax in reader.taxes().items():
            reader.warn_once(tax != 0, _NO_TAX, header)
        return gross, *_fee_and_net(reader, gross, fee), written
    net = reader.number("net", required=True, signed=True)
    fee = _with_taxes(reader, gross, fee, net)
    taken_off = (gross - fee != net) & (gross + fee == net)
    return gross, fee.mask(taken_off.fillna(False).astype(bool), -fee), net, reader.written


def _with_taxes(reader: SheetReader, gross: Any, fee: Any, net: Any) -> Any:
    """Return the fees, with the taxes beside them in lines whose net is without those too."""
    taxes, taxed = reader.taxes(), fee
    for tax in taxes.values():
        taxed = taxed.add(tax, fill_value=0)
    is_taxed = _agrees(gross, taxed, net) & ~_agrees(gross, fee, net)
    for header in taxes:
        reader.warn_once(is_taxed, _WITH_TAX, header)
    return fee.mask(is_taxed, taxed)


def _agrees(gross: Any, fee: Any, net: Any) -> Any:
    """Tell in which lines the net is the gross less the fee, whatever sign the fee has."""
    found: Any = ((gross - fee == net) | (gross + fee == net)).fillna(False).astype(bool)
    return found


def _fee_and_net(reader: SheetReader, gross: Any, fee: Any) -> tuple[Any, Any]:
    """Return the fees, turned where none of the file has the sign of its gross, and the nets."""
    sides = (gross.clip(-1, 1) * fee.clip(-1, 1)).fillna(0)
    opposed = sides < 0
    if (reader.kept() & (sides > 0)).any():
        reader.reject(opposed, "fee has another sign than its gross, and no net says why", "fee")
    elif (reader.kept() & opposed).any():
        reader.warn_once(opposed, TAKEN_OFF, "fee")
        fee = -fee
    # A line without a fee has none; a total that names no fee says nothing of the net.
    return fee, gross - fee.mask(fee.isna() & reader.skipped.isna(), 0)


def _of_batch(channel: Any, batch: Any, kind: Any) -> Any:
    """Return the channels; of a charge that names none that of its batch, where it has one."""
    lacking = ((kind == CHARGE) & channel.isna() & batch.notna()).astype(bool)
    if not lacking.any():
        return channel
    some = batch.isin(batch[lacking])
    named = channel[some].groupby(batch[some])
    first = named.min()
    return channel.mask(lacking, batch.map(first.where(first == named.max())))


def _status(reader: SheetReader) -> Any:
    if not reader.has("status"):
        return pd.Series("paid", index=reader.index, dtype=DType.TEXT.pandas)
    status = reader.words("status")
    unknown = ~status.isin(_STATUSES)
    reader.reject(unknown, "status is none of those that the mapping names", "status")
    return status


def days_of(at: Any, layout: Layout, *, days_only: bool, cutoff: timedelta) -> Any:
    """Return the business day of each instant; a date without a time is one already."""
    return _written_days(at, layout) if days_only else business_days(at, cutoff=cutoff)


def _written_days(at: Any, layout: Layout) -> Any:
    return at.dt.tz_convert(layout.zone).dt.tz_localize(None).dt.normalize()


def _no_instants(reader: SheetReader) -> Any:
    return pd.Series(pd.NaT, index=reader.index, dtype=DType.INSTANT.pandas)
