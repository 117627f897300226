"""What an earlier period left open of payouts, with what became due for them and was paid since."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import ITEMS
from kusanya_books.judge import findings, open_items, postings
from kusanya_books.judge.open_items import Item
from kusanya_books.match import breaks, settlement
from kusanya_books.request.earlier_period import STATEMENT, Compared
from kusanya_books.request.report_inputs import Inputs

_RULES: Final = {**breaks.LEDGER, **breaks.SETTLEMENT}


def due_of(carried: list[Item], due: pd.DataFrame) -> tuple[dict[str, int], pd.DataFrame]:
    """Return what became due since for carried payouts, and the rest of it."""
    payouts = [item for item in carried if item["leg"] == STATEMENT]
    return _allotted(payouts, [-item["balance"] for item in payouts], due)


def paid_of(
    carried: list[Item], lines: pd.DataFrame, due: Mapping[str, int]
) -> tuple[dict[str, int], pd.DataFrame]:
    """Return what the lines pay of carried payouts, and the other lines."""
    payouts = [item for item in carried if item["leg"] == STATEMENT]
    return _allotted(payouts, [owed_of(item, due) for item in payouts], lines)


def owed_of(was: Item, due: Mapping[str, int]) -> int:
    """Return what a carried payout waits for with what became due since; below zero, too much."""
    return int(was["balance"]) + due.get(was["break_id"], 0)


def _allotted(
    payouts: list[Item], clears: list[int], rows: pd.DataFrame
) -> tuple[dict[str, int], pd.DataFrame]:
    """Return the sum of the rows that are about each payout, and the rows about none.

    Each row is about one: of two payouts of a day, about the one that it clears.
    """
    found: dict[str, int] = {}
    taken = pd.Series(False, rows.index)
    for is_exact in (True, False):
        for item, cleared in zip(payouts, clears, strict=True):
            mine = _of_payout(item, rows) & ~taken
            net = _net_of(rows[mine])
            if net and item["break_id"] not in found and (net == cleared or not is_exact):
                found[item["break_id"]] = net
                taken |= mine
    return found, rows[~taken]


def _net_of(rows: pd.DataFrame) -> int:
    return sum(map(int, rows["net"]))


def now(was: Item, inputs: Inputs, *, due: int, paid: int) -> Item | None:
    """Return a carried payout with what was paid and became due since; None where it agrees."""
    owed = was["balance"] + due - paid
    age = pd.Timestamp(inputs.judged_on) - was["day"]
    code = was["break_code"]
    if abs(owed) <= inputs.tolerance.amount:
        return None
    is_known_now = code == "settlement_unknown" and due
    if owed != was["balance"] or is_known_now:
        code = "settlement_short" if owed > 0 else "settlement_over"
    within = inputs.tolerance.settle_days_of.get(was["channel"], inputs.tolerance.settle_days)
    if code == "settlement_pending" and age.days >= within:
        code = "settlement_missing"
    rule = _RULES[code]
    changed = {
        "break_code": code,
        "standing": rule.standing.value,
        "suggested_action": rule.action,
        "balance": owed,
        "amount": abs(owed),
        "age_days": max(0, age.days),
    }
    figures = was["figures"] if owed == was["balance"] else f"{was['figures']}|{owed}"
    left = {**was, **changed, "figures": figures}
    return {**left, "finding": findings.of_carried(left)}


def _of_payout(was: Item, rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are about the collection of a payout, or about its day and channel.

    A line of a batch that was counted then is not, nor for a day one that names a collection.
    """
    mine = rows["collection_id"] == was["collection_id"]
    has_lines = "batch_id" in rows
    if was["collection_id"] is None:
        mine = rows["business_day"] == was["day"]
        if was["channel"] is not None:
            mine &= rows["channel"] == was["channel"]
        if has_lines:
            mine &= rows["collection_id"].isna()
    if has_lines:
        mine &= ~rows["batch_id"].isin(set((was["reference"] or "").split()))
    found: pd.Series[bool] = (mine & (rows["currency"] == was["currency"])).fillna(value=False)
    return found


def cleared(
    carried: list[Item], paid: Mapping[str, int], due: Mapping[str, int]
) -> Counter[postings.Payout]:
    """Return how much of what was paid since clears carried payouts."""
    found: Counter[postings.Payout] = Counter()
    for item in carried:
        if item["leg"] == STATEMENT:
            since = paid.get(item["break_id"], 0)
            found[_payout(item)] += postings.cleared(since, owed_of(item, due))
    return found


def _payout(item: Item) -> postings.Payout:
    names = ("collection_id", "day", "channel", "currency")
    id_, day, channel, currency = (item[name] for name in names)
    return postings.payout_of(id_, day, channel, currency)


def of_days(
    inputs: Inputs, due: pd.DataFrame, lines: pd.DataFrame, *, before: Compared
) -> tuple[list[Item], Counter[postings.Payout]]:
    """Return what became due since and was not paid out by any of the lines, and how much was.

    By collections or by days, and of days for all channels or each, as the statement names them, or
    did then.
    """
    kind = settlement.paid_for(inputs.statement, before)
    sums: defaultdict[tuple[Any, ...], int] = defaultdict(int)
    for row in columns.dicts(due):
        id_ = row["collection_id"] if kind.item else None
        channel = row["channel"] if kind.by_channel else None
        sums[row["business_day"], channel, row["currency"], id_] += int(row["net"])
    made, found = [], Counter[postings.Payout]()
    for (day, channel, currency, id_), net in sorted(sums.items(), key=repr):
        item = {
            **dict.fromkeys(ITEMS.columns),
            "leg": STATEMENT,
            "break_code": "settlement_pending" if net > 0 else "settlement_over",
            "standing": "break",
            "subject": id_ or f"{channel or 'all'} {day:%Y-%m-%d}",
            "collection_id": id_,
            "channel": channel,
            "currency": currency,
            "day": day,
            "balance": net,
            "amount": abs(net),
            "figures": str(net),
            "finding": findings.CARRIED,
        }
        paid = _net_of(lines[_of_payout(item, lines)])
        found[_payout(item)] += postings.cleared(paid, net)
        if (left := now(item, inputs, due=0, paid=paid)) is not None:
            made.append(left)
    return list(open_items.numbered(inputs, made)), found
