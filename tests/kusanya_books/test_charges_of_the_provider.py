"""What the provider itself charges in its settlement statement: read, judged, booked, and paid."""

import shutil
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from tests.kit.chain import world
from tests.kit.chain.closing import close_and_book, close_chain, owed
from tests.kit.chain.world import DAY, Chain
from tests.kit.statements import statement_of

from kusanya.errors import InputRefused
from kusanya.store import Store
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS
from kusanya_books.judge.report import ReportVerdict
from kusanya_books.match import settlement
from kusanya_books.pack import decisions
from kusanya_books.read import files, several_files
from kusanya_books.read.mapping import Layout, Mapping, to_mapping
from kusanya_books.request.days import period

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
COLUMNS = {
    "business_day": "Day",
    "channel": "Network",
    "net": "Net",
    "currency": "=TZS",
    "batch_id": "Batch",
    "kind": "Type",
    "collection_id": "Collection",
}
KINDS = {"charge": ("Monthly fee", "Stamp duty*")}
HEADER = "Day,Network,Batch,Collection,Type,Net\n"


def read(home: Path, *lines: str, name: str = "paid.csv", **form: Any) -> Any:
    path = home / name
    path.write_text(HEADER + "\n".join(lines) + "\n")
    form = {"columns": COLUMNS, "kinds": KINDS, **form}
    return files.statement(path, Layout(**form))


def test_a_line_is_a_charge_where_the_mapping_names_its_words(tmp_path: Path) -> None:
    frame, quality = read(
        tmp_path,
        "2026-03-01,MPESA_TZ,B1,,Settlement,9800",
        "2026-03-01,MPESA_TZ,B1,,Monthly fee,-500",
        "2026-03-01,,B1,,STAMP DUTY 1%,-5",
        "2026-03-01,MPESA_TZ,B1,,Monthly feedback,-7",
        "2026-03-01,MPESA_TZ,B1,,Adjustment,0",
        "2026-03-01,MPESA_TZ,B1,,Adjustment,x",
    )
    assert frame["kind"].tolist() == ["payment", "charge", "charge", "payment", "payment"]
    said = "kind is none of those that the mapping names: taken back"
    assert [(one.row, one.reason) for one in quality.remarks] == [
        *((5, said), (7, "net is not a whole number"))
    ]


def test_a_charge_without_a_channel_is_of_the_one_of_its_batch(tmp_path: Path) -> None:
    frame, _ = read(
        tmp_path,
        *("2026-03-01,MPESA_TZ,B1,,Settlement,9800", "2026-03-01,,B1,,Monthly fee,-500"),
        *("2026-03-01,MPESA_TZ,B2,,Settlement,9800", "2026-03-01,TIGO_TZ,B2,,Settlement,9800"),
        *("2026-03-01,,B2,,Monthly fee,-500", "2026-03-01,,,,Monthly fee,-500"),
        "2026-03-01,,B3,,Settlement,7",
    )
    found = [None if pd.isna(one) else one for one in frame["channel"]]
    assert found == ["MPESA_TZ", "MPESA_TZ", "MPESA_TZ", "TIGO_TZ", None, None, None]


def test_a_charge_that_is_written_above_zero_is_below_it_where_signs_are_by_kind(
    tmp_path: Path,
) -> None:
    lines = ("2026-03-01,MPESA_TZ,B1,,Settlement,9800", "2026-03-01,MPESA_TZ,B1,,Monthly fee,500")
    frame, _ = read(tmp_path, *lines, signs="kind")
    assert frame["net"].tolist() == [9_800, -500]
    # A charge that is given back stands as the file has it.
    frame, _ = read(tmp_path, *lines)
    assert frame["net"].tolist() == [9_800, 500]


