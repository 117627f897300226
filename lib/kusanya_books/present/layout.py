"""Which columns of a table people read, in which order, and what its columns sum up to.

A page holds twelve columns in a size that can be read; a table's files have all of them.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.status import FIGURES
from kusanya_books.columns import DType
from kusanya_books.judge.worst_first import worst_first
from kusanya_books.match import breaks

COLUMNS: Final = 12
"""Columns of a printed page."""
TOTAL: Final = "(all)"
"""The channel of a row that is the sum of the others."""
_READ: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    (
        "amount_ledger",
        (
            *("break_code", "meaning", "currency", "at_stake", "currency_service", "amount_ledger"),
            *("amount_service", "fee_drift", "reference", "row_no"),
            *("collection_id", "age_days", "suggested_action", "status", "owner", "group_key"),
            "suggested_match",
        ),
        ("suggested_match", "group_key", "fee_drift", "row_no", "owner", "status"),
    ),
    (
        "net_settled",
        (
            *("break_code", "meaning", "currency", "net", "net_settled", "fee", "fee_settled"),
            *("open_balance", "business_day", "channel", "batch_id", "collection_id"),
            *("suggested_action", "status", "owner"),
        ),
        ("fee", "fee_settled", "batch_id", "owner", "status"),
    ),
    (
        "amount_operator",
        (
            *("break_code", "meaning", "currency", "at_stake", "amount_operator", "amount_service"),
            *("receipt", "reference", "line_no", "collection_id", "age_days"),
            *("suggested_action", "status", "owner", "channel"),
        ),
        ("channel", "line_no", "owner", "status"),
    ),
    (
        "amount_bank",
        (
            *("break_code", "meaning", "currency", "at_stake", "amount_bank", "amount_payout"),
            *("payout", "line_no", "bank_day", "payout_day", "details"),
            *("suggested_action", "status", "owner", "age_days"),
        ),
        ("age_days", "line_no", "owner", "status"),
    ),
    (
        "figures",
        (
            *("break_code", "meaning", "currency", "amount", "reference", "row_no"),
            *(
                "collection_id",
                "age_days",
                "suggested_action",
                "status",
                "owner",
                "note",
                "break_id",
            ),
        ),
        ("row_no",),
    ),
    (
        "effective_bps",
        (
            *("business_day", "channel", "currency", "attempts", *FIGURES[:-1]),
            *("gross", "fee", "net", "effective_bps", "fee_drift"),
        ),
        (),
    ),
    (
        "rate_num",
        (
            *("channel", "currency", "first_day", "last_day", "low", "high", "model", "fee"),
            *("bps_range", "floor", "cap", "exceptions"),
        ),
        (),
    ),
    (
        "cum_share",
        (
            *("code", "class", "currency", "attempts", "share", "cum_share", "rate"),
            *("references", "value", "value_share", "value_cum_share", "advice"),
        ),
        (),
    ),
    (
        "median_lag_s",
        (
            *("code", "currency", "references", "recovered", "rate", "still_open"),
            *("median_lag_s", "value", "value_recovered", "value_open", "value_lost", "few"),
        ),
        (),
    ),
    (
        "fee_202",
        (
            *("collection_id", "reference", "channel", "currency", "amount", "fee_202"),
            *("fee_event", "fee_get", "first", "last", "drift", "status"),
        ),
        (),
    ),
    (
        "collection_ids",
        (
            *("reference", "currency", "payments", "amount", "booked", "refund", "fee"),
            *("suspected", "rule", "first_at", "last_at", "collection_ids"),
        ),
        (),
    ),
)
"""By a column that only one kind of table has: what a person needs of it, in the order in which it
is read, and what goes first where that is too much."""
_LAST: Final = ("standing", "match_rule", "mode", "age_bucket", "group_key")
"""What goes first where an unknown table has too many columns."""
_NOT_ADDED: Final = frozenset({"finding", "part", "line", "file_total", "sha256"})
"""Columns of tables whose rows are of different things, or sums already."""
_CODES: Final = ("break_code", "line", "code")
_ADDED: Final = frozenset(
    {
        *("rows", "amount", "fee", "gross", "net", "count", "payments", "booked", "refund"),
        *("attempts", *FIGURES, "other", "expected_fee"),
        *("amount_ledger", "amount_service", "fee_ledger", "fee_service", "bridge_effect"),
        *(
            "at_stake",
            "amount_drift",
            "fee_drift",
            "net_drift",
            "counted_ledger",
            "counted_service",
        ),
        *(
            "gross_settled",
            "fee_settled",
            "net_settled",
            "open_balance",
            "paid_out",
            "given_back",
            "for_other_periods",
        ),
        *("amount_operator", "amount_bank", "amount_payout", "counted_operator", "suspended"),
        *("counted_bank", "counted_payout", "kept", "skipped", "rejected", "warned"),
        *("rows_not_paid", "amount_not_paid", "charged", "expected", "drift"),
        *("amount_effect", "fee_effect", "references", "recovered", "value"),
        *("value_recovered", "value_open", "value_lost", "difference", "rows_0_1", "rows_2_3"),
        *("rows_4_7", "rows_8_30", "rows_over_30", "lines", "amount_read", "unread"),
        *("amount_unread", "file_total", "opening", "new", "cleared", "changed", "closing"),
        *("still_open", "debit", "credit"),
    }
)
"""Columns whose sum means something: money and counts, never ages, places and rates."""


_PAST: Final = 2**63
"""Whole numbers from here on have no place in a frame."""


class Total(msgspec.Struct, frozen=True):
    """The sum of a table's rows of one currency; `currency` is None where the table has none."""

    currency: str | None
    amounts: dict[str, int]


