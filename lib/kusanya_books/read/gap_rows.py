"""Rows among which a gap is searched: of a pack's pages, or of a file with amounts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.domain.status import PAID
from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import CLOSED, GAP_ROWS, DType
from kusanya_books.read import pack_folder, spreadsheets
from kusanya_books.read.earlier_pack import CLOSED_FILE
from kusanya_books.read.mapping import Layout, Needs
from kusanya_books.read.tables import footers, headers
from kusanya_books.read.tables.reader import SheetReader, fits_of
from kusanya_books.request.days import Period, cutoff, period

BREAKS: Final = "breaks"
COLLECTIONS: Final = "collections"
_PAGES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    BREAKS: {
        "label": ("break_code", "reference"),
        "currency": ("currency_ledger", "currency_service"),
        "amount": ("bridge_effect",),
        "fee": ("fee_service", "fee_ledger"),
        "at": ("completed_at", "booked_at"),
        "day": ("business_day", "booked_day"),
    },
    "fee_exceptions": {
        "label": ("collection_id", "reference"),
        "currency": ("currency",),
        "amount": ("drift",),
        "fee": ("charged",),
        "at": (),
        "day": ("created_day",),
    },
}
"""Pages of a pack and their columns; of several the first that is given, labels have all."""
PAGES: Final = (*_PAGES, COLLECTIONS)
_NEEDS: Final[Needs] = (("amount",),)
_MAY: Final = ("reference", "currency", "channel", "fee")


class Rows(msgspec.Struct, frozen=True):
    """GAP_ROWS, and the period where it is known."""

    frame: pd.DataFrame
    period: Period | None = None
    left_out: tuple[str, ...] = ()
    """Rows of a file that are no entries, such as totals, each with its number and the reason."""


def of_pack(folder: Path, *, page: str = BREAKS, currency: str = "") -> Rows:
    """Return the rows of a page of a pack, all currencies or one.

    `breaks` are what moves the bridge, by its effect; `fee_exceptions` what was charged beside the
    tariff; `collections` everything that succeeded, by its amount. Raises InputRefused for another
    page, where the folder is no pack, and where its file is not as it was written.
    """
    if page not in PAGES:
        raise InputRefused(f"a gap is searched in {', '.join(PAGES)}, not in {page}")
    try:
        said = pack_folder.manifest(folder)
        made_from = said["made_from"]
        days = period(
            f"{made_from['first']}..{made_from['last']}", cutoff=cutoff(made_from["cutoff"])
        )
        name = CLOSED_FILE if page == COLLECTIONS else f"csv/{page}.raw.csv"
        path = pack_folder.as_written(folder, said, name)
        rows = _closed(path) if page == COLLECTIONS else _page(path, page)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise pack_folder.no_pack(folder) from error
    return Rows(_of_currency(rows, currency), days)


def of_file(
    path: Path, *, column: str = "amount", currency: str = "", thousands: str | None = None
) -> Rows:
    """Return the rows of a CSV, XLSX or XLS file by the column that holds signed whole amounts.

    It is read as books are: its header may stand below other lines, amounts as people write them.
    Columns of reference, currency, channel and fee are taken where they are there; a row is called
    by its number in the file. `thousands` is the mark for thousands, where the column leaves it
    open. Raises InputRefused, with the row, for what is no whole number.
    """
    reader = _reader(path, column, thousands)
    amount, written = reader.money()
    fee = reader.number("fee", signed=True)
    kept, quality = reader.finish("rows")
    for remark in quality.rejected:
        raise InputRefused(
            f'{reader.sheet.name}, row {remark.row}: column "{remark.column}": {remark.reason}; '
            "amounts are whole, as 5000, 5,000 or -5000"
        )
    rows = {
        "row_no": pd.Series(reader.index, index=reader.index, dtype=DType.WHOLE.pandas),
        "label": reader.text("reference"),
        "currency": reader.text("currency").fillna(written),
        "channel": reader.text("channel"),
        "amount": amount,
        "fee": fee,
        "at": pd.Series(pd.NaT, index=reader.index, dtype=DType.INSTANT.pandas),
        "day": pd.Series(pd.NaT, index=reader.index, dtype=DType.DAY.pandas),
    }
    found = columns.frame(GAP_ROWS, pd.DataFrame(rows)[kept])
    left_out = tuple(
        f"row {remark.row}: {remark.reason}"
        for remark in quality.remarks
        if remark.verdict == "skipped" and remark.reason != footers.NO_ENTRY
    )
    return Rows(_of_currency(found, currency), left_out=left_out)


def _reader(path: Path, column: str, thousands: str | None) -> SheetReader:
    """Return the reader of a file whose amounts are in `column`."""
    layout = Layout(
        columns={"amount": column, **{name: headers.names_of(name) for name in _MAY}},
        optional=_MAY,
        thousands=thousands,
    )
    file, named = spreadsheets.named(path)
    layout = spreadsheets.of_sheet(layout, named)
    sheet = spreadsheets.read(file, layout, fits_of(layout, _NEEDS))
    if not headers.place_of((column,), list(sheet.frame.columns)):
        raise InputRefused(
            f'{sheet.name} has no column "{safe(column)}"; there: {_names(sheet.frame)}. '
            "Choose it with --column"
        )
    return SheetReader(sheet, layout, _NEEDS, _MAY)


def _page(path: Path, page: str) -> pd.DataFrame:
    read = pd.read_csv(path, dtype="string", keep_default_na=False)
    read = read.mask(read == "")
    names = _PAGES[page]
    label = read[names["label"][0]].fillna("")
    for name in names["label"][1:]:
        label = (label + " " + read[name].fillna("")).str.strip()
    at = _first(read, names["at"])
    rows = pd.DataFrame(
        {
            # As in the page: its header is row 1.
            "row_no": pd.Series(range(2, len(read) + 2), dtype="Int64"),
            "label": label,
            "currency": _first(read, names["currency"]),
            "channel": read["channel"],
            "amount": _first(read, names["amount"]).astype("Int64"),
            "fee": _first(read, names["fee"]).astype("Int64"),
            "at": pd.to_datetime(at, format="ISO8601", utc=True).astype(DType.INSTANT.pandas),
            "day": pd.to_datetime(_first(read, names["day"])).astype(DType.DAY.pandas),
        }
    )
    moving = rows[rows["amount"].fillna(0) != 0]
    return columns.frame(GAP_ROWS, moving)


def _first(read: pd.DataFrame, names: tuple[str, ...]) -> Any:
    found = pd.Series(pd.NA, index=read.index, dtype="string")
    for name in names:
        found = found.fillna(read[name])
    return found


def _closed(path: Path) -> pd.DataFrame:
    closed = columns.check(columns.from_arrow(pq.read_table(path)), CLOSED)
    paid = closed[closed["status"].isin(PAID) & closed["business_day"].notna()]
    rows = {
        "row_no": pd.Series(range(1, len(paid) + 1), index=paid.index, dtype="Int64"),
        "label": paid["id"] + " " + paid["reference"].fillna(""),
        "currency": paid["currency"],
        "channel": paid["channel"],
        "amount": paid["amount"],
        "fee": paid["fee"],
        "at": pd.Series(pd.NaT, index=paid.index, dtype=DType.INSTANT.pandas),
        "day": paid["business_day"],
    }
    return columns.frame(GAP_ROWS, pd.DataFrame(rows))


def _of_currency(rows: pd.DataFrame, currency: str) -> pd.DataFrame:
    if not currency:
        return rows
    chosen = rows[rows["currency"] == currency]
    if chosen.empty:
        there = ", ".join(safe(name, 8) for name in sorted(rows["currency"].dropna().unique()))
        raise InputRefused(f"no row is in {safe(currency, 8)}; there: {there or 'no currency'}")
    return chosen.reset_index(drop=True)


def _names(frame: pd.DataFrame) -> str:
    return ", ".join(safe(str(name), 40) for name in frame.columns[:10])
