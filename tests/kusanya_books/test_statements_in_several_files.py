"""Statements that come in several files, a day, a week or a channel each: all in one close."""

import csv
from collections.abc import Sequence
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kit.accounting_shop import FEE, Shop, day

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import STATEMENT
from kusanya_books.match import settlement
from kusanya_books.read import load, mapped_files
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
HEADER = "batch_id,business_day,channel,currency,net,collection_id"
BY_ITEM = pytest.mark.parametrize("by_item", [False, True], ids=["by day", "by item"])


class Provider:
    """A shop with a payment a day, and the provider's lines of them."""

    def __init__(self, home: Path, *, by_item: bool, days: int = 4) -> None:
        self.shop = Shop(home)
        self.days = day(0), day(days - 1)
        paid = [self.shop.pay(day(number), 1_000 + number) for number in range(days)]
        self.lines = [
            f"P{one.number},{one.day},MPESA_TZ,TZS,{one.amount - FEE},"
            + (f"col_{one.number}" if by_item else "")
            for one in paid
        ]

    def write(self, name: str, *lines: str, header: str = HEADER) -> str:
        """Write a file of lines, and return its path."""
        path = self.shop.home / name
        path.write_text("\n".join([header, *lines, ""]))
        return str(path)

    def close(self, files: Sequence[str]) -> Path:
        """Close the days with these files; none of the payouts is still on its way."""
        return self.shop.close(*self.days, statement=files)

    def request(self, files: Sequence[str]) -> CloseRequest:
        """Return the request of such a close."""
        store, period = str(self.shop.home / "store.db"), f"{self.days[0]}..{self.days[1]}"
        return CloseRequest(store=store, mode="live", period=period, statement=files)


