"""Lines of the books that name a payment by the operator's receipt, as a bookkeeper reads it."""

import pandas as pd

from kusanya_books.columns import LEDGER, frame
from kusanya_books.columns.dtypes import spelled

_PLACE = ["reference", "collection_id"]


def by_statements(ledger: pd.DataFrame, movements: pd.DataFrame) -> pd.DataFrame:
    """Return the books, by LEDGER, with what operators' statements say that a receipt is for.

    A line that names the receipt of one payment, and no order of a statement, names its order.
    """
    said = movements[(movements["leg"] == "operator") & movements["receipt"].notna()]
    orders = frozenset(spelled(movements["reference"]).dropna())
    paid = said[(said["kind"] == "payment") & said[_PLACE].notna().any(axis=1)]
    return _named(ledger, paid[["receipt", *_PLACE]], but_not=orders)


def by_kept(ledger: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return the books with the collections of receipts, by RECEIPTS, that earlier closes kept."""
    return _named(ledger, kept[["receipt", "collection_id"]].assign(reference=None))


def _named(
    ledger: pd.DataFrame, known: pd.DataFrame, *, but_not: frozenset[str] = frozenset()
) -> pd.DataFrame:
    keys = spelled(ledger["reference"])
    open_ = ledger["collection_id"].isna() & keys.notna() & ~keys.isin(but_not)
    receipts = spelled(known["receipt"])
    of = known.assign(receipt=receipts)[receipts.isin(keys[open_])].drop_duplicates()
    # Two operators may give one receipt: which of the payments is meant nobody can tell.
    named = of[~of["receipt"].duplicated(keep=False)].set_index("receipt")
    said = {
        name: keys.where(open_).map(named[name]).fillna(ledger[name])
        for name in _PLACE
        if named[name].notna().any()
    }
    return frame(LEDGER, ledger.assign(**said)) if said else ledger
