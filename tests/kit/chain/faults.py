"""What goes wrong in a chain of months: each fault changes rows, and its truth is known.

A fault is planted into one payment or one payout that no other fault touched. Where a following
month is left it may be put right there, as people do it: by another line, never by changing a
month that was closed.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec
from tests.kit.chain.world import (
    DAY,
    OPERATORS,
    Chain,
    Month,
    Payment,
    at_of,
    at_operator,
    batch_of,
    booked,
    credited,
    fact_of,
    moved,
)

Key = tuple[str, str]


class Planted(msgspec.Struct, frozen=True):
    """A fault that was planted: from which close on it is open, what, and worth how much."""

    fault: str
    month: int
    key: Key
    amount: int
    """Signed: what the first side of its leg has more than the other."""


class Spot(msgspec.Struct, frozen=True):
    """Where a fault goes: a payment of a month that no other fault touches."""

    chain: Chain
    number: int
    payment: Payment
    rng: Random
    is_put_right: bool

    @property
    def month(self) -> Month:
        """Return the month of the fault."""
        return self.chain.months[self.number]

    @property
    def later(self) -> Month:
        """Return the month that puts it right: without one, a month that nobody closes."""
        if self.is_put_right and self.number + 1 < len(self.chain.months):
            return self.chain.months[self.number + 1]
        return Month(date.max, date.max, [], [], {name: [] for name in OPERATORS}, [], [])

    @property
    def then(self) -> date:
        """Return the day on which it is put right: of a night's, the next one."""
        return min(self.month.last + 5 * DAY, self.later.last)

    @property
    def at(self) -> datetime:
        """Return the same as an instant."""
        return at_of(self.then, 12)

    def line(self) -> dict[str, Any]:
        """Return the payment's line of the books, taken out of its place."""
        mine = self.payment.reference
        row = next(row for row in self.month.books if row["reference"] == mine)
        self.month.books.remove(row)
        return row

    def book(self, **changed: Any) -> None:
        """Book a line for the payment in its month."""
        self.month.books.append(booked(self.payment, **changed))

    def book_later(self, **changed: Any) -> None:
        """Book a line for the payment in the month after."""
        self.later.books.append(booked(self.payment, booked_at=self.then, **changed))

    def reverse_later(self, amount: int, **changed: Any) -> None:
        """Cancel a line of the books in the month after."""
        self.book_later(**{"amount": -amount, "kind": "reversal", **changed})

    @property
    def own(self) -> Key:
        """Return the payment's key in the books."""
        return "books", self.payment.reference


def _unbooked(spot: Spot) -> tuple[Key, int]:
    spot.line()
    spot.book_later()
    return spot.own, -spot.payment.amount


def _invented(spot: Spot) -> tuple[Key, int]:
    name = f"NONE-{spot.payment.name}"
    spot.book(reference=name)
    spot.reverse_later(spot.payment.amount, reference=name)
    return ("books", name), spot.payment.amount


def _wrong_sign(spot: Spot) -> tuple[Key, int]:
    amount = spot.payment.amount
    spot.line()
    spot.book(amount=-amount)
    spot.reverse_later(-amount)
    spot.book_later()
    return spot.own, -2 * amount


def _wrong_amount(spot: Spot) -> tuple[Key, int]:
    off = spot.rng.choice([-300, 700, 4_000])
    spot.line()
    spot.book(amount=spot.payment.amount + off)
    spot.reverse_later(spot.payment.amount + off)
    spot.book_later()
    return spot.own, off


def _booked_twice(spot: Spot) -> tuple[Key, int]:
    spot.book()
    spot.reverse_later(spot.payment.amount)
    return spot.own, spot.payment.amount


def _paid_twice(spot: Spot) -> tuple[Key, int]:
    first = spot.payment
    at = first.at + timedelta(minutes=3)
    again = msgspec.structs.replace(first, name=f"{first.name}#2", at=at)
    spot.month.facts.append(fact_of(again))
    if first.channel in OPERATORS:
        spot.month.operator[first.channel] += at_operator(spot.chain, again)
    _raise_payout(spot, again)
    spot.book_later(kind="refund", amount=-first.amount)
    return spot.own, -first.amount


def _raise_payout(spot: Spot, more: Payment) -> None:
    """Let a payment be paid out with the others of its day."""
    chain, net = spot.chain, more.amount - more.fee
    if more.channel in chain.settled:
        row = next(row for row in spot.month.settlement if row["batch_id"] == more.batch)
        if chain.by_item:
            own = {"collection_id": more.collection, "gross": more.amount, "fee": more.fee}
            spot.month.settlement.append({**row, **own, "net": net})
        else:
            row["gross"] += more.amount
            row["fee"] += more.fee
            row["net"] += net
    else:
        lines = spot.month.operator[more.channel]
        next(row for row in lines if row["receipt"] == more.batch)["amount"] -= net
    for month in chain.months:
        for row in month.bank:
            if more.batch in row["details"]:
                row["amount"] += net


