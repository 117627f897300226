"""Each night the bank's leg lists the payouts that wait and the ones taken back, and nothing else.

A shop closes each night, and its bank credits what was paid out at once, some nights later, in
parts, too little, or twice, and takes some of it back. The payouts are its operator's, or those of
the settlement statement; then the operator pays the provider.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from tests.kit.accounting_shop import CREDITED, FEE, MOVED, SETTLED, Shop, day

from kusanya_books.request.tolerance import Tolerance

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
TRADING, QUIET = 5, 4
"""On so many nights the shop is paid; on those after them the bank puts the rest right."""
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(2, 25))]


class Bank:
    """What the bank shows on each night, and of what the shop must hear that something is open."""

    def __init__(self) -> None:
        self.lines: dict[int, list[str]] = defaultdict(list)
        self._open: dict[str, list[range]] = defaultdict(list)

    def pay(self, name: str, amount: int, night: int, rng: Random) -> None:
        """Plan what becomes of a payout of a night, by its name or by its amount alone."""
        way, late = (
            rng.choice(["late", "alone", "parts", "twice", "short", "back"]),
            rng.randrange(3),
        )
        said = "transfer" if way == "alone" else f"of {name.lower()};"
        half = amount // 2
        planned = {
            "late": [(late, amount)],
            "alone": [(late, amount)],
            "parts": [(0, half), (1, amount - half)],
            "twice": [(0, amount), (late, amount), (late + 1, -amount)],
            "short": [(0, amount - 50), (2, 50)],
            "back": [(0, amount), (1, -amount), (2, amount)],
        }[way]
        for after, moved in planned:
            self.lines[night + after].append(f"{day(night + after)},MM {said} tz,{moved},TZS")
        if way == "twice":
            # A second credit is known by its line.
            self._open[""].append(range(night + late, night + late + 1))
        elif way == "back":
            self._open[name].append(range(night + 1, night + 2))
        else:
            self._open[name].append(range(night, night + planned[-1][0]))

    def open_on(self, night: int) -> set[str]:
        """Return the names of what is open after a night."""
        return {name for name, spans in self._open.items() if any(night in one for one in spans)}


class Month:
    """The files of a shop, night by night."""

    def __init__(self, home: Path, rng: Random) -> None:
        self.shop, self.bank = Shop(home), Bank()
        self._rng = rng
        self._is_settled, self._has_all = rng.random() < 0.5, rng.random() < 0.3
        self._channel = rng.choice(["MPESA_TZ", ""])
        self._moved: list[list[str]] = []
        self._settled: list[list[str]] = []
        self._amounts = iter(range(1_000, 10_000, 137))

    def trade(self, night: int) -> None:
        """Let customers pay, and most nights somebody pay out what they paid."""
        amounts = [next(self._amounts) for _ in range(self._rng.randint(1, 2))]
        for amount in amounts:
            one = self.shop.pay(day(night), amount)
            self._moved[-1].append(
                self._line("payment", f"M{one.number}", amount, f"R-{one.number}")
            )
        if night and self._rng.random() < 0.2:
            return
        gross, name = sum(amounts), f"OUT{night}"
        if self._is_settled:
            self._moved[-1].append(self._line("payout", f"TO{night}", -gross, ""))
            gross -= FEE * len(amounts)
            self._settled[-1].append(f"{name},{day(night)},{self._channel},TZS,{gross}")
        else:
            self._moved[-1].append(self._line("payout", name, -gross, ""))
        self.bank.pay(name, gross, night, self._rng)

    def _line(self, kind: str, receipt: str, amount: int, reference: str) -> str:
        at = f"{day(len(self._moved) - 1)}T12:00:00+03:00"
        return f"{kind},{receipt},{amount},{at},{reference},TZS,MPESA_TZ"

    def nights(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each night with the files that are given of it, of one night or of all so far."""
        for night in range(TRADING + QUIET):
            self._moved.append([])
            self._settled.append([])
            if night < TRADING:
                self.trade(night)
            nights = range(0 if self._has_all else night, night + 1)
            given: dict[str, Any] = {
                "operator": [self.shop.write(MOVED, [self._moved[one] for one in nights])],
                "bank": [self.shop.write(CREDITED, [self.bank.lines[one] for one in nights])],
            }
            if self._is_settled:
                lines = [self._settled[one] for one in nights]
                given["statement"] = self.shop.write(SETTLED, lines)
            yield night, given