def rows_of(folder: Path, page: str) -> list[dict[str, str]]:
    """Return the rows of a page of a pack."""
    with (folder / "csv" / f"{page}.raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def codes_of(folder: Path) -> list[tuple[str, str, str, str]]:
    """Return each row of the payouts that needs a look, with the file and the line of it."""
    return [
        (row["break_code"], row["batch_id"], row["input"], row["line_no"])
        for row in rows_of(folder, "settlement")
        if row["break_code"] != "settled"
    ]


def matched_in(folder: Path) -> dict[str, str]:
    """Return how many lines of each file agree."""
    return {row["input"]: row["rows_matched"] for row in rows_of(folder, "accounted")}


@pytest.mark.merge
@BY_ITEM
def test_files_of_days_are_one_statement_whose_lines_are_named_by_file(
    tmp_path: Path, *, by_item: bool
) -> None:
    made = Provider(tmp_path, by_item=by_item)
    files = [made.write(f"d{at}.csv", line) for at, line in enumerate(made.lines[:3])]
    folder = made.close(files)
    assert codes_of(folder) == [("settlement_missing", "", "", "")]
    paid = sum(1_000 + at - FEE for at in range(3))
    assert made.shop.holds("Bank") == paid
    assert matched_in(folder) == {f"statement d{at}.csv": "1" for at in range(3)}


@pytest.mark.merge
@BY_ITEM
def test_a_line_that_two_files_have_pays_once_in_whatever_order_they_are_given(
    tmp_path: Path, *, by_item: bool
) -> None:
    made = Provider(tmp_path, by_item=by_item)
    files = [made.write(f"d{at}.csv", *made.lines[at : at + 2]) for at in range(3)]
    matched = []
    for given in permutations(files):
        folder = made.close(given)
        assert codes_of(folder) == []
        matched.append(matched_in(folder))
        skipped = [
            (row["input"], row["row"], row["reason"])
            for row in rows_of(folder, "remarks")
            if row["verdict"] == "skipped"
        ]
        assert sorted(skipped) == [
            ("statement d1.csv", "2", "d0.csv has the same line: 3"),
            ("statement d2.csv", "2", "d1.csv has the same line: 3"),
        ]
    assert matched == [
        {"statement d0.csv": "2", "statement d1.csv": "1", "statement d2.csv": "1"}
    ] * len(matched)
    assert made.shop.holds("Bank") == sum(1_000 + at - FEE for at in range(4))


@pytest.mark.merge
@BY_ITEM
def test_what_a_file_says_twice_itself_is_paid_twice_though_another_one_says_it_too(
    tmp_path: Path, *, by_item: bool
) -> None:
    made = Provider(tmp_path, by_item=by_item, days=1)
    [line] = made.lines
    first, second = made.write("a.csv", line), made.write("b.csv", line, line)
    found = mapped_files.read(CloseRequest(statement=[first, second]))
    assert list(columns.check(found["statement"], STATEMENT).columns) == list(STATEMENT.columns)
    for given in ([first, second], [second, first]):
        folder = made.close(given)
        assert codes_of(folder) == [("settlement_duplicate", "P0", "b.csv", "3")]
        assert matched_in(folder) == {"statement a.csv": "1", "statement b.csv": "0"}


def test_a_night_that_is_given_a_file_more_remembers_the_lines_of_each(tmp_path: Path) -> None:
    made = Provider(tmp_path, by_item=False)
    early, late = made.lines[:2], made.lines[2:]
    made.days = day(0), day(1)
    made.close([made.write(f"d{at}.csv", line) for at, line in enumerate(early)])
    made.days = day(2), day(3)
    files = [made.write("d1.csv", *early[1:], late[0]), made.write("d2.csv", *late)]
    assert codes_of(made.close(files)) == [("settlement_read_before", "P1", "d1.csv", "2")]


def test_a_line_that_takes_back_in_a_file_of_its_own_is_a_line_of_the_statement(
    tmp_path: Path,
) -> None:
    made = Provider(tmp_path, by_item=True, days=2)
    back = f"B0,{day(0)},MPESA_TZ,TZS,{FEE - 1_000},col_0"
    files = [made.write("paid.csv", *made.lines), made.write("taken back.csv", back)]
    [(code, _, file, _)] = codes_of(made.close(files))
    assert (code, file) == ("settlement_taken_back", "paid.csv")
    # Both lines are of the unit that is short now.
    assert matched_in(made.close(files)) == {
        "statement paid.csv": "1", "statement taken back.csv": "0"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "what"), [("collection_id", "collections"), ("channel", "channels")]
)
def test_files_of_two_kinds_are_refused_with_what_to_do(
    tmp_path: Path, column: str, what: str
) -> None:
    made = Provider(tmp_path, by_item=True, days=2)
    bare = made.lines[1].replace(",col_1" if column == "collection_id" else "MPESA_TZ", ",")
    bare = bare.replace(",,,", ",,")
    files = [made.write("a.csv", made.lines[0]), made.write("b.csv", bare)]
    with pytest.raises(
        InputRefused, match=f"a.csv names {what} and statement b.csv does not: give"
    ):
        mapped_files.read(CloseRequest(statement=files))


def test_the_same_file_twice_is_refused_and_so_are_two_of_one_name(tmp_path: Path) -> None:
    made = Provider(tmp_path, by_item=False)
    first = made.write("a.csv", *made.lines)
    copy = made.write("a copy.csv", *made.lines)
    with pytest.raises(InputRefused, match=r"a\.csv was given twice"):
        mapped_files.read(CloseRequest(statement=[first, copy]))
    (tmp_path / "b").mkdir()
    other = made.write("b/a.csv", made.lines[0])
    with pytest.raises(InputRefused, match=r"two files are called a\.csv"):
        mapped_files.read(CloseRequest(statement=[first, other]))


def test_an_empty_file_beside_others_says_nothing(tmp_path: Path) -> None:
    made = Provider(tmp_path, by_item=True)
    folder = made.close([made.write("b.csv"), made.write("a.csv", *made.lines)])
    assert codes_of(folder) == []
    assert matched_in(folder) == {"statement a.csv": "4"}