def _refund_alone(spot: Spot) -> tuple[Key, int]:
    name = f"GONE-{spot.payment.name}"
    spot.book(reference=name, amount=-spot.payment.amount, kind="refund")
    spot.reverse_later(-spot.payment.amount, reference=name)
    return ("books", name), -spot.payment.amount


def _negative_alone(spot: Spot) -> tuple[Key, int]:
    name = f"LESS-{spot.payment.name}"
    spot.book(reference=name, amount=-spot.payment.amount)
    spot.reverse_later(-spot.payment.amount, reference=name)
    return ("books", name), -spot.payment.amount


def _fee_too_high(spot: Spot) -> tuple[Key, int]:
    more, lines = 250, spot.month.operator[spot.payment.channel]
    mine = [row for row in lines if row["receipt"] == spot.payment.receipt]
    fee = next((row for row in mine if row["kind"] == "fee"), None)
    later = spot.later.operator[spot.payment.channel]
    if fee is None:
        mine[0]["fee"] += more
    else:
        fee["amount"] -= more
    later.append(moved(spot.payment, at=spot.at, kind="fee", amount=more, fee=""))
    return ("operator fee", spot.payment.reference), more


def _unknown_at_service(spot: Spot) -> tuple[Key, int]:
    name = f"ELSE-{spot.payment.name}"
    line = {"reference": name, "receipt": f"RC{name.replace('-', '')}", "fee": ""}
    at = spot.payment.at + timedelta(minutes=7)
    spot.month.operator[spot.payment.channel].append(moved(spot.payment, at=at, **line))
    taken = {"kind": "reversal", "amount": -spot.payment.amount, "at": spot.at}
    spot.later.operator[spot.payment.channel].append(moved(spot.payment, **{**line, **taken}))
    return ("operator", name), spot.payment.amount


def _of_nobody_beside_an_unbooked_one(spot: Spot) -> tuple[Key, int]:
    """Plant a line without a reference, of the day and amount of a payment that is open too."""
    _unbooked(spot)
    receipt = f"RCX{spot.payment.name.replace('-', '')}"
    line = {"reference": "", "receipt": receipt, "fee": ""}
    at = spot.payment.at + timedelta(minutes=7)
    spot.month.operator[spot.payment.channel].append(moved(spot.payment, at=at, **line))
    taken = {"kind": "reversal", "amount": -spot.payment.amount, "at": spot.at}
    spot.later.operator[spot.payment.channel].append(moved(spot.payment, **{**line, **taken}))
    return ("operator", receipt), spot.payment.amount


def _missing_at_operator(spot: Spot) -> tuple[Key, int]:
    lines = spot.month.operator[spot.payment.channel]
    mine = [row for row in lines if row["receipt"] == spot.payment.receipt]
    lines[:] = [row for row in lines if row not in mine]
    spot.later.operator[spot.payment.channel] += [{**row, "at": spot.at} for row in mine]
    return ("operator", spot.payment.reference), -spot.payment.amount


def _settled_name(spot: Spot) -> str:
    paid = spot.payment
    return paid.collection if spot.chain.by_item else f"{paid.channel} {paid.at.date()}"


def _settlement_row(spot: Spot) -> dict[str, Any]:
    paid = spot.payment
    return next(
        row
        for row in spot.month.settlement
        if row["batch_id"] == paid.batch and row["collection_id"] in ("", paid.collection)
    )


def _clawback(spot: Spot) -> tuple[Key, int]:
    row, back = _settlement_row(spot), 900
    plain = {**row, "fee": 0, "gross": -back, "net": -back, "batch_id": f"POBACK{row['batch_id']}"}
    spot.month.settlement.append(plain)
    name, day = plain["batch_id"], row["business_day"]
    spot.month.bank.append(credited(name, -back, day, kind="other"))
    again = {**plain, "gross": back, "net": back, "batch_id": f"POMORE{row['batch_id']}"}
    spot.later.settlement.append(again)
    spot.later.bank.append(credited(again["batch_id"], back, spot.then))
    return ("statement", _settled_name(spot)), -back


def _settled_of_another_month(spot: Spot) -> tuple[Key, int]:
    row = _settlement_row(spot)
    day, name = spot.month.first - 20 * DAY, f"POOLD{row['batch_id']}"
    strange = {**row, "business_day": day, "batch_id": name, "gross": 80_000, "fee": 0}
    strange["net"] = 80_000
    if spot.chain.by_item:
        strange["collection_id"] = f"col_OLD{spot.payment.name}"
    spot.month.settlement.append(strange)
    spot.month.bank.append(credited(name, 80_000, spot.payment.at.date()))
    back = {**strange, "gross": -80_000, "net": -80_000, "batch_id": f"POUN{name}"}
    spot.later.settlement.append(back)
    spot.later.bank.append(credited(back["batch_id"], -80_000, spot.then, kind="other"))
    own = strange["collection_id"] if spot.chain.by_item else f"{row['channel']} {day}"
    return ("statement", own), 80_000


