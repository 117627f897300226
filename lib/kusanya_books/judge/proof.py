"""What a verdict of a period lacks, and what waits without being anybody's work yet."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, TypedDict, Unpack

import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns.dtypes import spelled, text_of
from kusanya_books.judge import coverage, findings
from kusanya_books.match import break_life, breaks
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.days import Period
from kusanya_books.request.expectation import Expected
from kusanya_books.request.feed import Feed, shown
from kusanya_books.request.report_inputs import Inputs

_BOOKED: Final = "missing_at_provider"
_AT_OPERATOR: Final = "operator_unknown_here"
_UNKNOWN_HERE: Final = frozenset(
    {_BOOKED, _AT_OPERATOR, "settlement_unexpected", "settlement_unknown"}
)
"""What there is of payments that the store does not know."""


class _Legs(TypedDict):
    """What came of each leg, as `coverage` takes them; None where nothing was given."""

    matched: LedgerMatch | None
    settled: SettlementMatch | None
    operator: OperatorMatch | None
    bank: BankMatch | None


def unproven(
    inputs: Inputs,
    found: dict[coverage.Key, coverage.Taken],
    covered: pd.DataFrame,
    items: pd.DataFrame,
    **legs: Unpack[_Legs],
) -> Iterator[str]:
    """Yield what is not proven, and what to do: with one of them nobody may sign.

    `found` and `covered` are what `coverage.taken` and `coverage.coverage` return, `items` what is
    open.
    """
    if legs["matched"] is None:
        yield "no ledger was given"
    elif _is_nothing_read(inputs):
        yield "nothing was read: the store and the books are empty; see whether they are the right"
    yield from _of_files(inputs, legs["bank"])
    yield from _of_earlier_files(inputs)
    yield from _of_empty_files(inputs, found)
    yield from _of_expected(inputs, covered, legs)
    if inputs.feed is not None:
        yield from inputs.feed.doubts(
            inputs.period, judged_on=inputs.judged_on, grace_days=inputs.tolerance.grace_days
        )
        yield from _of_unknown(inputs.feed, inputs.period, items)
        for (channel, currency), one in found.items():
            if one.open_rows:
                yield (
                    f"{one.open_rows:,} payment(s) of {channel}, {currency} {one.open_amount:,}, "
                    "are not final: run kusanya catch-up, and close again"
                )


def _of_expected(inputs: Inputs, covered: pd.DataFrame, legs: _Legs) -> Iterator[str]:
    """Yield which legs that were asked for were not given, or compared with nothing."""
    for each in inputs.expect:
        rows = covered[covered["leg"] == each.leg]
        if each.channel is not None:
            rows = rows[rows["channel"] == each.channel]
        nothing_met = bool(len(rows)) and not rows["amount_met"].any()
        if not coverage.is_leg_given(each.leg, **legs):
            yield _not_given(each)
        elif nothing_met and not _is_not_due(each.leg, inputs, legs):
            yield f"{each}: expected, and nothing of it was compared; give the file of these days"
        elif each == Expected("operator"):
            lacking = set(rows["channel"]) - set(inputs.operator_channels)
            yield from (_not_given(Expected("operator", name)) for name in sorted(lacking))


def _not_given(each: Expected) -> str:
    return f"{each}: expected, and nothing of it was given; give the file"


def _is_not_due(leg: str, inputs: Inputs, legs: _Legs) -> bool:
    """Return whether nothing of a leg can be there yet: money of a night is paid out days later.

    What is due and lacks is a break; the bank has nothing where nothing was paid out.
    """
    settled, bank = legs["settled"], legs["bank"]
    codes = Counter[str]() if settled is None else Counter(settled.rows["break_code"])
    is_pending = codes["settlement_pending"] > 0 and not codes["settlement_missing"]
    if leg != "bank" or bank is None:
        return leg == "settlement" and is_pending
    at_bank, carried = Counter(bank.rows["break_code"]), inputs.carried
    # Payouts are known since an earlier period: an operator may pay out once a week.
    is_paid_out = carried is not None and bool(
        len(carried.shown) or (carried.items["leg"] == "bank").any()
    )
    is_waited_for = at_bank["bank_pending"] > 0 or is_pending or is_paid_out
    return is_waited_for and not at_bank["bank_missing"]


def _of_earlier_files(inputs: Inputs) -> Iterator[str]:
    """Yield which period before this one left rows of its files unread."""
    for first, last in () if inputs.carried is None else inputs.carried.not_closed:
        days = f"{first}" if first == last else f"{first} to {last}"
        yield (
            f"{days} is not closed, because rows of its files could not be read: correct them, and "
            "close it and what follows it again"
        )


def _of_files(inputs: Inputs, bank: BankMatch | None) -> Iterator[str]:
    """Yield what a file that was given does not prove."""
    for load in inputs.quality:
        if load.unproven:
            yield f"{load.source}: {load.unproven}"
    # What only clears items of an earlier period is compared with those.
    left_open = inputs.carried is not None and (inputs.carried.items["leg"] == "bank").any()
    if bank is not None and len(bank.rows) and not (bank.has_compared or left_open):
        yield (
            "no payout is known that the bank's statements could be compared with: give the "
            "settlement statement, or the operators' with their payouts"
        )


def _of_empty_files(inputs: Inputs, found: dict[coverage.Key, coverage.Taken]) -> Iterator[str]:
    """Yield what an operator's statement without a line leaves open: whose payments it may lack."""
    paid = {channel for (channel, _), one in found.items() if one.rows}
    lacking = paid - set(inputs.operator_channels)
    if inputs.carried is not None and inputs.carried.operators:
        lacking &= set(inputs.unnamed)  # of a channel that never had a statement none lacks
    if inputs.empty_statements and lacking:
        yield (
            f"{', '.join(inputs.empty_statements)}: there is no line in it, and money came on "
            f"{', '.join(sorted(lacking))}, of which no statement speaks: see whether it is "
            "whole, or leave it out"
        )


