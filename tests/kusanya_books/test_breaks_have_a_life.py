"""A break keeps its id from run to run, and what people say about it is in the next pack."""

import csv
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.kit.payments import polled, watch

import kusanya_books as reconcile
from kusanya.errors import InputRefused
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books.judge.report import CloseResult
from kusanya_books.pack import decisions
from kusanya_books.request.close_request import CloseRequest
from kusanya_console.cli.command_line import main

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def closed(
    papers_are_blank: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, CloseResult]:
    """Return the folder of a store whose month was closed with `BOOKS`, and how that ended."""
    home = tmp_path_factory.mktemp("closed")
    with Store.open(home / "store.db") as opened:
        for number in range(1, 5):
            phone = f"25575412345{number}"
            opened.record(polled(number, NOON + timedelta(hours=number), phone=phone))
        opened.record(polled(9, NOON + timedelta(days=20), status="failed"))
    watch(home / "store.db")
    return home, run(home, *BOOKS)


@pytest.fixture(autouse=True)
def store(closed: tuple[Path, CloseResult], tmp_path: Path) -> Iterator[Store]:
    """Return a copy of the store, which a test may add to."""
    shutil.copy(closed[0] / "store.db", tmp_path / "store.db")
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def first(closed: tuple[Path, CloseResult], tmp_path: Path) -> CloseResult:
    """Return the result of closing with `BOOKS`; its pack lies with the test's own."""
    home, ended = closed
    assert ended.folder is not None
    shutil.copytree(home / "packs", tmp_path / "packs")
    return msgspec.structs.replace(ended, folder=tmp_path / "packs" / ended.folder.name)


