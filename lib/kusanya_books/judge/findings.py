"""Everything of a period that a person must look at, each with its count and its sum.

One list for every place that says how a period stands: the pack's first sheet, the page, the
command and the notebooks. The verdict is reconciled only when nothing on it is left.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import FINDINGS
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.legs import Leg
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request import quality
from kusanya_books.request.report_inputs import Inputs

UNREAD: Final = "input rows that could not be read"
TOTALS: Final = "totals of files that differ from their rows"
UNEXPLAINED: Final = "left unexplained by a bridge"
DISAGREES: Final = "totals that differ from the store's own"
BREAKS: Final = "breaks of the books"
REFUND: Final = "double payments to refund, among the breaks"
SUSPECTED: Final = "suspected double payments"
PAYOUTS: Final = "breaks of the statement"
OPERATOR: Final = "breaks of the operator's statements"
BANK: Final = "breaks of the bank's statements"
BALANCES: Final = "movements that the balances beside them deny"
ACROSS: Final = "agreed, on either side of the period's edge"
EDGE: Final = "agreed within the grace, on either side of the period's edge"
"""Not among what is left: every month has some."""
WITHIN: Final = "agreed only within the tolerance"
"""Not among what is left: somebody set the tolerance, and sees here what it let pass."""
ABOVE: Final = "fees above the agreed tariff"
BELOW: Final = "fees below the agreed tariff"
UNPRICED: Final = "fees that the agreed tariff does not price"
LATE: Final = "late changes of an earlier period"
CARRIED: Final = "open items of earlier periods"
NOT_FOOTING: Final = "codes whose open items do not add up"
ACCEPTED: Final = "accepted by name"
"""Not among what is left: somebody answers for it."""
_LIMITED: Final = frozenset({BREAKS, REFUND, PAYOUTS, OPERATOR, BANK})
"""What a limit of tolerated breaks may cover."""
ACROSS_CODES: Final = frozenset(
    {
        *("paid_in_earlier_period", "paid_in_later_period"),
        *("booked_in_earlier_period", "booked_in_later_period"),
        "operator_across_cutoff",
    }
)
"""Codes of what agrees and lies in two periods."""

EDGE_CODES: Final = frozenset(
    {"booked_over_edge", "paid_over_edge", "operator_over_edge", "bank_across_cutoff"}
)
"""Codes of what agrees in two periods and lies no further apart than was agreed, or is a payout
that the bank's line names: late it was a break of the period before."""

WITHIN_CODES: Final = frozenset(
    {"within_tolerance", "operator_within_tolerance", "bank_within_tolerance"}
)
"""Codes of what differs by no more than the tolerance; payouts have their own."""
NOT_LEFT: Final = (ACCEPTED, EDGE, WITHIN)
"""What nobody need look at; it is said all the same."""

Sums = tuple[str | None, int, int | None]
"""Currency, rows, amount; an amount that nobody knows is None."""