def read(frame: pd.DataFrame, *, limit: int | None = COLUMNS) -> pd.DataFrame:
    """Return a table as people read it: worst first, meanings beside codes, `limit` columns.

    Where there are too many columns, those that hold nothing go first.
    """
    shown = _one_currency(with_meaning(worst_first(frame) if "break_code" in frame else frame))
    if "role" in shown:
        return shown.drop(columns="role")
    if limit is None or len(shown.columns) <= limit:
        return shown
    known = next((rest for mark, *rest in _READ if mark in shown), None)
    order, spare = known or (tuple(shown.columns), _LAST)
    names = [name for name in order if name in shown]
    if not shown.empty:
        holds = shown[names].notna().any()
        empty = {name for name in names if not holds[name]}
        names = [name for name in names if name not in empty or name == "meaning"]
    for name in spare:
        if len(names) > limit and name in names:
            names.remove(name)
    return shown[names[:limit]]


def _one_currency(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of two sides with one currency; the service's beside it where they differ."""
    if not {"currency_ledger", "currency_service"} <= set(frame.columns):
        return frame
    both = frame["currency_ledger"].fillna(frame["currency_service"])
    differ = (frame["currency_service"].notna() & (both != frame["currency_service"])).any()
    shown = frame.drop(columns=["currency_ledger"] + ["currency_service"] * (not differ))
    shown.insert(list(frame.columns).index("currency_ledger"), "currency", both)
    return shown


def with_meaning(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with what its codes mean beside them; without codes as it is."""
    code = next((name for name in _CODES if name in frame), None)
    rules = breaks.EVERY
    if code is None or "meaning" in frame or (frame.empty and code != "break_code"):
        return frame
    means = {name: rule.meaning for name, rule in rules.items()}
    meaning = frame[code].map(means).astype(DType.TEXT.pandas)
    if meaning.isna().all() and not frame.empty:
        return frame
    shown = frame.copy()
    shown.insert(list(shown.columns).index(code) + 1, "meaning", meaning)
    return shown


def is_sum(frame: pd.DataFrame) -> list[bool]:
    """Return of every row whether it is a sum of others: a total of days, a side of a bridge."""
    if "standing" in frame and "part" in frame:
        return (frame["standing"].isna()).tolist()
    if "line" in frame:
        ends = frame["line"].map(_is_end).astype(bool)
        return ends.tolist()
    return (
        frame["channel"].eq(TOTAL).fillna(False).tolist()
        if "channel" in frame
        else ([False] * len(frame))
    )


def _is_end(line: Any) -> bool:
    return not pd.isna(line) and line not in breaks.EVERY


def added(frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table that may be summed."""
    whole = DType.WHOLE.pandas
    kinds = frame.dtypes.items()
    return [str(name) for name, dtype in kinds if name in _ADDED and dtype == whole]


def currency_of(frame: pd.DataFrame, name: str) -> str | None:
    """Return the column that says in which currency the column `name` is, None where none does."""
    side = name.rpartition("_")[2]
    beside = f"currency_{side}"
    return next((column for column in (beside, "currency") if column in frame), None)


def totals(frame: pd.DataFrame) -> Iterator[Total]:
    """Yield the sum of the rows of each currency; nothing where the table has sums of its own.

    Raises nothing for large sums: they are whole numbers of Python.
    """
    several = len(frame) > 1  # one row is its own sum
    if not several or _NOT_ADDED & set(frame.columns) or any(is_sum(frame)):
        return
    names = added(frame)
    found: dict[str | None, dict[str, int]] = {}
    for name in names:
        column = currency_of(frame, name)
        for key, value in _sums(frame, name, column).items():
            found.setdefault(key, {})[name] = value
    for currency in sorted(found, key=lambda key: (key is None, key or "")):
        yield Total(currency, found[currency])


def _sums(frame: pd.DataFrame, name: str, currency: str | None) -> dict[str | None, int]:
    """Return the sum of a column by currency, exactly; by None where there is no currency."""
    known = frame[name].dropna()
    if known.empty:
        return {}
    if max(abs(int(known.min())), abs(int(known.max()))) * len(known) >= _PAST:
        known = known.astype("object")  # as whole numbers of Python: others would wrap around
    if currency is None:
        return {None: int(known.sum())}
    sums = known.groupby(frame[currency].loc[known.index]).sum()
    return {str(key): int(value) for key, value in sums.items()}


def totals_of(sums: pd.DataFrame) -> list[Total]:
    """Return totals from a table of them, one row for each currency."""
    return [
        Total(
            row["currency"],
            {name: int(row[name]) for name in added(sums) if not pd.isna(row[name])},
        )
        for row in sums.to_dict("records")
    ]


def total_rows(frame: pd.DataFrame, sums: list[Total]) -> pd.DataFrame:
    """Return totals as rows of a table: a row per currency, which says that it is one."""
    names, label = list(frame.columns), label_of(frame)
    rows: dict[str, list[Any]] = {name: [None] * len(sums) for name in names}
    for at, total in enumerate(sums):
        for name, value in total.amounts.items():
            # A sum past 63 bits has no place in a frame; no total is better than a wrong one.
            rows[name][at] = value if abs(value) < _PAST else None
        for name in names:
            if name.startswith("currency"):
                rows[name][at] = total.currency
        if label is not None:
            rows[label][at] = "total"
    return pd.DataFrame({name: pd.Series(rows[name], dtype=frame[name].dtype) for name in names})


def label_of(frame: pd.DataFrame) -> str | None:
    """Return the column in which a row of totals says that it is one."""
    texts = (
        str(name)
        for name, dtype in frame.dtypes.items()
        if dtype == DType.TEXT.pandas and not str(name).startswith("currency")
    )
    return next(texts, None)