@pytest.mark.parametrize("leg", ["statement", "operator", "bank"])
def test_one_file_may_be_named_without_a_list(leg: str) -> None:
    asked: dict[str, Any] = {leg: "a.csv"}
    assert CloseRequest(**asked).files(leg) == ["a.csv"]
    asked[leg] = ["a.csv", "", "b.csv"]
    assert CloseRequest(**asked).files(leg) == ["a.csv", "b.csv"]
    asked[leg] = ""
    assert CloseRequest(**asked).files(leg) == CloseRequest().files(leg) == []


def test_days_that_one_line_pays_are_grouped_by_the_line_of_their_file(tmp_path: Path) -> None:
    made = Provider(tmp_path, by_item=False)
    sums = [2 * 1_000 + 1 - 2 * FEE, 2 * 1_000 + 5 - 2 * FEE]
    files = [
        made.write(f"{at}.csv", f"W{at},{date_of(at)},MPESA_TZ,TZS,{net},")
        for at, net in enumerate(sums)
    ]
    found = settlement.of(load.inputs(made.request(files)))
    assert found is not None
    groups = zip(found.rows["business_day"].dt.date, found.rows["group_key"], strict=True)
    assert sorted(groups) == [(day(at), f"{at // 2}.csv line 2") for at in range(4)]


def date_of(week: int) -> date:
    """Return the last day of the first or the second two days."""
    return day(2 * week + 1)


MOVED = "at,receipt,amount,currency,channel,kind,balance"


def moved(made: Provider, name: str, *receipts: str) -> str:
    """Write a file of lines of an operator or a bank, each of another sum."""
    lines = [
        f"{day(0)} 12:0{at},{receipt},{100 + at},TZS,MPESA_TZ,other,{1_000 + 101 * at}"
        for at, receipt in enumerate("ABCD")
        if receipt in receipts
    ]
    return made.write(name, *lines, header=MOVED)


@pytest.mark.merge
@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_statements_that_overlap_make_one_pack_in_whatever_order_they_are_given(
    tmp_path: Path, leg: str
) -> None:
    made = Provider(tmp_path, by_item=True)
    files = [moved(made, "b.csv", "A", "B", "C"), moved(made, "a.csv", "C", "D")]
    asked: list[dict[str, Any]] = [{leg: files}, {leg: files[::-1]}]
    [folder] = {made.shop.close(*made.days, **one) for one in asked}
    assert {row["break_code"] for row in rows_of(folder, leg)} & {f"{leg}_line_again"} == set()
    assert {row["input"]: row["rows_read"] for row in rows_of(folder, "accounted")} == {
        "a.csv": "2", "b.csv": "2"
    }  # fmt: skip
    [remark] = rows_of(folder, "remarks")
    assert (remark["input"], remark["row"]) == (f"{leg} b.csv", "4")
    assert remark["reason"] == "a.csv has the same line: 2"


def test_a_statement_of_which_another_one_has_each_line_is_not_an_empty_one(tmp_path: Path) -> None:
    made = Provider(tmp_path, by_item=True)
    files = [moved(made, "a.csv", "A", "B"), moved(made, "b.csv", "B"), moved(made, "c.csv")]
    inputs = load.inputs(msgspec.structs.replace(made.request([]), operator=files))
    assert inputs.empty_statements == ("operator c.csv",)


@pytest.mark.parametrize("leg", ["operator", "bank"])
def test_of_lines_without_a_receipt_nobody_knows_whether_two_are_one(
    tmp_path: Path, leg: str
) -> None:
    made = Provider(tmp_path, by_item=True)
    line = f"{day(0)} 12:00,,-500,TZS,MPESA_TZ,charge,"
    files = [made.write(name, line, header=MOVED) for name in ("a.csv", "b.csv")]
    (made.shop.home / "b.csv").write_text(f"{MOVED}\n{line}\n\n")
    asked: dict[str, Any] = {leg: files}
    found = mapped_files.read(CloseRequest(**asked))
    assert found["movements"]["amount"].tolist() == [-500, -500]
    assert [account.repeated for account in found["quality"]] == [0, 0]