def test_a_file_of_our_own_columns_names_charges_by_our_word(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(
        "business_day,channel,currency,net,kind\n"
        "2026-03-01,MPESA_TZ,TZS,100,\n2026-03-01,MPESA_TZ,TZS,-5,charge\n"
        "2026-03-01,MPESA_TZ,TZS,-6,levy\n"
    )
    frame, _ = files.statement(path)
    assert frame["kind"].tolist() == ["payment", "charge", "payment"]


def test_charges_name_no_collection_where_payments_do(tmp_path: Path) -> None:
    paid = "2026-03-01,MPESA_TZ,B1,col_1,Settlement,9800"
    fee = "2026-03-01,MPESA_TZ,B1,,Monthly fee,-500"
    each = [read(tmp_path, paid, fee), read(tmp_path, fee, name="fees.csv")]
    frame, accounts = several_files.settlement(each)
    # The second file says what the first one has.
    assert frame["kind"].tolist() == ["payment", "charge"]
    assert [account.repeated for account in accounts] == [0, 1]
    other = "2026-03-02,MPESA_TZ,B1,,Settlement,9800"
    with pytest.raises(InputRefused, match="on every line or on none"):
        read(tmp_path, paid, other)


def test_a_mapping_of_a_statement_knows_charges_and_no_other_kind() -> None:
    made = to_mapping({"statement": {"kinds": {"charge": ["Monthly fee"]}}}, "m.toml")
    assert made == Mapping(statement=Layout(kinds={"charge": ("Monthly fee",)}))
    with pytest.raises(InputRefused, match="no such kind: refund, in the statement"):
        to_mapping({"statement": {"kinds": {"refund": ["Refund"]}}}, "m.toml")


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({}, "settlement_charge_again"),
        ({"channel": "TIGO_TZ"}, "settlement_charge"),
        ({"channel": None}, "settlement_charge"),
        ({"collection_id": "col_1"}, "settlement_charge"),
        ({"batch_id": "B2"}, "settlement_charge"),
        ({"currency": "KES"}, "settlement_charge"),
        ({"net": -501}, "settlement_charge"),
        ({"day": date(2026, 3, 28)}, "settlement_charge"),
    ],
    ids=str,
)
def test_a_charge_stands_twice_where_all_that_it_says_does(
    other: dict[str, Any], code: str
) -> None:
    one = {"channel": "MPESA_TZ", "currency": "TZS", "batch_id": "B1", "net": -500, "fee": None}
    one |= {"collection_id": None, "gross": None, "day": date(2026, 3, 27), "kind": "charge"}
    lines = [{**one, "line_no": 1}, {**one, **other, "line_no": 2}]
    found = settlement.match(
        columns.empty(COLLECTIONS), statement_of(lines), period=period("2026-03")
    )
    codes = dict(zip(found.rows["line_no"], found.rows["break_code"], strict=True))
    assert codes == {1: "settlement_charge", 2: code}


def test_a_charge_that_was_read_before_counts_beside_a_payout_that_was() -> None:
    day = date(2026, 2, 27)
    one = {"channel": "MPESA_TZ", "currency": "TZS", "batch_id": "B1", "day": day, "fee": None}
    one |= {"collection_id": None, "gross": None}
    read = statement_of(
        [
            {**one, "line_no": 1, "net": -500, "kind": "charge"},
            {**one, "line_no": 2, "net": 9_800},
        ]
    )
    found = settlement.match(
        columns.empty(COLLECTIONS),
        read,
        period=period("2026-03"),
        known=settlement.Known(read=read),
    )
    assert set(found.rows["break_code"]) == {"settlement_read_before"}
    sums = found.bridge.set_index("line").loc["settlement_read_before"]
    assert (sums["rows"], sums["amount"], found.unexplained) == (2, 9_300, 0)


@pytest.fixture
def made() -> Chain:
    return chain(by_item=True)


def chain(*, by_item: bool) -> Chain:
    return world.chain(Random(5), months=2, by_item=by_item)  # noqa: S311 - a repeatable choice


def charge(made: Chain, number: int, day: date, name: str, net: int, **more: Any) -> None:
    """Let the provider charge something on a day, by the payout of a day, with a month's files."""
    line = {"batch_id": name, "business_day": day, "channel": "MPESA_TZ", "currency": "TZS"}
    money = {"gross": None, "fee": None, "net": net, "collection_id": None, "kind": "charge"}
    made.months[number].settlement.append({**line, **money, **more})


@pytest.mark.merge
@pytest.mark.parametrize("by_item", [False, True], ids=["by day", "by collection"])
def test_a_charge_is_taken_out_of_a_payout_and_needs_nobody(
    tmp_path: Path, empty_store: Path, *, by_item: bool
) -> None:
    made = chain(by_item=by_item)
    plain = sum(one.fee for month in made.payments for one in month if one.channel.endswith("_TZ"))
    day = made.months[0].first + 9 * DAY
    charge(made, 0, day, "POCHARGE1", -700)
    made.months[0].bank.append({**world.credited("POCHARGE1", -700, day + DAY), "kind": "other"})
    for close, held in close_and_book(made, tmp_path, empty_store):
        assert close.result.verdict is ReportVerdict.RECONCILED, close.result.sentence
        assert held["Clearing"] == owed(close)
    assert held["Charges"] == plain + 700


