"""Months that follow one another as a shop lives them: payments, and the files that tell of them.

Everything is plain lists of plain rows, so that a fault is a changed row and a checker needs no
more than Python. A clean chain agrees on every leg: a fault is planted into it afterwards.
"""

import csv
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final
from zlib import crc32

import msgspec
from tests.kit.payments import polled

from kusanya.domain.business_day import EAT
from kusanya.state.observation import Observation
from kusanya.store import Store

Row = dict[str, Any]
DAY: Final = timedelta(days=1)
AMOUNTS: Final = (1_000, 2_000, 5_000, 5_000, 10_000, 10_000, 50_000, 100_000)
"""Round, as people pay: the same sum comes many times."""
RATES: Final = {"MPESA_TZ": 180, "TIGO_TZ": 150, "AIRTEL_TZ": 200}
"""Basis points of the fee by channel, as the tariff says."""
ABROAD: Final = {"EQUITEL_KE": 250}
"""The same of a channel of another currency."""
OPERATORS: Final = ("MPESA_TZ", "AIRTEL_TZ")
"""Channels with an operator's statement."""
DIRECT: Final = "AIRTEL_TZ"
"""The operator that may pay out by itself: then the provider does not."""
BOOKS: Final = ("reference", "amount", "currency", "channel", "status", "kind", "booked_at")
MOVED: Final = (
    *("at", "receipt", "reference", "amount", "currency", "channel", "kind", "fee", "balance"),
    *("details", "status"),
)
BANKED: Final = ("at", "amount", "currency", "kind", "balance", "details")
PAID_OUT: Final = (
    *("batch_id", "business_day", "channel", "currency", "gross", "fee", "net", "kind"),
)
ITEMS: Final = (*PAID_OUT, "collection_id")


class Payment(msgspec.Struct, frozen=True):
    """One payment that succeeded."""

    name: str
    channel: str
    amount: int
    fee: int
    at: datetime

    @property
    def reference(self) -> str:
        """Return the shop's own name of the payment; `INV-1#2` is a second one for `INV-1`."""
        return self.name.partition("#")[0]

    @property
    def collection(self) -> str:
        """Return the service's name of the payment."""
        return f"col_{self.name}"

    @property
    def receipt(self) -> str:
        """Return the operator's name of the payment."""
        return f"RC{self.name.replace('-', '').replace('#', 'X')}"

    @property
    def batch(self) -> str:
        """Return the name of the payout that holds the payment."""
        return batch_of(self.channel, self.at.date())


def batch_of(channel: str, day: date) -> str:
    """Return the name of a channel's payout of a day."""
    return f"PO{channel.partition('_')[0]}{day:%y%m%d}"


class Month(msgspec.Struct):
    """A month: what the service learned by its close, and the rows of each file."""

    first: date
    last: date
    facts: list[Observation]
    books: list[Row]
    operator: dict[str, list[Row]]
    settlement: list[Row]
    bank: list[Row]


class Chain(msgspec.Struct):
    """Months in a row, and the payments that the clean ones were made of."""

    months: list[Month]
    payments: list[list[Payment]]
    by_item: bool
    """Whether the settlement statement names each collection, or only days."""
    fee_lines: bool
    """Whether the operator writes each fee on a line of its own, or beside the payment."""
    direct: bool
    """Whether one operator pays out by itself."""
    silent_from: dict[int, date] = {}
    """From which day of a month on nothing was heard of the service before its close."""
    heard_by: dict[int, int] = {}
    """By the close of which month the rest of a silent one was heard; else by the next."""
    dated_later: timedelta = timedelta()
    """How much later than the payments' day a line of the settlement statement says its day is."""
    paid_together: dict[str, str] = {}
    """Days of a channel that the line of another day pays with its own."""
    contradicted: dict[str, tuple[int, Row]] = {}
    """Payments of which the service said something else after all: by which close, and what."""
    is_fee_in_balance: bool = False
    """Whether the operator takes the fee beside a line from the balance."""
    cutoff: str = "00:00"
    """When the business day turns; files are cut at midnight all the same."""
    reaches_back: timedelta = timedelta()
    """How much before its month each statement begins: the one before has those lines too."""
    reaches_on: timedelta = timedelta()
    """How much after its month each statement ends: the next one has those lines too."""
    is_sorted_by_receipt: bool = False
    """Whether the lines of operators' statements are in the order of their receipts."""
    keeps_receipts: bool = False
    """Whether each close keeps the receipts that it found."""
    is_newest_first: bool = False
    """Whether statements begin with the newest line."""
    is_in_parts: bool = False
    """Whether a statement is two files, of which the second has the last two lines of the first."""

    @property
    def settled(self) -> tuple[str, ...]:
        """Return the channels that the provider pays out, by its settlement statement."""
        every = RATES | ABROAD
        return tuple(name for name in every if not (self.direct and name == DIRECT))

    def month_of(self, day: date) -> Month | None:
        """Return the month of a day; None beyond the last one."""
        return next((one for one in self.months if one.first <= day <= one.last), None)

    def heard(self, number: int, *, by: int) -> list[Observation]:
        """Return the facts of a month that were heard by the close of the month `by`."""
        facts, silent = self.months[number].facts, self.silent_from.get(number)
        if silent is None or by >= self.heard_by.get(number, number + 1):
            return facts
        return [fact for fact in facts if fact.observed_at.astimezone(EAT).date() < silent]

    def is_contradicted(self, collection: str, *, by: int) -> bool:
        """Return whether the service had said by a close that a payment failed after all."""
        heard, said = self.contradicted.get(collection.removeprefix("col_"), (by + 1, {}))
        return heard <= by and said.get("status") == "failed"


