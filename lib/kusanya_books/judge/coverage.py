"""How much of what succeeded at the service was compared with something, leg by leg.

Money that no line met proves nothing: a leg agrees on what it covers, and on no more.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.status import PAID
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, COVERAGE, DType, Schema
from kusanya_books.engine.engines import open_engine
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.legs import Leg
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.days import DAY
from kusanya_books.request.expectation import LEGS
from kusanya_books.request.report_inputs import Inputs

_TAKEN: Final = Schema(
    "taken",
    {
        "channel": DType.TEXT,
        "currency": DType.TEXT,
        **dict.fromkeys(("rows", "amount", "net", "open_rows", "open_amount"), DType.WHOLE),
    },
)
_QUERY: Final = """
SELECT
    channel,
    currency,
    sum(CASE WHEN is_paid THEN 1 ELSE 0 END)::BIGINT AS rows,
    sum(CASE WHEN is_paid THEN amount ELSE 0 END)::BIGINT AS amount,
    sum(CASE WHEN is_paid THEN amount - coalesce(fee, 0) ELSE 0 END)::BIGINT AS net,
    sum(CASE WHEN is_paid THEN 0 ELSE 1 END)::BIGINT AS open_rows,
    sum(CASE WHEN is_paid THEN 0 ELSE amount END)::BIGINT AS open_amount
FROM (
    SELECT channel, currency, amount, fee, status IN {paid} AS is_paid
    FROM collections
    WHERE (status IN {paid} AND business_day BETWEEN $first AND $last)
        OR (status IN {open} AND created_day BETWEEN $first AND $open_upto)
) AS taken
GROUP BY channel, currency
ORDER BY channel, currency
"""
_WHOLE_PERCENT: Final = 100
Key = tuple[str, str]
"""Channel and currency."""
Met = dict[Key, tuple[int, int]]
"""Rows and money that a leg met."""


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What one channel took in one currency over a period."""

    rows: int
    amount: int
    net: int
    open_rows: int
    """Of those created longer ago than the grace, how many are not final."""
    open_amount: int


def taken(inputs: Inputs) -> dict[Key, Taken]:
    """Return what the service says was paid in the period, and what is still open of it."""
    late = min(inputs.period.last, inputs.judged_on - (inputs.tolerance.grace_days + 1) * DAY)
    days = {"first": inputs.period.first, "last": inputs.period.last, "open_upto": late}
    with open_engine(inputs.collections) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        rows = columns.records(engine.frame(_QUERY, _TAKEN, days))
        names = Taken.__struct_fields__
        return {
            (row.channel, row.currency): Taken(**{name: int(getattr(row, name)) for name in names})
            for row in rows
        }


def coverage(
    inputs: Inputs,
    found: dict[Key, Taken],
    *,
    matched: LedgerMatch | None,
    settled: SettlementMatch | None,
    operator: OperatorMatch | None,
    bank: BankMatch | None,
) -> pd.DataFrame:
    """Return one row per leg, channel and currency, as `COVERAGE`; of a leg that was not given too.

    `found` is what `taken` returns. The bank is measured in net money, and in no rows.
    """
    paid = {key: one for key, one in found.items() if one.rows}
    legs: dict[str, Met] = {
        "books": {} if matched is None else _met_by_books(matched, paid),
        "operator": {} if operator is None else _met_by_operator(inputs, operator, paid),
        "settlement": {} if settled is None else _met_by_settlement(settled, paid),
        "bank": {} if bank is None else _met_by_bank(bank),
    }
    rows: list[tuple[Any, ...]] = []
    for leg in LEGS:
        for key, one in paid.items():
            count, money = legs[leg].get(key, (0, 0))
            whole = one.net if leg == "bank" else one.amount
            money = max(0, min(money, whole))
            share = _WHOLE_PERCENT * money // whole if whole else _WHOLE_PERCENT
            counted = None if leg == "bank" else max(0, min(count, one.rows))
            rows.append((leg, *key, one.rows, whole, counted, money, share))
    return columns.from_rows(COVERAGE, rows)


def in_words(frame: pd.DataFrame) -> list[str]:
    """Return the shares of a `COVERAGE` frame by currency: "TZS 5,000: books 100 %, bank 0 %"."""
    return [_currency_in_words(frame, name) for name in frame["currency"].unique()]