def _of_unknown(feed: Feed, period: Period, items: pd.DataFrame) -> Iterator[str]:
    """Yield which open lines say that the service knows more than the store.

    An order that the books and an operator both have was paid. So may what is dated after the last
    fact have been, though a watcher ran: it asks about what is known to be open, and no more.
    """
    unknown = items[break_life.stands(items) & items["break_code"].isin(_UNKNOWN_HERE)]
    named = unknown.assign(order=spelled(unknown["reference"])).dropna(subset=["order"])
    said = named.loc[named["break_code"] == _AT_OPERATOR, ["order", "currency"]].drop_duplicates()
    both = named[named["break_code"] == _BOOKED].merge(said)
    if len(both):
        yield (
            f"{len(both):,} payment(s), {_sums(both)}, are in the books and at the operator, and "
            f"the store does not know them: {feed.advice}"
        )
        return
    last = feed.last_fact_at
    if last is None or last >= period.ends:
        return
    later = unknown[unknown["day"] > pd.Timestamp(last.astimezone(EAT).date())]
    if len(later):
        yield (
            f"the last fact is of {shown(last)}, and {len(later):,} open line(s) of books and "
            f"statements are of later days: {feed.advice}"
        )


def _sums(items: pd.DataFrame) -> str:
    """Return what items come to in each currency."""
    found: Counter[str] = Counter()
    for row in columns.records(items):
        found[row.currency] += int(row.amount)
    return ", ".join(findings.money(*one) for one in sorted(found.items()))


def waiting(items: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what waits within grace, by leg, code and currency: rows, sum, age of the oldest."""
    waits = {code for code, rule in breaks.EVERY.items() if rule.waits}
    chosen = items[items["finding"].isna() & items["break_code"].isin(waits)]
    found = []
    for key, rows in chosen.groupby(["leg", "break_code", "currency"], dropna=False):
        leg, code, currency = key[0], str(key[1]), key[2]
        ages = rows["age_days"].dropna()
        found.append(
            {
                "leg": leg,
                "break_code": code,
                "meaning": breaks.EVERY[code].meaning,
                "currency": text_of(currency),
                "rows": len(rows),
                # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
                "amount": sum(map(int, rows["amount"].dropna())),
                "oldest_days": None if ages.empty else int(ages.max()),
            }
        )
    return found


def _is_nothing_read(inputs: Inputs) -> bool:
    if isinstance(inputs.ledger, pd.DataFrame):
        has_books = not inputs.ledger.empty
    else:
        has_books = any(load.kept for load in inputs.quality if load.leg == "ledger")
    return not (inputs.read or inputs.carried is not None or has_books)
