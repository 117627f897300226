"""What `store export` wrote and the store itself give the same answer to every question."""

import gc
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.kit import exports
from tests.kusanya_books import said_otherwise

from kusanya.domain.status import Status
from kusanya.errors import ConfigurationError, FrameError, InputRefused
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, Verdict
from kusanya.wire import Collection, Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, LEDGER, STATEMENT
from kusanya_books.engine.engine import Dataset
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge import failures, fees
from kusanya_books.match import ledger, settlement
from kusanya_books.pack import close
from kusanya_books.present import environment_check, timeline
from kusanya_books.read import load
from kusanya_books.read.store import exported
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import business_days, cutoff, period
from kusanya_books.request.report_inputs import Inputs

BEGIN = datetime(2026, 2, 20, 20, 59, 40, tzinfo=UTC)
MARCH = period("2026-03")
STATUSES = ("succeeded", "succeeded", "failed", "expired", "created", "on_hold")
Question = Callable[[Any, Any], Any]


def observation(number: int) -> Observation:
    created = BEGIN + timedelta(hours=9 * number, seconds=number % 50)
    status = STATUSES[number % 6]
    final = status in {"succeeded", "failed", "expired"}
    # Every eighth is final only two weeks later: its money counts on another day than it began.
    took = timedelta(days=14) if number % 8 == 0 else timedelta(seconds=30)
    amount = (500, 1_000, 7_500, 2**53 + 1)[number % 4]
    collection = Collection(
        id=f"col_{number:03d}",
        status=Status(status),
        amount=amount,
        fee=amount // 100 if number % 29 else 3,
        currency="KES" if number % 7 == 0 else "TZS",
        channel=("MPESA_TZ", "TIGO_TZ", "=NEW")[number % 3],
        phone=f"25575400000{number % 3}",
        reference=f"R-{number // 2}",
        mode=Mode.TEST if number % 11 == 0 else Mode.LIVE,
        created_at=created,
        completed_at=created + took if final and number % 5 else None,
        failure_code=("insufficient_funds", "strange")[number % 4 // 2]
        if status == "failed"
        else None,
    )
    by_event = final and number % 3 > 0
    return Observation(
        source=Source.EVENT if by_event else Source.POLL,
        source_id=f"fact-{number}",
        observed_at=created + took + timedelta(minutes=1),
        observed_in=collection.mode,
        collection=collection,
        event_id=f"evt_{number}" if by_event else None,
        event_type=f"collection.{status}" if by_event else None,
        event_created_at=created + took + timedelta(seconds=1) if by_event else None,
    )


def delivered(fact: Observation) -> Arrival:
    """Return the delivery that brought an event: only then does the store keep the event."""
    return Arrival(
        arrived_at=fact.observed_at,
        endpoint="shop",
        observed_in=fact.observed_in,
        body=b"{}",
        headers=(),
        verdict=Verdict.VERIFIED,
        signed_at=fact.event_created_at,
        secrets_tried=1,
        event_id=fact.event_id,
        event_type=fact.event_type,
        event_created_at=fact.event_created_at,
        event_mode=fact.observed_in.value,
        collection_id=fact.collection.id,
        reference=fact.collection.reference,
        amount=fact.collection.amount,
        currency=fact.collection.currency,
        observation=fact,
        answer=200,
        took_us=700,
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    """Return the month as the store gives it; its export lies beside the store."""
    home = tmp_path_factory.mktemp("exported")
    with Store.open(home / "store.db") as store:
        for number in range(150):
            fact = observation(number)
            store.record(delivered(fact) if fact.event_id else fact)
        for mode in Mode:
            store.parquet.write(home / "out", mode)
    loaded = load.inputs(CloseRequest(store=str(home / "store.db"), mode="live", period="2026-03"))
    charged = fees.tariff(loaded.frame, period=MARCH)
    return msgspec.structs.replace(loaded, tariff=charged)


@pytest.fixture(scope="module")
def folder(inputs: Inputs) -> Path:
    return Path(inputs.source.removeprefix("store sqlite:///")).parent / "out"


@pytest.fixture(scope="module")
def dataset(inputs: Inputs, folder: Path) -> Dataset:
    wide = inputs.period.widened(inputs.tolerance.widen_days)
    return exported.collections(folder, mode=Mode.LIVE, period=wide)


def books(frame: pd.DataFrame) -> pd.DataFrame:
    paid = frame[frame["status"] == "succeeded"].iloc[1:]
    booked = paid["created_at"] + timedelta(hours=2)
    return columns.frame(
        LEDGER,
        paid[["reference", "amount", "currency", "channel", "fee"]].assign(
            row_no=range(1, len(paid) + 1),
            collection_id=None,
            status="paid",
            booked_at=booked,
            booked_day=business_days(booked),
        ),
    )


def statement(frame: pd.DataFrame) -> pd.DataFrame:
    paid = frame[(frame["status"] == "succeeded") & frame["business_day"].notna()]
    keys = ["business_day", "channel", "currency"]
    sums = paid.groupby(keys)[["amount", "fee"]].sum().reset_index().iloc[2:]
    return columns.frame(
        STATEMENT,
        sums.rename(columns={"amount": "gross"}).assign(
            line_no=range(1, len(sums) + 1),
            batch_id="B",
            collection_id=None,
            net=sums["amount"] - sums["fee"],
            count=1,
        ),
    )


QUESTIONS: dict[str, Question] = {
    "daily": lambda rows, month: fees.daily(rows, period=MARCH, tariff=month.tariff),
    "tariff": lambda rows, _: fees.tariff(rows, period=MARCH),
    "expected": lambda rows, month: fees.expected(rows, period=MARCH, tariff=month.tariff),
    "exceptions": lambda rows, month: fees.exceptions(rows, period=MARCH, tariff=month.tariff),
    "integrity": lambda rows, _: fees.integrity(rows, period=MARCH),
    "drifted": lambda rows, _: fees.drifted(rows, period=MARCH),
    "on_unpaid": lambda rows, _: fees.on_unpaid(rows, period=MARCH),
    "straddlers": lambda rows, _: fees.straddlers(rows, period=MARCH),
    "pareto": lambda rows, _: failures.pareto(rows, period=MARCH),
    "rates": lambda rows, _: failures.rates(rows, period=MARCH, by="channel"),
    "by band": lambda rows, _: failures.rates(rows, period=MARCH, by="band"),
    "by day": lambda rows, _: failures.rates(rows, period=MARCH, by="day"),
    "by_hour": lambda rows, _: failures.by_hour(rows, period=MARCH),
    "recovery": lambda rows, _: failures.recovery(rows, period=MARCH),
    "unknown": lambda rows, _: failures.unknown(rows, period=MARCH),
    "ledger": lambda rows, month: pd.concat(
        getattr(ledger.match(rows, books(month.frame), period=MARCH), part)
        for part in ("rows", "bridge", "ageing", "doubles")
    ),
    "settlement": lambda rows, month: pd.concat(
        getattr(settlement.match(rows, statement(month.frame), period=MARCH), part)
        for part in ("rows", "bridge")
    ),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_files_and_frame_answer_alike(
    inputs: Inputs, dataset: Dataset, question: Question, request: pytest.FixtureRequest
) -> None:
    from_frame = question(inputs.frame, inputs)
    pd.testing.assert_frame_equal(question(dataset, inputs), from_frame)
    empty = {"drifted"}
    assert len(from_frame) > 0 or request.node.callspec.id in empty


def test_the_files_hold_every_column_of_every_collection(inputs: Inputs, dataset: Dataset) -> None:
    with open_engine(dataset) as engine:
        engine.register("collections", dataset, COLLECTIONS)
        read = engine.frame("SELECT * FROM collections ORDER BY created_at, id", COLLECTIONS)
    whole = inputs.frame
    pd.testing.assert_frame_equal(read, whole)
    assert len(read) > 100
    sources = read.loc[read["business_day"].notna(), "day_source"]
    assert set(sources) == {"completed_at", "event", "first seen"}


def test_no_file_holds_a_phone(folder: Path) -> None:
    for path in folder.rglob("*.parquet"):
        table = pq.ParquetFile(path).read()
        assert "25575400000" not in str(table.to_pydict()), path.name


def test_what_was_not_exported_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match="holds no exported live collections"):
        exported.collections(tmp_path, mode=Mode.LIVE, period=MARCH)
    moved = period("2026-03", cutoff=cutoff("02:00"))
    with pytest.raises(InputRefused, match="00:00"):
        exported.collections(folder, mode=Mode.LIVE, period=moved)
    (tmp_path / "day=soon").mkdir()
    (tmp_path / "day=soon" / "live.parquet").write_bytes(b"")
    with pytest.raises(InputRefused, match="is of no export that has ended"):
        exported.collections(tmp_path, mode=Mode.LIVE, period=MARCH)


def test_files_of_an_older_export_are_refused(folder: Path, tmp_path: Path) -> None:
    old = tmp_path / "day=2026-03-05"
    old.mkdir()
    source = next(folder.glob("day=2026-03-05/live.parquet"))
    table = pq.ParquetFile(source).read()
    pq.write_table(table.drop_columns(["created_day"]), old / "live.parquet")
    past = exported.collections(exports.note(tmp_path), mode=Mode.LIVE, period=MARCH)
    with pytest.raises(FrameError, match="lack a column"):
        fees.straddlers(past, period=MARCH)


def test_a_period_before_everything_is_an_empty_answer(folder: Path) -> None:
    early = exported.collections(folder, mode=Mode.LIVE, period=period("2020-01"))
    assert fees.daily(early, period=period("2020-01")).empty


@pytest.mark.merge
def test_a_period_is_closed_from_an_export_as_from_its_store(
    inputs: Inputs, folder: Path, tmp_path: Path
) -> None:
    lines = books(inputs.frame)
    lines["booked_at"] = lines["booked_at"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    wanted = ["reference", "amount", "currency", "channel", "fee", "status", "booked_at"]
    lines[wanted].to_csv(tmp_path / "books.csv", index=False)
    store = inputs.source.removeprefix("store ")
    ended, again, of_store = (
        close.run(
            CloseRequest(
                period=f"{MARCH.first}..{MARCH.last}",
                ledger=str(tmp_path / "books.csv"),
                store=source,
                mode="live",
            ),
            out=tmp_path / out,
        )
        for out, source in (("one", str(folder)), ("two", str(folder)), ("three", store))
    )
    assert ended.run_id == again.run_id
    assert ended.folder is not None
    assert again.folder is not None
    assert of_store.folder is not None
    files = {path.relative_to(ended.folder) for path in ended.folder.rglob("*") if path.is_file()}
    assert len(files) > 10
    for path in files:
        assert (ended.folder / path).read_bytes() == (again.folder / path).read_bytes(), path
    assert (ended.breaks, ended.by_code) == (of_store.breaks, of_store.by_code)
    assert ended.breaks > 5
    assert ended.unexplained == 0
    said = [(one.folder / "report.html").read_text() for one in (ended, of_store) if one.folder]
    assert ["an export; the SHA-256 of its collections" in page for page in said] == [True, False]
    for name in ("csv/breaks.csv", "csv/bridge.csv", "csv/fees.csv", "closed.parquet"):
        assert (ended.folder / name).read_bytes() == (of_store.folder / name).read_bytes(), name
    assert said_otherwise.delta(ended.folder, CloseRequest(store=str(folder))).empty


def test_an_export_has_no_earlier_position_and_no_rows_to_click(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="no earlier position"):
        load.inputs(CloseRequest(store=str(folder), mode="live", as_of=3))
    loaded = load.inputs(CloseRequest(store=str(folder), mode="live"))
    assert loaded.read > 30
    assert loaded.intents.empty
    with pytest.raises(InputRefused, match="load it whole"):
        _ = loaded.frame
    shown = load.of_mode(str(folder), "live").frame
    assert len(shown) == loaded.read
    story = timeline.timeline(
        load.of_mode(str(folder), "live"), shown["id"].iloc[0], store=str(folder)
    )
    assert story["what"].iloc[0] == "created"


def test_the_start_page_knows_an_export(folder: Path, tmp_path: Path) -> None:
    facts = environment_check.check(str(folder)).set_index("what")["found"]
    assert facts["export"] == "out"
    assert facts["last live day"].startswith("2026-04")
    assert not environment_check.check(str(tmp_path)).set_index("what")["good"]["export"]


def held(what: str) -> int:
    """Return one of the kernel's figures of this process's memory, in KiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{what}:")[2].split(maxsplit=1)[0])


@pytest.mark.release
def test_a_large_month_is_never_loaded_whole(tmp_path: Path) -> None:
    """A million rows are counted in less memory than a frame of them takes."""
    from kusanya_books.read.sample import month as sample

    frame = sample.collections(rows=200_000)
    day = tmp_path / "day=2026-03-01"
    day.mkdir()
    raw = frame.assign(final_seen_at=frame["completed_at"])
    table = columns.to_arrow(raw, COLLECTIONS.plus("files", final_seen_at=columns.DType.INSTANT))
    with pq.ParquetWriter(day / "live.parquet", table.schema) as writer:
        for _ in range(5):
            writer.write_table(table)
    whole = int(frame.memory_usage(deep=True).sum()) * 5
    del frame, raw, table
    gc.collect()
    # From here on the most that is held, not the most that was ever held.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = held("VmHWM")
    exports.note(tmp_path)
    found = fees.daily(exported.collections(tmp_path, mode=Mode.LIVE, period=MARCH), period=MARCH)
    grown = (held("VmHWM") - before) * 1024
    assert found["attempts"].iloc[-1] > 999_000
    assert grown < whole / 2