def spans(count: int, days: int | None = None) -> list[tuple[date, date]]:
    """Return the first and the last day of so many months from March 2026, or of so many days."""
    firsts = [date(2026, 3 + number, 1) for number in range(count + 1)]
    if days is not None:
        firsts = [firsts[0] + number * days * DAY for number in range(count + 1)]
    return [(first, after - DAY) for first, after in pairwise(firsts)]


def at_of(day: date, hour: int, minute: int = 0) -> datetime:
    """Return the moment of a day."""
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=EAT)


def fee_of(channel: str, amount: int) -> int:
    """Return what the tariff charges: its rate, half up."""
    return (amount * (RATES | ABROAD)[channel] + 5_000) // 10_000


def currency_of(name: str) -> str:
    """Return the currency of a channel, or of what is named after one."""
    return "KES" if any(channel.partition("_")[0] in name for channel in ABROAD) else "TZS"


def chain(
    rng: Random,
    *,
    months: int = 3,
    size: int = 12,
    by_item: bool = False,
    fee_lines: bool = True,
    direct: bool = False,
    days: int | None = None,
    abroad: bool = False,
) -> Chain:
    """Return a clean chain of months, or of so many days each, with about `size` payments each.

    Some of them are of another currency where that is asked for.
    """
    made = Chain(months=[], payments=[], by_item=by_item, fee_lines=fee_lines, direct=direct)
    for number, (first, last) in enumerate(spans(months, days)):
        made.months.append(Month(first, last, [], [], {name: [] for name in OPERATORS}, [], []))
        length = (last - first).days + 1
        paid = []
        for count in range(rng.randint(size - 2, size + 2)):
            channel = rng.choice(list(RATES | ABROAD) if abroad else list(RATES))
            amount = rng.choice(AMOUNTS)
            # One on the last day of each month: what crosses its edge is a part of every close.
            day = last if count == 0 else first + rng.randrange(length) * DAY
            at = at_of(day, 8 + count % 12, count % 60)
            paid.append(Payment(f"M{number}-{count}", channel, amount, fee_of(channel, amount), at))
        made.payments.append(paid)
    for number, paid in enumerate(made.payments):
        for one in paid:
            _tell(made, made.months[number], one)
    for number in range(months):
        _pay_out(made, number)
    return made


def fact_of(payment: Payment, **said: Any) -> Observation:
    """Return what the service says of a payment."""
    minute = timedelta(minutes=1)
    phone = f"2557{crc32(payment.name.encode()) % 10**8:08d}"
    fields = {
        "reference": payment.reference,
        "channel": payment.channel,
        "amount": payment.amount,
        "fee": payment.fee,
        "currency": currency_of(payment.channel),
        "phone": phone,
        "completed_at": payment.at,
        **said,
    }
    return polled(payment.name, payment.at - minute, **fields)


def booked(payment: Payment, **changed: Any) -> Row:
    """Return the line of the books for a payment."""
    return {
        "reference": payment.reference,
        "amount": payment.amount,
        "currency": currency_of(payment.channel),
        "channel": payment.channel,
        "status": "paid",
        "kind": "payment",
        "booked_at": payment.at.date(),
        **changed,
    }


def moved(payment: Payment, **changed: Any) -> Row:
    """Return the line of the operator's statement for a payment."""
    return {
        "at": payment.at,
        "receipt": payment.receipt,
        "reference": payment.reference,
        "amount": payment.amount,
        "currency": currency_of(payment.channel),
        "channel": payment.channel,
        "kind": "payment",
        "fee": payment.fee,
        "details": "",
        **changed,
    }


