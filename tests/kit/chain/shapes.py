"""The shapes that a shop's files may have: the same chain of months, written in another way.

None of them is a fault: a clean chain of any shape is clean, and every close of it is reconciled.
"""

import itertools
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec
from tests.kit.chain.payouts import (
    a_file_a_channel,
    a_file_a_week,
    charges,
    is_own,
    monthly_payouts,
    nameless_credits,
    one_credit_a_day,
    one_line_a_day,
    paid_on_the_fifth,
    payouts_in_parts,
    payouts_without_a_name,
    weekends,
    weekly_payouts,
)
from tests.kit.chain.world import (
    DAY,
    OPERATORS,
    Chain,
    Month,
    Payment,
    Row,
    at_of,
    batch_of,
    booked,
    chain,
    credited,
    date_by_the_payout,
    fact_of,
    moved,
)

from kusanya.state.observation import Observation


def two_tills(made: Chain, rng: Random) -> None:
    """Let each operator write two statements, one a till; the payments come to both in turn.

    In the first close both have lines, none before the other begins: later ones know them apart.
    """
    is_nightly = made.months[0].first == made.months[0].last
    for channel in OPERATORS:
        if sum(one.channel == channel for one in made.payments[0]) < (2 if is_nightly else 3):
            continue
        paid = [one for each in made.payments for one in each if one.channel == channel]
        names = [one.reference for one in sorted(paid, key=lambda one: one.at)]
        for month in made.months:
            for row in month.operator[channel]:
                is_second = row["reference"] in names and names.index(row["reference"]) % 2
                row["account"] = "b" if is_second else "a"


def fees_in_the_balance(made: Chain, rng: Random) -> None:
    """Let the operator take the fee beside a line from its balance."""
    made.is_fee_in_balance = not made.fee_lines


def two_banks(made: Chain, rng: Random) -> None:
    """Let some channels be paid out to another bank, where both have lines at the same time.

    In the first close, that is: later ones know them apart by their last balances.
    """
    begins = made.months[0]
    for currency in ("TZS", "KES"):
        mine = [row for row in begins.bank if row["currency"] == currency]
        second = [row for row in mine if {"POTIGO", "POAIR"} & _prefixes(row)]
        days = [row["at"] for row in mine if row not in second]
        others = [row["at"] for row in second]
        if mine and not (days and others and min(others) < max(days) and min(days) < max(others)):
            return
    for month in made.months:
        for row in month.bank:
            row["account"] = "b" if {"POTIGO", "POAIR"} & _prefixes(row) else "a"


def _prefixes(row: Row) -> set[str]:
    """Return how the words of a bank's line begin, in five or six letters."""
    return {word[:size] for word in row["details"].split() for size in (5, 6)}


def other_money_at_the_bank(made: Chain, rng: Random) -> None:
    """Let the bank's account serve for rent, salaries, customers' transfers and charges too."""
    for month in made.months:
        for name, amount in (
            *(("RENT", -350_000), ("SALARIES", -1_234_500), ("TRANSFER J MUSHI", 77_000)),
            *(("CASH DEPOSIT", 410_000), ("MONTHLY FEE", -11_800), ("CHQ 000123", -1_000)),
        ):
            day = month.first + rng.randrange((month.last - month.first).days + 1) * DAY
            kind = "charge" if "FEE" in name else "other"
            line = credited(name, amount, day, kind=kind)
            month.bank.append({**line, "details": name})


def other_money_at_the_operator(made: Chain, rng: Random) -> None:
    """Let the till pay suppliers, and be filled up."""
    for month in made.months:
        for channel, rows in month.operator.items():
            for number, (name, amount) in enumerate(
                (("Pay bill to 400200", -45_000), ("Float top up", 60_000), ("Airtime", -2_000))
            ):
                day = month.first + rng.randrange((month.last - month.first).days + 1) * DAY
                at = at_of(day, 7, 30)
                rows.append(
                    {
                        "at": at,
                        "receipt": f"OT{channel[:2]}{month.first:%m%d}{number}",
                        "reference": "",
                        "amount": amount,
                        "currency": "TZS",
                        "fee": "",
                        "channel": channel,
                        "kind": "own",
                        "details": name,
                    }
                )