def _settled_of_nobody(spot: Spot) -> tuple[Key, int]:
    row = _settlement_row(spot)
    name, net = f"POX{row['batch_id']}", 70_000
    strange = {**row, "batch_id": name, "gross": net, "fee": 0, "net": net}
    own = f"{row['channel']} {row['business_day']}"
    if spot.chain.by_item:
        own = strange["collection_id"] = f"col_X{spot.payment.name}"
    spot.month.settlement.append(strange)
    spot.month.bank.append(credited(name, net, spot.payment.at.date()))
    back = {**strange, "gross": -net, "net": -net, "batch_id": f"POUN{name}"}
    spot.later.settlement.append(back)
    spot.later.bank.append(credited(back["batch_id"], -net, spot.then, kind="other"))
    return ("statement", own), net


def _credit(spot: Spot) -> tuple[Month, dict[str, Any]]:
    """Return the bank's line of the payment's payout, and the month that it lies in."""
    months = spot.chain.months[spot.number :]
    rows = ((month, row) for month in months for row in month.bank)
    return next((month, row) for month, row in rows if spot.payment.batch in row["details"])


def _taken_back(spot: Spot) -> tuple[Key, int]:
    (month, credit), name = _credit(spot), spot.payment.batch
    back = {**credit, "amount": -credit["amount"], "kind": "other"}
    back |= {"at": credit["at"] + timedelta(hours=3), "details": f"PAYOUT REVERSED {name}"}
    month.bank.append(back)
    spot.later.bank.append({**credit, "at": spot.at})
    return ("bank", name), -credit["amount"]


def _short_at_bank(spot: Spot) -> tuple[Key, int]:
    (_, credit), name = _credit(spot), spot.payment.batch
    credit["amount"] -= 700
    spot.later.bank.append(credited(name, 700, spot.then))
    return ("bank", name), -700


def _missing_at_bank(spot: Spot) -> tuple[Key, int]:
    (month, credit), name = _credit(spot), spot.payment.batch
    month.bank.remove(credit)
    spot.later.bank.append({**credit, "at": spot.at})
    return ("bank", name), -credit["amount"]


FAULTS: Final[dict[str, Callable[[Spot], tuple[Key, int]]]] = {
    "unbooked": _unbooked,
    "invented": _invented,
    "wrong sign": _wrong_sign,
    "wrong amount": _wrong_amount,
    "booked twice": _booked_twice,
    "paid twice": _paid_twice,
    "refund of nothing": _refund_alone,
    "negative line of nothing": _negative_alone,
    "operator fee too high": _fee_too_high,
    "unknown at the service": _unknown_at_service,
    "of nobody, beside an unbooked one": _of_nobody_beside_an_unbooked_one,
    "missing at the operator": _missing_at_operator,
    "clawback": _clawback,
    "settled for another month": _settled_of_another_month,
    "settled for nobody": _settled_of_nobody,
    "taken back at the bank": _taken_back,
    "short at the bank": _short_at_bank,
    "missing at the bank": _missing_at_bank,
}
_OF_OPERATOR: Final = frozenset(
    {
        *("operator fee too high", "unknown at the service", "missing at the operator"),
        "of nobody, beside an unbooked one",
    }
)
_OF_STATEMENT: Final = frozenset({"clawback", "settled for another month", "settled for nobody"})
_OF_BANK: Final = frozenset(
    {"taken back at the bank", "short at the bank", "missing at the bank", "clawback", "paid twice"}
)


class Planter:
    """Plants faults into a chain, each into a payment of its own, on a day of its own."""

    def __init__(self, chain: Chain, rng: Random) -> None:
        self._chain, self._rng = chain, rng
        self._taken: set[str] = set()

    def plant(self, fault: str, number: int, *, is_put_right: bool) -> Planted | None:
        """Plant a fault into a month; None where no payment is left that it can befall."""
        payment = self._choose(fault, number)
        if payment is None:
            return None
        spot = Spot(self._chain, number, payment, self._rng, is_put_right)
        key, amount = FAULTS[fault](spot)
        return Planted(fault, number, key, amount)

    def contradict(self, number: int, *, by: int, **said: Any) -> Payment | None:
        """Let the service say by a close that a payment of a month failed after all; return it.

        Or something else of it.
        """
        payment = self._choose("", number)
        if payment is not None:
            failed = {"status": "failed", "failure_code": "declined"}
            self._chain.contradicted[payment.name] = by, said or failed
        return payment

    def _choose(self, fault: str, number: int) -> Payment | None:
        chosen = [one for one in self._chain.payments[number] if self._suits(fault, number, one)]
        if not chosen:
            return None
        payment = self._rng.choice(chosen)
        self._taken.add(batch_of(payment.channel, payment.at.date()))
        return payment

    def _suits(self, fault: str, number: int, payment: Payment) -> bool:
        month = self._chain.months[number]
        # Well inside the month: what lies at its edge may come by itself. A night is all edge.
        inside = payment.at.date() < month.last - 3 * DAY or month.first == month.last
        settled = fault not in _OF_STATEMENT or payment.channel in self._chain.settled
        told = fault not in _OF_OPERATOR or payment.channel in OPERATORS
        return inside and settled and told and payment.batch not in self._taken
