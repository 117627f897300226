"""Every query on both engines over the same generated month: the same frames, cell by cell."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.kit.payments import polled
from tests.kit.spark import spark_server
from tests.kusanya_books import said_otherwise
from tests.kusanya_books.both_engines import (
    EMPTY_AS_WELL,
    Month,
    equal,
    movements,
    queried,
    questions,
)

from kusanya.errors import ConfigurationError, FrameError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    COLLECTIONS,
    DELTA,
    LEDGER,
    RECEIPTS,
    STATEMENT,
    DType,
    Schema,
)
from kusanya_books.engine.duckdb_engine import DuckDbEngine
from kusanya_books.engine.engine import Dataset, Engine
from kusanya_books.engine.engines import open_engine
from kusanya_books.match import bank, ledger, operator, settlement
from kusanya_books.match.legs import Leg
from kusanya_books.pack import late_changes
from kusanya_books.read import load
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.store import elsewhere
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_console.cli.command_line import main

pytestmark = [
    pytest.mark.ci,
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="the group spark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java runtime"),
]
PAIR: Final = Schema("pair", {"name": DType.TEXT, "amount": DType.WHOLE})


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a real Spark, and return its address."""
    with spark_server(tmp_path_factory.mktemp("spark")) as found:
        yield found


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Month:
    made = sample_faults.month(rows=1_500, each=2)
    folder = tmp_path_factory.mktemp("month")
    for name, frame, schema in (
        ("collections", made.collections, COLLECTIONS),
        ("ledger", made.ledger, LEDGER),
    ):
        pq.write_table(columns.to_arrow(frame, schema), folder / f"{name}.parquet")
    return Month(made, folder)


