"""How the files of a chain of months are written, and which of them a close is given."""

import csv
import shutil
from collections.abc import Callable
from datetime import datetime, time
from pathlib import Path
from random import Random
from unittest.mock import ANY

import pytest
from tests.kit.accounts import PLAIN_ACCOUNTS
from tests.kit.chain import world
from tests.kit.chain.checker import is_named
from tests.kit.chain.closing import Closed, close_chain
from tests.kit.chain.drawing import WAYS
from tests.kit.chain.faults import FAULTS, Planter

from kusanya.domain.business_day import EAT
from kusanya_books.judge import findings
from kusanya_books.judge.report import ReportVerdict

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


@pytest.mark.merge
@pytest.mark.parametrize(
    ("files", "way"),
    [
        pytest.param([], "by item", marks=pytest.mark.ci),
        pytest.param(["settlement"], "by item", marks=pytest.mark.ci),
        (["settlement", "books"], "by day"),
    ],
)
def test_nights_without_a_fault_are_reconciled_though_files_come_a_day_later(
    tmp_path: Path, empty_store: Path, files: list[str], way: str
) -> None:
    rng = Random(2)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=4, days=1, size=6, **WAYS[way])
    for file in files:
        world.delay(made, file, "booked_at" if file == "books" else "business_day")
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db", is_nightly=True):
        assert (close.result.verdict, close.result.sentence) == (ReportVerdict.RECONCILED, ANY)
        assert [item for item in close.items if item["standing"] == "break"] == []


@pytest.mark.merge
@pytest.mark.parametrize("way", [world.pay_last_days_with_the_next, world.date_by_the_payout])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.ci)])
def test_the_last_days_of_a_month_are_paid_by_a_line_of_the_next(
    tmp_path: Path, empty_store: Path, way: Callable[[world.Chain], None], seed: int
) -> None:
    made = world.chain(Random(seed), months=2, size=16)  # noqa: S311 - a repeatable choice
    way(made)
    shutil.copy(empty_store, tmp_path / "store.db")
    march, april = close_chain(made, tmp_path, tmp_path / "store.db")
    for close, month in ((march, made.months[0]), (april, made.months[1])):
        stands = [item for item in close.items if item["standing"] == "break"]
        assert {item["day"][:10] for item in stands} <= {f"{month.last}"}
        assert {item["break_code"] for item in stands} <= {"settlement_missing"}


@pytest.mark.merge
def test_a_line_of_no_known_payment_is_not_taken_for_a_day_that_was_settled_before(
    tmp_path: Path, empty_store: Path
) -> None:
    made = world.chain(Random(4), months=2, size=6)  # noqa: S311 - a repeatable choice
    march = made.payments[0][0]
    row = next(one for one in made.months[0].settlement if one["batch_id"] == march.batch)
    day = made.months[1].first + 15 * world.DAY
    made.months[1].settlement[:] = [{**row, "batch_id": "PO-ODD", "business_day": day}]
    shutil.copy(empty_store, tmp_path / "store.db")
    _, april = close_chain(made, tmp_path, tmp_path / "store.db")
    odd = {item["leg"]: item["break_code"] for item in april.items if item["reference"] == "PO-ODD"}
    assert odd["statement"] == "settlement_unexpected"


@pytest.mark.merge
@pytest.mark.parametrize(
    ("nights", "way"), [pytest.param(True, "by day", marks=pytest.mark.ci), (False, "by item")]
)
def test_an_operator_that_pays_out_itself_is_not_missing_from_the_settlement_statement(
    tmp_path: Path, empty_store: Path, *, nights: bool, way: str
) -> None:
    days, months = (1, 3) if nights else (None, 2)
    rng = Random(5 if nights else 3)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=months, days=days, size=8, direct=True, **WAYS[way])
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db", is_nightly=nights):
        assert (close.result.verdict, close.result.sentence) == (ReportVerdict.RECONCILED, ANY)
        rows = [row for row in close.result.coverage if row["channel"] == world.DIRECT]
        assert {row["leg"]: row["percent"] for row in rows}["settlement"] == 0


