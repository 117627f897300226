"""The month-end run: one verdict, the same bytes twice, late facts as a delta."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.payments import by_event, watch
from tests.kusanya_books import said_otherwise

import kusanya_books as reconcile
from kusanya.errors import ConfigurationError, InputRefused, PackRefused
from kusanya.intents.ruling import ruled
from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import CLOSED
from kusanya_books.judge import report
from kusanya_books.judge.report import CloseResult
from kusanya_books.pack import close, late_changes
from kusanya_books.read import earlier_pack, load
from kusanya_books.request.close_request import CloseRequest

pytestmark = pytest.mark.usefixtures("no_settings")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
HEADER = "reference,amount,currency,booked_at\n"
MARCH: dict[str, Any] = {"period": "2026-03-01..2026-03-31", "mode": "live"}


class ClosedMonth(NamedTuple):
    """A closed month: `home` holds its store.db and ledger.csv, `folder` its pack."""

    home: Path
    result: CloseResult
    folder: Path
    said: list[str]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> ClosedMonth:
    """Return a month of five payments with books that agree."""
    home = tmp_path_factory.mktemp("closed")
    with Store.open(home / "store.db") as opened:
        for number in range(1, 6):
            opened.record(paid(number))
    watch(home / "store.db")
    said: list[str] = []
    options = {**MARCH, "store": str(home / "store.db"), "ledger": agreeing(home)}
    result = reconcile.run(CloseRequest(**options), out=home / "out", progress=said.append)
    assert result.folder is not None
    return ClosedMonth(home, result, result.folder, said)


@pytest.fixture
def store(closed: ClosedMonth, tmp_path: Path) -> Iterator[Store]:
    """Return a copy of the closed month's store, which a test may add to."""
    shutil.copy(closed.home / "store.db", tmp_path / "store.db")
    with Store.open(tmp_path / "store.db") as opened:
        yield opened


def paid(number: int, at: datetime | None = None, **fields: Any) -> Observation:
    created = at or NOON + timedelta(hours=number)
    return by_event(number, created, **{"amount": 1_000 * number, "fee": 18 * number, **fields})


