"""After each close the account for breaks holds what is open, and clearing what is owed beside it.

A shop closes each night and imports the entries. Of some payments the store hears later, some lines
nothing explains, and some of these are taken back.
"""

from datetime import date, timedelta
from pathlib import Path
from random import Random

import pytest
from tests.kit.accounting_shop import FEE, Payment, Shop

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
BEGINS = date(2026, 3, 1)
NIGHTS = 7
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(1, 9))]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def day(number: int) -> date:
    return BEGINS + timedelta(days=number)


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


class Wallet:
    """An operator's statement of each day; what it says of a payment may be another amount."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._said: dict[int, int] = {}
        self._strays: dict[str, int] = {}
        self._all: list[str] = []

    def day(self, today: date, rng: Random) -> str:
        """Return the path of a day's statement, beside payments one stray line or its reversal."""
        mine = [one for one in self._shop.payments if one.day == today]
        lines = [self._line(one, rng) for one in mine]
        if rng.random() < 0.4:
            stray, amount = f"S{today:%d}", 100 * rng.randint(1, 9)
            self._strays[stray] = amount
            lines.append(f"payment,{stray},{amount},{today}T13:00:00+03:00,")
        elif self._strays:
            stray, amount = self._strays.popitem()
            lines.append(f"reversal,B{stray},-{amount},{today}T13:00:00+03:00,{stray}")
        self._all += lines
        return self._write(lines)

    def month(self) -> str:
        """Return the path of a statement of all days."""
        return self._write(self._all)

    def _line(self, one: Payment, rng: Random) -> str:
        said = self._said[one.number] = one.amount + rng.choice([0, 0, 0, 70, -70])
        return f"payment,M{one.number},{said},{one.day}T12:00:00+03:00,R-{one.number}"

    def _write(self, lines: list[str]) -> str:
        path = self._shop.home / "wallet.csv"
        ends = [f"{line},TZS,MPESA_TZ" for line in lines]
        path.write_text("\n".join(["kind,receipt,amount,at,reference,currency,channel", *ends, ""]))
        return str(path)

    @property
    def unexplained(self) -> int:
        """What its lines moved beside what the store knows of."""
        known = {one.number: one.amount if one.is_heard else 0 for one in self._shop.payments}
        more = (max(said - known[number], 0) for number, said in self._said.items())
        return sum(more) + sum(self._strays.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_what_an_operator_moved_waits_there_until_it_is_explained(shop: Shop, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    wallet = Wallet(shop)
    for number in range(NIGHTS):
        trade(shop, day(number), rng)
        shop.close(day(number), day(number), operator=[wallet.day(day(number), rng)])
        assert shop.holds("Suspense") == -wallet.unexplained
        assert shop.holds("Clearing") == owed_by(shop) + wallet.unexplained
    shop.close(day(0), day(30), operator=[wallet.month()])
    assert shop.holds("Suspense") == -wallet.unexplained
    assert shop.holds("Clearing") == owed_by(shop) + wallet.unexplained


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_paid_out_beyond_what_is_known_waits_there_until_it_is_explained(
    shop: Shop, seed: int
) -> None:
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    paid = 0
    for number in range(NIGHTS):
        trade(shop, day(number), rng)
        payouts = [
            (day(number), sum(net_of(one) for one in shop.payments if one.day == day(number)))
        ]
        for one in [one for one in shop.payments if not one.is_heard and one.day < day(number)]:
            if rng.random() < 0.3:
                shop.payments.remove(one)
                payouts.append((one.day, -net_of(one)))
        lines = [f"P{number}-{n},{of},MPESA_TZ,TZS,{net}" for n, (of, net) in enumerate(payouts)]
        statement = shop.home / "statement.csv"
        statement.write_text("\n".join(["batch_id,business_day,channel,currency,net", *lines, ""]))
        paid += sum(net for _, net in payouts)
        shop.close(day(number), day(number), statement=str(statement))
        assert shop.holds("Bank") == paid
        assert shop.holds("Suspense") == -sum(map(net_of, shop.payments)) + owed_by(shop)
        assert shop.holds("Clearing") == 0
