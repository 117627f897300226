"""A planted month with an operator's and a bank's statement beside its books, faults in both."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pandas as pd
from tests.kit.movements import movements_of

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.read.sample import faults as sample_faults

UNOWED = "B-OLD"
"""The batch of a payout that nobody owes."""
EACH = 2
"""How often each fault of the operator is planted."""
Line = dict[str, Any]
Key = tuple[str, str]
"""A code, and the receipt, payout or collection that gets it."""


class Month(msgspec.Struct, frozen=True, kw_only=True):
    """A month of books, service, operator and bank, and the breaks that are due in each."""

    made: sample_faults.Month
    movements: pd.DataFrame
    operator: list[Key]
    bank: list[Key]


class _Operator:
    """The operators' statements: every success once, but for what is planted."""

    def __init__(self, made: sample_faults.Month) -> None:
        self.lines: dict[str, Line] = {}
        self.due: list[Key] = []
        frame, planted = made.collections, made.planted["reference"]
        repeated = frame["reference"].duplicated(keep=False)
        days = pd.Timestamp(made.period.first), pd.Timestamp(made.period.last)
        inside = frame["business_day"].between(*days)
        won = frame[(frame["status"] == "succeeded") & inside]
        for row in columns.records(won):
            self._add(row.id, row, collection_id=row.id)
        plain = ~repeated & ~frame["reference"].isin(planted) & (frame["contradictions"] == 0)
        self.spare = columns.records(won[plain[won.index] & (won["fee"] > 0)])
        self.lost = columns.records(frame[plain & inside & (frame["status"] == "failed")])

    def _add(self, receipt: str, row: Any, **more: Any) -> Line:
        line = {
            "receipt": f"RC{receipt.removeprefix('col_').upper()}",
            "reference": row.reference,
            "amount": int(row.amount),
            "at": row.completed_at.to_pydatetime(),
            "channel": row.channel,
            "currency": row.currency,
            **more,
        }
        self.lines[receipt] = line
        return line

    def plant(self) -> None:
        for number in range(EACH):
            self._plant(number)

    def _plant(self, number: int) -> None:
        def name(code: str, *receipts: str) -> None:
            self.due.extend((code, receipt) for receipt in receipts)

        row = next(self.spare)
        self.lines[f"copy{number}"] = {**self.lines[row.id], "input": "again.csv"}
        name("operator_line_again", self.lines[row.id]["receipt"])
        for kind, code in (
            ("chargeback", "operator_chargeback"),
            ("reversal", "operator_reversal_alone"),
            ("other", "operator_other"),
        ):
            row = next(self.spare)
            extra = self._add(f"{kind}{number}", row, kind=kind, amount=-7_777 - number)
            extra["reference"] = f"{kind}-{number}"
            name(code, extra["receipt"])
        row = next(self.spare)
        taken = self.lines[row.id]
        back = self._add(f"back{number}", row, kind="reversal", amount=-taken["amount"])
        back["reference"] = taken["receipt"]
        name("operator_reversed", taken["receipt"], back["receipt"])
        row = next(self.spare)
        again = self._add(f"twice{number}", row)
        again["at"] += timedelta(minutes=5)
        name("operator_duplicate", again["receipt"])
        row = next(self.spare)
        unknown = self._add(f"unknown{number}", row, amount=987_654_321 + number)
        unknown["reference"] = f"NOBODY-{number}"
        name("operator_unknown_here", unknown["receipt"])
        row = next(self.lost)
        name("operator_not_paid_here", self._add(row.id, row)["receipt"])
        row = next(self.spare)
        del self.lines[row.id]
        name("operator_missing", row.id)
        for code, change in (
            ("operator_fee_side", lambda row: {"amount": int(row.amount - row.fee)}),
            ("operator_amount_mismatch", lambda row: {"amount": int(row.amount) + 100_013}),
            ("operator_currency_mismatch", lambda _: {"currency": "KES"}),
            (
                "operator_channel_mismatch",
                lambda row: {"channel": "MPESA_TZ" if row.channel != "MPESA_TZ" else "TIGO_TZ"},
            ),
        ):
            row = next(self.spare)
            self.lines[row.id] |= change(row)
            name(code, self.lines[row.id]["receipt"])


def _payouts(lines: dict[str, Line]) -> Iterator[Line]:
    """Yield what each operator pays the provider each Monday: what it took in the week before."""
    weeks: dict[tuple[str, datetime], int] = defaultdict(int)
    for line in lines.values():
        local = line["at"].astimezone(EAT)
        monday = local.replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(
            days=7 - local.weekday()
        )
        if line["currency"] == "TZS" and monday.month == local.month:
            weeks[line["channel"], monday] += line["amount"]
    for (channel, monday), amount in sorted(weeks.items()):
        if amount <= 0:
            continue
        receipt = f"PO{channel[:3]}{monday:%m%d}"
        extra = {"kind": "payout", "receipt": receipt, "reference": None, "amount": -amount}
        yield {"channel": channel, "currency": "TZS", "at": monday, **extra}


def _bank(statement: pd.DataFrame) -> tuple[list[Line], list[Key]]:
    """Return the bank's lines: each batch credited the day after, but for what is planted."""
    plain: Line = {"leg": "bank", "input": "bank.xml", "channel": None, "currency": "TZS"}
    lines, due = [], []
    batches = statement.groupby("batch_id").agg({"net": "sum", "business_day": "max"})
    # What nobody owes does not reach the bank.
    paid = batches.drop(index=UNOWED)
    due.append(("bank_missing", UNOWED))
    for number, (batch, row) in enumerate(paid.iterrows()):
        at = row["business_day"].to_pydatetime().replace(hour=12, tzinfo=EAT) + timedelta(days=1)
        credit = {**plain, "kind": "payout", "amount": int(row["net"]), "details": batch, "at": at}
        if number == 0:
            due.append(("bank_missing", str(batch)))
            continue
        if number in (1, 2):
            credit["amount"] += (-500, 500)[number - 1]
            due.append((("bank_short", "bank_over")[number - 1], str(batch)))
        lines.append(credit)
        if number == 3:
            lines.append({**credit, "at": credit["at"] + timedelta(days=1)})
            due.append(("bank_credited_again", ""))
    at = lines[-1]["at"] - timedelta(days=3)
    for kind, amount, code in (
        ("reversal", -4_321, "bank_returned"),
        ("payout", 5_432, "bank_unexpected"),
    ):
        lines.append({**plain, "kind": kind, "amount": amount, "at": at, "details": code})
        due.append((code, ""))
    lines.append({**plain, "kind": "charge", "amount": -30, "at": at, "details": "charges"})
    return lines, due


def month(*, seed: int, rows: int) -> Month:
    """Return a seeded month of about `rows` collections, with faults in books and statements."""
    made = sample_faults.month(seed=seed, rows=rows)
    at_operator = _Operator(made)
    at_operator.plant()
    payouts = list(_payouts(at_operator.lines))
    credits_, due = _bank(made.statement)
    moved = movements_of(*at_operator.lines.values(), *payouts, *credits_)
    return Month(made=made, movements=moved, operator=at_operator.due, bank=due)
