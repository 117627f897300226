"""What a period leaves to do, in one list: breaks of every kind, and rows that wait.

The list is what `kusanya breaks` shows, what the next period begins with, and what a person accepts
by name. Faults of the run itself (rows that could not be read, a bridge that does not close) are
not on it: nobody can accept them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

import pandas as pd

from kusanya.domain.status import PAID
from kusanya.privacy import mask_text
from kusanya.store.records import BreakStatus, BreakSubject
from kusanya_books import columns
from kusanya_books.columns import BREAKS, ITEMS
from kusanya_books.columns.dtypes import first_of, is_missing, text_of
from kusanya_books.judge import findings, postings
from kusanya_books.match import break_life, breaks
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.breaks import Standing
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.legs import Leg
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.earlier_period import BOOKS, STATEMENT
from kusanya_books.request.report_inputs import Inputs

Item = dict[str, Any]
"""One row of `ITEMS`, by its columns."""
DOUBLES: Final = "doubles"
FEES: Final = "fees"
LATE: Final = "late"
BALANCES: Final = "balances"
OPERATOR: Final = "operator"
BANK: Final = "bank"
ACROSS: Final = "across"
LINE: Final = "line"
"""The field of an item that names its line by day and amount, however it is known today; no column
of `ITEMS`. An operator's line has a receipt, or is named so."""
_BOOKS_MONEY: Final = ("amount_ledger", "amount_service", "fee_ledger", "fee_service")
_PAYOUT_MONEY: Final = ("gross", "fee", "net", "gross_settled", "fee_settled", "net_settled")
_FEE_ADVICE: Final = "Claim the fee, or correct the tariff."
_DOUBLE_ADVICE: Final = "Ask the customer; refund one payment, or accept both."
_LATE_ADVICE: Final = "Correct the earlier period, or accept the change."