def _currency_in_words(frame: pd.DataFrame, currency: str) -> str:
    mine = frame[frame["currency"] == currency]
    shares = []
    for leg in LEGS:
        rows = mine[mine["leg"] == leg]
        # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
        whole, met = (sum(map(int, rows[name])) for name in ("amount", "amount_met"))
        shares.append(f"{leg} {_WHOLE_PERCENT * met // whole if whole else _WHOLE_PERCENT} %")
    gross = sum(map(int, mine.loc[mine["leg"] == "books", "amount"]))
    return f"{currency} {gross:,}: {', '.join(shares)}"


def _met_by_books(matched: LedgerMatch, paid: dict[Key, Taken]) -> Met:
    rows = matched.rows
    alone = rows[
        rows["row_no"].isna() & rows["match_rule"].isna() & rows["status_service"].isin(PAID)
    ]
    return _less(paid, _sums(alone, "currency_service", "amount_service"), lambda _: True)


def _met_by_operator(inputs: Inputs, operator: OperatorMatch, paid: dict[Key, Taken]) -> Met:
    rows = operator.rows
    alone = rows[
        rows["line_no"].isna() & rows["group_key"].isna() & rows["status_service"].isin(PAID)
    ]
    return _less(
        paid, _sums(alone, "currency", "amount_service"), inputs.operator_channels.__contains__
    )


def _met_by_settlement(settled: SettlementMatch, paid: dict[Key, Taken]) -> Met:
    rows = settled.rows
    met = rows[(rows["gross_settled"].fillna(0) != 0) & rows["gross"].notna()]
    found: Met = {}
    for channel, currency, count, gross in zip(
        met["channel"].fillna(""), met["currency"], met["count"], met["gross"], strict=True
    ):
        before, sum_ = found.get((channel, currency), (0, 0))
        more = 1 if pd.isna(count) else int(count)
        found[channel, currency] = before + more, sum_ + int(gross)
    return {key: _with_share(found, key, paid) for key in paid}


def _with_share(found: Met, key: Key, paid: dict[Key, Taken]) -> tuple[int, int]:
    """Return what was met of a channel, with its share of what names no channel."""
    rows, amount = found.get(key, (0, 0))
    more, money = found.get(("", key[1]), (0, 0))
    mine = [one for (_, currency), one in paid.items() if currency == key[1]]
    all_rows, all_money = sum(one.rows for one in mine), sum(one.amount for one in mine)
    rows += more * paid[key].rows // all_rows
    return rows, amount + (money * paid[key].amount // all_money if all_money else 0)


def _met_by_bank(bank: BankMatch) -> Met:
    rows = bank.rows
    met = rows[
        rows["payout"].notna()
        & rows["amount_payout"].notna()
        & ~rows["break_code"].isin(["bank_pending", "bank_missing"])
    ]
    return _sums(met, "currency", "amount_payout")


def _sums(rows: pd.DataFrame, currency: str, amount: str) -> Met:
    grouped = rows.groupby(["channel", currency], dropna=True)[amount]
    found = grouped.agg(["size", "sum"])
    return {
        (str(key[0]), str(key[1])): (int(size), int(sum_))
        for key, size, sum_ in zip(found.index, found["size"], found["sum"], strict=True)
    }


def _less(paid: dict[Key, Taken], alone: Met, is_given: Callable[[str], bool]) -> Met:
    """Return all that was paid in the channels that are given, less what stands alone."""

    def rest() -> Iterator[tuple[Key, tuple[int, int]]]:
        for key, one in paid.items():
            if is_given(key[0]):
                rows, amount = alone.get(key, (0, 0))
                yield key, (one.rows - rows, one.amount - amount)

    return dict(rest())


def is_leg_given(
    leg: str,
    *,
    matched: LedgerMatch | None,
    settled: SettlementMatch | None,
    operator: Leg | None,
    bank: Leg | None,
) -> bool:
    """Return whether anything of a leg was given that could be read."""
    if leg == "books":
        return matched is not None
    if leg == "settlement":
        return settled is not None
    found = operator if leg == "operator" else bank
    return found is not None and not found.is_unread