@pytest.fixture(autouse=True)
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return what says how many rows a table held here may have: 0, so that Spark runs all."""
    from kusanya_books.engine import spark_engine

    def up_to(rows: int) -> None:
        monkeypatch.setattr(spark_engine, "HELD_ROWS", rows)

    up_to(0)
    return up_to


class QueryLog(msgspec.Struct):
    """Which query files ran on Spark."""

    texts: list[str] = []


@pytest.fixture(scope="module")
def query_log() -> Iterator[QueryLog]:
    from kusanya_books.engine.spark_engine import SparkEngine

    queries = QueryLog()
    own = SparkEngine._own

    def listening(self: Engine, sql: str) -> str:
        queries.texts.append(sql)
        return own(self, sql)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkEngine, "_own", listening)
        yield queries


@pytest.mark.parametrize("rows", [True, False], ids=["a month", "no row"])
def test_every_question_has_the_same_answer_on_both_engines(
    month: Month, address: str, query_log: QueryLog, rows: bool
) -> None:
    for name, answer in questions(month, rows=rows).items():
        found = equal(answer(""), answer(address))
        assert found or not rows or name in EMPTY_AS_WELL, name


@pytest.mark.parametrize(
    ("basis", "everything", "held_rows"),
    [
        pytest.param("gross", True, 0, id="all in the cluster"),
        pytest.param("net", False, 0, id="all in the cluster, net"),
        pytest.param("net", True, 60, id="some here"),
        pytest.param("gross", False, 100_000, id="what is small here"),
    ],
)
@pytest.mark.usefixtures("query_log")
def test_the_books_match_alike(
    month: Month,
    address: str,
    hold: Callable[[int], None],
    *,
    basis: str,
    everything: bool,
    held_rows: int,
) -> None:
    hold(held_rows)

    def match(engine: str) -> ledger.LedgerMatch:
        return ledger.match(
            month.collections(engine),
            month.ledger(engine),
            period=month.made.period,
            beside=ledger.Beside(other_mode=month.made.other_mode, intents=month.made.intents),
            basis=basis,
            everything=everything,
            pairs=True,
        )

    on_duckdb = match("")
    assert len(on_duckdb.rows["break_code"].unique()) >= 15
    assert equal(on_duckdb, match(address)) > 500


@pytest.mark.parametrize("item", [False, True], ids=["by day", "by collection"])
def test_the_statement_matches_alike(
    month: Month, address: str, query_log: QueryLog, item: bool
) -> None:
    lines = month.made.statement
    if item:
        won = month.made.collections.query("status == 'succeeded'").head(len(lines))
        named = lines.assign(collection_id=won["id"].array, net=won["amount"].array, batch_id="B")
        lines = columns.frame(STATEMENT, named)
    # A payout that an earlier period waits for is one of this statement's, placed on its day.
    owed = columns.frame(settlement.OWED, lines.head(1)[list(settlement.OWED.columns)])
    known = settlement.Known(owed=owed, settled_before=["AIRTEL_TZ"])
    first, second = (
        settlement.match(month.collections(engine), lines, period=month.made.period, known=known)
        for engine in ("", address)
    )
    assert not first.placed.empty
    assert equal(first, second) > 20


def test_statements_of_operators_and_banks_match_alike(
    month: Month, address: str, query_log: QueryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    span, lines = month.made.period, movements(month.made)
    known = {
        "collection_id": month.made.collections["id"].head(3),
        "receipt": ["T1", "T2", "t7"],
    }
    receipts = columns.frame(
        RECEIPTS, {name: known.get(name, [None] * 3) for name in RECEIPTS.columns}
    )

    def match(engine: str) -> tuple[Leg, Leg]:
        of_operator = operator.match(
            month.collections(engine),
            lines,
            period=span,
            receipts=receipts,
            intents=month.made.intents,
        )
        return of_operator, bank.match(lines, period=span)

    on_duckdb = match("")
    # A bank's leg is of frames alone, which no dataset sends elsewhere.
    monkeypatch.setattr(bank, "open_engine", lambda: open_engine(Dataset((), engine=address)))
    for first, second in zip(on_duckdb, match(address), strict=True):
        assert len(first.rows["break_code"].unique()) > 2
        assert equal(first, second) > 20
    # Beside no collection every payment that names one is looked up elsewhere.
    unmet = [
        elsewhere.unmet_movements(month.collections(engine, rows=False), lines, receipts)
        for engine in ("", address)
    ]
    assert equal(*unmet) > 0


def test_what_changed_since_an_earlier_close_is_reported_alike(
    month: Month, address: str, query_log: QueryLog
) -> None:
    now = questions(month)["closed"]("")
    before = now.iloc[:-3].copy()
    before.loc[before.index[::7], "status"] = "failed"
    before.loc[before.index[::11], "amount"] += 5
    before.loc[before.index[::13], "business_day"] = pd.NaT
    frames = {"before": (before, CLOSED), "now": (now, CLOSED)}
    first, second = (
        queried(engine, "close/delta", frames, DELTA, {"closed_run_id": "run"})
        for engine in ("", address)
    )
    assert equal(first, second) > 100


@pytest.mark.parametrize("basis", ["gross", "net"])
@pytest.mark.usefixtures("query_log")
def test_what_an_earlier_close_would_not_agree_with_now_is_carried_alike(
    address: str, monkeypatch: pytest.MonkeyPatch, basis: str
) -> None:
    def carry() -> EarlierPeriod:
        return said_otherwise.carried(basis=basis, operators={"MPESA_TZ": True})

    on_duckdb = carry()
    # Both sides lie in this process, so that no dataset sends the question elsewhere.
    there = Dataset((), engine=address)
    monkeypatch.setattr(late_changes, "open_engine", lambda *sides: open_engine(there, *sides))
    assert on_duckdb.otherwise_now
    assert on_duckdb.otherwise_at_operator
    assert equal(on_duckdb, carry()) > 20


@pytest.mark.usefixtures("query_log")
def test_the_command_writes_the_same_pack_on_spark(
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in os.environ if name.startswith("KUSANYA_")]:
        monkeypatch.delenv(name)
    (tmp_path / "empty.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "empty.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    paid_at = datetime(2026, 3, 5, 9, tzinfo=UTC)
    with Store.open(tmp_path / "shop.db") as store:
        for number in range(1, 60):
            status = "failed" if number % 9 == 0 else "succeeded"
            created = paid_at + timedelta(hours=number)
            store.record(polled(number, created, completed_at=None, status=status))
        store.parquet.write(tmp_path / "export", Mode.LIVE)
    (tmp_path / "books.csv").write_text(
        "reference,amount,currency,booked_at\n"
        + "".join(f"R-{number},{1_000 + number % 7},TZS,2026-03-05\n" for number in range(3, 62)),
        encoding="utf-8",
    )
    command = ["kusanya", "reconcile", "--mode", "live", "--period", "2026-03", "--entity", "Shop"]
    command += ["--store", str(tmp_path / "export"), "--ledger", str(tmp_path / "books.csv")]
    packs = []
    for name, engine in (("duckdb", ()), ("spark", ("--engine", address))):
        out = tmp_path / name
        monkeypatch.setattr(sys, "argv", [*command, "--out", str(out), *engine])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        assert "breaks" in capsys.readouterr().out
        packs.append({path.relative_to(out): path for path in out.rglob("*") if path.is_file()})
    assert len(packs[0]) > 50
    assert packs[0].keys() == packs[1].keys()
    for inside, path in packs[0].items():
        assert packs[1][inside].read_bytes() == path.read_bytes(), inside


def test_every_query_file_ran(query_log: QueryLog) -> None:
    if not query_log.texts:
        pytest.skip("it looks at what the tests before it asked: run the whole file")
    run = "\n".join(query_log.texts)
    folder = Path(str(files("kusanya_books.sql")))
    queries = {
        path: path.read_text(encoding="utf-8").splitlines() for path in folder.rglob("*.sql")
    }
    assert queries
    # A file with a placeholder is known by its longest line without one.
    known_by = {
        str(path.relative_to(folder)): max(
            (line for line in lines if not re.search("[{}]", line)), key=len
        )
        for path, lines in queries.items()
    }
    assert sorted(name for name, longest in known_by.items() if longest not in run) == []


@pytest.mark.parametrize("held_rows", [0, 10])
def test_totals_are_exact_and_past_63_bits_refused(
    address: str, hold: Callable[[int], None], held_rows: int
) -> None:
    hold(held_rows)
    total = "SELECT name, {} AS amount FROM pair GROUP BY name"
    with open_engine(Dataset((), engine=address)) as engine:
        amounts = [2**63 - 1, 2**53 + 1, -(2**53) - 1]
        pair = columns.frame(PAIR, {"name": ["a"] * 3, "amount": amounts})
        engine.register("pair", pair, PAIR)
        answer = engine.frame(total.format("sum(amount)::BIGINT"), PAIR)
        assert answer["amount"].tolist() == [2**63 - 1]
        with pytest.raises(FrameError, match="decimal"):
            engine.frame(total.format("sum(amount)"), PAIR)
        engine.run(f"CREATE TEMP TABLE sums AS {total.format('sum(amount)')}")
        exact = engine.frame("SELECT name, amount::BIGINT AS amount FROM sums", PAIR)
        assert exact["amount"].tolist() == [2**63 - 1]
        with pytest.raises(OverflowError):
            engine.run(f"CREATE TEMP TABLE over AS {total.format('(sum(amount) + 1)::BIGINT')}")
        with pytest.raises(OverflowError, match="pair: a total is past 63 bits"):
            engine.frame(total.format("(sum(amount) + 1)::BIGINT"), PAIR)
        with pytest.raises(OverflowError):
            engine.frame("SELECT name, amount + 1 AS amount FROM pair", PAIR)


def test_only_what_reads_no_table_of_the_cluster_is_asked_here(
    month: Month, address: str, hold: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[str] = []
    run = DuckDbEngine.run

    def listening(self: DuckDbEngine, sql: str, values: Mapping[str, Any] | None = None) -> None:
        here.append(sql)
        run(self, sql, values)

    monkeypatch.setattr(DuckDbEngine, "run", listening)
    hold(2)
    pair = columns.frame(PAIR, {"name": ["a", "b"], "amount": [1, 2]})
    with open_engine(Dataset((), engine=address)) as engine:
        engine.register("few", pair, PAIR)
        engine.register("many", pd.concat([pair, pair], ignore_index=True), PAIR)
        engine.run("CREATE TEMP VIEW seen AS SELECT name, amount FROM few")
        engine.run("CREATE TEMP TABLE doubled AS SELECT name, amount * 2 AS amount FROM seen")
        assert len(here) == 2
        engine.run("CREATE TEMP TABLE whole AS SELECT name, amount FROM many")
        engine.run("CREATE TEMP TABLE one AS SELECT min(name) AS name, 1 AS amount FROM many")
        engine.run(
            "CREATE TEMP TABLE both AS SELECT m.* FROM many AS m SEMI JOIN seen USING (name)"
        )
        numbered = "CREATE TEMP TABLE numbers AS SELECT {hash}(name) AS amount FROM few"
        engine.run(numbered)
        assert len(here) == 2
        engine.run("CREATE TEMP TABLE again AS SELECT * FROM doubled UNION ALL SELECT * FROM one")
        assert len(here) == 3
        answer = engine.frame("SELECT name, amount FROM again ORDER BY amount, name", PAIR)
        assert answer["amount"].tolist() == [1, 2, 4]
        both = "SELECT b.name, d.amount FROM both AS b INNER JOIN doubled AS d ON d.name = b.name"
        assert engine.frame(f"{both} ORDER BY 1", PAIR)["amount"].tolist() == [2, 2, 4, 4]


def test_parquet_of_other_types_is_refused(month: Month, address: str, tmp_path: Path) -> None:
    pq.write_table(columns.to_arrow(month.made.ledger, LEDGER), tmp_path / "l.parquet")
    with open_engine(Dataset((), engine=address)) as engine:
        for schema in (COLLECTIONS, Schema("other", {"amount": DType.TEXT})):
            with pytest.raises(FrameError, match="Parquet files"):
                engine.register("books", Dataset((tmp_path / "l.parquet",)), schema)


def test_an_engine_that_is_not_there_is_said_in_one_line() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        with pytest.raises(ConfigurationError, match="no Spark at sc://"):
            open_engine(Dataset((), engine=f"sc://127.0.0.1:{port}"))
    with pytest.raises(ConfigurationError, match="sc://host:15002, not spark"):
        open_engine(Dataset((), engine="spark://somewhere"))
    with pytest.raises(ConfigurationError, match="kusanya store export"):
        load.inputs(CloseRequest(engine="sc://127.0.0.1:1"))
    with pytest.raises(ValueError, match="one engine"):
        open_engine(Dataset(()), Dataset((), engine="sc://127.0.0.1:1"))
    with open_engine() as plain:
        assert isinstance(plain, DuckDbEngine)
