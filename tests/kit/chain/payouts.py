"""The shapes that payouts may have: when they come, of how many days, in how many sums, unnamed."""

from collections.abc import Iterable
from datetime import date, timedelta
from random import Random
from typing import Final

from tests.kit.chain.world import DAY, Chain, Row, credited

LATE: Final = {"weekly payouts": 7, "weekends": 3, "monthly payouts": 31, "paid on the fifth": 36}
"""After how many days a day is paid out, where that is not the next one."""


def weekly_payouts(made: Chain, rng: Random) -> None:
    """Let the provider pay out on Mondays for the seven days before, in one sum a channel."""
    sums: dict[str, Row] = {}
    for month in made.months:
        month.bank = [row for row in month.bank if is_own(made, row)]
        for row in month.settlement:
            day = row["business_day"]
            monday = day + (7 - day.weekday()) * DAY
            name = f"PO{row['channel'].partition('_')[0]}W{monday:%y%m%d}"
            row["batch_id"] = name
            line = sums.setdefault(name, credited(name, 0, monday))
            line["amount"] += row["net"]
    _credit(made, sums.values())


def monthly_payouts(made: Chain, rng: Random) -> None:
    """Let the provider pay out each month, or week, on the day after it, in one sum."""
    _pay_each_month(made, DAY)


def paid_on_the_fifth(made: Chain, rng: Random) -> None:
    """Let the provider pay out each month, or week, on the fifth day after it, in one sum."""
    _pay_each_month(made, 5 * DAY)


def _pay_each_month(made: Chain, later: timedelta) -> None:
    if made.direct or made.months[0].first == made.months[0].last:
        return
    sums: dict[str, Row] = {}
    for month in made.months:
        month.bank = []
        for row in month.settlement:
            name = f"POALL{month.first:%y%m%d}{row['currency']}"
            row["batch_id"] = name
            then = month.last + later
            line = sums.setdefault(name, credited(name, 0, then, currency=row["currency"]))
            line["amount"] += row["net"]
    _credit(made, sums.values())


def weekends(made: Chain, rng: Random) -> None:
    """Let the bank credit on Mondays what is due on a weekend, each payout by itself."""
    rows = [row for month in made.months for row in month.bank]
    for month in made.months:
        month.bank = []
    for row in rows:
        day = row["at"].weekday()
        wait = (7 - day) * DAY if day > 4 else timedelta()
        _credit(made, [{**row, "at": row["at"] + wait}])


def _credit(made: Chain, lines: Iterable[Row]) -> None:
    """Let the bank credit each line in its month; what comes after the last is on no statement."""
    for line in lines:
        target = made.month_of(line["at"].date())
        if target is not None:
            target.bank.append(line)


def payouts_in_parts(made: Chain, rng: Random) -> None:
    """Let the bank credit some payouts in two parts on one day."""
    for month in made.months:
        for row in rng.sample(month.bank, min(3, len(month.bank))):
            part = row["amount"] // 3
            row["amount"] -= part
            month.bank.append({**row, "amount": part, "at": row["at"] + timedelta(minutes=5)})


def one_credit_a_day(made: Chain, rng: Random) -> None:
    """Let the provider send what it pays out on a day, and in a currency, as one credit."""
    for month in made.months:
        sums: dict[tuple[date, str], int] = {}
        own = [row for row in month.bank if is_own(made, row)]
        for row in month.bank:
            if row not in own:
                key = row["at"].date(), row["currency"]
                sums[key] = sums.get(key, 0) + row["amount"]
        month.bank = own
        for (day, currency), amount in sums.items():
            line = credited("SETTLEMENT", amount, day, currency=currency)
            month.bank.append({**line, "details": f"EFT SETTLEMENT {day:%d%m%y}"})


def one_line_a_day(made: Chain, rng: Random) -> None:
    """Let the provider write one line a day for all channels of a currency, and pay one sum."""
    if made.by_item or made.direct:
        return
    for month in made.months:
        days: dict[tuple[date, str], Row] = {}
        own = []
        for row in month.settlement:
            key = row["business_day"], row["currency"]
            name = f"POALL{key[0]:%y%m%d}{key[1]}"
            if row.get("kind") == "charge":
                own.append({**row, "batch_id": name, "channel": ""})
                continue
            line = days.setdefault(key, {**row, "batch_id": name, "channel": "", "gross": 0})
            if line["gross"] == 0:
                line |= {"fee": 0, "net": 0}
            for part in ("gross", "fee", "net"):
                line[part] += row[part]
        month.settlement = [*days.values(), *own]
    one_credit_a_day(made, rng)


def charges(made: Chain, rng: Random) -> None:
    """Let the provider take a charge out of a payout of each month, week or night.

    Some of its lines name the channel of that payout, and some none.
    """
    for month in made.months:
        if not month.settlement:
            continue
        row = rng.choice(month.settlement)
        money = {"gross": "", "fee": "", "net": -250, "collection_id": "", "kind": "charge"}
        channel = rng.choice([row["channel"], ""])
        month.settlement.append({**row, **money, "channel": channel})
        for line in (line for each in made.months for line in each.bank):
            if row["batch_id"] in line["details"]:
                line["amount"] -= 250


def nameless_credits(made: Chain, rng: Random) -> None:
    """Let the bank name no payout."""
    for month in made.months:
        for row in month.bank:
            row["details"] = "EFT CREDIT MOBILE MONEY"


def payouts_without_a_name(made: Chain, rng: Random) -> None:
    """Let neither the provider nor the bank name a payout."""
    for month in made.months:
        for row in month.settlement:
            row["batch_id"] = ""
        for row in month.bank:
            if not is_own(made, row):
                row["details"] = "EFT CREDIT"


def a_file_a_channel(made: Chain, rng: Random) -> None:
    """Let the provider write a settlement statement for each channel."""
    for month in made.months:
        month.settlement = [{**row, "account": row["channel"]} for row in month.settlement]


def a_file_a_week(made: Chain, rng: Random) -> None:
    """Let the provider write a settlement statement each week, the last days before it again."""
    for month in made.months:
        files: dict[str, list[Row]] = {}
        for row in month.settlement:
            week = row["business_day"].isocalendar().week
            for name in {week, (row["business_day"] + 2 * DAY).isocalendar().week}:
                account = f"{name:02}{row.get('account', '')}"
                is_again = name != week
                files.setdefault(account, []).append(row | {"account": account, "again": is_again})
        own = [rows for rows in files.values() if not all(row["again"] for row in rows)]
        month.settlement = [row for rows in own for row in rows]


def is_own(made: Chain, row: Row) -> bool:
    """Return whether an operator that pays out by itself sent a credit."""
    return made.direct and "POAIRTEL" in row["details"]