def at_operator(made: Chain, payment: Payment) -> list[Row]:
    """Return all that the operator writes of a payment: its line, and its fee's."""
    if not made.fee_lines:
        return [moved(payment)]
    fee = {"kind": "fee", "amount": -payment.fee, "details": "charge"}
    return [moved(payment, fee=""), moved(payment, fee="", **fee)]


def credited(name: str, amount: int, day: date, **changed: Any) -> Row:
    """Return the bank's line for a payout."""
    at = at_of(day, 10)
    plain = {"at": at, "amount": amount, "currency": currency_of(name), "kind": "payout"}
    return {**plain, "details": f"MOBILE MONEY {name}", **changed}


def _tell(made: Chain, month: Month, payment: Payment) -> None:
    """Let service, books and operator tell of a payment."""
    month.facts.append(fact_of(payment))
    month.books.append(booked(payment))
    if payment.channel in OPERATORS:
        month.operator[payment.channel] += at_operator(made, payment)


def _pay_out(made: Chain, number: int) -> None:
    """Pay out each day of a month on the day after, which may lie in the next month."""
    month = made.months[number]
    totals: dict[tuple[str, date], list[Payment]] = {}
    for one in made.payments[number]:
        totals.setdefault((one.channel, one.at.date()), []).append(one)
    for (channel, day), paid in sorted(totals.items()):
        net = sum(one.amount - one.fee for one in paid)
        name = batch_of(channel, day)
        if channel in made.settled:
            month.settlement += _settled(paid, by_item=made.by_item)
        else:
            at = at_of(day, 23)
            out = {"kind": "payout", "receipt": name, "reference": "", "amount": -net, "fee": ""}
            month.operator[channel].append({**moved(paid[0]), **out, "at": at})
        target = made.month_of(day + DAY)
        if target is not None:
            target.bank.append(credited(name, net, day + DAY))


def _settled(paid: list[Payment], *, by_item: bool) -> Iterable[Row]:
    for part in [[one] for one in paid] if by_item else [paid]:
        gross, fee = sum(one.amount for one in part), sum(one.fee for one in part)
        yield {
            "batch_id": part[0].batch,
            "business_day": part[0].at.date(),
            "channel": part[0].channel,
            "currency": currency_of(part[0].channel),
            "gross": gross,
            "fee": fee,
            "net": gross - fee,
            "collection_id": part[0].collection if by_item else "",
        }


def delay(made: Chain, file: str, day: str) -> None:
    """Let each row of a file (books, settlement) come a day later; `day` is its column.

    Books are booked then, a settlement statement says the day of the payments.
    """
    for row, target in _put_off(made, file, day):
        then = row[day] + DAY
        getattr(target, file).append({**row, day: then} if file == "books" else row)


def _put_off(made: Chain, file: str, day: str) -> list[tuple[Row, Month]]:
    """Take each row out of a file; return with it the month that has it a day later.

    A row of an earlier day than those of its month stays there; after the last month there is none.
    """
    found = []
    for month in made.months:
        rows: list[Row] = getattr(month, file)
        for row in rows:
            then = row[day] + DAY
            target = month if then < month.first else made.month_of(then)
            if target is not None:
                found.append((row, target))
    for month in made.months:
        getattr(month, file).clear()
    return found


def pay_last_days_with_the_next(made: Chain) -> None:
    """Let one line pay the last day of each month and a day of its channel soon after, if any."""
    sums = ("gross", "fee", "net")
    for earlier, later in pairwise(made.months):
        for row in [one for one in earlier.settlement if one["business_day"] == earlier.last]:
            soon = {earlier.last + DAY, earlier.last + 2 * DAY, earlier.last + 3 * DAY}
            mine = [one for one in later.settlement if one["channel"] == row["channel"]]
            mine = [one for one in mine if one["business_day"] in soon]
            if not mine:
                continue
            then = min(mine, key=lambda one: one["business_day"])
            earlier.settlement.remove(row)
            later.bank[:] = [one for one in later.bank if row["batch_id"] not in one["details"]]
            for line in later.bank:
                if then["batch_id"] in line["details"]:
                    line["amount"] += row["net"]
            then |= {name: then[name] + row[name] for name in sums}
            channel, day = row["channel"], then["business_day"]
            made.paid_together[f"{channel} {row['business_day']}"] = f"{channel} {day}"


def date_by_the_payout(made: Chain) -> None:
    """Let each line of the settlement statement bear the day after the one that it pays.

    What takes back says the day of what it takes.
    """
    made.dated_later = DAY
    for row, target in _put_off(made, "settlement", "business_day"):
        later = DAY if row["net"] >= 0 else 0 * DAY
        target.settlement.append({**row, "business_day": row["business_day"] + later})


