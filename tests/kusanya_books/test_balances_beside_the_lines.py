"""What the balances of statements say: of one wallet or several, of whole files and of parts."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.movements import movements_of

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.match import balances, bank, operator
from kusanya_books.match.balances import Balances
from kusanya_books.request.days import DAY, Period, period

FEBRUARY, MARCH, APRIL = period("2026-02"), period("2026-03"), period("2026-04")
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


@pytest.mark.merge
@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_two_wallets_or_accounts_have_each_its_own_balances(collections_of: Make, leg: str) -> None:
    assert said(collections_of, [*FIRST, *SECOND], leg) == BOTH
    # Also in one file, one below the other or mixed.
    for key in (lambda line: line["balance"] > 10_000, lambda line: line["at"]):
        one = [{**line, "input": "a.csv"} for line in sorted([*FIRST, *SECOND], key=key)]
        assert said(collections_of, one, leg)["not in the balances"] == 0


@pytest.mark.merge
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


@pytest.mark.merge
def test_a_balance_at_the_end_of_each_day_is_enough(collections_of: Make) -> None:
    every = lines_of(500, (1, 1_000), (1.1, 20), (2, 5), (2.1, -7), (3, 1), (3.1, 2))
    some = [{**line, "balance": None} if line["at"].hour == 0 else line for line in every]
    whole = {"opening balance": 500, "closing balance": 1_521, "not in the balances": 0}
    assert said(collections_of, some) == whole
    assert said(collections_of, [*some[:2], *some[3:]])["not in the balances"] == 5
    # What comes after the last balance is not denied by any, and what goes on goes on after it.
    assert said(collections_of, some[:5]) == {**whole, "closing balance": 1_519}
    rest = lines_of(1_519, (4, 30), (4.1, 5), name="b.csv")
    assert said(collections_of, [*some[:5], *rest]) == {**whole, "closing balance": 1_554}


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


@pytest.mark.merge
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


def said_of(
    lines: Iterable[Line],
    of: Period,
    before: Balances | None = None,
    leg: str = "operator",
    given: Iterable[str] = (),
) -> Balances:
    """Return what these lines say of a period, after what the one before ended with."""
    moved = movements_of(*({**line, "leg": leg} for line in lines))
    if before is not None:
        moved = pd.concat([moved, before.ends], ignore_index=True)
    return balances.of(moved, leg=leg, period=of, given=list(given))


def gaps(found: Balances) -> list[tuple[str, int, str, int, int]]:
    """Return where lines lack: day and balance before and after, and how much."""
    return [
        (f"{gap.day_before:%m-%d}", gap.balance_before, f"{gap.day:%m-%d}", gap.balance, gap.amount)
        for gap in columns.records(found.gaps)
    ]


def ends(found: Balances) -> list[int]:
    return sorted(map(int, found.ends["balance"]))


@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_a_statement_begins_with_what_the_one_before_ended_with(leg: str) -> None:
    march = said_of([*FIRST, *SECOND], MARCH, leg=leg)
    assert (gaps(march), ends(march)) == ([], [1_270, 25_009])
    # Each account goes on with its own, one after the other as well.
    on = [
        *lines_of(25_009, (32, 5), (33, 6)),
        *lines_of(1_270, (40, -70), name="b.csv" if leg == "operator" else "a.csv"),
    ]
    april = said_of(on, APRIL, march, leg=leg)
    assert (gaps(april), ends(april)) == ([], [1_200, 25_020])
    [account] = columns.records(april.said)
    assert (account.opening, account.moved, account.denied) == (26_279, -59, 0)
    # The last line of March, or the first one of April, is in neither.
    [gap] = gaps(said_of(on[1:], APRIL, march, leg=leg))
    assert gap in {("03-30", 1_270, "04-02", 25_014, 23_744), ("03-29", 25_009, "04-02", 25_014, 5)}
    [one] = gaps(said_of(lines_of(1_300, (33, 9)), APRIL, said_of(FIRST, MARCH, leg=leg), leg=leg))
    assert one == ("03-30", 1_270, "04-02", 1_300, 30)


def test_an_account_that_was_still_for_a_month_goes_on_after_it() -> None:
    march = said_of([*FIRST, *SECOND], MARCH)
    april = said_of(lines_of(1_270, (33, 9)), APRIL, march)
    assert ends(april) == [1_279, 25_009]
    may = said_of(lines_of(25_009, (65, 9)), period("2026-05"), april)
    assert (gaps(may), ends(may)) == ([], [1_279, 25_018])
    # Nobody waits for it for more than a quarter.
    june = said_of(lines_of(25_018, (100, 9)), period("2026-06"), may)
    july = said_of(lines_of(25_027, (130, 9)), period("2026-07"), june)
    assert (ends(june), ends(july)) == ([1_279, 25_027], [25_036])


def test_what_came_late_stands_between_two_periods() -> None:
    march = said_of(FIRST, MARCH)
    late = lines_of(1_270, (31, 30), (33, 9))
    found = said_of(late, APRIL, march)
    assert (gaps(found), ends(found)) == ([], [1_309])
    # So it does in a statement that begins earlier.
    assert gaps(said_of([*FIRST[1:], *late], APRIL, march)) == []
    assert gaps(said_of([*FIRST[1:], *late[1:]], APRIL, march)) == [
        ("03-30", 1_270, "04-02", 1_300, 30)
    ]


def test_a_line_of_another_day_may_stand_between_those_of_the_period() -> None:
    mixed = lines_of(500, (33, 9), (31, 30), (34, 1))
    found = said_of(mixed, APRIL)
    [account] = columns.records(found.said)
    assert (account.opening, account.moved, account.denied) == (500, 40, 0)
    assert (gaps(found), ends(found)) == ([], [540])


def test_what_lacks_in_two_places_is_said_twice_though_it_comes_to_nothing() -> None:
    apart = [*lines_of(0, (1, 5)), *lines_of(35, (2, 5)), *lines_of(10, (3, 5))]
    assert [gap[-1] for gap in gaps(said_of(apart, MARCH))] == [30, -30]


def test_where_a_file_says_no_balances_the_next_period_begins_anew() -> None:
    silent = [{**line, "balance": None, "input": "c.csv"} for line in SECOND]
    march = said_of([*FIRST, *silent], MARCH)
    assert ends(march) == []
    april = [*lines_of(9_999, (40, 1)), {"at": on(33), "amount": 4, "input": "c.csv"}]
    assert gaps(said_of(april, APRIL, said_of(FIRST, MARCH))) == []
    # And so it does after days that nobody closed, and where nothing was given.
    later = lines_of(9_999, (70, 1))
    assert gaps(said_of(later, period("2026-05"), said_of(FIRST, MARCH))) == []
    assert ends(said_of([], APRIL, said_of(FIRST, MARCH))) == []
    assert (
        ends(said_of(silent, MARCH, said_of(lines_of(1, (-3, 5)), FEBRUARY), given=["MPESA_TZ"]))
        == []
    )


def test_a_statement_without_a_line_leaves_the_balance_as_it_was() -> None:
    march = said_of(FIRST, MARCH)
    quiet = said_of([], APRIL, march, given=["MPESA_TZ"])
    assert (ends(quiet), len(quiet.said)) == ([1_270], 0)
    assert ends(said_of([], APRIL, march, given=["TIGO_TZ"])) == []
    # Of a bank each statement is given.
    at_bank = said_of(FIRST, MARCH, leg="bank")
    assert ends(said_of([], APRIL, at_bank, leg="bank")) == [1_270]
    # It is kept for 92 days: of the end of July back to the last of April.
    quarter = period("2026-05-01..2026-07-31")
    for day, kept in ((61, [6]), (60, [])):
        before = said_of(lines_of(1, (day, 5)), APRIL, leg="bank")
        assert ends(said_of([], quarter, before, leg="bank")) == kept


def test_a_line_that_another_file_says_once_more_is_read_once() -> None:
    named = [{**line, "receipt": f"R{place}"} for place, line in enumerate(FIRST)]
    again = [{**line, "input": "b.csv"} for line in named[1:]]
    found = said_of([*named, *again], MARCH)
    assert (gaps(found), ends(found)) == ([], [1_270])


def test_lines_that_somebody_sorted_otherwise_are_read_by_their_moments() -> None:
    for more in ({}, {"fee": 9}):
        lines = [
            {**line, **more} for line in lines_of(500, *((day, 7 * day) for day in range(1, 25)))
        ]
        odd = sorted(lines, key=lambda line: str(line["amount"]))
        found = said_of(odd, MARCH)
        assert (gaps(found), ends(found)) == ([], [500 + 7 * 300])
        assert gaps(said_of([line for line in odd if line["amount"] != 77], MARCH)) != []
    # Lines of one moment stand as their balances say.
    night = [*lines_of(500, (5, 3), (5, 4)), *lines_of(400, (4, 100))]
    assert gaps(said_of([*night[2:], *night[:2]], MARCH)) == gaps(said_of(night, MARCH)) == []


def test_balances_that_no_sum_can_hold_are_refused() -> None:
    large = lines_of(2**60, (1, 2**59), (2, -(2**59)))
    assert gaps(said_of(large, MARCH)) == []
    # As machine words these lead on: what lies between them is 2**64 - 2.
    wrapped = [{**large[0], "balance": 2**63 - 1}, {**large[1], "amount": 2, "balance": 1 - 2**63}]
    for lines in (wrapped, [{**large[0], "amount": 2**62}], [{**large[0], "fee": 2**62}]):
        with pytest.raises(OverflowError, match="too large to be added up"):
            said_of(lines, MARCH)


def test_of_two_wallets_in_one_file_each_has_its_late_lines() -> None:
    march = said_of([*FIRST, *SECOND], MARCH)
    first = lines_of(1_270, (31, 30), (33, 9))
    second = [*SECOND[2:], *lines_of(25_009, (31.5, -4), (34, 1))]
    stacked = [{**line, "input": "c.csv"} for line in [*first, *second]]
    found = said_of(stacked, APRIL, march)
    assert (gaps(found), ends(found)) == ([], [1_309, 25_006])
    late_first = [{**line, "input": "c.csv"} for line in [*first, *second[1:]]]
    assert gaps(said_of(late_first, APRIL, march)) == []


def test_a_balance_that_the_period_itself_comes_back_to_is_no_late_line() -> None:
    march = said_of(FIRST, MARCH)
    april = lines_of(1_300, (32, -30), (40, 5), (50, 6))
    assert gaps(said_of(april, APRIL, march)) == [("03-30", 1_270, "04-01", 1_300, 30)]
    reached = [*lines_of(1_290, (31, 10)), *april]
    assert gaps(said_of(reached, APRIL, march)) == [("03-30", 1_270, "04-01", 1_300, 30)]


def test_what_is_said_names_the_account_and_the_file_and_is_carried_as_a_line_of_its_own() -> None:
    apart = [*lines_of(0, (1, 5)), *lines_of(35, (2, 5), (9, 5), name="b.csv")]
    for leg, channel in (("operator", "MPESA_TZ"), ("bank", None)):
        found = said_of(apart, MARCH, leg=leg)
        [gap] = columns.dicts(found.gaps)
        assert gap == {
            "channel": channel, "currency": "TZS", "input": "b.csv",
            "day_before": pd.Timestamp("2026-03-01"), "balance_before": 5,
            "day": pd.Timestamp("2026-03-02"), "balance": 35, "amount": 30,
        }  # fmt: skip
        [end] = columns.dicts(found.ends)
        said_ = {name: value for name, value in end.items() if value is not None}
        assert said_ == {
            "input": "b.csv", "line_no": 0, "leg": f"{leg} balance", "currency": "TZS",
            "at": pd.Timestamp(on(9)), "business_day": pd.Timestamp("2026-03-31"),
            "kind": "other", "status": "completed", "amount": 0, "balance": 45,
            **({"channel": channel} if channel else {}),
        }  # fmt: skip


def test_of_balances_that_never_lead_on_a_thousand_gaps_are_listed_and_the_rest_as_one() -> None:
    odd = [
        {"at": on(1 + place / 100), "amount": 1, "balance": place**2 * 1_000}
        for place in range(1, 1_501)
    ]
    found = gaps(said_of(odd, MARCH))
    apart = [(place * 2 - 1) * 1_000 - 1 for place in range(2, 1_501)]
    assert [gap[-1] for gap in found] == [*apart[:1_000], sum(apart[1_000:])]
    assert (found[-1][1], found[-1][3]) == (1_001**2 * 1_000, 1_500**2 * 1_000 - 1)


@pytest.mark.merge
@pytest.mark.scale(10, 60, 1_000)
def test_of_a_chain_of_periods_no_line_is_lost_unseen_be_it_the_first_or_last_of_one(
    rounds: int,
) -> None:
    for seed in range(rounds):
        chance = Random(f"chain {seed}")  # noqa: S311 - a repeatable choice
        spans = [period("2026-03"), period("2026-04"), period("2026-05")]
        wallets = chance.randint(1, 3)
        lines: list[Line] = []
        for wallet in range(wallets):
            # None ends before another one begins: they would look like one.
            first = [chance.uniform(1, 1.8), chance.uniform(2, 2.8)]
            days = first + sorted(chance.uniform(3, 91.8) for _ in range(chance.randint(9, 20)))
            moves = [(day, chance.choice([-1, 1]) * chance.randint(1, 10**9)) for day in days]
            made = lines_of(wallet * 10**10, *moves, name=f"{wallet}.csv")
            reach = chance.choice([timedelta(0), 5 * DAY])
            lines += [{**line, "wallet": wallet, "reach": reach} for line in made]

        def closed(lines: list[Line], spans: list[Period] = spans) -> int:
            before, lacks = None, 0
            for span in spans:
                given = [
                    {name: line[name] for name in ("input", "at", "amount", "balance")}
                    for line in lines
                    if span.first - line["reach"] <= line["at"].astimezone(EAT).date() <= span.last
                ]
                before = said_of(given, span, before)
                lacks += len(before.gaps)
            return lacks

        assert closed(lines) == 0, seed
        # Neither the very first nor the very last of a wallet: nothing comes before, or after.
        of = [None, *(line["wallet"] for line in lines), None]
        lost = chance.choice(
            [place for place in range(len(lines)) if of[place] == of[place + 1] == of[place + 2]]
        )
        assert closed(lines[:lost] + lines[lost + 1 :]) > 0, seed
