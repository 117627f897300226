"""The lines of the books that a later period needs beside its own: those of open orders."""

from typing import Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import LEDGER, Schema
from kusanya_books.engine.engines import open_engine
from kusanya_books.request.report_inputs import Inputs

_AGREED_LATER: Final = frozenset({"paid_in_later_period", "paid_over_edge"})
_ORDERS: Final = Schema(
    "orders", {name: LEDGER.columns[name] for name in ("row_no", "reference", "collection_id")}
)
_OF_ORDERS: Final = """
SELECT * FROM ledger
WHERE row_no IN (SELECT row_no FROM wanted WHERE row_no IS NOT NULL)
    OR reference IN (SELECT reference FROM wanted WHERE reference IS NOT NULL)
    OR collection_id IN (SELECT collection_id FROM wanted WHERE collection_id IS NOT NULL)
ORDER BY row_no
"""


def of(inputs: Inputs, *matches: pd.DataFrame | None) -> pd.DataFrame:
    """Return the lines of the orders that the rows of a match leave open.

    Of an order that is open all lines come along, those that agree too: without the first line of
    two, its payment would be called unbooked.
    """
    first = pd.Timestamp(inputs.period.first)
    wanted = pd.concat(
        [_of_open_orders(rows, first) for rows in matches if rows is not None]
        or [columns.empty(_ORDERS)]
    )
    lines = []
    if inputs.ledger is not None:
        with open_engine(inputs.ledger) as engine:
            engine.register("ledger", inputs.ledger, LEDGER)
            engine.register("wanted", columns.frame(_ORDERS, wanted), _ORDERS)
            lines.append(engine.frame(_OF_ORDERS, LEDGER))
    if inputs.carried is not None:
        earlier = inputs.carried.lines
        keep = pd.Series(False, earlier.index)
        for name in _ORDERS.columns:
            keep |= earlier[name].isin(wanted[name].dropna()).fillna(value=False)
        lines.append(earlier[keep])
    return pd.concat(lines, ignore_index=True) if lines else columns.empty(LEDGER)


def _of_open_orders(rows: pd.DataFrame, first: pd.Timestamp) -> pd.DataFrame:
    is_later = rows["break_code"].isin(_AGREED_LATER) & (rows["booked_day"] >= first)
    is_open = rows["break_id"].notna() | is_later.fillna(value=False)
    found: pd.DataFrame = rows.loc[is_open, list(_ORDERS.columns)]
    return found