def books(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "ledger.csv"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def agreeing(tmp_path: Path) -> str:
    return books(
        tmp_path,
        *(f"R-{n},{1_000 * n},TZS,2026-03-05T{12 + n:02d}:00:30+03:00" for n in range(1, 6)),
    )


def test_books_that_agree_are_reconciled_and_the_same_run_is_the_same_bytes(
    closed: ClosedMonth, store: Store, tmp_path: Path
) -> None:
    options = {**MARCH, "store": str(tmp_path / "store.db"), "ledger": agreeing(tmp_path)}
    again = reconcile.run(CloseRequest(**options), out=tmp_path / "two")
    first = closed.result
    assert (first.verdict, first.exit_code, first.breaks) == ("reconciled", 0, 0)
    assert "agree" in first.sentence
    assert first.run_id == again.run_id
    assert again.folder is not None
    names = sorted(path.relative_to(closed.folder) for path in closed.folder.rglob("*.*"))
    assert [str(name) for name in names][-9:] == [
        "earned.parquet",
        "manifest.json",
        "open_items.parquet",
        "open_lines.parquet",
        "open_movements.parquet",
        "open_payouts.parquet",
        "pack.xlsx",
        "report.html",
        "settlement_lines.parquet",
    ]
    for name in names:
        assert (closed.folder / name).read_bytes() == (again.folder / name).read_bytes(), name
    assert closed.said[:2] == ["reading the books", "reading collections"]
    assert closed.said[-1] == "writing the pack: manifest.json"
    manifest = json.loads((closed.folder / "manifest.json").read_text())
    assert manifest["files"]["pack.xlsx"]["bytes"] == (closed.folder / "pack.xlsx").stat().st_size
    assert "tmp" not in json.dumps(first.to_dict()["by_code"])


@pytest.mark.merge
def test_the_same_store_in_another_place_gives_the_same_bytes_and_the_run_may_be_repeated(
    closed: ClosedMonth, tmp_path: Path
) -> None:
    home = closed.home
    shutil.copy(home / "store.db", tmp_path / "shop.db")
    request = CloseRequest(
        **MARCH, store=str(tmp_path / "shop.db"), ledger=str(home / "ledger.csv")
    )
    again = reconcile.run(request, out=home / "out")
    assert (closed.result.exit_code, again.sentence) == (0, closed.result.sentence)
    assert again.folder == closed.folder
    for path in closed.folder.rglob("*.*"):
        for place in (home, tmp_path):
            assert str(place).encode() not in path.read_bytes(), path.name


@pytest.mark.merge
def test_a_break_is_exit_one_unless_it_is_within_the_limit(store: Store, tmp_path: Path) -> None:
    options: dict[str, Any] = {"mode": "live", "period": "2026-03"}
    options["store"] = str(tmp_path / "store.db")
    options["ledger"] = books(tmp_path, "R-1,1000,TZS,2026-03-05T13:00:30+03:00")
    # Something heard later: what is still missing then is not on its way any more.
    store.record(paid(6, status="failed", at=NOON + timedelta(days=15)))
    made = close.prepare(CloseRequest(**options))
    out = str(tmp_path / "out")
    found = close.finish(made, out=out)
    assert (found.verdict, found.exit_code, found.breaks) == ("breaks", 1, 4)
    assert found.by_code == {"missing_in_ledger": 4}
    assert found.unexplained == 0
    within = close.finish(close.prepare(CloseRequest(**options, max_breaks=4)), out=out)
    assert (within.verdict, within.exit_code) == ("reconciled", 0)
    assert within.run_id != found.run_id


def test_a_rejected_row_closes_nothing_and_stands_in_the_pack(store: Store, tmp_path: Path) -> None:
    ledger = books(tmp_path, "R-1,10.5,TZS,2026-03-05", "R-2,x,TZS,2026-03-05")
    request = CloseRequest(**MARCH, store=str(tmp_path / "store.db"), ledger=ledger)
    found = reconcile.run(request, out=tmp_path / "out")
    assert (found.verdict, found.exit_code) == ("not closed", 1)
    assert found.sentence.startswith("Not closed: 2 input row(s) could not be read")
    assert "amount is not a whole number" in found.sentence
    assert ", and 1 more on the page unread" in found.sentence
    assert found.folder is not None
    assert "Not closed: do not sign." in (found.folder / "report.html").read_text(encoding="utf-8")
    unread = (found.folder / "csv" / "unread.raw.csv").read_text(encoding="utf-8").splitlines()
    assert len(unread) == 3
    bridge = (found.folder / "csv" / "bridge.raw.csv").read_text(encoding="utf-8").splitlines()
    assert bridge[-1].split(",")[1:3] == ["unread", "2"]


@pytest.mark.merge
@pytest.mark.parametrize(("states", "apart"), [(15_000, "0"), (15_500, "500")])
def test_what_was_read_is_held_against_the_total_that_the_file_states(
    store: Store, tmp_path: Path, states: int, apart: str
) -> None:
    agreeing(tmp_path)
    with (tmp_path / "ledger.csv").open("a", encoding="utf-8") as file:
        file.write(f"Total,{states},,\n")
    ledger = str(tmp_path / "ledger.csv")
    request = CloseRequest(**MARCH, store=str(tmp_path / "store.db"), ledger=ledger)
    found = reconcile.run(request, out=tmp_path / "out")
    assert found.folder is not None
    text = (found.folder / "csv" / "control_totals.raw.csv").read_text(encoding="utf-8")
    head, line = (row.split(",") for row in text.splitlines())
    said = dict(zip(head, line, strict=True))
    assert (said["lines"], said["amount_read"], said["file_total"]) == ("5", "15000", str(states))
    assert said["difference"] == apart


def test_a_total_past_63_bits_closes_nothing_and_names_the_row(
    store: Store, tmp_path: Path
) -> None:
    store.record(paid(7, amount=2**63 - 1))
    request = CloseRequest(**MARCH, store=str(tmp_path / "store.db"), ledger=agreeing(tmp_path))
    found = reconcile.run(request, out=tmp_path / "out")
    assert found.verdict == "failed"
    assert "the largest amount of collection col_7 is 9,223,372,036,854,775,807" in found.sentence
    assert "the largest amount of ledger row 6 is 5,000" in found.sentence


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"store": "nowhere.db"}, "nowhere.db"), ({"ledger": "none.csv"}, "none.csv cannot be read")],
)
def test_what_cannot_be_read_is_a_failed_run_in_one_line(
    store: Store, tmp_path: Path, wrong: dict[str, str], says: str
) -> None:
    options = {**MARCH, "store": str(tmp_path / "store.db"), "ledger": agreeing(tmp_path)}
    found = reconcile.run(CloseRequest(**{**options, **wrong}), out=tmp_path / "out")
    assert found.verdict == "failed"
    assert says in found.sentence
    assert "\n" not in found.sentence