@pytest.fixture
def kusanya(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Kusanya:
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_STORE", f"sqlite:///{tmp_path / 'store.db'}")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kusanya", "breaks", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def run(folder: Path, *lines: str, **options: Any) -> CloseResult:
    path = folder / "books.csv"
    listed = "".join(f"{line}\n" for line in lines)
    path.write_text(f"reference,amount,currency,booked_at\n{listed}", encoding="utf-8")
    days = "2026-03-01..2026-03-31"
    plain = {"period": days, "mode": "live", "store": str(folder / "store.db")}
    out = options.pop("out", folder / "packs")
    request = CloseRequest(**{**plain, "ledger": str(path), **options})
    return reconcile.run(request, out=out)


def line(number: int, amount: int = 1_000) -> str:
    return f"R-{number},{amount},TZS,2026-03-05"


BOOKS = (line(1), line(2, 1_200), line(3))
"""R-2 is booked with another amount; R-4 is not booked."""


def ids(items: decisions.OpenItems) -> dict[str, str]:
    frame = items.frame
    return dict(zip(frame["reference"], frame["break_id"], strict=True))


def findings_of(ended: CloseResult) -> dict[str, tuple[int, int | None]]:
    return {row["finding"]: (row["rows"], row["amount"]) for row in ended.findings if row["rows"]}


def page(ended: CloseResult, name: str) -> list[dict[str, str]]:
    assert ended.folder is not None
    with (ended.folder / "csv" / f"{name}.raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.merge
def test_an_id_survives_other_books_and_another_verdict(
    store: Store, tmp_path: Path, first: CloseResult
) -> None:
    before = decisions.load(store, tmp_path / "packs")
    assert before.run_id == first.run_id
    assert sorted(before.frame["break_code"]) == ["amount_mismatch", "missing_in_ledger"]
    again = run(tmp_path, "R-77,5,TZS,2026-03-30", line(3), line(2, 1_300), line(1))
    assert again.folder is not None
    after = ids(decisions.load(store, again.folder))
    assert {name: after[name] for name in ("R-2", "R-4")} == ids(before)
    assert len(set(after.values())) == 3


def test_two_lines_alone_of_one_reference_have_two_ids(store: Store, tmp_path: Path) -> None:
    run(tmp_path, line(1), line(1), line(1), line(2), line(3), line(4))
    items = decisions.load(store, tmp_path / "packs").frame
    assert items["break_code"].tolist() == ["duplicate_in_ledger"] * 2
    assert items["break_id"].nunique() == 2


@pytest.mark.merge
def test_what_people_say_is_in_the_next_pack_and_the_first_is_still_the_same_bytes(
    store: Store, tmp_path: Path, first: CloseResult
) -> None:
    head = store.feed.head()
    items = decisions.load(store, tmp_path / "packs")
    decisions.record(
        store, items, ids(items)["R-2"], owner="juma", note="=cmd|' /C calc'!A0 ask 0754 123 987"
    )
    second = run(tmp_path, *BOOKS)
    assert second.run_id != first.run_id
    [row] = [row for row in page(second, "breaks") if row["reference"] == "R-2"]
    assert (row["status"], row["owner"]) == ("open", "juma")
    assert "754123987" not in row["note"].replace(" ", "")
    assert second.folder is not None
    assert "\n'=cmd" in (second.folder / "csv" / "open_items.csv").read_text().replace(",", "\n")
    # As of the position before, nobody had said anything: the same run, the same bytes.
    again = run(tmp_path, *BOOKS, as_of=head, out=tmp_path / "other")
    assert again.run_id == first.run_id
    for folder in (first.folder, again.folder):
        assert folder is not None
    assert (again.folder / "manifest.json").read_bytes() == (  # type: ignore[operator]
        first.folder / "manifest.json"  # type: ignore[operator]
    ).read_bytes()


@pytest.mark.merge
def test_the_verdict_counts_all_but_what_was_accepted_by_name(
    store: Store, tmp_path: Path, first: CloseResult
) -> None:
    def items_of() -> decisions.OpenItems:
        return decisions.load(store, tmp_path / "packs")

    assert findings_of(first) == {"breaks of the books": (2, 1_200)}
    accept: dict[str, Any] = {"status": "accepted", "note": "the shop's mistake"}
    decisions.record(store, items_of(), ids(items_of())["R-2"], **accept)
    one = run(tmp_path, *BOOKS)
    assert (one.exit_code, one.breaks, one.by_code) == (1, 1, {"missing_in_ledger": 1})
    assert findings_of(one) == {"breaks of the books": (1, 1_000), "accepted by name": (1, 200)}
    decisions.record(store, items_of(), ids(items_of())["R-4"], status="explained", note="late")
    assert run(tmp_path, *BOOKS).exit_code == 1
    decisions.record(store, items_of(), ids(items_of())["R-4"], **accept)
    both = run(tmp_path, *BOOKS)
    assert (both.verdict, both.exit_code, both.breaks) == ("reconciled", 0, 0)
    assert findings_of(both) == {"accepted by name": (2, 1_200)}
    who = store.audit.actor
    assert both.sentence == (
        "The bridge closes to zero, and nothing is left to do but for 2 accepted by "
        f"{who}, worth TZS 1,200."
    )


@pytest.mark.merge
def test_a_decision_ends_with_another_amount_and_when_it_is_taken_back(
    store: Store, tmp_path: Path, first: CloseResult
) -> None:
    items = decisions.load(store, tmp_path / "packs")
    assert items.run_id == first.run_id
    for id_ in ids(items).values():
        decisions.record(store, items, id_, status="accepted", note="the shop's mistake")
    # The decision was about 200 too much: another amount is another break.
    larger = run(tmp_path, line(1), line(2, 900_000), line(3))
    assert findings_of(larger)["breaks of the books"] == (1, 899_000)
    decisions.record(store, items, ids(items)["R-4"], status="open")
    assert findings_of(run(tmp_path, *BOOKS))["breaks of the books"] == (1, 1_000)


@pytest.mark.merge
def test_a_double_payment_that_is_accepted_is_no_refund_left(store: Store, tmp_path: Path) -> None:
    store.record(polled("2b", NOON + timedelta(days=2), reference="R-2", phone="255754123452"))
    books = [line(number) for number in range(1, 5)]
    assert findings_of(run(tmp_path, *books)) == {
        "breaks of the books": (1, 1_000),
        "double payments to refund, among the breaks": (1, 1_000),
    }
    items = decisions.load(store, tmp_path / "packs")
    decisions.record(store, items, ids(items)["R-2"], status="accepted", note="kept as credit")
    assert findings_of(run(tmp_path, *books)) == {"accepted by name": (1, 1_000)}


@pytest.mark.merge
def test_suspected_doubles_and_fees_can_be_accepted_too(store: Store, tmp_path: Path) -> None:
    store.record(polled(6, NOON + timedelta(hours=1, minutes=5), phone="255754123451"))
    tariff = tmp_path / "tariff.toml"
    tariff.write_text('[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nfee = 10\n')
    books = [*(line(number) for number in range(1, 5)), line(6)]
    ended = run(tmp_path, *books, tariff=str(tariff))
    assert findings_of(ended) == {
        "suspected double payments": (1, 1_000),
        "fees above the agreed tariff": (6, 48),
    }
    items = decisions.load(store, tmp_path / "packs")
    for break_id in items.frame["break_id"]:
        decisions.record(store, items, break_id, status="accepted", note="agreed by telephone")
    ended = run(tmp_path, *books, tariff=str(tariff))
    assert (ended.exit_code, findings_of(ended)) == (0, {"accepted by name": (7, 1_048)})


@pytest.mark.usefixtures("first")
def test_an_analyst_lists_notes_and_resolves(store: Store, kusanya: Kusanya) -> None:
    code, out, _ = kusanya("list")
    assert code == 0
    assert out.count("\n") == 3
    wrong = next(part for part in out.splitlines() if "amount_mismatch" in part)
    id_ = wrong.split()[0]
    assert "R-2" in wrong
    assert "TZS 200" in wrong
    code, out, _ = kusanya("note", id_[:6], "ask\x1b[31m 0754 123 987", "--owner", "juma")
    assert (code, out.split()[0]) == (0, id_)
    code, out, _ = kusanya("list", "--owner", "juma", "--json")
    [row] = json.loads(out)["data"]
    assert (row["break_id"], row["status"], row["amount"]) == (id_, "open", 200)
    code, out, _ = kusanya("list", "--owner", "juma")
    assert "\x1b" not in out
    assert "754 123 987" not in out
    code, out, _ = kusanya("resolve", id_, "--as", "to-be-booked", "--reason", "in April")
    assert (code, "to be booked by" in out) == (0, True)
    assert kusanya("list", "--status", "to-be-booked")[1].startswith(id_)
    assert kusanya("list", "--code", "missing_in_ledger", "--older-than", "900")[1].startswith("0 ")
    acts = [row.act for row in store.audit.page().rows]
    assert acts == ["resolve_break", "note_break"]


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("resolve", "ID", "--as", "accepted"), (2, "give the reason with --reason")),
        (("resolve", "ID", "--as", "done", "--reason", "x"), (2, "a status is open, explained")),
        (("note", "0000", "x"), (1, "has no open break 0000")),
        (("list", "--pack", "nowhere"), (2, "nowhere is no pack and holds none")),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    store: Store, kusanya: Kusanya, arguments: tuple[str, ...], wanted: tuple[int, str]
) -> None:
    code, said = wanted
    id_ = ids(decisions.load(store, Path("packs")))["R-2"]
    head = store.feed.head()
    ended, _, complaint = kusanya(*(id_ if part == "ID" else part for part in arguments))
    assert (ended, said in complaint, complaint.count("\n")) == (code, True, 1)
    assert store.feed.head() == head


@pytest.mark.usefixtures("first")
def test_a_pack_of_another_store_is_refused(store: Store, tmp_path: Path) -> None:
    with (
        Store.open(tmp_path / "other.db") as other,
        pytest.raises(InputRefused, match="made from this store"),
    ):
        decisions.load(other, tmp_path / "packs")
    assert store.breaks.histories(Mode.LIVE) == {}
