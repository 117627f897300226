"""What an earlier period left open of payouts, with what became due for them and was paid since."""

from collections import Counter, defaultdict
from collections.abc import Container, Mapping
from datetime import date
from typing import Any

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import ITEMS
from kusanya_books.judge import findings, open_items, postings
from kusanya_books.judge.open_items import Item
from kusanya_books.match import breaks, settlement
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.earlier_period import REMEMBERED, REMEMBERED_LINES, STATEMENT, Compared
from kusanya_books.request.report_inputs import Inputs


def due_of(payouts: list[Item], due: pd.DataFrame) -> tuple[dict[str, int], pd.DataFrame]:
    """Return what became due since for carried payouts, by the break's id, and the rest of it."""
    sums, rest = _allotted(payouts, [-item["balance"] for item in payouts], due)
    return _by_id(payouts, sums), rest


def paid_of(
    payouts: list[Item],
    lines: pd.DataFrame,
    due: Mapping[str, int],
    *,
    known_days: Container[date],
) -> tuple[dict[str, int], pd.DataFrame]:
    """Return what the lines pay of carried payouts, by the break's id, and the other lines.

    Of `known_days` none of them is a line that an earlier period read.
    """
    named = [
        {**item, "reference": None} if item["day"].date() in known_days else item
        for item in payouts
    ]
    sums, rest = _allotted(named, [owed_of(item, due) for item in payouts], lines)
    return _by_id(payouts, sums), rest


def owed_of(was: Item, due: Mapping[str, int]) -> int:
    """Return what a carried payout waits for with what became due since; below zero, too much."""
    return int(was["balance"]) + due.get(was["break_id"], 0)


def _by_id(payouts: list[Item], sums: list[int]) -> dict[str, int]:
    return {item["break_id"]: net for item, net in zip(payouts, sums, strict=True) if net}


def _allotted(
    payouts: list[Item], clears: list[int], rows: pd.DataFrame
) -> tuple[list[int], pd.DataFrame]:
    """Return the sum of the rows that are about each payout, and the rows about none.

    Each row is about one: of two payouts of a day, about the one that it clears.
    """
    named = rows["collection_id"].isin({item["collection_id"] for item in payouts} - {None})
    some = rows[named | rows["business_day"].isin({item["day"] for item in payouts})]
    # By what it may be about: looking at every row for each payout takes minutes of a large month.
    left: defaultdict[Any, dict[Any, Item]] = defaultdict(dict)
    for at, row in zip(some.index, columns.dicts(some), strict=True):
        left[row["collection_id"]][at] = left[row["business_day"]][at] = row
    sums = [0] * len(payouts)
    taken: set[Any] = set()
    for is_exact in (True, False):
        for place, (item, cleared) in enumerate(zip(payouts, clears, strict=True)):
            near = left[item["day"] if item["collection_id"] is None else item["collection_id"]]
            mine = [at for at, row in near.items() if at not in taken and _is_about(row, item)]
            net = sum(int(near[at]["net"]) for at in mine)
            if not sums[place] and (net == cleared or not is_exact):
                sums[place] = net
                taken.update(mine if net else ())
    return sums, rows[~rows.index.isin(taken)]


def _is_about(row: Item, was: Item) -> bool:
    """Return whether a row is about the collection of a payout, or about its day and channel.

    A line of a batch that was counted then is not where it may be the same one, nor for a day one
    that names a collection.
    """
    is_line = "batch_id" in row
    if row["currency"] != was["currency"]:
        return False
    if is_line and row["batch_id"] in (was["reference"] or "").split():
        return False
    if was["collection_id"] is not None:
        return bool(row["collection_id"] == was["collection_id"])
    if row["business_day"] != was["day"] or (is_line and row["collection_id"] is not None):
        return False
    return was["channel"] is None or row["channel"] == was["channel"]


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
    if code == "settlement_pending" and age.days > within:
        code = "settlement_missing"
    rule = breaks.SETTLEMENT[code]
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


def cleared(
    payouts: list[Item], paid: Mapping[str, int], due: Mapping[str, int]
) -> Counter[postings.Payout]:
    """Return how much of what was paid since clears carried payouts."""
    found: Counter[postings.Payout] = Counter()
    for item in payouts:
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
    owed = [
        {
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
        for (day, channel, currency, id_), net in sorted(sums.items(), key=repr)
    ]
    paid, _ = _allotted(owed, [item["balance"] for item in owed], lines)
    found, made = Counter[postings.Payout](), []
    for item, net in zip(owed, paid, strict=True):
        found[_payout(item)] += postings.cleared(net, item["balance"])
        if (left := now(item, inputs, due=0, paid=net)) is not None:
            made.append(left)
    return list(open_items.numbered(inputs, made)), found


def settlement_lines(inputs: Inputs, settled: SettlementMatch | None) -> pd.DataFrame | None:
    """Return the lines of settlement statements that a later run may be given again.

    None where they are more than `REMEMBERED_LINES`, or a line has no day. `settled` is what came
    of those that were given now.
    """
    known = None if inputs.carried is None else inputs.carried.settlement_lines
    parts = [] if known is None else [known]
    if settled is not None and inputs.statement is not None:
        parts.append(_of_the_period(inputs.statement, settled, pd.Timestamp(inputs.period.last)))
    if not parts:
        return columns.empty(columns.STATEMENT)
    every = pd.concat(parts, ignore_index=True)
    kept = every[~(every["business_day"] < pd.Timestamp(inputs.period.last - REMEMBERED))]
    # The same line of two files has two numbers.
    same = [name for name in columns.STATEMENT.columns if name not in {"input", "line_no"}]
    kept = kept.drop_duplicates(same, ignore_index=True)
    if len(kept) > REMEMBERED_LINES or kept["business_day"].isna().any():
        return None
    return columns.frame(columns.STATEMENT, kept)


def _of_the_period(
    lines: pd.DataFrame, settled: SettlementMatch, ends: pd.Timestamp
) -> pd.DataFrame:
    """Return the lines that were given now, but those of later days: their own close reads them.

    What pays for a day up to the end of the period was read, whatever day it says.
    """
    paid = settled.rows[(settled.rows["business_day"] <= ends).fillna(value=False)]
    days = pd.MultiIndex.from_frame(lines[["business_day", "channel", "currency"]])
    placed = pd.MultiIndex.from_frame(lines[["input", "line_no"]])
    named = paid.loc[paid["line_no"].notna(), ["input", "line_no"]].fillna({"input": ""})
    pays = placed.isin(pd.MultiIndex.from_frame(named))
    is_paid = days.isin(days[pays])
    is_paid &= lines["collection_id"].isna() & (lines["kind"] == "payment")
    is_paid |= lines["collection_id"].isin(paid["collection_id"].dropna())
    is_later = (lines["business_day"] > ends).fillna(value=False)
    return lines[~is_later | (is_paid & (lines["net"] >= 0))]