def test_what_the_caller_got_wrong_is_an_error_of_usage(store: Store, tmp_path: Path) -> None:
    path, out = str(tmp_path / "store.db"), tmp_path / "out"
    with pytest.raises(ConfigurationError, match="before it begins"):
        reconcile.run(CloseRequest(store=path, period="2026-03-02..2026-03-01"), out=out)
    with pytest.raises(ConfigurationError, match="journal ends"):
        reconcile.run(CloseRequest(**MARCH, store=path, as_of=99), out=out)
    with pytest.raises(ConfigurationError, match="name the period's days"):
        reconcile.run(CloseRequest(store=path, carry=True), out=out)


def test_without_a_ledger_nothing_is_proven(store: Store, tmp_path: Path) -> None:
    found = reconcile.run(
        CloseRequest(**MARCH, store=str(tmp_path / "store.db")), out=tmp_path / "out"
    )
    assert found.verdict == "not proven"
    assert "no ledger was given" in found.sentence
    assert found.folder is not None
    assert "not proven: no ledger" in (found.folder / "report.html").read_text()


@pytest.mark.merge
def test_late_facts_leave_a_closed_run_alone_and_are_the_next_runs_delta(
    closed: ClosedMonth, store: Store, tmp_path: Path
) -> None:
    options = {**MARCH, "store": str(tmp_path / "store.db"), "ledger": agreeing(tmp_path)}
    position = store.feed.head()
    store.record(paid(9, at=NOON + timedelta(hours=9)))
    store.record(paid(1, status="failed", failure_code="declined", at=NOON + timedelta(hours=1)))
    again = reconcile.run(CloseRequest(**options, as_of=position), out=tmp_path / "again")
    assert again.run_id == closed.result.run_id
    assert again.folder is not None
    assert (closed.folder / "manifest.json").read_bytes() == (
        again.folder / "manifest.json"
    ).read_bytes()
    late = said_otherwise.delta(closed.folder, CloseRequest(store=options["store"]))
    changes = late[["key", "change", "field", "before", "now", "amount_effect", "fee_effect"]]
    rows = changes.astype("object").where(changes.notna(), None).to_numpy().tolist()
    assert ["col_1", "changed", "status", "succeeded", "contradiction", -1_000, -18] in rows
    assert ["col_9", "added", "status", None, "succeeded", 9_000, 162] in rows
    assert late["amount_effect"].sum() == 8_000
    assert set(late["closed_run_id"]) == {closed.result.run_id}
    april = {**options, "period": "2026-04", "previous": str(closed.folder)}
    carried = reconcile.run(CloseRequest(**april), out=tmp_path / "april")
    assert carried.folder is not None
    assert "col_9" in (carried.folder / "csv" / "late.csv").read_text()


def open_of(result: CloseResult) -> list[tuple[str, str, int]]:
    """Return code, collection and amount of what a pack leaves open in the books."""
    assert result.folder is not None
    earlier = earlier_pack.read(result.folder).carried
    assert earlier is not None
    items = earlier.items
    mine = items[(items["leg"] == "books") & (items["standing"] == "break")]
    return [
        (row.break_code, str(row.collection_id), int(row.amount)) for row in columns.records(mine)
    ]