def findings(
    inputs: Inputs,
    *,
    matched: LedgerMatch | None,
    settled: SettlementMatch | None,
    operator: OperatorMatch | None = None,
    bank: BankMatch | None = None,
    exceptions: pd.DataFrame,
    unpriced: pd.DataFrame,
    late: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return one row per kind of finding and currency; a kind without any has one row of 0.

    `rows` is missing, and `note` says why, where an input that would tell was not given. See `less`
    for what people have accepted.
    """
    agreed = inputs.tariff is not None
    drift = exceptions["drift"]
    parts: list[tuple[str, str | None, str, Iterable[Sums] | None]] = [
        (UNREAD, "unread", "", _unread(inputs)),
        (TOTALS, "control_totals", "", _totals(inputs)),
        (UNEXPLAINED, "bridge", "no ledger", _unexplained(matched, settled, operator, bank)),
        (DISAGREES, None, "", _disagreeing(inputs.control)),
        (BREAKS, "breaks", "no ledger", None if matched is None else _breaks(matched)),
        (REFUND, "double_payments", "no ledger", _doubles(matched, suspected=False)),
        (SUSPECTED, "double_payments", "no ledger", _doubles(matched, suspected=True)),
        (PAYOUTS, "settlement", "no statement", None if settled is None else _payouts(settled)),
        (OPERATOR, "operator", _wants(operator, "operator's"), _rows_of(operator, "break")),
        (BANK, "bank", _wants(bank, "bank's"), _rows_of(bank, "break")),
        (BALANCES, "open_items", "no statement with balances", _balances(operator, bank)),
        (ACROSS, "breaks", "no ledger", _across(ACROSS_CODES, matched, operator, bank)),
        (EDGE, "breaks", "no ledger", _across(EDGE_CODES, matched, operator, bank)),
        (WITHIN, "breaks", "no ledger", _within(matched, settled, operator, bank)),
        (ABOVE, "fee_exceptions", "no tariff", _sums(exceptions[drift > 0], "drift", agreed)),
        (BELOW, "fee_exceptions", "no tariff", _sums(exceptions[drift < 0], "drift", agreed)),
        (UNPRICED, "fees", "no tariff", _unpriced(unpriced) if agreed else None),
        (LATE, "late", "no earlier pack", None if late is None else _late(late)),
    ]
    rows = [row for part in parts for row in _rows(*part)]
    return columns.from_rows(FINDINGS, rows)


def money(currency: Any, amount: Any) -> str:
    """Return a sum for people, "TZS 1,000"; without a known currency the number, '' for none."""
    if amount is None or pd.isna(amount):
        return ""
    return f"{amount:,}" if currency is None or pd.isna(currency) else f"{currency} {amount:,}"


def in_words(row: Mapping[str, Any]) -> str:
    """Return a finding as a line, "breaks of the books: 2, TZS 1,000": right of one and of many."""
    said = f"{row['finding']}: {row['rows']:,}", money(row["currency"], row["amount"])
    return ", ".join(filter(None, said))


def left(found: pd.DataFrame, *, within: bool = False) -> pd.DataFrame:
    """Return the findings that are not nil; `within` leaves out what the limit of breaks covers."""
    some: pd.DataFrame = found[(found["rows"].fillna(0) > 0) & ~found["finding"].isin(NOT_LEFT)]
    return some[~some["finding"].isin(_LIMITED)] if within else some


def nil(found: pd.DataFrame) -> list[str]:
    """Return the kinds of findings that were looked for and of which there is none."""
    return [str(kind) for kind in found.loc[(found["rows"] == 0).fillna(value=False), "finding"]]


def with_carried(
    found: pd.DataFrame, items: pd.DataFrame, rolled: pd.DataFrame, *, has_earlier_pack: bool
) -> pd.DataFrame:
    """Return the findings with what earlier periods left open, and codes that do not add up."""
    carried = items[items["finding"] == CARRIED]
    rows = [
        *_rows(
            CARRIED, "carried", "no earlier pack", _sums(carried, "amount", known=has_earlier_pack)
        ),
        *_rows(NOT_FOOTING, "rolled_forward", "", [(None, int((~rolled["foots"]).sum()), None)]),
    ]
    return pd.concat([found, columns.from_rows(FINDINGS, rows)], ignore_index=True)


def less(
    found: pd.DataFrame, accepted: pd.DataFrame, *, expected: pd.DataFrame, refunds: list[Sums]
) -> pd.DataFrame:
    """Return the findings without what was accepted by name, and that as rows of its own.

    `accepted` are items; `refunds` says how much of the refunds goes with them. The note of an
    accepted row says by whom. `expected` are items that clear what an earlier period left open:
    nobody need look at them.
    """
    taken: dict[tuple[str, Any], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for those, kinds in ((accepted, (ACCEPTED,)), (expected, ())):
        for row in columns.records(those):
            for kind in (row.finding, *kinds):
                rows, amount = taken[kind, row.currency]
                taken[kind, row.currency] = rows + 1, amount + int(row.amount)
    for currency, refunded, refund in refunds:
        taken[REFUND, currency] = refunded, refund or 0
    lines: list[tuple[Any, ...]] = []
    for row in columns.records(found):
        rows, amount = taken[row.finding, row.currency]
        if not rows:
            lines.append((row.finding, row.currency, row.rows, row.amount, row.page, row.note))
        elif int(row.rows) > rows:
            rest = int(row.rows) - rows, int(row.amount) - amount
            lines.append((row.finding, row.currency, *rest, row.page, row.note))
        elif (found["finding"] == row.finding).sum() == 1:
            lines.append((row.finding, None, 0, None, row.page, row.note))
    names = ", ".join(sorted(set(accepted["decided_by"].dropna())))
    lines += [
        (ACCEPTED, currency, *taken[kind, currency], "open_items", f"by {names}")
        for kind, currency in sorted(taken)
        if kind == ACCEPTED
    ]
    return columns.from_rows(FINDINGS, lines)


def _rows(kind: str, page: str | None, wants: str, sums: Iterable[Sums] | None) -> Iterator[Any]:
    if sums is None:
        yield kind, None, None, None, page, f"not proven: {wants} was given"
        return
    some = [(currency, rows, amount) for currency, rows, amount in sums if rows]
    for currency, rows, amount in some or [(None, 0, None)]:
        yield kind, currency, rows, amount, page, None


def _wants(leg: Leg | None, whose: str) -> str:
    unread = leg is not None and leg.is_unread
    return f"no {whose} statement that could be read" if unread else f"no {whose} statement"


def _sums(frame: pd.DataFrame, amount: str, known: bool = True) -> list[Sums] | None:  # noqa: FBT001, FBT002 - private
    """Return rows and sum by currency; None where it is not known."""
    if not known:
        return None
    # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for currency, value in zip(frame["currency"], frame[amount], strict=True):
        rows, sum_ = found[currency]
        found[currency] = rows + 1, sum_ + int(value)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _unread(inputs: Inputs) -> list[Sums]:
    lines = columns.records(quality.unread_lines(*inputs.quality))
    return [
        (
            None if pd.isna(line.currency) else line.currency,
            int(line.rows),
            None if pd.isna(line.amount) else int(line.amount),
        )
        for line in lines
    ]


def _totals(inputs: Inputs) -> list[Sums]:
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for load in inputs.differing:
        if load.total is not None and load.total.currency is not None:
            rows, sum_ = found[load.total.currency]
            found[load.total.currency] = rows + 1, sum_ + abs(load.total.difference or 0)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _unexplained(*legs: LedgerMatch | SettlementMatch | Leg | None) -> list[Sums] | None:
    if all(leg is None for leg in legs):
        return None
    found: dict[Any, int] = defaultdict(int)
    for leg in legs:
        if leg is not None:
            lines = leg.bridge[leg.bridge["line"] == "unexplained"]
            for currency, amount in zip(lines["currency"], lines["amount"], strict=True):
                found[currency] += abs(int(amount))
    return [(currency, 1, found[currency]) for currency in sorted(found) if found[currency]]


def _disagreeing(control: pd.DataFrame) -> list[Sums]:
    wrong = control[~control["agrees"]]
    apart = wrong.assign(apart=(wrong["amount"] - wrong["amount_rollup"]).abs())
    return _sums(apart, "apart") or []


def _breaks(matched: LedgerMatch) -> list[Sums]:
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    aged = matched.ageing[matched.ageing["standing"] == "break"]
    for currency, rows, amount in zip(aged["currency"], aged["rows"], aged["amount"], strict=True):
        before, sum_ = found[currency]
        found[currency] = before + int(rows), sum_ + int(amount)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _rows_of(leg: Leg | None, standing: str) -> list[Sums] | None:
    if leg is None or leg.is_unread:
        return None
    chosen = leg.rows[leg.rows["standing"] == standing]
    return _sums(chosen, "at_stake")


def _balances(*legs: Leg | None) -> list[Sums] | None:
    balances = [leg.balances for leg in legs if leg is not None]
    if not sum(len(each.said) for each in balances):
        return None
    gaps = pd.concat([each.gaps for each in balances])
    return _sums(gaps.assign(apart=gaps["amount"].abs()), "apart")


def _across(
    codes: frozenset[str], matched: LedgerMatch | None, *legs: Leg | None
) -> list[Sums] | None:
    if matched is None and all(leg is None for leg in legs):
        return None
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    if matched is not None:
        aged = matched.ageing[matched.ageing["break_code"].isin(codes)]
        for row in columns.records(aged):
            rows, sum_ = found[row.currency]
            found[row.currency] = rows + int(row.rows), sum_ + int(row.amount)
    for leg in legs:
        if leg is not None:
            chosen = leg.rows[leg.rows["break_code"].isin(codes)]
            for currency, more, amount in _sums(chosen, "at_stake") or []:
                rows, sum_ = found[currency]
                found[currency] = rows + more, sum_ + (amount or 0)
    return [(currency, *found[currency]) for currency in sorted(found)]


def _within(
    matched: LedgerMatch | None, settled: SettlementMatch | None, *legs: Leg | None
) -> list[Sums] | None:
    found = _across(WITHIN_CODES, matched, *legs)
    if settled is None:
        return found
    sums: dict[Any, tuple[int, int]] = {
        currency: (rows, amount or 0) for currency, rows, amount in found or []
    }
    paid = settled.rows[settled.rows["break_code"] == "settlement_within_tolerance"]
    apart = paid.assign(apart=(paid["net_settled"] - paid["net"]).abs())
    for currency, more, amount in _sums(apart, "apart") or []:
        rows, sum_ = sums.get(currency, (0, 0))
        sums[currency] = rows + more, sum_ + (amount or 0)
    return [(currency, *sums[currency]) for currency in sorted(sums)]


def _doubles(matched: LedgerMatch | None, *, suspected: bool) -> list[Sums] | None:
    if matched is None:
        return None
    chosen = matched.doubles[matched.doubles["suspected"] == suspected]
    return _sums(chosen, "at_stake")


def _payouts(settled: SettlementMatch) -> list[Sums]:
    wrong = settled.rows[settled.rows["standing"] == "break"]
    return _sums(wrong.assign(apart=wrong["open_balance"].abs()), "apart") or []


def _unpriced(found: pd.DataFrame) -> list[Sums]:
    return [(row.currency, int(row.rows), int(row.fee)) for row in columns.records(found)]


def _late(late: pd.DataFrame) -> list[Sums]:
    firsts = late[~late["key"].duplicated()]
    return _sums(firsts, "amount_effect") or []


def of_carried(item: Mapping[str, Any]) -> str | None:
    """Return the finding of what an earlier period left open; None of what is no break."""
    return CARRIED if item["standing"] == "break" else None