def open_at_bank(shop: Shop, today: date, **given: Any) -> set[str]:
    """Close a night, and return the names of what is open at the bank, "" of what has none."""
    terms = Tolerance(settle_days=2)
    pack = shop.close(today, today, tolerance=terms, judged_on=today, **given)
    items = pd.read_parquet(pack / "open_items.parquet")
    return set(items.loc[items["leg"] == "bank", "reference"].fillna(""))


@pytest.mark.merge
@pytest.mark.parametrize("seed", SEEDS)
def test_each_night_lists_what_waits_and_what_was_taken_back_and_nothing_else(
    tmp_path: Path, seed: int
) -> None:
    month = Month(tmp_path, Random(seed))  # noqa: S311 - a repeatable choice
    found = {
        night: open_at_bank(month.shop, day(night), **given) for night, given in month.nights()
    }
    assert found == {night: month.bank.open_on(night) for night in found}
    assert any(found.values())
    assert found[TRADING + QUIET - 1] == set()


@pytest.mark.merge
@pytest.mark.parametrize("has_all", [True, pytest.param(False, marks=pytest.mark.ci)])
def test_a_payout_that_is_taken_back_weeks_later_is_a_break_until_it_is_paid_again(
    tmp_path: Path, *, has_all: bool
) -> None:
    """The files of the settlement statement may say it each time, or once."""
    shop, name = Shop(tmp_path), "OUT0"
    shop.pay(day(0), 5_000)
    line = f"{name},{day(0)},MPESA_TZ,TZS,4982"
    moved = {0: [4_982], 20: [-4_982], 25: [4_982], 26: [4_982]}
    found = []
    for night in (0, 1, 20, 21, 25, 26):
        lines = [f"{day(night)},{name} RETURN,{amount},TZS" for amount in moved.get(night, [])]
        given: dict[str, Any] = {
            "bank": [shop.write(CREDITED, [lines])],
            "statement": shop.write(SETTLED, [[line][: has_all or night == 0]]),
        }
        pack = shop.close(day(night), day(night), **given)
        items = pd.read_parquet(pack / "open_items.parquet")
        found.append(items.loc[items["leg"] == "bank", "break_code"].tolist())
    back, again = ["bank_taken_back"], ["bank_credited_again"]
    assert found == [[], [], back, back, [], again]


@pytest.mark.merge
@pytest.mark.parametrize("name", ["GIFT", "GIFT-BACK"])
def test_what_a_provider_takes_back_under_the_name_that_brought_it_leaves_nothing(
    tmp_path: Path, name: str
) -> None:
    shop = Shop(tmp_path)
    shop.pay(day(0), 5_000)
    settled = {0: [("OUT0", 4_982), ("GIFT", 500)], 2: [(name, -500)]}
    found = []
    for night in (0, 1, 2, 3):
        lines = settled.get(night, [])
        said = [f"{day(night)},of {batch},{amount},TZS" for batch, amount in lines]
        paid = [f"{batch},{day(0)},MPESA_TZ,TZS,{amount}" for batch, amount in lines]
        given: dict[str, Any] = {
            "bank": [shop.write(CREDITED, [said])],
            "statement": shop.write(SETTLED, [paid]),
        }
        pack = shop.close(day(night), day(night), **given)
        found.append(pd.read_parquet(pack / "open_items.parquet")["break_code"].tolist())
    assert found == [["settlement_over"], ["settlement_over"], [], []]
    held = {name: shop.holds(name) for name in ("Bank", "Clearing", "Suspense")}
    assert held == {"Bank": 4_982, "Clearing": 0, "Suspense": 0}