def close_next(
    store: Store,
    after: Path | None,
    month: int,
    tmp_path: Path,
    *lines: str,
    has_books: bool = True,
) -> CloseResult:
    """Close a month that follows a pack: one payment, and books of it and of `lines`."""
    at = datetime(2026, month, 9, 9, tzinfo=UTC)
    store.record(paid(10 * month, at=at))
    own = f"R-{10 * month},{10_000 * month},TZS,{at:%Y-%m-%d}T12:00:30+03:00"
    request = CloseRequest(
        store=str(tmp_path / "store.db"),
        mode="live",
        period=f"2026-{month:02}",
        ledger=books(tmp_path, own, *lines) if has_books else "",
        previous=str(after),
    )
    return reconcile.run(request, out=tmp_path / "packs")


@pytest.mark.merge
@pytest.mark.parametrize(
    "has_books",
    [
        pytest.param(True, id="with books"),
        pytest.param(False, id="without books", marks=pytest.mark.ci),
    ],
)
def test_a_success_that_is_none_any_more_stays_open_until_the_books_take_it_back(
    store: Store, closed: ClosedMonth, tmp_path: Path, *, has_books: bool
) -> None:
    failed = paid(1, status="failed", failure_code="declined", at=NOON + timedelta(hours=1))
    store.record(failed)
    april = close_next(store, closed.folder, 4, tmp_path, has_books=has_books)
    may = close_next(store, april.folder, 5, tmp_path, has_books=has_books)
    seen = store.collections.observations("col_1", Mode.LIVE)
    fact = ruled(failed.collection, seen, mode=Mode.LIVE, now=datetime(2026, 6, 8, tzinfo=UTC))
    store.collections.rule(fact, why="the service says so", actor="asha")
    june = close_next(store, may.folder, 6, tmp_path)
    contradicted, unpaid = ("contradiction", "col_1", 1_000), ("status_mismatch", "col_1", 1_000)
    ends = [open_of(made) for made in (april, may, june)]
    assert ends == [[contradicted], [contradicted], [unpaid]]
    back = "R-1,-1000,TZS,2026-07-02T12:00:00+03:00"
    assert open_of(close_next(store, june.folder, 7, tmp_path, back)) == []


@pytest.mark.merge
def test_what_is_heard_of_a_month_after_the_next_one_was_closed_stays_open_too(
    store: Store, closed: ClosedMonth, tmp_path: Path
) -> None:
    april = close_next(store, closed.folder, 4, tmp_path)
    store.record(paid(7, at=NOON))
    store.record(paid(1, status="failed", at=NOON + timedelta(hours=1)))
    may = close_next(store, april.folder, 5, tmp_path)
    june = close_next(store, may.folder, 6, tmp_path)
    said = [sorted((of, amount) for _, of, amount in open_of(made)) for made in (april, may, june)]
    lacks = [("col_1", 1_000), ("col_7", 7_000)]
    assert said == [[], lacks, lacks]


@pytest.mark.merge
def test_what_is_heard_of_the_first_day_of_the_last_pack_is_one_change(
    store: Store, closed: ClosedMonth, tmp_path: Path
) -> None:
    april = close_next(store, closed.folder, 4, tmp_path, has_books=False)
    assert april.folder is not None
    known = json.loads((april.folder / "manifest.json").read_text())[earlier_pack.COMPARED]
    assert [(one["first"], one["books"]) for one in known] == [
        ("2026-03-01", True),
        ("2026-04-01", False),
    ]
    store.record(paid(6, at=NOON.replace(day=31)))
    store.record(paid(41, at=datetime(2026, 4, 1, 9, tzinfo=UTC)))
    late = said_otherwise.delta(april.folder, CloseRequest(store=str(tmp_path / "store.db")))
    assert set(late["key"]) == {"col_6", "col_41"}
    assert not late.duplicated(["key", "field"]).any()
    assert late["amount_effect"].sum() == 47_000