@pytest.mark.merge
def test_a_charge_that_the_statement_of_its_month_did_not_have_is_booked_when_it_is_read(
    made: Chain, tmp_path: Path, empty_store: Path
) -> None:
    late, later = made.months[0].last - DAY, made.months[1].first + DAY
    charge(made, 1, late, "POCHARGE1", -700)
    charge(made, 1, later, "POCHARGE2", -300)
    for name, net in (("POCHARGE1", -700), ("POCHARGE2", -300)):
        line = {**world.credited(name, net, later + DAY), "kind": "other"}
        made.months[1].bank.append(line)
    (march, before), (april, after) = close_and_book(made, tmp_path, empty_store)
    assert march.result.verdict is ReportVerdict.RECONCILED, march.result.sentence
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence
    assert (before["Clearing"], after["Clearing"]) == (owed(march), owed(april))
    fees = sum(one.fee for one in made.payments[1] if one.channel.endswith("_TZ"))
    assert after["Charges"] - before["Charges"] == fees + 1_000


@pytest.mark.merge
def test_a_charge_of_the_days_after_the_period_is_booked_by_its_own_close(
    made: Chain, tmp_path: Path, empty_store: Path
) -> None:
    later = made.months[1].first
    for number in (0, 1):
        charge(made, number, later, "POCHARGE1", -700)
    made.months[1].bank.append({**world.credited("POCHARGE1", -700, later + DAY), "kind": "other"})
    (march, before), (april, after) = close_and_book(made, tmp_path, empty_store)
    assert march.result.verdict is ReportVerdict.RECONCILED, march.result.sentence
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence
    fees = [sum(one.fee for one in month if one.channel.endswith("_TZ")) for month in made.payments]
    assert (before["Charges"], after["Charges"]) == (fees[0], sum(fees) + 700)


@pytest.mark.merge
def test_the_same_charge_twice_is_claimed_and_two_different_ones_are_not(
    made: Chain, tmp_path: Path, empty_store: Path
) -> None:
    day = made.months[0].first + 9 * DAY
    for net in (-700, -700, -600):
        charge(made, 0, day, "POCHARGE1", net)
    # Two without a batch may be for two transfers.
    for _ in range(2):
        charge(made, 0, day, "", -50)
    for name, net in (("POCHARGE1", -2_000), ("TRANSFERS", -100)):
        line = {**world.credited(name, net, day + DAY), "kind": "other"}
        made.months[0].bank.append(line)
    shutil.copy(empty_store, tmp_path / "store.db")
    closes = close_chain(made, tmp_path, tmp_path / "store.db")
    march = next(closes)
    assert march.result.verdict is ReportVerdict.BREAKS
    [item] = [one for one in march.items if one["standing"] == "break"]
    assert (item["break_code"], int(item["amount"])) == ("settlement_charge_again", 700)
    assert item["suggested_action"] == "Claim it, and accept it once it is settled."
    assert march.result.folder is not None
    with Store.open(tmp_path / "store.db") as store:
        items = decisions.load(store, march.result.folder)
        decisions.record(store, items, item["break_id"], status="accepted", note="given back")
    april = next(closes)
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence


@pytest.mark.parametrize("kind", ["", "charge"])
def test_a_line_below_zero_is_taken_back_until_it_is_mapped_as_a_charge(
    made: Chain, tmp_path: Path, empty_store: Path, kind: str
) -> None:
    day = made.months[0].first + 9 * DAY
    a_payment = None if kind else made.payments[0][0].collection
    charge(made, 0, day, "POCHARGE1", -700, kind=kind, collection_id=a_payment)
    made.months[0].bank.append({**world.credited("POCHARGE1", -700, day + DAY), "kind": "other"})
    shutil.copy(empty_store, tmp_path / "store.db")
    march = next(iter(close_chain(made, tmp_path, tmp_path / "store.db")))
    wrong = [one for one in march.items if one["standing"] == "break"]
    if kind:
        assert (march.result.verdict, wrong) == (ReportVerdict.RECONCILED, [])
        return
    assert [one["break_code"] for one in wrong] == ["settlement_taken_back"]
    assert "map the line as a charge" in wrong[0]["suggested_action"]