def refunds(made: Chain, rng: Random) -> None:
    """Let the shop pay some payments back, whole or in part; the provider keeps its fee."""
    for number, month in enumerate(made.months):
        for payment in _some(made, number, rng, 2):
            part = rng.choice([payment.amount, payment.amount // 2])
            day = min(payment.at.date() + DAY, month.last)
            month.books.append(booked(payment, amount=-part, kind="refund", booked_at=day))
            if payment.channel in OPERATORS:
                at = at_of(day, 21)
                receipt = f"RF{payment.receipt}"
                back = moved(payment, amount=-part, kind="refund", at=at, receipt=receipt, fee="")
                month.operator[payment.channel].append(back)


def _some(made: Chain, number: int, rng: Random, count: int) -> list[Payment]:
    return _sample(rng, made.payments[number], count)


def _some_kept(made: Chain, number: int, rng: Random, count: int) -> list[Payment]:
    """Return some payments of a month that no line of its books gives back."""
    back = {row["reference"] for row in made.months[number].books if row["amount"] < 0}
    kept = [one for one in made.payments[number] if not back & {one.reference, one.receipt}]
    return _sample(rng, kept, count)


def _sample(rng: Random, paid: list[Payment], count: int) -> list[Payment]:
    return rng.sample(paid, min(count, len(paid)))


def two_lines_in_the_books(made: Chain, rng: Random) -> None:
    """Let the shop book some payments in two lines of one order."""
    for number, month in enumerate(made.months):
        names = {one.reference for one in _some(made, number, rng, 3)}
        for row in [row for row in month.books if row["reference"] in names]:
            if row["kind"] == "payment":
                month.books.append({**row, "amount": row["amount"] - 400})
                row["amount"] = 400


def unpaid_in_the_books(made: Chain, rng: Random) -> None:
    """Let the books hold orders that nobody paid, as unpaid."""
    for number, month in enumerate(made.months):
        for payment in _some(made, number, rng, 3):
            row = booked(payment, reference=f"OPEN-{payment.name}", status="not_paid")
            month.books.append(row)


def around_midnight(made: Chain, rng: Random) -> None:
    """Let payments be made in the first and the last minute of their day."""
    for number, paid in enumerate(made.payments):
        for place, one in enumerate(paid):
            at = rng.choice(
                [
                    one.at.replace(hour=0, minute=0, second=place % 60),
                    one.at.replace(hour=23, minute=59, second=place % 60),
                ]
            )
            _at(made, number, one.name, at)


def turns_at_four(made: Chain, rng: Random) -> None:
    """Let the business day turn at four, and half of the payments be made after midnight.

    A statement is cut at midnight: it is given up to the end of the next day. A provider that names
    each payment pays it out by the day of the clock.
    """
    made.cutoff, made.reaches_on = "04:00", max(made.reaches_on, DAY)
    moved_on = set()
    for number, paid in enumerate(made.payments):
        for one in rng.sample(paid, len(paid) // 2):
            if one.at.date() == made.months[-1].last:
                continue  # its statement would be of a month that nobody closes
            night = one.at.replace(hour=rng.randrange(4), minute=rng.randrange(60)) + DAY
            _at(made, number, one.name, night)
            moved_on.add(one.collection)
    for channel in OPERATORS:
        rows = [row for month in made.months for row in month.operator[channel]]
        for month in made.months:
            month.operator[channel] = [row for row in rows if _is_of(month, row["at"].date())]
    if made.by_item:
        _pay_out_by_the_clock(made, moved_on)


def _is_of(month: Month, day: date) -> bool:
    return month.first <= day <= month.last


def _pay_out_by_the_clock(made: Chain, moved_on: set[str]) -> None:
    rows = [row for month in made.months for row in month.settlement]
    lines: dict[str, Row] = {}
    for row in rows:
        if row["collection_id"] in moved_on:
            row["business_day"] += DAY
            row["batch_id"] = batch_of(row["channel"], row["business_day"])
        line = credited(row["batch_id"], 0, row["business_day"] + DAY)
        lines.setdefault(row["batch_id"], line)["amount"] += row["net"]
    for month in made.months:
        last = month.last + made.reaches_on
        month.settlement = [row for row in rows if month.first <= row["business_day"] <= last]
        own = [row for row in month.bank if is_own(made, row)]
        paid = [line for line in lines.values() if _is_of(month, line["at"].date())]
        month.bank = own + paid


def _at(made: Chain, number: int, name: str, at: datetime) -> None:
    month, paid = made.months[number], made.payments[number]
    place = next(place for place, one in enumerate(paid) if one.name == name)
    old = paid[place]
    paid[place] = msgspec.structs.replace(old, at=at)
    for rows in month.operator.values():
        for row in rows:
            if row["receipt"] == old.receipt:
                row["at"] = at
            elif row["kind"] == "payout":
                row["at"] = row["at"].replace(hour=23, minute=59, second=59, microsecond=999)
    month.facts = [
        msgspec.structs.replace(
            _with(fact, completed_at=at, created_at=at - timedelta(minutes=1)), observed_at=at
        )
        if fact.collection.id == old.collection
        else fact
        for fact in month.facts
    ]


def _with(fact: Observation, **changed: Any) -> Observation:
    collection = msgspec.structs.replace(fact.collection, **changed)
    return msgspec.structs.replace(fact, collection=collection)


def day_sums_in_the_books(made: Chain, rng: Random) -> None:
    """Let the books have one line for all payments of a day and channel."""
    for month in made.months:
        sums: dict[tuple[date, str], Row] = {}
        for row in month.books:
            if row["kind"] == "payment" and row["status"] == "paid":
                key = row["booked_at"], row["channel"]
                line = sums.setdefault(key, {**row, "reference": "", "amount": 0})
                line["amount"] += row["amount"]
        rest = [row for row in month.books if row["kind"] != "payment"]
        month.books = [*rest, *sums.values()]


def refunds_through_the_provider(made: Chain, rng: Random) -> None:
    """Let the provider take refunds out of the payout of their day, where lines name payments."""
    for number, month in enumerate(made.months):
        kept = _some_kept(made, number, rng, 2)
        for one in [one for one in kept if one.channel in made.settled]:
            if not made.by_item:
                continue
            row = next(row for row in month.settlement if row["collection_id"] == one.collection)
            money = {"gross": -one.amount, "fee": 0, "net": -one.amount}
            month.settlement.append({**row, **money})
            day = one.at.date()
            month.books.append(booked(one, amount=-one.amount, kind="refund", booked_at=day))
            for line in (line for each in made.months for line in each.bank):
                if one.batch in line["details"]:
                    line["amount"] -= one.amount


def failed_first(made: Chain, rng: Random) -> None:
    """Let some orders fail before they are paid, once or twice."""
    for number, month in enumerate(made.months):
        for payment in _some(made, number, rng, 4):
            for attempt in range(rng.choice([1, 2])):
                failed = msgspec.structs.replace(
                    payment,
                    name=f"{payment.name}#f{attempt}",
                    at=payment.at - (attempt + 2) * timedelta(minutes=2),
                )
                month.facts.append(
                    fact_of(failed, completed_at=None, status="failed", failure_code="declined")
                )


def spelled_otherwise(made: Chain, rng: Random) -> None:
    """Let people type references in their own way."""
    for month in made.months:
        for row in month.books:
            name = row["reference"]
            row["reference"] = rng.choice([name, name.lower(), name.title(), f" {name} "])


def booked_by_receipt(made: Chain, rng: Random) -> None:
    """Let the books name payments, and what is refunded, by the operator's receipts."""
    made.keeps_receipts = True
    every = (one for paid in made.payments for one in paid)
    receipts = {one.reference: one.receipt for one in every if one.channel in OPERATORS}
    for month in made.months:
        for row in month.books:
            row["reference"] = receipts.get(row["reference"], row["reference"])


def over_the_edge(made: Chain, rng: Random) -> None:
    """Let the first payment of each month be asked for in the last minutes of the month before."""
    for number in range(1, len(made.months)):
        month = made.months[number]
        asked = at_of(month.first, 23, 58) - DAY
        firsts = [one for one in made.payments[number] if one.at.date() == month.first][:1]
        names = {one.collection for one in firsts}
        month.facts = [
            _with(fact, created_at=asked) if fact.collection.id in names else fact
            for fact in month.facts
        ]


def booked_on_the_next_day(made: Chain, rng: Random) -> None:
    """Let payments be booked on the day after theirs, and the books of a month go on until then."""
    rows = [row for month in made.months for row in month.books]
    for row in rows:
        if row["kind"] == "payment":
            row["booked_at"] += DAY
    for month in made.months:
        until = month.last + DAY
        month.books = [row for row in rows if month.first <= row["booked_at"] <= until]


def fees_in_one_sum(made: Chain, rng: Random) -> None:
    """Let an operator charge the fees of a period in one line on its last day."""
    if not made.fee_lines:
        return
    for month in made.months:
        for channel, rows in month.operator.items():
            fees = [row for row in rows if row["kind"] == "fee"]
            if not fees:
                continue
            rest = [row for row in rows if row["kind"] != "fee"]
            day = month.last
            at = at_of(day, 22)
            total = {**fees[0], "at": at, "receipt": f"FE{channel[:2]}{day:%y%m%d}"}
            total |= {"reference": "", "amount": sum(row["amount"] for row in fees)}
            month.operator[channel] = [*rest, total]


def newest_first(made: Chain, rng: Random) -> None:
    """Let statements begin with the newest line."""
    made.is_newest_first = True


def overlapping_files(made: Chain, rng: Random) -> None:
    """Let the files of each month hold the last three days of the month before again."""
    made.reaches_back = 3 * DAY
    rows = [(list(month.books), list(month.settlement)) for month in made.months]
    for month, (books, paid) in zip(made.months[1:], rows, strict=False):
        since = month.first - 3 * DAY
        month.books[:0] = _new(month.books, [row for row in books if row["booked_at"] >= since])
        earlier = [row for row in paid if row["business_day"] >= since]
        month.settlement[:0] = _new(month.settlement, earlier)


def read_on(made: Chain, rng: Random) -> None:
    """Let the files of each month go on for three days of the next one, of a night for one."""
    is_nightly = made.months[0].first == made.months[0].last
    made.reaches_on = max(made.reaches_on, DAY if is_nightly else 3 * DAY)
    rows = [(list(month.books), list(month.settlement)) for month in made.months]
    for month, (books, paid) in zip(made.months, rows[1:], strict=False):
        until = month.last + made.reaches_on
        later = [row for row in books if month.last < row["booked_at"] <= until]
        month.books += _new(month.books, later)
        later = [row for row in paid if month.last < row["business_day"] <= until]
        month.settlement += _new(month.settlement, later)


def _new(rows: list[Row], more: list[Row]) -> list[Row]:
    """Return the rows that another shape has not put there already."""
    return [row for row in more if row not in rows]


def quiet_channel(made: Chain, rng: Random) -> None:
    """Let an operator take nothing in one month, and write an empty statement."""
    number = rng.randrange(1, len(made.months))
    _forget(made, number, lambda one: one.channel == "MPESA_TZ")


def quiet_month(made: Chain, rng: Random) -> None:
    """Let nothing be paid in one month but on its last day."""
    number = rng.randrange(1, len(made.months))
    last = made.months[number].last
    _forget(made, number, lambda one: one.at.date() != last)


def _forget(made: Chain, number: int, is_forgotten: Callable[[Payment], bool]) -> None:
    month = made.months[number]
    gone = [one for one in made.payments[number] if is_forgotten(one)]
    made.payments[number] = [one for one in made.payments[number] if not is_forgotten(one)]
    collections, batches = {one.collection for one in gone}, {one.batch for one in gone}
    left = {one.batch for one in made.payments[number]}
    names, receipts = {one.reference for one in gone}, {one.receipt for one in gone}
    assert not batches & left
    month.facts = [one for one in month.facts if one.collection.id not in collections]
    month.books = [row for row in month.books if row["reference"] not in names]
    month.settlement = [row for row in month.settlement if row["batch_id"] not in batches]
    for channel in OPERATORS:
        month.operator[channel] = [
            row for row in month.operator[channel] if row["receipt"] not in receipts | batches
        ]
    for one in made.months:
        one.bank = [row for row in one.bank if not any(name in row["details"] for name in batches)]


def taken_back_by_the_operator(made: Chain, rng: Random) -> None:
    """Let an operator reverse some payments on the next day, and the books give them back."""
    for number, month in enumerate(made.months):
        for payment in _some_kept(made, number, rng, 2):
            if payment.channel in OPERATORS:
                day = min(payment.at.date() + DAY, month.last)
                at = at_of(day, 21)
                line = {"kind": "reversal", "receipt": f"RV{payment.receipt}", "fee": ""}
                back = moved(payment, amount=-payment.amount, at=at, **line)
                month.operator[payment.channel].append(back)
                given = {"kind": "refund", "booked_at": day}
                month.books.append(booked(payment, amount=-payment.amount, **given))


def dated_by_the_payout(made: Chain, rng: Random) -> None:
    """Let a line of the settlement statement bear the day after, and files go on until it came."""
    ends = made.months[-1]
    if made.by_item:
        return
    last = [{**row} for row in ends.settlement if row["business_day"] == ends.last]
    date_by_the_payout(made)
    ends.settlement += [{**row, "business_day": ends.last + DAY} for row in last]
    read_on(made, rng)


def year_to_date(made: Chain, rng: Random) -> None:
    """Let each file hold all that was since the chain began."""
    made.reaches_back = 400 * DAY
    books: list[Row] = []
    paid: list[Row] = []
    for month in made.months:
        books, paid = [*books, *_new(books, month.books)], [*paid, *_new(paid, month.settlement)]
        month.books, month.settlement = list(books), list(paid)


def sorted_by_receipt(made: Chain, rng: Random) -> None:
    """Let somebody have sorted each operator's statement by its receipts."""
    made.is_sorted_by_receipt = True


def clocks_apart(made: Chain, rng: Random) -> None:
    """Let the operator's clock be some seconds ahead of the service's, at midnight as well."""
    made.reaches_on = max(made.reaches_on, DAY)
    for number, paid in enumerate(made.payments):
        last = made.months[number].last
        for place, one in enumerate(paid):
            # After the last one nobody closes the month that its statement would be of.
            if one.at.date() == last != made.months[-1].last and place % 2 == 0:
                _at(made, number, one.name, one.at.replace(hour=23, minute=59, second=30 + place))
    seconds = timedelta(seconds=rng.choice([15, 40]))
    for channel in OPERATORS:
        rows = [row for month in made.months for row in month.operator[channel]]
        for row in rows:
            if row["kind"] != "payout":
                row["at"] += seconds
        for month in made.months:
            days = month.first, month.last
            month.operator[channel] = [
                row for row in rows if days[0] <= row["at"].date() <= days[1]
            ]


def failed_at_the_operator(made: Chain, rng: Random) -> None:
    """Let an operator list attempts that failed, with their receipts, beside the payments."""
    for number, month in enumerate(made.months):
        for payment in _some(made, number, rng, 4):
            if payment.channel in OPERATORS:
                at = payment.at - timedelta(minutes=2)
                line = moved(
                    payment, at=at, receipt=f"FX{payment.receipt}", fee="", status="failed"
                )
                month.operator[payment.channel].append(line)


def taxes(made: Chain, rng: Random) -> None:
    """Let an operator take a levy on a line of its own beside some payments."""
    for number, month in enumerate(made.months):
        for payment in _some(made, number, rng, 4):
            if payment.channel in OPERATORS:
                line = moved(
                    payment, amount=-10, kind="tax", receipt=f"TX{payment.receipt}", fee=""
                )
                month.operator[payment.channel].append(line)


def statements_in_parts(made: Chain, rng: Random) -> None:
    """Let each statement of an operator or a bank be two files, which have two lines both."""
    made.is_in_parts = True


SHAPES: Final[dict[str, Callable[[Chain, Random], None]]] = {
    # What changes the payments comes first, then what is paid out, then how it is written.
    "a quiet channel": quiet_channel,
    "a quiet month": quiet_month,
    "around midnight": around_midnight,
    "refunds": refunds,
    "two lines in the books": two_lines_in_the_books,
    "unpaid in the books": unpaid_in_the_books,
    "refunds through the provider": refunds_through_the_provider,
    "charges": charges,
    "failed first": failed_first,
    "over the edge": over_the_edge,
    "fees in one sum": fees_in_one_sum,
    "booked by receipt": booked_by_receipt,
    "spelled otherwise": spelled_otherwise,
    "booked on the next day": booked_on_the_next_day,
    "day sums in the books": day_sums_in_the_books,
    "weekly payouts": weekly_payouts,
    "weekends": weekends,
    "payouts in parts": payouts_in_parts,
    "one credit a day": one_credit_a_day,
    "one line a day": one_line_a_day,
    "two banks": two_banks,
    "nameless credits": nameless_credits,
    "other money at the bank": other_money_at_the_bank,
    "other money at the operator": other_money_at_the_operator,
    "two tills": two_tills,
    "turns at four": turns_at_four,
    "fees in the balance": fees_in_the_balance,
    "newest first": newest_first,
    "dated by the payout": dated_by_the_payout,
    "overlapping files": overlapping_files,
    "read on": read_on,
    "year to date": year_to_date,
    "sorted by receipt": sorted_by_receipt,
    "clocks apart": clocks_apart,
    "payouts without a name": payouts_without_a_name,
    "failed at the operator": failed_at_the_operator,
    "taxes": taxes,
    "monthly payouts": monthly_payouts,
    "paid on the fifth": paid_on_the_fifth,
    "taken back by the operator": taken_back_by_the_operator,
    "a settlement file a channel": a_file_a_channel,
    "a settlement file a week": a_file_a_week,
    "statements in parts": statements_in_parts,
}
BESIDE_FAULTS: Final = (
    *("unpaid in the books", "failed first", "over the edge", "two banks", "two tills"),
    *("other money at the bank", "other money at the operator", "fees in the balance"),
    "newest first",
)
"""Shapes that change no row which a fault may change."""


def drawn(seed: int) -> tuple[Chain, list[str]]:
    """Return a seed's clean chain of months, weeks or nights, and its shapes, one in turn.

    Of an operator that takes nothing in the first of them nobody knows that it has a statement.
    """
    for again in itertools.count():
        rng = Random(seed * 1_009 + again)  # noqa: S311 - a repeatable choice
        days = rng.choice([None, None, 7, 1])
        made = chain(
            rng,
            months=5 if days == 1 else 3,
            size=rng.randint(10, 24),
            days=days,
            by_item=rng.random() < 0.4,
            fee_lines=rng.random() < 0.5,
            direct=rng.random() < 0.3,
            abroad=rng.random() < 0.3,
        )
        counts = Counter(one.channel for one in made.payments[0])
        if all(counts[channel] > 3 for channel in OPERATORS):
            break
    more = rng.sample(list(SHAPES), rng.choice([0, 1, 2, 3]))
    chosen = {list(SHAPES)[seed % len(SHAPES)], *more}
    if "turns at four" in chosen:
        # The first minutes of the first day would be of the one before it.
        chosen.discard("around midnight")
    if "nameless credits" in chosen:
        # Which of many parts make up which payout nobody can tell.
        chosen.discard("payouts in parts")
    if "booked on the next day" in chosen:
        # A line for all payments of a day says which day.
        chosen.discard("day sums in the books")
    if chosen & {"two tills", "two banks", "sorted by receipt"}:
        # Which parts are of one account nobody can tell.
        chosen.discard("statements in parts")
    names = [name for name in SHAPES if name in chosen]
    for name in names:
        SHAPES[name](made, rng)
    return made, names