@pytest.mark.merge
def test_an_operator_that_pays_out_once_a_week_is_known_on_the_nights_between(
    tmp_path: Path, empty_store: Path
) -> None:
    rng = Random(3)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=4, days=1, size=8, direct=True)
    for month in made.months[1:]:
        lines = month.operator[world.DIRECT]
        lines[:] = [line for line in lines if line["kind"] != "payout"]
        month.bank.clear()
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db", is_nightly=True):
        assert [
            item
            for item in close.items
            if item["channel"] == world.DIRECT and (item["leg"] == "statement")
        ] == []


def pay_out_directly(month: world.Month, channel: str) -> None:
    """Let an operator pay out in a month what the provider's statement pays."""
    mine = [row for row in month.settlement if row["channel"] == channel]
    month.settlement[:] = [row for row in month.settlement if row["channel"] != channel]
    for row in mine:
        at = datetime.combine(row["business_day"], time(23), tzinfo=EAT)
        said = {"kind": "payout", "receipt": row["batch_id"], "amount": -row["net"], "at": at}
        plain = {"reference": "", "fee": "", "currency": row["currency"], "details": ""}
        month.operator[channel].append({**plain, "channel": channel, **said})


@pytest.mark.merge
@pytest.mark.parametrize("month", [0, 1], ids=["no more", "from now on"])
def test_who_pays_a_channel_out_changes_and_the_bank_has_what_both_paid(
    tmp_path: Path, empty_store: Path, month: int
) -> None:
    rng = Random(3)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2, size=16)
    pay_out_directly(made.months[month], world.DIRECT)
    last = [one for one in made.payments[0] if one.at.date() == made.months[0].last]
    assert any(one.channel == world.DIRECT for one in last), "nothing crosses the month's edge"
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db"):
        of_bank = [item for item in close.items if item["leg"] == "bank"]
        assert [item for item in of_bank if item["standing"] == "break"] == []


@pytest.mark.merge
def test_a_provider_that_stops_paying_a_channel_owes_it_though_its_operator_pays_out_too(
    tmp_path: Path, empty_store: Path
) -> None:
    rng = Random(3)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2, size=10)
    april = made.months[1]
    lost = [row for row in april.settlement if row["channel"] == world.DIRECT]
    april.settlement[:] = [row for row in april.settlement if row["channel"] != world.DIRECT]
    line = april.operator[world.DIRECT][-1]
    april.operator[world.DIRECT].append({**line, "kind": "payout", "amount": -5, "receipt": "OUT"})
    shutil.copy(empty_store, tmp_path / "store.db")
    _, closed = close_chain(made, tmp_path, tmp_path / "store.db")
    missing = [item for item in closed.items if item["break_code"] == "settlement_missing"]
    assert len(lost) == len(missing) > 0
    assert sum(int(item["balance"]) for item in missing) == sum(row["net"] for row in lost)


@pytest.mark.parametrize(
    ("nights", "way"),
    [
        pytest.param(True, "as it came", marks=pytest.mark.ci),
        pytest.param(False, "as it came", marks=pytest.mark.ci),
        pytest.param(False, "closed twice", marks=pytest.mark.ci),
        (False, "known late"),
    ],
)
def test_the_clearing_account_holds_after_each_close_what_is_owed(
    tmp_path: Path, empty_store: Path, *, nights: bool, way: str
) -> None:
    is_twice = way == "closed twice"
    days, months, size = (1, 4, 6) if nights else (None, 2, 30)
    rng = Random(2)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=months, days=days, size=size)
    if nights:
        world.delay(made, "settlement", "business_day")
    else:
        world.pay_last_days_with_the_next(made)
    if way == "known late":
        made.silent_from[0] = made.months[0].last
        assert any(one.at.date() == made.months[0].last for one in made.payments[0])
    shutil.copy(empty_store, tmp_path / "store.db")
    accounts = tmp_path / "accounts.toml"
    accounts.write_text(PLAIN_ACCOUNTS)
    owed = []
    closes = close_chain(
        made,
        tmp_path,
        tmp_path / "store.db",
        is_nightly=nights,
        is_twice=is_twice,
        accounts=accounts,
    )
    for close in closes:
        packs = list((tmp_path / "packs").glob("*/journals/xero.csv"))
        assert len(packs) == (close.number + 1) * (1 + is_twice)
        mine = [item for item in close.items if item["leg"] == "statement"]
        owed.append(sum(int(item["balance"]) for item in mine))
        assert sum(map(in_clearing, packs)) == owed[-1]
        of_period = [item for item in mine if not item["carried_from"]]
        assert said_as_owed(close) == sum(int(item["balance"]) for item in of_period)
    assert (owed[0] > 0) == (way != "known late")


