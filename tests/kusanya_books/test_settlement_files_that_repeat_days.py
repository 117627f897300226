"""A settlement file of a night may hold the days before it too: each line pays once."""

from pathlib import Path

import pandas as pd
import pytest
from tests.kit.accounting_shop import FEE, Shop, day

from kusanya_books.judge import carried_payouts
from kusanya_books.read import earlier_pack, pack_folder

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
DUE = 500 - FEE
FILES = pytest.mark.parametrize(
    ("has_all", "by_item"),
    [
        pytest.param(False, False, id="by night-by day"),
        pytest.param(True, True, id="month to date-by item"),
        pytest.param(False, True, id="by night-by item", marks=pytest.mark.ci),
        pytest.param(True, False, id="month to date-by day", marks=pytest.mark.ci),
    ],
)


class Nights:
    """The nights of a shop, each with the lines of its own day or of the month to date."""

    def __init__(self, home: Path, *, has_all: bool, by_item: bool = False, later: int = 0) -> None:
        """Begin; `later` is 1 where a day is paid, and its line dated, on the day after."""
        self.shop = Shop(home)
        self._has_all, self._by_item, self._later = has_all, by_item, later
        self._waits = ""
        self._lines: list[str] = []

    def close(self, number: int, *more: str, has_file: bool = True) -> pd.DataFrame:
        """Let a day bring a payment and its payout beside `more` lines; return what is open."""
        one = self.shop.pay(day(number), 1_000 + number)
        id_ = f"col_{one.number}" if self._by_item else ""
        line = f"P{number},{day(number + self._later)},MPESA_TZ,TZS,{one.amount - FEE},{id_}"
        fresh = [each for each in (self._waits if self._later else line, *more) if each]
        self._waits = line
        self._lines = [*self._lines, *fresh] if self._has_all else fresh
        path = self.shop.home / "settlement.csv"
        header = "batch_id,business_day,channel,currency,net,collection_id"
        path.write_text("\n".join([header, *self._lines, ""]))
        statement = str(path) if has_file else ""
        self.folder = self.shop.close(day(number), day(number), statement=statement)
        items = earlier_pack.items(self.folder, pack_folder.manifest(self.folder))
        return items[items["leg"] == "statement"]

    def not_booked(self) -> list[str]:
        """Return what no entry of the last night books."""
        return (self.folder / "journals" / "not_booked.csv").read_text().splitlines()[1:]


@pytest.mark.merge
@pytest.mark.parametrize("has_all", [False, True], ids=["by night", "month to date"])
def test_a_payment_known_late_waits_for_its_payout_whatever_the_file_repeats(
    tmp_path: Path, *, has_all: bool
) -> None:
    nights, owed, paid = Nights(tmp_path, has_all=has_all), [], 0
    for number in range(4):
        if number == 1:
            nights.shop.pay(day(0), 500)
        late = [f"P0b,{day(0)},MPESA_TZ,TZS,{DUE},"] if number == 3 else []
        owed.append(nights.close(number, *late)["balance"].sum())
        paid += 1_000 + number - FEE + (DUE if late else 0)
        assert nights.shop.holds("Bank") == paid
        assert nights.shop.holds("Clearing") == owed[-1]
        assert nights.not_booked() == []
    assert owed == [0, DUE, DUE, 0]


@pytest.mark.merge
@FILES
def test_what_was_settled_and_is_paid_again_is_a_break_until_it_is_taken_back(
    tmp_path: Path, *, has_all: bool, by_item: bool
) -> None:
    id_ = "col_0" if by_item else ""
    nights = Nights(tmp_path, has_all=has_all, by_item=by_item)
    assert nights.close(0).empty
    assert nights.close(1).empty
    [again] = nights.close(2, f"P9,{day(0)},MPESA_TZ,TZS,981,{id_}").to_dict("records")
    assert (again["break_code"], again["balance"], again["day"].date()) == (
        "settlement_over", -981, day(0)
    )  # fmt: skip
    assert nights.not_booked() == []
    assert nights.shop.holds("Suspense") == -981
    [still] = nights.close(3).to_dict("records")
    assert (still["break_id"], still["balance"]) == (again["break_id"], -981)
    assert nights.not_booked() == []
    assert nights.close(4, f"B9,{day(0)},MPESA_TZ,TZS,-981,{id_}").empty
    assert nights.shop.holds("Suspense") == 0


