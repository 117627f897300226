"""The answer to a gap: hypotheses, the smallest sets of rows, and one sentence.

The sentence claims no more than what is proven.
"""

from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import GAP_ROWS, GAP_SETS, HYPOTHESES
from kusanya_books.judge.gap import hypotheses
from kusanya_books.judge.gap.amounts import distinct
from kusanya_books.judge.gap.sets import COUNTED, LARGEST, Sets, smallest
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.request.days import Period

ROWS_MOST: Final = 50_000
AMOUNT_MOST: Final = 10**13
"""Sums of six, and of all rows, stay far below 63 bits."""
SHOWN: Final = 10
_SET_MEANS: Final = "these rows alone come to the amount; that may be chance"


class GapAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for an amount among rows; nothing is booked."""

    amount: int
    rows: int
    """How many rows were searched."""
    hypotheses: pd.DataFrame
    searched: Sets
    sets: pd.DataFrame
    """The rows of the first sets; rows of the same amount stand for each other."""
    sentence: str

    @property
    def lines(self) -> pd.DataFrame:
        """Return HYPOTHESES with one more row for each of the sets."""
        found = []
        for number, rows in self.sets.groupby("set"):
            named = [
                f"row {row.row_no} {row.label}: {row.amount:,}" for row in columns.records(rows)
            ]
            found.append((f"smallest set {number}", len(rows), "; ".join(named), _SET_MEANS))
        names = list(HYPOTHESES.columns)
        sets = {name: [row[at] for row in found] for at, name in enumerate(names)}
        return pd.concat([self.hypotheses, columns.frame(HYPOTHESES, sets)], ignore_index=True)


def answer(
    amount: int, rows: pd.DataFrame, *, period: Period | None = None, largest: int = LARGEST
) -> GapAnswer:
    """Return what explains `amount` among GAP_ROWS of one currency.

    A set has at most `largest` rows, 1 to 6. A period lets a shifted cut-off be tried. Raises
    InputRefused for an amount of 0, rows of two currencies, more than 50,000 rows, amounts past 13
    digits.
    """
    columns.check(rows, GAP_ROWS)
    _refuse(amount, rows, largest)
    rows = rows.dropna(subset=["amount"])
    searched = smallest(distinct(rows["amount"].to_numpy(dtype="int64")), amount, largest=largest)
    return GapAnswer(
        amount=amount,
        rows=len(rows),
        hypotheses=hypotheses.tried(amount, rows, period),
        searched=searched,
        sets=_sets(searched, rows),
        sentence=_sentence(amount, len(rows), searched),
    )


def explain(
    matched: LedgerMatch | None, amount: int, *, currency: str = "TZS", period: Period | None = None
) -> GapAnswer | None:
    """Return what explains `amount` among what moves the bridge of a currency, row by row.

    None where no amount is asked about or no books were given.
    """
    if matched is None or not amount:
        return None
    rows = matched.rows
    named = rows["currency_ledger"].fillna(rows["currency_service"])
    moving = rows[(named == currency) & (rows["bridge_effect"].fillna(0) != 0)]
    label = moving["break_code"] + " " + moving["reference"].fillna("")
    gap_rows = {
        "row_no": pd.Series(range(1, len(moving) + 1), index=moving.index, dtype="Int64"),
        "label": label,
        "currency": named[moving.index],
        "channel": moving["channel"],
        "amount": moving["bridge_effect"],
        "fee": moving["fee_service"].fillna(moving["fee_ledger"]),
        "at": moving["completed_at"].fillna(moving["booked_at"]),
        "day": moving["business_day"].fillna(moving["booked_day"]),
    }
    return answer(amount, columns.frame(GAP_ROWS, pd.DataFrame(gap_rows)), period=period)


def _refuse(amount: int, rows: pd.DataFrame, largest: int) -> None:
    if not 1 <= largest <= LARGEST:
        raise InputRefused(f"a set has 1 to {LARGEST} rows, not {largest}")
    if not amount:
        raise InputRefused("a gap of 0 needs no explanation")
    currencies = sorted(rows["currency"].dropna().unique())
    if len(currencies) > 1:
        raise InputRefused(f"the rows are in {', '.join(currencies)}: choose one currency")
    if len(rows) > ROWS_MOST:
        raise InputRefused(
            f"{len(rows):,} rows are more than {ROWS_MOST:,}: search one day or channel at a time"
        )
    wide = rows[rows["amount"].abs() > AMOUNT_MOST]
    if len(wide) or abs(amount) > AMOUNT_MOST * LARGEST:
        where = f" (row {wide['row_no'].iloc[0]})" if len(wide) else ""
        raise InputRefused(f"an amount has more than 13 digits{where}: it cannot be searched")


def _sets(searched: Sets, rows: pd.DataFrame) -> pd.DataFrame:
    found: list[tuple[Any, ...]] = []
    for number, amounts in enumerate(searched.found[:SHOWN], start=1):
        for amount in sorted(set(amounts)):
            alike = rows[rows["amount"] == amount]
            for row in columns.records(alike.head(amounts.count(amount))):
                label = "" if pd.isna(row.label) else row.label
                found.append((number, row.row_no, label, row.amount, row.day, len(alike)))
    return columns.from_rows(GAP_SETS, found)


def _sentence(amount: int, rows: int, searched: Sets) -> str:
    among = f"{amount:,}" if not rows else f"{amount:,} among {rows:,}"
    size, count = searched.size, searched.count
    if size is None and searched.proven >= searched.largest:
        return f"No set of up to {searched.largest} rows sums to {among}: proven."
    if size is None:
        proven = f"no set of up to {searched.proven} does" if searched.proven else "nothing"
        return (
            f"No set of rows was found that sums to {among}; proven is that {proven}; "
            f"not proven beyond {_rows(searched.proven)}."
        )
    smaller = "" if size == 1 else ", and no set of fewer rows does (proven)"
    if count >= COUNTED:
        return (
            f"At least {count:,} sets of {_rows(size)} sum to {among}{smaller}: "
            "too many to mean anything."
        )
    many = f"{count:,} set" if count == 1 else f"{count:,} sets"
    least = "" if searched.is_exact else "At least "
    caution = "" if count == 1 else "; at most one of them is the explanation"
    verb = "sums" if count == 1 else "sum"
    return f"{least}{many} of {_rows(size)} {verb} to {among}{smaller}{caution}."


def _rows(size: int) -> str:
    return "1 row" if size == 1 else f"{size} rows"
