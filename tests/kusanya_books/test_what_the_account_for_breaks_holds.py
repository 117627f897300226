"""After each close the account for breaks holds what is open, and clearing what is owed beside it.

A shop closes each night, some days again with all that follow, and imports the entries. Of some
payments the store hears later, some lines nothing explains, and some of these are taken back.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from tests.kit.accounting_shop import CREDITED, FEE, MOVED, SETTLED, Payment, Shop, day
from tests.kit.accounts import PLAIN_ACCOUNTS

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
NIGHTS = 6
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(1, 9))]
Lines = list[list[str]]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def net_of(one: Payment) -> int:
    return one.amount - FEE


def owed_by(shop: Shop) -> int:
    """Return what the payments that the store knows of bring, less their fees."""
    return sum(net_of(one) for one in shop.payments if one.is_heard)


def trade(shop: Shop, today: date, rng: Random) -> None:
    """Let the store hear of some earlier payments, and of most of today's."""
    for one in shop.payments:
        if not one.is_heard and rng.random() < 0.5:
            shop.hear(one)
    for _ in range(rng.randint(1, 3)):
        shop.pay(today, 1_000 * rng.randint(1, 9), is_heard=rng.random() < 0.6)


def spans(rng: Random) -> Iterator[list[tuple[int, int]]]:
    """Yield what is closed on each night: its own day, and some earlier days with all after.

    Days that were closed as one are closed as one again.
    """
    joined: list[tuple[int, int]] = []
    for number in range(NIGHTS):
        closed = [(number, number)]
        if number and rng.random() < 0.5:
            first = rng.randrange(number)
            last = rng.randrange(first, number)
            met = [(a, b) for a, b in joined if a <= last and first <= b]
            first, last = min([first, *(a for a, _ in met)]), max([last, *(b for _, b in met)])
            joined = [*(span for span in joined if span not in met), (first, last)]
            closed += [(first, last), *((later, later) for later in range(last + 1, number + 1))]
        yield closed


def close(shop: Shop, days: tuple[int, int], rng: Random, **asked: Any) -> Path:
    """Close some days; on some nights the books of another currency are closed beside."""
    first, last = map(day, days)
    pack = shop.close(first, last, **asked)
    if rng.random() < 0.2:
        abroad = shop.home / "abroad.toml"
        abroad.write_text(PLAIN_ACCOUNTS.replace("TZS", "KES"))
        shop.close(first, last, accounts=str(abroad), **asked)
    return pack


