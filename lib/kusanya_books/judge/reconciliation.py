"""The reconciliation statement: every bridge line by line, every provider, every file's total.

The totals of a bridge come from the inputs, its effects from the matching; the statement adds the
effects up again, so that a reader with a pencil, or a spreadsheet with its formulas, can follow.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    BALANCES,
    BRIDGE,
    CONTROLS,
    DAILY,
    LINES,
    PROVIDERS,
    RECONCILIATION,
    SETTLED,
)
from kusanya_books.match import breaks
from kusanya_books.match.breaks.settlement import CHARGE, OF_OTHER_PERIODS, REFUND_BOOKED
from kusanya_books.request.quality import UNREAD_LINE, FileTotal, Quality


class LineRole(StrEnum):
    """How a line of a statement adds up."""

    OPENING = "opening"
    ADJUSTMENT = "adjustment"
    SUBTOTAL = "subtotal"
    COUNTED = "counted"
    DIFFERENCE = "difference"
    MEMO = "memo"


SUMMED: Final = frozenset({LineRole.OPENING, LineRole.ADJUSTMENT})
_ROLES: Final = {
    "gross": LineRole.OPENING,
    "fees": LineRole.ADJUSTMENT,
    "net": LineRole.SUBTOTAL,
    "service total": LineRole.COUNTED,
    "payouts total": LineRole.COUNTED,
    "paid out": LineRole.COUNTED,
    "open balance": LineRole.MEMO,
    UNREAD_LINE: LineRole.MEMO,
    "unexplained": LineRole.DIFFERENCE,
}
"""The lines of a bridge that are no code; a first line is the opening, any other a memo."""
_WORDS: Final = {
    "ledger total": "Balance of the books",
    "gross": "Gross of what succeeded",
    "fees": "Less fees",
    "net": "Net of what succeeded",
    "service total": "Balance of the service, as counted",
    "operator total": "Movements of the operator",
    "bank total": "Movements of the bank",
    "payouts total": "Payouts due, as counted",
    "paid out": "Paid out, as counted",
    "open balance": "Still owed to us for the period",
    "unread": "Rows that could not be read",
    "opening balance": "Opening balance of the statement",
    "without a balance": "Movements beside the balances of the statement",
    "fees in the balances": "Fees beside the lines, taken from the balances",
    "closing balance": "Closing balance of the statement",
    "operator fees": "Fees that the operator charged",
    "service fees": "The same fees as the service says them",
    "fee difference": "Difference between the fees",
    "not in the balances": "Difference between the balances and the movements",
}
ADJUSTED: Final = "Balance as adjusted"
DIFFERENCE: Final = "Difference"


def is_bridge(frame: pd.DataFrame) -> bool:
    """Return whether a frame leads from one total to another, line by line."""
    return set(BRIDGE.columns) <= set(frame.columns) and "part" not in frame


def roles(lines: Sequence[str]) -> list[LineRole]:
    """Return how each line of one bridge adds up; `lines` are those of one currency, in order."""
    is_code = breaks.EVERY.__contains__
    ends = next((at for at, line in enumerate(lines) if line == "unexplained"), len(lines))
    return [
        _ROLES.get(line)
        or (
            LineRole.OPENING
            if at == 0
            else LineRole.ADJUSTMENT
            if is_code(line)
            else _side(at, ends)
        )
        for at, line in enumerate(lines)
    ]


def _side(at: int, ends: int) -> LineRole:
    # The other side's total stands right above what is unexplained.
    return LineRole.COUNTED if at == ends - 1 else LineRole.MEMO


def statement(bridges: Iterable[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """Return the statement of bridges, each with its title; a code without any row is left out.

    A bridge without a line has its title as a memo: it says what was not given.
    """
    found: dict[str, list[Any]] = {name: [] for name in RECONCILIATION.columns}
    for title, bridge in bridges:
        for row in _part(title, bridge):
            for name, value in zip(found, row, strict=True):
                found[name].append(value)
    return columns.frame(RECONCILIATION, found)


def _part(title: str, bridge: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    part, _, missing = title.partition(": ")
    if bridge.empty or missing:
        yield (
            part,
            None,
            None,
            LineRole.MEMO,
            missing or "nothing to compare",
            None,
            None,
            None,
            None,
        )
    keys = [name for name in ("channel", "currency") if name in bridge]
    rules = breaks.EVERY
    for _, lines in bridge.groupby(keys, sort=False, dropna=False):
        names = lines["line"].tolist()
        adjusted = 0
        for row, role in zip(columns.records(lines), roles(names), strict=True):
            channel = row.channel if "channel" in keys else None
            amount = None if pd.isna(row.amount) else int(row.amount)
            if role is LineRole.COUNTED:
                yield (
                    *(part, channel, row.currency, LineRole.SUBTOTAL, ADJUSTED),
                    *(None, None, None, adjusted),
                )
            adjusted += (amount or 0) if role in SUMMED else 0
            rule = rules.get(row.line)
            words = rule.meaning if rule else _WORDS.get(row.line, row.line)
            yield (
                *(part, channel, row.currency, role),
                DIFFERENCE if role is LineRole.DIFFERENCE else words,
                row.line if rule else None,
                rule.standing.value if rule else None,
                None if role is LineRole.DIFFERENCE else int(row.rows),
                amount,
            )


def balances(lines: pd.DataFrame) -> pd.DataFrame:
    """Return each bridge of a statement in one row; one without a line is left out."""
    columns.check(lines, RECONCILIATION)
    rows = []
    for _, part in lines.groupby(["part", "channel", "currency"], sort=False, dropna=False):
        counted = part.loc[part["role"] == LineRole.COUNTED.value, "amount"]
        if counted.empty:
            continue
        sums = dict.fromkeys(("balance", "breaks", "carried"), 0)
        for role, standing, amount in zip(
            part["role"], part["standing"], part["amount"], strict=True
        ):
            if role in SUMMED and not pd.isna(amount):
                is_break = not pd.isna(standing) and standing == "break"
                adjustment = "breaks" if is_break else "carried"
                sums["balance" if role == LineRole.OPENING else adjustment] += int(amount)
        adjusted, other = sum(sums.values()), int(counted.iloc[0])
        first = part.iloc[0]
        key = (first["part"], first["channel"], first["currency"])
        rows.append((*key, *sums.values(), adjusted, other, adjusted - other))
    return columns.from_rows(BALANCES, rows)


def providers(daily: pd.DataFrame, settled: pd.DataFrame | None) -> pd.DataFrame:
    """Return what each provider took and paid out; `daily` are fees by day, `settled` a match.

    Gross and fee are those of the fee table, paid out and open those of the settlement match: two
    ways to the same money, so that a difference shows.
    """
    columns.check(daily, DAILY)
    earned = _sums(
        daily[daily["business_day"].notna()], ["succeeded", "gross", "fee"], ["channel", "currency"]
    )
    paid: dict[Any, list[int]] = {}
    if settled is not None:
        columns.check(settled, SETTLED)
        paid_out, code = settled["net_settled"], settled["break_code"]
        parts = settled.assign(
            for_other_periods=paid_out.where(code.isin(OF_OTHER_PERIODS)),
            given_back=-paid_out.where(code == REFUND_BOOKED),
            charged=-paid_out.where(code == CHARGE),
        )
        names = ["net_settled", "for_other_periods", "given_back", "charged", "open_balance"]
        paid = _sums(parts, names, ["channel", "currency"])
    rows = []
    for key in sorted({*earned, *paid}, key=str):
        count, gross, fee = earned.get(key, [0, 0, 0])
        # What an operator pays out itself is in no settlement.
        out = paid.get(key)
        if out is None:
            proof: tuple[int | None, ...] = (None,) * 6
        else:
            net_settled, for_others, *kept_and_open = out
            proof = (*out, gross - fee - (net_settled - for_others + sum(kept_and_open)))
        rows.append((*key, count, gross, fee, gross - fee, *proof))
    return columns.from_rows(PROVIDERS, rows)


def controls(
    lines: pd.DataFrame, loads: Iterable[Quality], movements: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return what was read of each file against the total that the file states of itself."""
    columns.check(lines, LINES)
    found: dict[Any, tuple[int, int]] = {}
    files = {load.leg: load.source for load in loads}
    for row in columns.records(lines[lines["part"] == "all lines"]):
        rows, amount = int(row.rows), int(row.amount)
        key = files.get(row.input, row.input), row.currency
        found[key] = rows + int(row.rows_not_paid), amount + int(row.amount_not_paid)
    if movements is not None:
        names = movements["leg"] + " " + movements["input"]
        for name, currency, amount in zip(
            names, movements["currency"], movements["amount"], strict=True
        ):
            before, sum_ = found.get((name, currency), (0, 0))
            found[name, currency] = before + 1, sum_ + int(amount)
    unread: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    totals: dict[Any, FileTotal] = {}
    for load in loads:
        if load.total is not None:
            totals[load.source, load.total.currency] = load.total
        for remark in load.rejected:
            before, sum_ = unread[load.source, remark.currency]
            unread[load.source, remark.currency] = before + 1, sum_ + (remark.amount or 0)
    rows_of = []
    for key in sorted({*found, *unread, *totals}, key=str):
        (count, amount), (lost, lost_sum) = found.get(key, (0, 0)), unread[key]
        total = totals.get(key)
        if total is None or total.difference is None:
            stated = None if total is None else total.stated
            rows_of.append((*key, count, amount, lost, lost_sum, stated, None))
        else:
            sums = (total.rows, total.read, lost, total.unread, total.stated, total.difference)
            rows_of.append((*key, *sums))
    return columns.from_rows(CONTROLS, rows_of)


def _sums(frame: pd.DataFrame, names: list[str], keys: list[str]) -> dict[Any, list[int]]:
    # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
    found: dict[Any, list[int]] = defaultdict(lambda: [0] * len(names))
    for row in zip(*(frame[name] for name in (*keys, *names)), strict=True):
        key, values = row[: len(keys)], row[len(keys) :]
        found[key] = [
            before + (0 if pd.isna(value) else int(value))
            for before, value in zip(found[key], values, strict=True)
        ]
    return found