def said_as_owed(close: Closed) -> int:
    """Return what the bridge of the payouts says is still owed for the period."""
    assert close.result.folder is not None
    with (close.result.folder / "csv" / "settlement_bridge.raw.csv").open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["line"] == "open balance"]
    return sum(int(row["amount"]) for row in found)


def in_clearing(entries: Path) -> int:
    """Return what the entries of a pack leave on the clearing account."""
    with entries.open(newline="") as file:
        lines = csv.DictReader(file)
        return sum(int(row["*Amount"]) for row in lines if row["*AccountCode"] == "Clearing")


@pytest.mark.merge
@pytest.mark.parametrize("heard_by", [1, pytest.param(2, marks=pytest.mark.ci)])
def test_an_operators_statement_without_a_line_says_that_nothing_came(
    tmp_path: Path, empty_store: Path, heard_by: int
) -> None:
    rng = Random(2)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3, days=1, size=8)
    channel = world.OPERATORS[0]
    mine = [one for one in made.payments[1] if one.channel == channel]
    assert mine
    made.months[1].operator[channel].clear()
    if heard_by == 2:
        made.silent_from[1], made.heard_by[1] = made.months[1].first, 2
    shutil.copy(empty_store, tmp_path / "store.db")
    first, *later = close_chain(made, tmp_path, tmp_path / "store.db", is_nightly=True)
    assert first.result.verdict is ReportVerdict.RECONCILED
    for close in later[heard_by - 1 :]:
        for one in mine:
            assert is_named(("operator", one.reference), -one.amount, close.items)
    assert later[-1].result.verdict is ReportVerdict.BREAKS


def test_of_the_first_empty_statement_nobody_knows_whose_it_is(
    tmp_path: Path, empty_store: Path
) -> None:
    made = world.chain(Random(2), months=1, size=8)  # noqa: S311 - a repeatable choice
    made.months[0].operator[world.OPERATORS[0]].clear()
    shutil.copy(empty_store, tmp_path / "store.db")
    [march] = close_chain(made, tmp_path, tmp_path / "store.db")
    [said] = [each for each in march.result.unproven if "there is no line in it" in each]
    assert world.OPERATORS[0] in said
    assert world.OPERATORS[1] not in said
    assert march.result.verdict is not ReportVerdict.RECONCILED


@pytest.mark.merge
@pytest.mark.parametrize("fault", ["unknown at the service", "a success that failed after all"])
def test_a_line_that_was_carried_does_not_stand_for_a_statement_of_the_next_month(
    tmp_path: Path, empty_store: Path, fault: str
) -> None:
    rng = Random(13)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2)
    planter = Planter(made, rng)
    if fault in FAULTS:
        planter.plant(fault, 0, is_put_right=False)
    else:
        planter.contradict(0, by=1)
    shutil.copy(empty_store, tmp_path / "store.db")
    left_out = {(1, name) for name in world.OPERATORS[:1]}
    _, april = close_chain(made, tmp_path, tmp_path / "store.db", left_out=left_out)
    of_operator = [item for item in april.items if item["leg"] == "operator"]
    stands = [item for item in of_operator if item["standing"] == "break"]
    assert [item["finding"] for item in stands] == [findings.CARRIED]