class Wallet:
    """An operator's statement of each day; what it says of a payment may be another amount."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._said: dict[int, int] = {}
        self._strays: dict[str, int] = {}

    def day(self, today: date, rng: Random) -> list[str]:
        """Return the lines of a day: its payments, and one stray or what gives one back.

        A stray is of nobody, or one of the payments a second time.
        """
        mine = [one for one in self._shop.payments if one.day == today]
        lines = [self._line(one, rng) for one in mine]
        twice = [one for one in mine if self._said[one.number] == one.amount]
        if rng.random() < 0.4:
            stray, amount, of = f"S{today:%d}", 100 * rng.randint(1, 9), ""
            if twice and rng.random() < 0.5:
                amount, of = twice[0].amount, f"R-{twice[0].number}"
            self._strays[stray] = amount
            lines.append(f"payment,{stray},{amount},{today}T13:00:00+03:00,{of},TZS,MPESA_TZ")
        elif self._strays:
            (stray, amount), kind = self._strays.popitem(), rng.choice(["reversal", "refund"])
            lines.append(f"{kind},B{stray},-{amount},{today}T13:00:00+03:00,{stray},TZS,MPESA_TZ")
        return lines

    def _line(self, one: Payment, rng: Random) -> str:
        said = self._said[one.number] = one.amount + rng.choice([0, 0, 0, 70, -70])
        return f"payment,M{one.number},{said},{one.day}T12:00:00+03:00,R-{one.number},TZS,MPESA_TZ"

    @property
    def unexplained(self) -> int:
        """What its lines moved beside what the store knows of."""
        known = {one.number: one.amount if one.is_heard else 0 for one in self._shop.payments}
        more = (max(said - known[number], 0) for number, said in self._said.items())
        return sum(more) + sum(self._strays.values())


def of_an_operator(shop: Shop, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    wallet, lines = Wallet(shop), list[list[str]]()
    for closed in spans(rng):
        trade(shop, day(closed[0][0]), rng)
        lines.append(wallet.day(day(closed[0][0]), rng))
        for first, last in closed:
            statement = shop.write(MOVED, lines[first : last + 1])
            close(shop, (first, last), rng, operator=[statement])
        assert shop.holds("Suspense") == -wallet.unexplained
        assert shop.holds("Clearing") == owed_by(shop) + wallet.unexplained


def of_payouts(shop: Shop, seed: int) -> None:
    """Let the provider pay out what nobody here heard of, and take back what was none."""
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    paid, lines = 0, list[list[str]]()
    for closed in spans(rng):
        today = day(closed[0][0])
        trade(shop, today, rng)
        payouts = [(today, sum(net_of(one) for one in shop.payments if one.day == today))]
        for one in [one for one in shop.payments if not one.is_heard and one.day < today]:
            if rng.random() < 0.3:
                shop.payments.remove(one)
                payouts.append((one.day, -net_of(one)))
        paid += sum(net for _, net in payouts)
        batch = f"P{closed[0][0]}"
        lines.append(
            [f"{batch}-{n},{of},MPESA_TZ,TZS,{net}" for n, (of, net) in enumerate(payouts)]
        )
        for first, last in closed:
            statement = shop.write(SETTLED, lines[first : last + 1])
            close(shop, (first, last), rng, statement=statement)
        assert shop.holds("Bank") == paid
        assert shop.holds("Suspense") == owed_by(shop) - sum(map(net_of, shop.payments))
        assert shop.holds("Clearing") == 0


class Provider:
    """Pays each payment by a line of its own, some of them nights later, some a second time."""

    def __init__(self, shop: Shop, channel: str) -> None:
        self._shop = shop
        self._channel = channel
        self._waiting: list[Payment] = []
        self.paid: Counter[int] = Counter()

    def night(self, today: date, rng: Random) -> list[str]:
        """Return the lines of a night; a second payment is taken back on some later one."""
        self._waiting += [one for one in self._shop.payments if one.day == today]
        moved = {one.number: net_of(one) for one in self._waiting if rng.random() < 0.7}
        self._waiting = [one for one in self._waiting if one.number not in moved]
        earlier = [self._shop.payments[number] for number in self.paid if number not in moved]
        twice = [one for one in earlier if self.paid[one.number] > net_of(one)]
        if twice and rng.random() < 0.6:
            moved[twice[0].number] = -net_of(twice[0])
        elif earlier and rng.random() < 0.5:
            again = rng.choice(earlier)
            moved[again.number] = net_of(again)
        is_own = rng.random() < 0.5
        lines = []
        for at, (number, net) in enumerate(moved.items()):
            # A first payment may be dated by the day that it is for.
            own = is_own and number not in self.paid
            dated = self._shop.payments[number].day if own else today
            lines.append(f"P{today:%d}-{at},{dated},{self._channel},TZS,{net},col_{number}")
        self.paid.update(moved)
        return lines

    @property
    def unexplained(self) -> int:
        """What its lines paid beside what the store knows of."""
        due = {one.number: net_of(one) if one.is_heard else 0 for one in self._shop.payments}
        return sum(net - min(net, due[number]) for number, net in self.paid.items())


class Account:
    """The bank's statements: what the provider paid, now and then a night later."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = []
        self.waiting: dict[str, int] = {}

    def night(self, today: date, paid: list[str], rng: Random) -> None:
        """Write down what waits, and some of what was paid on this night."""
        came, self.waiting = self.waiting, {}
        for line in paid:
            batch, _, _, _, net, _ = line.split(",")
            (came if rng.random() < 0.5 else self.waiting)[batch] = int(net)
        self.lines.append([f"{today},PAY {batch},{net},TZS" for batch, net in came.items()])