@pytest.mark.merge
def test_a_payment_of_which_another_sum_was_heard_since_stays_open_in_every_month(
    store: Store, closed: ClosedMonth, tmp_path: Path
) -> None:
    store.record(paid(1, amount=900, at=NOON + timedelta(hours=1)))
    april = close_next(store, closed.folder, 4, tmp_path)
    may = close_next(store, april.folder, 5, tmp_path)
    for made in (april, may):
        assert open_of(made) == [("contradiction", "col_1", 1_000)]


def test_a_folder_that_is_no_pack_or_of_another_store_is_refused(
    closed: ClosedMonth, store: Store, tmp_path: Path
) -> None:
    options = {**MARCH, "store": str(tmp_path / "store.db"), "ledger": agreeing(tmp_path)}
    found = reconcile.run(CloseRequest(**options, previous=str(tmp_path)), out=tmp_path / "out")
    assert found.verdict == "failed"
    assert "not the folder of a pack" in found.sentence
    with Store.open(tmp_path / "other.db"):
        pass
    options["store"] = str(tmp_path / "other.db")
    found = reconcile.run(
        CloseRequest(**options, previous=str(closed.folder)), out=tmp_path / "out"
    )
    assert "another store" in found.sentence


@pytest.mark.merge
@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"mode": "test"}, "is of live mode: name a pack of test"),
        ({"cutoff": "02:00"}, "turned its days at 00:00, this period does at 02:00"),
        ({"cutoff": "-00:01"}, "turned its days at 00:00, this period does at -00:01"),
        ({"period": "2026-02"}, "name the pack of a period before 2026-02-01"),
        ({"period": "2026-03"}, "name the pack of a period before 2026-03-01"),
        ({"period": "2026-02-27..2026-04-30"}, "name the pack of a period before 2026-02-27"),
        ({"period": "2026-03-02..2026-03-31"}, ""),
        ({"entity": "Duka"}, ""),
    ],
)
def test_a_period_follows_the_pack_of_one_before_it_with_the_same_days_alone(
    closed: ClosedMonth, store: Store, tmp_path: Path, asked: dict[str, str], why: str
) -> None:
    april = CloseRequest(
        period="2026-04",
        mode="live",
        store=str(tmp_path / "store.db"),
        previous=str(closed.folder),
    )
    found = reconcile.run(msgspec.structs.replace(april, **asked), out=tmp_path / "out")
    assert (found.verdict == "failed") is bool(why)
    assert why in found.sentence
    assert (tmp_path / "out").exists() is not bool(why)


@pytest.mark.merge
def test_a_pack_of_another_entity_is_no_earlier_period(closed: ClosedMonth, tmp_path: Path) -> None:
    shutil.copytree(closed.home, tmp_path / "home")
    options: dict[str, Any] = {"mode": "live", "store": str(tmp_path / "home" / "store.db")}
    first = reconcile.run(CloseRequest(**options, period="2026-03", entity="Duka"), out=tmp_path)
    request = CloseRequest(**options, period="2026-04", previous=str(first.folder))
    for entity, is_refused in (("Duka", False), ("", False), ("Soko", True)):
        asked = msgspec.structs.replace(request, entity=entity)
        found = reconcile.run(asked, out=tmp_path / "out")
        assert ("is of another entity's books: name a pack of Soko" in found.sentence) is is_refused


@pytest.mark.merge
@pytest.mark.parametrize("lacks", ["what was compared", "a column of its items"])
def test_a_pack_of_an_older_version_is_no_earlier_period(
    store: Store, tmp_path: Path, lacks: str
) -> None:
    made = report.report(
        load.inputs(CloseRequest(store=str(tmp_path / "store.db"), mode="live", period="2026-03"))
    )
    first = close.pack(made, out=tmp_path / "out")
    assert first.folder is not None
    if lacks == "what was compared":
        path = first.folder / "manifest.json"
        manifest = json.loads(path.read_text())
        del manifest[earlier_pack.COMPARED]
        path.write_text(json.dumps(manifest))
    else:
        drop_column(first.folder, earlier_pack.ITEMS_FILE, "suspended")
    with pytest.raises(InputRefused, match="an older version made this pack; close its period"):
        earlier_pack.read(first.folder)


