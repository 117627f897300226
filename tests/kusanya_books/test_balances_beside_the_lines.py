"""What the balances of statements say: of one wallet or several, of whole files and of parts."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.movements import movements_of

from kusanya_books.match import bank, operator
from kusanya_books.request.days import period

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]
Line = dict[str, Any]


def on(day: float) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=day - 1)


def lines_of(
    opening: int, *moves: tuple[float, int], name: str = "a.csv", **more: Any
) -> list[Line]:
    """Return the lines of one wallet, each with the balance after it: day and amount of each."""
    found = []
    for day, amount in moves:
        opening += amount
        found.append({"input": name, "at": on(day), "amount": amount, "balance": opening, **more})
    return found


def said(make: Make, lines: list[Line], leg: str = "operator") -> dict[str, int]:
    """Return what the bridge says of the balances of these lines, for one leg."""
    moved = movements_of(*({**line, "leg": leg} for line in lines))
    if leg == "bank":
        paid = movements_of({"kind": "payout", "receipt": "P", "amount": -1, "at": on(1)})
        moved = pd.concat([paid, moved], ignore_index=True)
        found = bank.match(moved, period=MARCH).bridge
    else:
        found = operator.match(make({}), moved, period=MARCH).bridge
    names = ("opening balance", "without a balance", "fees in the balances", "closing balance")
    some = found[found["line"].isin([*names, "not in the balances"])]
    if leg == "bank":
        some = some[some["channel"].isna()]
    return dict(zip(some["line"], map(int, some["amount"]), strict=True))


FIRST = lines_of(500, (1, 1_000), (9, -300), (30, 70))
SECOND = lines_of(20_000, (2, 4_000), (15, 1_000), (29, 9), name="b.csv")
BOTH = {"opening balance": 20_500, "closing balance": 26_279, "not in the balances": 0}


@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_two_wallets_or_accounts_have_each_its_own_balances(collections_of: Make, leg: str) -> None:
    assert said(collections_of, [*FIRST, *SECOND], leg) == BOTH
    # Also in one file, one below the other or mixed.
    for key in (lambda line: line["balance"] > 10_000, lambda line: line["at"]):
        one = [{**line, "input": "a.csv"} for line in sorted([*FIRST, *SECOND], key=key)]
        assert said(collections_of, one, leg)["not in the balances"] == 0


@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_files_of_one_after_the_other_are_one_wallet(collections_of: Make, leg: str) -> None:
    halves = [{**line, "input": f"{line['at'].day // 10}.csv"} for line in FIRST]
    whole = {"opening balance": 500, "closing balance": 1_270, "not in the balances": 0}
    assert said(collections_of, halves, leg) == whole
    later = [{**line, "balance": line["balance"] + 40} for line in halves[2:]]
    lacking = {"opening balance": 500, "closing balance": 1_310, "not in the balances": 40}
    assert said(collections_of, [*halves[:2], *later], leg) == lacking


def test_what_lacks_in_one_wallet_is_said_beside_another(collections_of: Make) -> None:
    assert said(collections_of, [FIRST[0], FIRST[2], *SECOND])["not in the balances"] == -300
    assert said(collections_of, [*FIRST, SECOND[0], SECOND[2]])["not in the balances"] == 1_000


def test_a_file_without_balances_denies_nothing(collections_of: Make) -> None:
    silent = [{**line, "balance": None} for line in SECOND]
    one = {"opening balance": 500, "closing balance": 1_270, "not in the balances": 0}
    assert said(collections_of, [*FIRST, *silent], "bank") == {**one, "without a balance": -5_009}
    assert said(collections_of, silent, "bank") == {}


def test_fees_beside_the_lines_are_in_the_balances_where_most_steps_say_so(
    collections_of: Make,
) -> None:
    gross = [{**line, "fee": 9} for line in FIRST]
    assert said(collections_of, gross)["not in the balances"] == 0
    net = [
        {**line, "balance": line["balance"] - 9 * place}
        for place, line in enumerate(gross, start=1)
    ]
    assert said(collections_of, net) == {
        "opening balance": 500,
        "fees in the balances": -27,
        "closing balance": 1_243,
        "not in the balances": 0,
    }
    assert said(collections_of, [*net[:2], {**net[2], "balance": 9}])["not in the balances"] != 0


def test_a_line_without_a_fee_says_nothing_of_where_fees_are_taken(collections_of: Make) -> None:
    every = lines_of(500, (1, 1_000), (2, 991), (3, 20), (4, 30), (5, 40))
    net = [{**line, "fee": 9 if place == 1 else None} for place, line in enumerate(every)]
    net[1]["amount"] = 1_000
    said_ = said(collections_of, net)
    assert (said_["fees in the balances"], said_["not in the balances"]) == (-9, 0)


def test_a_balance_at_the_end_of_each_day_is_enough(collections_of: Make) -> None:
    every = lines_of(500, (1, 1_000), (1.1, 20), (2, 5), (2.1, -7), (3, 1), (3.1, 2))
    some = [{**line, "balance": None} if line["at"].hour == 0 else line for line in every]
    whole = {"opening balance": 500, "closing balance": 1_521, "not in the balances": 0}
    assert said(collections_of, some) == whole
    assert said(collections_of, [*some[:2], *some[3:]])["not in the balances"] == 5
    # What comes after the last balance is not denied by any.
    assert said(collections_of, some[:5])["without a balance"] == -1


def test_two_accounts_of_a_bank_on_one_day_are_two(collections_of: Make) -> None:
    night = [*lines_of(10, (5, 3), (5, 4)), *lines_of(1_000, (5, 8))]
    assert said(collections_of, night, "bank")["not in the balances"] == 0
    # A wallet's lines of one minute are one wallet's.
    assert said(collections_of, night)["not in the balances"] != 0


def test_two_tills_that_sold_one_after_the_other_in_a_night_are_two(collections_of: Make) -> None:
    first = lines_of(10, (5.1, 3), (5.2, 4))
    second = lines_of(1_000, (5.3, 8), name="b.csv")
    found = said(collections_of, [*first, *second])
    assert (found["opening balance"], found["not in the balances"]) == (1_010, 0)
    # On two days they are parts of one statement, and lines lack between them.
    later = lines_of(1_000, (6.3, 8), name="b.csv")
    assert said(collections_of, [*first, *later])["not in the balances"] == 983


class Wallet(msgspec.Struct):
    """A wallet by chance, and how its statements are written."""

    lines: list[Line]
    takes_fees: bool
    opening: int

    @property
    def closing(self) -> int:
        """Return the last balance."""
        return int(self.lines[-1]["balance"])


def drawn(chance: Random, currency: str, number: int, *, takes_fees: bool) -> Wallet:
    """Return a wallet whose lines lie in one to three files."""
    balance = opening = number * 10_000_000 + chance.randint(1, 1_000_000)
    days = sorted(chance.uniform(1, 31.8) for _ in range(chance.randint(6, 14)))
    count = chance.randint(1, 3)
    files = [place * count // len(days) for place in range(len(days))]
    turned = {file for file in range(3) if chance.random() < 0.3}
    lines = []
    for place, (day, file) in enumerate(zip(days, files, strict=True)):
        amount = chance.randint(-900, 3_000)
        fee = chance.choice([1, 2, 3] if takes_fees else [None, 1, 2, 3])
        balance += amount - ((fee or 0) if takes_fees else 0)
        lines.append({
            "input": f"{number} {file}.csv", "at": on(day), "amount": amount, "fee": fee,
            "currency": currency, "balance": balance,
            "line_no": 1_000 - place if file in turned else place,
        })  # fmt: skip
    return Wallet(lines=lines, takes_fees=takes_fees, opening=opening)


def denied(make: Make, lines: Iterable[Line]) -> dict[str, dict[str, int]]:
    """Return what the bridge says of balances, by currency."""
    found = operator.match(make({}), movements_of(*lines), period=MARCH).bridge
    return {
        str(currency): dict(zip(part["line"], map(int, part["amount"]), strict=True))
        for currency, part in found.groupby("currency")
    }


@pytest.mark.scale(3, 30, 300)
def test_whole_statements_are_never_denied_and_a_lost_line_always_is(
    collections_of: Make, rounds: int
) -> None:
    for seed in range(rounds):
        chance = Random(f"balances {seed}")  # noqa: S311 - a repeatable choice
        worlds = {
            f"T{number:02}": [
                drawn(chance, f"T{number:02}", wallet, takes_fees=number % 2 == 0)
                for wallet in range(1, chance.randint(2, 4))
            ]
            for number in range(40)
        }
        whole = denied(
            collections_of,
            (line for own in worlds.values() for wallet in own for line in wallet.lines),
        )
        for currency, own in worlds.items():
            found = whole[currency]
            assert found["not in the balances"] == 0, (seed, currency)
            assert found["opening balance"] == sum(wallet.opening for wallet in own)
            assert found["closing balance"] == sum(wallet.closing for wallet in own)
        lost = {}
        for currency, own in worlds.items():
            wallet = chance.choice(own)
            line = wallet.lines.pop(chance.randint(1, len(wallet.lines) - 2))
            lost[currency] = line["amount"] - ((line["fee"] or 0) if wallet.takes_fees else 0)
        rest = denied(
            collections_of,
            (line for own in worlds.values() for wallet in own for line in wallet.lines),
        )
        for currency, amount in lost.items():
            own = worlds[currency]
            found = rest[currency]
            assert bool(found["not in the balances"]) == bool(amount), (seed, currency)
            if len(own) == 1 and not own[0].takes_fees:
                assert found["not in the balances"] == amount