def write(made: Chain, number: int, folder: Path, *, operators: Iterable[str] = OPERATORS) -> None:
    """Write a month's files into a folder, under the same names in every month."""
    month = made.months[number]
    folder.mkdir(parents=True)
    _table(folder / "books.csv", BOOKS, sorted(month.books, key=lambda row: row["booked_at"]))
    paid_out = ITEMS if made.by_item else PAID_OUT
    for path, name in _accounts(folder / "settlement.csv", month.settlement):
        _table(path, paid_out, [row for row in month.settlement if row.get("account", "") == name])
    for channel in operators:
        each = [one.operator[channel] for one in made.months]
        _statements(made, each, number, folder / f"{channel.lower()}.csv", MOVED)
    _statements(made, [one.bank for one in made.months], number, folder / "bank.csv", BANKED)
    rates = "".join(
        f'[[price]]\nchannel = "{name}"\ncurrency = "{currency_of(name)}"\n'
        f'basis_points = "{rate}"\n'
        for name, rate in (RATES | ABROAD).items()
    )
    (folder / "tariff.toml").write_text(rates)


def _statements(
    made: Chain, each: list[list[Row]], number: int, path: Path, columns: tuple[str, ...]
) -> None:
    """Write a month's statements of an operator or the bank: a file for each `account`."""
    for target, name in _accounts(path, [row for rows in each for row in rows]):
        rows = list(_with_balances(made, each, number, name))
        if made.is_sorted_by_receipt and "receipt" in columns:
            rows.sort(key=lambda row: row["receipt"])
        ordered = rows[::-1] if made.is_newest_first else rows
        half = len(ordered) // 2
        if not made.is_in_parts or half < 2:
            _table(target, columns, ordered)
            continue
        _table(target, columns, ordered[: half + 2])
        _table(target.with_name(f"9{target.name}"), columns, ordered[half:])


def _accounts(path: Path, rows: Iterable[Row]) -> Iterable[tuple[Path, str]]:
    """Yield each `account` of some rows, and its file: the first one's is `path`."""
    names = {row.get("account", "") for row in rows} or {""}
    for place, name in enumerate(sorted(names), start=1):
        yield path if place == 1 else path.with_name(f"{place}_{path.name}"), name


def _with_balances(made: Chain, each: list[list[Row]], number: int, account: str) -> Iterable[Row]:
    """Yield a month's lines, the balance beside each; it goes on where the last month ended.

    A line that `is_lost` moved it and is in no file.
    """
    balances = Counter({"TZS": 1_000_000, "KES": 50_000})
    mine = [[row for row in rows if row.get("account", "") == account] for rows in each]
    month = made.months[number]
    begins, ends = month.first - made.reaches_back, month.last + made.reaches_on
    for place, rows in enumerate(mine):
        for row in _dated(rows):
            fee = int(row.get("fee") or 0) if made.is_fee_in_balance else 0
            if row.get("status", "completed") == "completed":
                balances[row["currency"]] += row["amount"] - fee
            day = date.fromisoformat(row["at"][:10])
            is_in_file = (day >= begins or place >= number) and (day <= ends or place <= number)
            if is_in_file and not row.get("is_lost"):
                yield {"status": "completed", **row, "balance": balances[row["currency"]]}


def _dated(rows: list[Row]) -> list[Row]:
    # Payouts come last in their minute, fees after the payment that they are of.
    return [{**row, "at": row["at"].isoformat()} for row in sorted(rows, key=lambda row: row["at"])]


def _table(path: Path, columns: tuple[str, ...], rows: Iterable[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def learn(store: Store, made: Chain, number: int) -> None:
    """Let the store learn what was said in a month, and on the second day after it.

    Where the files go on after the month, so does what was heard.
    """
    month = made.months[number]
    said = [fact for each in range(number + 1) for fact in made.heard(each, by=number)]
    ends = month.last + made.reaches_on
    for later in made.months[number + 1 :]:
        said += [one for one in later.facts if one.observed_at.astimezone(EAT).date() <= ends]
    # What was heard before is said again, as by a poller that catches up; it changes nothing.
    for fact in sorted(said, key=lambda one: one.observed_at):
        store.record(fact)
    if number in made.silent_from:
        return
    at = at_of(month.last + 2 * DAY, 12)
    for one in (one for paid in made.payments for one in paid):
        by, other = made.contradicted.get(one.name, (-1, {}))
        if by == number:
            fact = fact_of(one, **other)
            store.record(msgspec.structs.replace(fact, observed_at=at, source_id=f"again {number}"))
    # A payment that failed, so that the feed is seen to be alive.
    last = Payment(f"E{number}", "TIGO_TZ", 1_000, 15, at)
    store.record(fact_of(last, status="failed", failure_code="declined"))