def of_items(shop: Shop, seed: int) -> None:
    """Let the provider name the payment in each line, in files of a night or of all of them.

    What the operator's statement moves beside is listed, and what it pays out the provider has.
    What the provider paid waits for the bank's statement.
    """
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    has_all, channel = rng.random() < 0.5, rng.choice(["MPESA_TZ", ""])
    provider, lines = Provider(shop, channel), list[list[str]]()
    wallet, moved, account = Wallet(shop), list[list[str]](), Account()
    for closed in spans(rng):
        today = day(closed[0][0])
        trade(shop, today, rng)
        lines.append(provider.night(today, rng))
        account.night(today, lines[-1], rng)
        handed_on = f"payout,W{today:%d},-5000,{today}T20:00:00+03:00,,TZS,MPESA_TZ"
        # Before its first line nothing says that a provider pays the channel out.
        moved.append([*wallet.day(today, rng), *[handed_on][: any(lines)]])
        for first, last in closed:
            header = f"{SETTLED},collection_id"
            statement = shop.write(header, lines[0 if has_all else first : last + 1])
            operator = [shop.write(MOVED, moved[first : last + 1])]
            bank = [shop.write(CREDITED, account.lines[first : last + 1])]
            pack = close(
                shop, (first, last), rng, statement=statement, operator=operator, bank=bank
            )
        paid, beside = provider.paid.total(), provider.unexplained
        assert shop.holds("Bank") == paid
        assert shop.holds("Suspense") == -beside
        assert shop.holds("Clearing") == owed_by(shop) - paid + beside
        left = pd.read_parquet(pack / "open_items.parquet")
        open_at_bank = left[left["leg"] == "bank"]
        assert sorted(open_at_bank["reference"]) == sorted(account.waiting)


@pytest.mark.merge
def test_without_that_account_a_break_is_listed_until_it_is_explained(shop: Shop) -> None:
    accounts = shop.home / "accounts.toml"
    accounts.write_text(accounts.read_text().replace('suspense = "Suspense"', ""))
    late = shop.pay(day(0), 5_000, is_heard=False)
    line = f"payment,M0,5000,{day(0)}T12:00:00+03:00,R-0,TZS,MPESA_TZ"
    waits = []
    for number, lines in ((0, [line]), (1, []), (2, [])):
        if number == 2:
            shop.hear(late)
        statement = shop.write(MOVED, [lines])
        night = shop.close(day(number), day(number), operator=[statement])
        waits.append((night / "journals" / "not_booked.csv").read_text().splitlines()[1:])
    assert waits == [[f"{day(0)},MPESA_TZ,operator_unknown_here,5000"], [], []]
    assert shop.holds("Clearing") == owed_by(shop) == 5_000 - FEE


@pytest.mark.merge
@pytest.mark.parametrize("reference", ["R-0", "of nobody"])
@pytest.mark.parametrize("nights", [1, 2], ids=["the same night", "the night after"])
def test_a_payment_that_is_no_success_here_and_was_refunded_is_no_break_and_no_refund(
    shop: Shop, reference: str, nights: int
) -> None:
    """As the advice for a second payment says: what was refunded must not be refunded again."""
    shop.pay(day(0), 5_000)
    at = f"{day(0)}T12:00:00+03:00"
    first = f"payment,M0,5000,{at},R-0,TZS,MPESA_TZ"
    stray = f"payment,M1,5000,{at},{reference},TZS,MPESA_TZ"
    back = f"refund,B1,-5000,{day(nights - 1)}T13:00:00+03:00,{reference},TZS,MPESA_TZ"
    lines = [[first, stray, back]] if nights == 1 else [[first, stray], [back]]
    for number, night in enumerate(lines):
        pack = shop.close(day(number), day(number), operator=[shop.write(MOVED, [night])])
    assert [shop.holds(name) for name in ("Suspense", "Refunds", "Clearing")] == [0, 0, 4_982]
    assert pd.read_parquet(pack / "open_items.parquet").empty