def items(
    inputs: Inputs,
    *,
    matched: LedgerMatch | None,
    settled: SettlementMatch | None,
    operator: OperatorMatch | None = None,
    bank: BankMatch | None = None,
    exceptions: pd.DataFrame,
    late: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row per thing that is open, as `ITEMS` has it: breaks first, each leg in turn."""
    books = (
        columns.empty(BREAKS) if matched is None else matched.rows[matched.rows["break_id"].notna()]
    )
    rows = [
        *of_books(books, finding=findings.BREAKS),
        *_of_payouts(settled, inputs),
        *numbered(inputs, [] if operator is None else _open(_of_operator(operator.rows, inputs))),
        *numbered(inputs, [] if bank is None else _open(of_bank(bank.rows))),
        *numbered(inputs, _of_balances(operator)),
        *numbered(inputs, _of_balances(bank)),
        *numbered(inputs, _across(matched)),
        *numbered(inputs, _of_doubles(matched)),
        *numbered(inputs, of_fees(exceptions, is_agreed=inputs.tariff is not None)),
        *numbered(inputs, _of_late(late)),
    ]
    rows = [decided(row, inputs) for row in rows]
    return columns.from_dicts(ITEMS, rows)


def accepted(found: pd.DataFrame) -> pd.DataFrame:
    """Return the items that a finding counts and somebody accepted by name."""
    chosen: pd.DataFrame = found[
        (found["status"] == BreakStatus.ACCEPTED.value).fillna(value=False)
        & found["finding"].notna()
    ]
    return chosen


def refunds_of(matched: LedgerMatch | None, accepted: pd.DataFrame) -> list[findings.Sums]:
    """Return how many refunds, and of how much, were accepted as they are, by currency.

    A refund goes with the second payments of its reference: all of them must be accepted.
    """
    if matched is None:
        return []
    second = matched.rows[matched.rows["break_code"] == "double_payment"]
    taken = set(accepted["break_id"])
    found: dict[Any, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for row in columns.records(matched.doubles[~matched.doubles["suspected"]]):
        ids = set(str(row.collection_ids).split())
        parts = second[second["collection_id"].isin(ids)]
        if len(parts) and set(parts["break_id"]) <= taken:
            rows, amount = found[row.currency]
            found[row.currency] = rows + 1, amount + int(row.refund)
    return [(currency, *found[currency]) for currency in sorted(found)]


def subject_of(row: Any) -> BreakSubject:
    """Return what an item, a row of `ITEMS`, is about."""
    return BreakSubject(
        break_id=row.break_id,
        leg=row.leg,
        code=row.break_code,
        reference=text_of(row.reference),
        collection_id=text_of(row.collection_id),
        currency=text_of(row.currency),
        amount=None if pd.isna(row.amount) else int(row.amount),
        figures=row.figures,
    )


def of_books(rows: pd.DataFrame, *, finding: str) -> Iterator[Item]:
    """Yield the items of a match's rows that have an id; `finding` counts those that are breaks."""
    for row in columns.records(rows):
        is_break = row.standing == "break"
        yield {
            **_same(row, "break_id", "break_code", "standing", "reference", "collection_id"),
            **_same(row, "channel", "age_days", "suggested_action"),
            "leg": BOOKS,
            "finding": finding if is_break else None,
            "row_no": None if pd.isna(row.row_no) or row.row_no < 0 else row.row_no,
            "currency": first_of(row.currency_ledger, row.currency_service),
            "amount": row.at_stake,
            "balance": row.bridge_effect,
            "figures": break_life.figures(getattr(row, name) for name in _BOOKS_MONEY),
            "day": first_of(row.business_day, row.booked_day),
        }


def _of_payouts(settled: SettlementMatch | None, inputs: Inputs) -> Iterator[Item]:
    if settled is None:
        return
    known = inputs.days_before
    for row in columns.records(settled.rows[settled.rows["break_id"].notna()]):
        is_break = row.standing == "break"
        day = row.business_day
        is_posted = postings.is_of_period(day, inputs.period) or day.date() in known
        yield {
            **_same(row, "break_id", "break_code", "standing", "collection_id", "channel"),
            **_same(row, "currency", "suggested_action"),
            "leg": STATEMENT,
            "finding": findings.PAYOUTS if is_break else None,
            "reference": row.batch_id,
            "row_no": row.line_no,
            "balance": row.open_balance,
            "suspended": postings.suspended_payout(row) if is_posted else 0,
            "amount": abs(int(row.open_balance)),
            "figures": break_life.figures(getattr(row, name) for name in _PAYOUT_MONEY),
            "day": row.business_day,
        }


def _of_operator(rows: pd.DataFrame, inputs: Inputs) -> Iterator[Item]:
    is_settled = cache(inputs.is_settled)

    def is_posted(row: Any) -> bool:
        by_provider = is_settled(text_of(row.channel), row.currency)
        return not by_provider and postings.is_of_period(row.operator_day, inputs.period)

    return of_operator(rows, is_posted=is_posted)


def of_operator(
    rows: pd.DataFrame, *, is_posted: Callable[[Any], bool] = lambda _: True
) -> Iterator[Item]:
    """Yield the rows of an operator's match as items; what agrees has no `finding`.

    `is_posted` says whether what a row moved beside payments has an entry.
    """
    for row in columns.records(rows):
        money = (row.amount_operator, row.amount_service)
        # What is no success is worth nothing here, whatever it was to be.
        counts = is_missing(row.status_service) or row.status_service in PAID
        balance = _apart(row, row.amount_operator, row.amount_service if counts else 0)
        if row.break_code in breaks.OPERATOR_FEES:
            # A fee too high is money out: what the operator pays back comes in.
            money = (row.fee_operator, row.fee_service)
            balance = -row.fee_drift
        alone = _line(row.line_no, row.operator_day, row.amount_operator)
        yield {
            **_same(row, "break_code", "standing", "reference", "collection_id", "channel"),
            **_same(row, "currency", "age_days", "suggested_action"),
            "leg": OPERATOR,
            "subject": text_of(row.receipt) or text_of(row.collection_id) or alone,
            LINE: None if text_of(row.receipt) else alone,
            "key": None if text_of(row.collection_id) else f"{text_of(row.receipt) or ''} {alone}",
            "finding": _finding(row, findings.OPERATOR),
            "row_no": row.line_no,
            "amount": row.at_stake,
            "balance": balance,
            "suspended": postings.suspended_line(row) if is_posted(row) else 0,
            "figures": break_life.figures(money),
            "day": first_of(row.business_day, row.operator_day),
        }


def of_bank(rows: pd.DataFrame) -> Iterator[Item]:
    """Yield the rows of a bank's match as items; what agrees has no `finding`."""
    for row in columns.records(rows):
        money = (row.amount_bank, row.amount_payout)
        alone = _line(row.line_no, row.bank_day, row.amount_bank)
        yield {
            **_same(row, "break_code", "standing", "channel", "currency", "age_days"),
            **_same(row, "suggested_action"),
            "leg": BANK,
            "subject": text_of(row.payout) or alone,
            LINE: alone,
            "finding": _finding(row, findings.BANK),
            # A line of a group names the payout that it pays a part of.
            "reference": first_of(row.payout, row.group_key),
            "row_no": row.line_no,
            "amount": row.at_stake,
            "balance": _apart(row, *money),
            "figures": break_life.figures(money),
            "day": first_of(row.payout_day, row.bank_day),
        }


def _apart(row: Any, line: Any, other: Any) -> Any:
    """Return what a line has more than its other side, whichever of their days is in the period."""
    if pd.isna(row.bridge_effect) or pd.isna(line) or pd.isna(other):
        return row.bridge_effect
    return line - other


def is_open(item: Item) -> bool:
    """Return whether an item of a leg is a finding, or waits for its other side."""
    return item["finding"] is not None or breaks.EVERY[item["break_code"]].waits


def _open(rows: Iterable[Item]) -> Iterator[Item]:
    return (row for row in rows if is_open(row))


def _across(matched: LedgerMatch | None) -> Iterator[Item]:
    """Yield what books and service agree on in two periods."""
    if matched is None:
        return
    rows = matched.rows
    for row in columns.records(rows[rows["break_code"].isin(findings.ACROSS_CODES)]):
        yield {
            **_same(row, "break_code", "reference", "collection_id", "row_no", "channel"),
            **_same(row, "age_days", "suggested_action"),
            "leg": ACROSS,
            "subject": row.collection_id,
            "finding": findings.ACROSS,
            "currency": first_of(row.currency_ledger, row.currency_service),
            "amount": row.at_stake,
            "figures": break_life.figures(getattr(row, name) for name in _BOOKS_MONEY),
            "day": first_of(row.business_day, row.booked_day),
        }


def _finding(row: Any, kind: str) -> str | None:
    if row.break_code in findings.ACROSS_CODES:
        return findings.ACROSS
    return kind if row.standing == "break" else None


def _line(number: Any, day: Any, amount: Any) -> str | None:
    """Return the key of a line that has no name: two runs may number the lines of a file apart."""
    return None if pd.isna(number) else f"line {day:%Y-%m-%d} {int(amount)}"


def _of_doubles(matched: LedgerMatch | None) -> Iterator[Item]:
    if matched is None:
        return
    for row in columns.records(matched.doubles[matched.doubles["suspected"]]):
        yield {
            **_same(row, "currency", "reference"),
            "leg": DOUBLES,
            "amount": row.at_stake,
            "subject": row.collection_ids,
            "finding": findings.SUSPECTED,
            "break_code": "suspected_double",
            "collection_id": str(row.collection_ids).split(" ", 1)[0],
            "figures": break_life.figures([row.payments, row.amount, row.booked]),
            "day": row.business_day,
            "suggested_action": _DOUBLE_ADVICE,
        }


def of_fees(exceptions: pd.DataFrame, *, is_agreed: bool) -> Iterator[Item]:
    """Yield the fees that are not the tariff's as items, without `finding` where none is agreed."""
    for row in columns.records(exceptions):
        above = row.drift > 0
        yield {
            **_same(row, "currency", "channel", "reference", "collection_id"),
            "leg": FEES,
            "subject": row.collection_id,
            "finding": (findings.ABOVE if above else findings.BELOW) if is_agreed else None,
            "standing": Standing.BREAK.value,
            "break_code": "fee_above_tariff" if above else "fee_below_tariff",
            "amount": row.drift,
            "figures": break_life.figures([row.amount, row.charged, row.expected]),
            "day": row.created_day,
            "suggested_action": _FEE_ADVICE,
        }


def _of_balances(leg: Leg | None) -> Iterator[Item]:
    for row in columns.records(leg.balances.gaps) if leg is not None else ():
        before = f"{row.balance_before:,} of {row.day_before:%Y-%m-%d}"
        after = f"{row.balance:,} of {row.day:%Y-%m-%d}"
        yield {
            **_same(row, "channel", "currency", "day"),
            "leg": BALANCES,
            "subject": f"{text_of(row.channel) or BANK} {row.day:%Y-%m-%d} {row.balance_before}",
            "finding": findings.BALANCES,
            "break_code": "balances_apart",
            "amount": abs(int(row.amount)),
            "figures": break_life.figures([row.balance_before, row.balance]),
            "suggested_action": f"Lines lack between the balance {before} and {after} in "
            f"{row.input}: give the whole statement; accept it where they are of two accounts.",
        }


def _of_late(late: pd.DataFrame) -> Iterator[Item]:
    changes: defaultdict[str, list[str]] = defaultdict(list)
    for row in columns.records(late):
        changes[row.key].append(f"{row.field}={text_of(row.now) or ''}")
    for row in columns.records(late[~late["key"].duplicated()]):
        yield {
            **_same(row, "currency"),
            "leg": LATE,
            "subject": row.key,
            "finding": findings.LATE,
            "break_code": "late_change",
            "collection_id": row.key,
            "amount": row.amount_effect,
            "figures": "|".join(changes[row.key])[:200],
            "suggested_action": _LATE_ADVICE,
        }


def numbered(inputs: Inputs, rows: Iterable[Item]) -> Iterator[Item]:
    """Yield items with the id that follows from their key; a break unless they say else.

    The key is the subject, but of an operator's line that names no payment: two lines may bear one
    receipt, in two periods.
    """
    numbers: Counter[tuple[Any, str]] = Counter()
    for row in rows:
        currency, key = text_of(row["currency"]), str(row.get("key") or row["subject"])
        numbers[currency, key] += 1
        id_ = break_life.break_id(
            inputs.mode, row["leg"], currency, key, nth=numbers[currency, key]
        )
        waits = row["finding"] is None
        yield {**row, "break_id": id_, "standing": row["standing"] if waits else "break"}


def decided(item: Item, inputs: Inputs) -> Item:
    """Return an item with what people said about it, and its age."""
    row = dict(item)
    day = row.get("day")
    if row.get("age_days") is None and day is not None and not pd.isna(day):
        row["age_days"] = max(0, (pd.Timestamp(inputs.judged_on) - day).days)
    history = inputs.histories.get(row["break_id"])
    about = {name: row.get(name) for name in ("reference", "collection_id", "currency")}
    subject = BreakSubject(
        break_id=row["break_id"],
        leg=row["leg"],
        code=row["break_code"],
        amount=None if pd.isna(row["amount"]) else int(row["amount"]),
        figures=row["figures"],
        **{name: text_of(value) for name, value in about.items()},
    )
    status = break_life.status_of(history, subject)
    row |= {"status": status.value, "decided_by": None}
    if history is not None:
        row["owner"] = None if history.owner is None else mask_text(history.owner)
        row["note"] = None if history.note is None else mask_text(history.note)
        if status is not BreakStatus.OPEN and history.decision is not None:
            row["decided_by"] = history.decision.actor
    return row


def _same(row: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