def drop_column(folder: Path, name: str, column: str) -> None:
    """Let a file of a pack be as a version wrote it that did not know a column."""
    path, file = folder / "manifest.json", folder / name
    manifest = json.loads(path.read_text())
    pq.write_table(pq.read_table(file).drop_columns([column]), file)
    data = file.read_bytes()
    manifest["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    path.write_text(json.dumps(manifest))


@pytest.mark.merge
def test_a_pack_whose_payouts_name_no_file_is_read_as_of_one(tmp_path: Path) -> None:
    made = report.report(load.inputs(CloseRequest(period="2026-03")))
    folder = close.pack(made, out=tmp_path / "out").folder
    assert folder is not None
    before = earlier_pack.read(folder).carried.settlement_lines
    assert before is not None
    assert len(before)
    drop_column(folder, earlier_pack.SETTLEMENT_FILE, "input")
    drop_column(folder, earlier_pack.PAYOUTS_FILE, "input")
    after = earlier_pack.read(folder).carried.settlement_lines
    assert after is not None
    pd.testing.assert_frame_equal(after, before.assign(input=after["input"])[after.columns])
    assert set(after["input"]) == {""}


@pytest.mark.merge
def test_a_pack_that_was_edited_is_not_overwritten(store: Store, tmp_path: Path) -> None:
    made = report.report(
        load.inputs(CloseRequest(store=str(tmp_path / "store.db"), mode="live", period="2026-03"))
    )
    first = close.pack(made, out=tmp_path / "out")
    assert first.folder is not None
    assert close.pack(made, out=tmp_path / "out").folder == first.folder
    (first.folder / "manifest.json").write_text("{}")
    with pytest.raises(PackRefused, match="differs"):
        close.pack(made, out=tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [first.folder.name]


def test_a_pack_that_cannot_be_written_leaves_nothing(store: Store, tmp_path: Path) -> None:
    made = report.report(
        load.inputs(CloseRequest(store=str(tmp_path / "store.db"), mode="live", period="2026-03"))
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(PackRefused, match="cannot write"):
        close.pack(made, out=tmp_path / "file")


states = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["succeeded", "failed", "created"]),
        st.integers(0, 2**53 + 1),
        st.one_of(st.none(), st.dates(date(2026, 3, 1), date(2026, 3, 31))),
    ),
    unique_by=lambda row: row[0],
    max_size=3,
)


def frame_of(rows: list[Any]) -> pd.DataFrame:
    return columns.frame(
        CLOSED,
        {
            "id": [row[0] for row in rows],
            "status": [row[1] for row in rows],
            "amount": [row[2] for row in rows],
            "fee": [row[2] // 7 for row in rows],
            "business_day": pd.array(
                [None if row[3] is None else pd.Timestamp(row[3]) for row in rows],
                dtype="datetime64[us]",
            ),
            "created_day": [pd.Timestamp("2026-03-01")] * len(rows),
            "seq": [1] * len(rows),
            "contradictions": [0] * len(rows),
            **{name: [None] * len(rows) for name in ("failure_code", "channel")},
            **{name: ["x"] * len(rows) for name in ("reference", "mode", "currency")},
        },
    )


@pytest.mark.scale(15, 150, 1_000)
def test_closed_and_delta_make_the_present(rounds: int) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(states, states)
    def holds(before: list[Any], now: list[Any]) -> None:
        late = late_changes.compare(frame_of(before), frame_of(now), closed_run_id="r")
        known = {row[0]: {"status": row[1], "amount": str(row[2])} for row in before}
        for row in late.itertuples():
            if row.change == "removed":
                known.pop(str(row.key), None)
            elif row.field in {"status", "amount"}:
                known.setdefault(str(row.key), {})[str(row.field)] = str(row.now)
        assert known == {row[0]: {"status": row[1], "amount": str(row[2])} for row in now}

        def gross(rows: list[Any]) -> int:
            return sum(row[2] for row in rows if row[1] == "succeeded")

        assert late["amount_effect"].sum() == gross(now) - gross(before)

    holds()
