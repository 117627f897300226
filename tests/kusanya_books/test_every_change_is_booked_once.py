"""Whatever is closed again, and in whatever order: the entries book each payment exactly once."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.kit.accounting_shop import FEE, Shop, day
from tests.kit.accounts import PLAIN_ACCOUNTS
from tests.kit.payments import polled

import kusanya_books as reconcile
from kusanya.errors import InputRefused
from kusanya.store import Store
from kusanya_books.pack.journals import account_map, journal_entries
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_what_came_late_of_a_closed_month_is_booked_with_the_next(shop: Shop) -> None:
    shop.pay(day(27), 1_000)
    shop.pay(day(27), 5_000)
    shop.close(day(0), day(30))
    shop.pay(day(27), 9_000)
    shop.take_back(shop.payments[0])
    april = shop.close(day(31), day(60))
    shop.check()
    with (april / "journals" / "xero.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["*Date"] for line in lines} == {"01/04/2026"}, "March is closed"
    assert all("Mobile money of 2026-03-28" in line["*Narration"] for line in lines)


@pytest.mark.merge
def test_a_close_without_a_statement_takes_no_payout_back(shop: Shop) -> None:
    """A month that is closed in haste says nothing of what its nights found paid out."""
    shop.pay(day(0), 1_000)
    shop.close(day(0), day(0), statement=shop.pay_out(day(0)))
    for amount in (5_000, 7_000):
        shop.pay(day(0), amount)
        shop.close(day(0), day(30))
        shop.check()
        shop.close(day(0), day(9), statement=shop.pay_out(day(0)))
        shop.check()
    assert shop.paid_out[day(0)] == 13_000 - 3 * FEE


@pytest.mark.merge
def test_a_payout_of_the_last_day_is_booked_once_whichever_month_is_closed_again(
    shop: Shop,
) -> None:
    shop.pay(day(30), 1_000)
    shop.close(day(0), day(30), statement=shop.pay_out())
    late = shop.pay_out(day(30))
    shop.close(day(31), day(60), statement=late)
    shop.check()
    for first, last in ((0, 30), (31, 60), (0, 30)):
        shop.close(day(first), day(last), statement=late)
        shop.check()
    april = shop.close(day(31), day(60), statement=shop.pay_out())
    shop.check()
    waits = (april / "journals" / "not_booked.csv").read_text().splitlines()[1:]
    assert waits == []


@pytest.mark.merge
def test_a_payout_of_an_earlier_day_that_waits_for_none_is_listed(shop: Shop) -> None:
    shop.close(day(0), day(0))
    shop.close(day(1), day(1))
    path = shop.home / "statement.csv"
    path.write_text(f"batch_id,business_day,channel,currency,net\nP0,{day(0)},MPESA_TZ,TZS,700\n")
    for _ in range(2):
        night = shop.close(day(2), day(2), statement=str(path))
        assert (night / "journals" / "not_booked.csv").read_text().splitlines()[1:] == [
            f"{day(0)},MPESA_TZ,settlement_outside,700"
        ]
        shop.pay(day(2), 5_000)


@pytest.mark.merge
@pytest.mark.parametrize(
    "asked",
    [{"mode": "test"}, {"entity": "Other"}, {"accounts": ""}],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 2], ids=["before", "after"])
def test_a_close_that_is_no_part_of_these_books_hides_none_that_is(
    shop: Shop, asked: dict[str, str], place: int
) -> None:
    plain: dict[str, Any] = {"store": str(shop.home / "store.db"), "mode": "live", "entity": "Shop"}
    plain["accounts"] = str(shop.home / "accounts.toml")
    request = CloseRequest(period=f"{day(place)}..{day(2)}", **{**plain, **asked})
    assert reconcile.run(request, out=shop.home / "packs").folder is not None
    shop.close(day(1), day(1), entity="Shop")
    shop.pay(day(1), 1_000)
    shop.close(day(0), day(1), entity="Shop")
    shop.pay(day(1), 5_000)
    shop.close(day(1), day(1), entity="Shop")
    shop.check()


@pytest.mark.merge
def test_a_late_change_of_a_day_without_entries_waits_for_the_close_that_books_the_day(
    shop: Shop,
) -> None:
    """Entries are made from the third night on: the month books the first two, each once."""
    for number in range(2):
        shop.pay(day(number), 1_000)
        shop.close(day(number), day(number), accounts="")
    shop.pay(day(0), 9_000)
    third = shop.close(day(2), day(2))
    assert (third / "journals" / "not_booked.csv").read_text().splitlines()[1:] == [
        f"2026-03-01,MPESA_TZ,,{9_000 - FEE}"
    ]
    shop.booked = {day(2): shop.truth(day(2))}
    shop.check()
    shop.close(day(0), day(30))
    shop.check()


@pytest.mark.merge
def test_a_second_currency_has_entries_of_its_own_beside_the_first(shop: Shop) -> None:
    shop.pay(day(0), 1_000)
    abroad = polled("kes", datetime(2026, 3, 1, 9, tzinfo=UTC), amount=70, fee=1, currency="KES")
    with Store.open(shop.home / "store.db") as store:
        store.record(abroad)
    (shop.home / "kes.toml").write_text(PLAIN_ACCOUNTS.replace("TZS", "KES"))
    maps = {name: str(shop.home / f"{name}.toml") for name in ("accounts", "kes")}
    lines = []
    for number, name in enumerate(("accounts", "kes", "accounts", "kes")):
        pack = shop.close(day(0), day(number // 2), accounts=maps[name])
        with (pack / "journals" / "xero.csv").open(newline="") as file:
            lines.append([int(line["*Amount"]) for line in csv.DictReader(file)])
    assert lines == [[982, 18, -1_000], [69, 1, -70], [], []]
    in_shillings = next(one for one in (shop.home / "packs").iterdir() if is_in(one, "TZS", 2))
    abroad_accounts = account_map.read(Path(maps["kes"]))
    with pytest.raises(InputRefused, match="is of the same days"):
        journal_entries.of_pack(in_shillings, abroad_accounts)
    [made] = journal_entries.of_pack(in_shillings, abroad_accounts, is_first=True).entries
    assert [line.amount for line in made.lines] == [69, 1, -70]


@pytest.mark.merge
def test_what_waited_on_the_account_for_breaks_leaves_it_though_another_currency_was_closed_since(
    shop: Shop,
) -> None:
    """The next close carries the newest pack, whose entries are in the other currency."""
    (shop.home / "kes.toml").write_text(PLAIN_ACCOUNTS.replace("TZS", "KES"))
    late, statement = shop.pay(day(0), 1_000, is_heard=False), shop.home / "statement.csv"
    held = []
    for number, lines in enumerate(([f"P1,{day(0)},MPESA_TZ,TZS,982"], [])):
        statement.write_text("\n".join(["batch_id,business_day,channel,currency,net", *lines, ""]))
        if number:
            shop.hear(late)
        for name in ("accounts", "kes"):
            map_ = str(shop.home / f"{name}.toml")
            shop.close(day(number), day(number), statement=str(statement), accounts=map_)
        held.append([shop.holds(account) for account in ("Bank", "Suspense", "Clearing")])
    assert held == [[982, -982, 0], [982, 0, 0]]


def is_in(pack: Path, currency: str, days: int) -> bool:
    """Return whether the entries of a pack are in a currency, and of so many days."""
    said = json.loads((pack / "manifest.json").read_text())
    first, last = (date.fromisoformat(said["made_from"][name]) for name in ("first", "last"))
    return said["entries_in"] == currency and (last - first).days + 1 == days


@pytest.mark.merge
def test_what_carries_an_earlier_close_is_named_until_it_is_closed_again(shop: Shop) -> None:
    def said(first: int, last: int, **asked: str) -> str | None:
        days, store = f"{day(first)}..{day(last)}", str(shop.home / "store.db")
        plain: dict[str, Any] = {"period": days, "store": store, "mode": "live", "carry": True}
        return reconcile.run(CloseRequest(**plain | asked), out=shop.home / "packs").carried_by

    assert [said(0, 30), said(31, 60), said(61, 90)] == [None] * 3
    shop.pay(day(0), 1_000)
    assert said(0, 30) == "2026-04-01 to 2026-04-30"
    assert said(0, 30) == "2026-04-01 to 2026-04-30", "it is the same pack"
    assert said(31, 60) == "2026-05-01 to 2026-05-30"
    assert [said(61, 90), said(0, 30), said(31, 60)] == [None] * 3
    assert said(0, 30, accounts=str(shop.home / "accounts.toml")) is None, "it says the same"
    assert [said(0, 30, mode="test"), said(31, 60, mode="test")] == [None] * 2
    assert said(0, 30) is None, "those of another mode carry nothing of it"
    (shop.home / "packs" / "kusanya-2026-06-01-2026-06-30-live-0").mkdir()
    assert said(0, 30) is None


@pytest.mark.merge
def test_a_close_with_fewer_statements_takes_no_payout_back(shop: Shop) -> None:
    """Nor does it book what it was given: it cannot be told from what is booked."""
    shop.pay(day(0), 1_000)
    wallet = shop.home / "wallet.csv"
    wallet.write_text(
        "kind,receipt,amount,at,reference,currency,channel,details\n"
        "payout,OUT1,-400,2026-03-01T20:00:00+03:00,,TZS,TIGO_TZ,\n"
    )
    both = {"statement": shop.pay_out(day(0)), "operator": [str(wallet)]}
    shop.close(day(0), day(0), **both)
    shop.paid_out[day(0)] += 400
    shop.check()
    for fewer in ("statement", "operator"):
        pack = shop.close(day(0), day(4 + len(fewer)), **{fewer: both[fewer]})
        shop.check()
        waits = (pack / "journals" / "not_booked.csv").read_text().splitlines()[1:]
        assert [line.split(",")[-1] for line in waits] == [
            {"statement": "982", "operator": "400"}[fewer]
        ]
        assert shop.close(day(0), day(4 + len(fewer)), **{fewer: both[fewer]}) == pack
    shop.close(day(0), day(30), **both)
    shop.check()


@pytest.mark.merge
def test_of_packs_without_entries_a_late_change_is_booked_beside_what_its_month_booked(
    shop: Shop,
) -> None:
    """Who makes the entries by a command books the same as who lets the close make them."""
    shop.pay(day(27), 1_000)
    march = shop.close(day(0), day(30), accounts="")
    shop.pay(day(27), 9_000)
    shop.pay(day(40), 500)
    april = shop.close(day(31), day(60), accounts="")
    assert in_clearing(shop, march) == 1_000 - FEE
    assert in_clearing(shop, april) == 9_500 - 2 * FEE
    shop.take_back(shop.payments[1])
    again = shop.close(day(31), day(60), accounts="")
    with pytest.raises(InputRefused, match="is of the same days"):
        in_clearing(shop, again)
    assert in_clearing(shop, again, booked=april) == -9_000 + FEE
    month = shop.close(day(0), day(30), accounts="")
    assert in_clearing(shop, month, booked=again) == 0
    with pytest.raises(InputRefused, match="is of the same days"):
        in_clearing(shop, month)


@pytest.mark.merge
def test_of_packs_without_entries_a_payout_is_booked_once_and_not_taken_back(shop: Shop) -> None:
    net = shop.pay(day(3), 1_000).amount - FEE
    paid_out = shop.pay_out(day(3))
    march = shop.close(day(0), day(30), accounts="", statement=paid_out)
    assert on_account(shop, march, "Bank") == net
    shop.pay(day(4), 500)
    again = shop.close(day(0), day(30), accounts="", statement=paid_out)
    shop.pay(day(5), 500)
    without = shop.close(day(0), day(30), accounts="")
    for pack, cleared in ((again, 500 - FEE), (without, 2 * (500 - FEE))):
        assert on_account(shop, pack, "Bank", booked=march) == 0
        assert in_clearing(shop, pack, booked=march) == cleared


def in_clearing(shop: Shop, pack: Path, **asked: Any) -> int:
    """Return what the entries of a pack that was made without accounts book as cleared."""
    return on_account(shop, pack, "Clearing", **asked)


def on_account(shop: Shop, pack: Path, account: str, **asked: Any) -> int:
    """Return what the entries of a pack that was made without accounts book on an account."""
    accounts = account_map.read(shop.home / "accounts.toml")
    made = journal_entries.of_pack(pack, accounts, **asked).entries
    return sum(line.amount for one in made for line in one.lines if line.account == account)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.ci) for n in range(1, 9))])
def test_nights_weeks_and_closes_again_book_every_payment_once(shop: Shop, seed: int) -> None:
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    closed = 0
    for act in acts(rng):
        for _ in range(rng.randrange(3)):
            shop.pay(day(rng.randrange(closed + 1)), 1_000 * rng.randint(1, 9))
        paid = [one for one in shop.payments if one.is_paid]
        if paid and rng.random() < 0.3:
            shop.take_back(rng.choice(paid))
        first = last = closed
        if act == "again" and closed:
            first = rng.randrange(closed)
            last = rng.randrange(first, closed)
        closed = max(closed, last + 1)
        days = [day(number) for number in range(first, last + 1)]
        has_statement = rng.random() < 0.5
        shop.close(day(first), day(last), statement=shop.pay_out(*days) if has_statement else "")
        shop.check()


def acts(rng: Random) -> Iterator[str]:
    for _ in range(8):
        yield rng.choice(["night", "night", "again"])