@pytest.mark.merge
@pytest.mark.parametrize("channel", ["MPESA_TZ", ""])
def test_what_an_operator_pays_out_is_listed_on_a_night_without_a_settlement_line_of_its_channel(
    shop: Shop, channel: str
) -> None:
    """The provider may have nothing to pay on that night, or pay the channel no more."""
    waits = []
    for number, lines in enumerate(([f"P0,{day(0)},{channel},TZS,4982"], [])):
        shop.pay(day(number), 5_000)
        at = f"{day(number)}T20:00:00+03:00"
        paid = f"payment,M{number},5000,{at},R-{number},TZS,MPESA_TZ"
        moved = [[paid, f"payout,W{number},-5000,{at},,TZS,MPESA_TZ"]]
        given = {
            "statement": shop.write(SETTLED, [lines]),
            "operator": [shop.write(MOVED, moved)],
        }
        night = shop.close(day(number), day(number), **given)
        waits.append((night / "journals" / "not_booked.csv").read_text().splitlines()[1:])
    assert waits == [[], [f"{day(1)},MPESA_TZ,operator_payout,-5000"]]
    assert [shop.holds(name) for name in ("Bank", "Suspense", "Clearing")] == [4_982, 0, 4_982]


@pytest.mark.merge
def test_the_payout_of_a_payment_that_is_not_known_yet_waits_there_until_it_is(shop: Shop) -> None:
    """The night before earned the same sum: that is no reason to call it paid twice."""
    shop.pay(day(0), 5_000)
    late = shop.pay(day(1), 5_000, is_heard=False)
    found = []
    for number, lines in enumerate(
        ([f"P0,{day(0)},MPESA_TZ,TZS,4982"], [f"P1,{day(1)},MPESA_TZ,TZS,4982"], [])
    ):
        if number == 2:
            shop.hear(late)
        pack = shop.close(*[day(number)] * 2, statement=shop.write(SETTLED, [lines]))
        items = pd.read_parquet(pack / "open_items.parquet")
        stands = items.loc[items["leg"] == "statement", ["break_code", "balance"]]
        found.append((stands.to_numpy().tolist(), shop.holds("Bank"), shop.holds("Suspense")))
    assert found == [
        ([], 4_982, 0),
        ([["settlement_unexpected", -4_982]], 9_964, -4_982),
        ([], 9_964, 0),
    ]


@pytest.mark.merge
@pytest.mark.parametrize("has_all", [True, False])
def test_a_line_for_an_earlier_night_waits_for_the_bank_and_one_that_was_read_there_does_not(
    shop: Shop, *, has_all: bool
) -> None:
    shop.pay(day(0), 5_000)
    shop.pay(day(0), 3_000)
    lines = [[f"P0,{day(0)},MPESA_TZ,TZS,4982"], [f"P1,{day(0)},MPESA_TZ,TZS,2982"], []]
    shown = [[f"{day(0)},PAY P0,4982,TZS"], [], [f"{day(2)},PAY P1,2982,TZS"]]
    waits = []
    for number in range(3):
        read = lines[0 if has_all else number : number + 1]
        pack = shop.close(
            *[day(number)] * 2,
            statement=shop.write(SETTLED, read),
            bank=[shop.write(CREDITED, [shown[number]])],
        )
        items = pd.read_parquet(pack / "open_items.parquet")
        waits.append(
            items.loc[items["leg"] == "bank", ["reference", "balance"]].to_numpy().tolist()
        )
    assert waits == [[], [["P1", -2_982]], []]
    assert shop.holds("Bank") == 4_982 + 2_982


def test_the_refund_of_a_success_is_booked(shop: Shop) -> None:
    shop.pay(day(0), 5_000)
    lines = [f"payment,M0,5000,{day(0)}T12:00:00+03:00,R-0,TZS,MPESA_TZ"]
    lines += [f"refund,B1,-5000,{day(0)}T13:00:00+03:00,R-0,TZS,MPESA_TZ"]
    shop.close(day(0), day(0), operator=[shop.write(MOVED, [lines])])
    assert [shop.holds(name) for name in ("Refunds", "Clearing")] == [5_000, -FEE]


@pytest.mark.merge
@pytest.mark.parametrize(
    "said_by", [of_an_operator, of_payouts, pytest.param(of_items, marks=pytest.mark.ci)]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_nothing_explains_waits_there_until_something_does(
    shop: Shop, said_by: Callable[..., None], seed: int
) -> None:
    said_by(shop, seed)
