"""The operator's receipts that are known, and the lines of the books that name a payment by one."""

import pandas as pd
import pyarrow as pa

from kusanya_books import columns
from kusanya_books.columns import LEDGER, RECEIPTS
from kusanya_books.columns.dtypes import spelled

_PLACE = ["reference", "collection_id"]


def receipts(known: pa.Table) -> pd.DataFrame:
    """Return the receipts that a store kept, collection_id and receipt, by `RECEIPTS`.

    The lines that gave them are not known any more: channel, input and line are missing.
    """
    unknown = dict.fromkeys(("channel", "input", "line_no"))
    return columns.frame(RECEIPTS, columns.from_arrow(known).assign(**unknown))


def books_by_statements(ledger: pd.DataFrame, movements: pd.DataFrame) -> pd.DataFrame:
    """Return the books, by LEDGER, with what operators' statements say that a receipt is for.

    A line that names the receipt of one payment, and no order of a statement, names its order.
    """
    said = movements[(movements["leg"] == "operator") & movements["receipt"].notna()]
    paid = said[(said["kind"] == "payment") & said[_PLACE].notna().any(axis=1)]
    return _named(ledger, paid[["receipt", *_PLACE]], orders=movements["reference"])


def books_by_kept(ledger: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return the books with the collections of receipts, by RECEIPTS, that earlier closes kept."""
    return _named(ledger, kept[["receipt", "collection_id"]].assign(reference=None))


def _named(
    ledger: pd.DataFrame, known: pd.DataFrame, *, orders: "pd.Series[str] | None" = None
) -> pd.DataFrame:
    keys = spelled(ledger["reference"]).where(ledger["collection_id"].isna())
    names = spelled(known["receipt"])
    of = known.assign(receipt=names)[names.isin(keys.dropna())].drop_duplicates()
    if of.empty:
        # As in most books: a million orders need not be compared.
        return ledger
    if orders is not None:
        of = of[~of["receipt"].isin(spelled(orders))]
    # Two operators may give one receipt: which of the payments is meant nobody can tell.
    named = of[~of["receipt"].duplicated(keep=False)].set_index("receipt")
    said = {
        name: keys.map(named[name]).fillna(ledger[name])
        for name in _PLACE
        if named[name].notna().any()
    }
    return columns.frame(LEDGER, ledger.assign(**said)) if said else ledger