@pytest.mark.merge
def test_what_is_paid_before_it_is_known_and_once_more_afterwards_is_paid_too_much(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path, has_all=False, by_item=True)
    late = nights.shop.pay(day(0), 500, is_heard=False)
    line = f"MPESA_TZ,TZS,{DUE},col_{late.number}"
    codes = []
    for number in range(4):
        if number == 1:
            nights.shop.hear(late)
        more = {0: f"A,{day(0)},{line}", 1: f"B,{day(1)},{line}"}.get(number)
        codes += nights.close(number, *([more] if more else []))["break_code"].tolist()
        assert nights.shop.holds("Suspense") == -DUE
    assert codes == ["settlement_unknown", *["settlement_over"] * 3]


@pytest.mark.merge
@pytest.mark.parametrize("most", [0, 100], ids=["too many", "few"])
def test_lines_of_collections_are_kept_unless_they_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(carried_payouts, "REMEMBERED_LINES", most)
    nights = Nights(tmp_path, has_all=True, by_item=True)
    assert nights.close(0).empty
    assert nights.close(1).empty
    assert nights.not_booked() == ([] if most else [f"{day(0)},MPESA_TZ,,982"])


@pytest.mark.merge
@pytest.mark.parametrize("by_item", [False, True], ids=["by day", "by item"])
def test_a_day_without_a_file_of_its_own_is_paid_by_the_next(
    tmp_path: Path, *, by_item: bool
) -> None:
    nights = Nights(tmp_path, has_all=True, by_item=by_item)
    for number, has_file in enumerate((True, False, True, True)):
        assert nights.close(number, has_file=has_file).empty


@pytest.mark.merge
@FILES
def test_a_line_that_is_dated_by_its_payout_is_known_again(
    tmp_path: Path, *, has_all: bool, by_item: bool
) -> None:
    nights = Nights(tmp_path, has_all=has_all, by_item=by_item, later=1)
    for number in range(4):
        [waits] = nights.close(number).to_dict("records")
        assert (waits["break_code"], waits["day"].date()) == ("settlement_missing", day(number))
        assert nights.shop.holds("Bank") == sum(1_000 + n - FEE for n in range(number))
        assert nights.shop.holds("Clearing") == 1_000 + number - FEE
        assert nights.not_booked() == []


def test_a_day_whose_payouts_nobody_compared_is_not_booked_by_what_became_known_of_it(
    tmp_path: Path,
) -> None:
    nights = Nights(tmp_path, has_all=True)
    nights.close(0, has_file=False)
    nights.shop.pay(day(0), 500)
    assert nights.close(1).empty
    assert nights.not_booked() == [f"{day(0)},MPESA_TZ,,982"]
    assert nights.shop.holds("Bank") == 1_001 - FEE


@pytest.mark.merge
def test_of_two_open_payouts_of_a_day_a_line_pays_one(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.pay(day(0), 1_000)
    path = tmp_path / "settlement.csv"
    lines = ["batch_id,business_day,channel,currency,net"]
    for last, *nets in ((0, 982, 307, -307), (1, 828)):
        lines += [f"P{last}{net},{day(0)},MPESA_TZ,TZS,{net}" for net in nets]
        path.write_text("\n".join([*lines, ""]))
        folder = shop.close(day(last), day(last), statement=str(path))
        items = earlier_pack.items(folder, pack_folder.manifest(folder))
        assert items["balance"].sum() == (-828 if last else 0)
        assert (shop.holds("Suspense"), shop.holds("Clearing")) == (items["balance"].sum(), 0)
    assert len(items) == 2
