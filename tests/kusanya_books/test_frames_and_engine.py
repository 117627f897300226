"""Nothing turns to float on its way, and the engine reads only what it was given."""

import tempfile
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kusanya.domain.business_day import EAT
from kusanya.errors import FrameError
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, DType, Schema
from kusanya_books.engine.duckdb_engine import DuckDbEngine
from kusanya_books.engine.engine import Dataset
from kusanya_books.engine.engines import open_engine, shared_databases

PAIR = Schema("pair", {"name": DType.TEXT, "amount": DType.WHOLE})
BEYOND_FLOAT = 2**53 + 1


def pair(*amounts: int | None) -> pd.DataFrame:
    return columns.frame(PAIR, {"name": ["a"] * len(amounts), "amount": list(amounts)})


def test_an_amount_beyond_what_floats_hold_survives_the_engine() -> None:
    with DuckDbEngine() as engine:
        engine.register("pair", pair(BEYOND_FLOAT, None), PAIR)
        answer = engine.frame("SELECT name, amount FROM pair ORDER BY amount", PAIR)
    assert answer["amount"][0] == BEYOND_FLOAT
    assert answer["amount"].isna().tolist() == [False, True]
    assert [str(dtype) for dtype in answer.dtypes] == ["string", "Int64"]


def test_an_empty_answer_has_the_same_types() -> None:
    with DuckDbEngine() as engine:
        engine.register("given", columns.empty(COLLECTIONS), COLLECTIONS)
        answer = engine.frame("SELECT * FROM given", COLLECTIONS)
    assert answer.dtypes.equals(columns.empty(COLLECTIONS).dtypes)
    assert columns.check(answer, COLLECTIONS) is answer


def test_a_sum_that_was_not_cast_back_does_not_leave_the_engine() -> None:
    with DuckDbEngine() as engine:
        engine.register("pair", pair(1), PAIR)
        with pytest.raises(FrameError, match="decimal"):
            engine.frame("SELECT name, sum(amount) AS amount FROM pair GROUP BY name", PAIR)


def test_a_total_past_63_bits_is_refused_and_not_wrapped() -> None:
    total = "SELECT name, sum(amount)::BIGINT AS amount FROM pair GROUP BY name"
    with DuckDbEngine() as engine:
        engine.register("pair", pair(2**63 - 1, 1), PAIR)
        with pytest.raises(OverflowError):
            engine.frame(total, PAIR)


def test_what_memory_does_not_hold_is_spilled_and_nothing_is_left_behind() -> None:
    folder = Schema("folder", {"path": DType.TEXT})
    rows = "SELECT n, repeat(n::VARCHAR, 200) AS text FROM range(200000) AS t(n)"
    with DuckDbEngine(memory="50MB") as engine:
        asked = engine.frame("SELECT current_setting('temp_directory') AS path", folder)
        spill = Path(asked["path"][0])
        engine.run(f"CREATE TEMP TABLE wide AS {rows}")
        answer = engine.frame("SELECT 'all' AS name, sum(n)::BIGINT AS amount FROM wide", PAIR)
        assert list(spill.iterdir())
    assert answer["amount"][0] == sum(range(200_000))
    assert not spill.exists()


def test_a_frame_with_a_float_amount_is_refused() -> None:
    with pytest.raises(FrameError, match="amount is float64"):
        columns.check(pd.DataFrame({"name": pair()["name"], "amount": [1.5][:0]}), PAIR)
    with pytest.raises(FrameError, match="amount is not whole"):
        columns.frame(PAIR, {"name": ["a"], "amount": [1.5]})
    with pytest.raises(FrameError, match="amount is missing"):
        columns.frame(PAIR, {"name": ["a"]})


DAY = datetime(2026, 3, 5)  # noqa: DTZ001 - days are naive
AT = datetime(2026, 3, 5, 9, 30, 1, 7, tzinfo=UTC)
CELLS = [
    *(None, pd.NA, pd.NaT, float("nan"), "", "a", "7", "2026-03-05", 0, -7, 2**53 + 1, 2**63),
    *(1.0, 1.5, True, False, Decimal("1.5"), np.int64(3), np.float64(2.5), np.bool_(1)),
    *(DAY, AT, AT.astimezone(EAT), pd.Timestamp(DAY), pd.Timestamp(AT), DAY.date(), "\ud800"),
]
"""What may be in a list: what a column holds, nothing, and what it must refuse or turn."""


@pytest.mark.parametrize("kind", DType)
@settings(max_examples=150)
@given(st.lists(st.sampled_from(CELLS), max_size=3))
def test_a_list_becomes_what_a_column_of_its_values_becomes(kind: DType, values: list[Any]) -> None:
    schema = Schema("one", {"it": kind})

    def made(data: Any) -> Any:
        try:
            return columns.frame(schema, {"it": data})
        except FrameError as error:
            return str(error)

    found, wanted = made(values), made(pd.Series(values, dtype="object"))
    if isinstance(wanted, str):
        assert isinstance(found, str)
        assert found == wanted
    else:
        pd.testing.assert_frame_equal(found, wanted)


def test_a_column_that_is_not_given_holds_its_default(tmp_path: Path) -> None:
    kinds = Schema("kinds", {**PAIR.columns, "kind": DType.TEXT}, {"kind": "payment"})
    filled = columns.frame(kinds, pair(1, 2))
    assert filled["kind"].tolist() == ["payment", "payment"]
    assert columns.frame(kinds, pair()).dtypes.equals(columns.empty(kinds).dtypes)
    path = tmp_path / "pair.parquet"
    pq.write_table(columns.to_arrow(pair(1, 2), PAIR), path)
    with DuckDbEngine(folders=[tmp_path]) as engine:
        engine.register("given", Dataset((path,)), kinds)
        answer = engine.frame("SELECT * FROM given ORDER BY amount", kinds)
    pd.testing.assert_frame_equal(answer, filled)


def test_the_engine_reads_no_file_it_was_not_given(tmp_path: Path) -> None:
    secret = tmp_path / "other.csv"
    secret.write_text("a\n1\n")
    with DuckDbEngine() as engine, pytest.raises(duckdb.PermissionException):
        engine.run("SELECT * FROM read_csv($path)", {"path": str(secret)})


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH '/nowhere/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO '/nowhere/x.csv'",
    ],
)
def test_the_engine_opens_nothing_and_unlocks_nothing(statement: str) -> None:
    with DuckDbEngine() as engine, pytest.raises(duckdb.Error):
        engine.run(statement)


def test_the_engine_does_not_see_python_variables_by_name() -> None:
    hidden = pair(1)
    assert len(hidden) == 1
    with DuckDbEngine() as engine, pytest.raises(duckdb.CatalogException):
        engine.run("SELECT * FROM hidden")


def test_parquet_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    pq.write_table(columns.to_arrow(pair(3, 4), PAIR), path)
    dataset = Dataset((path,))
    with open_engine(dataset) as engine:
        engine.register("pair", dataset, PAIR)
        answer = engine.frame("SELECT name, amount FROM pair ORDER BY amount", PAIR)
    assert answer["amount"].tolist() == [3, 4]


def test_parquet_of_other_types_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    pq.write_table(pa.table({"name": ["a"], "amount": [1.5]}), path)
    dataset = Dataset((path,))
    with open_engine(dataset) as engine, pytest.raises(FrameError, match="types"):
        engine.register("pair", dataset, PAIR)


def test_engines_that_share_a_database_see_only_their_own_tables(tmp_path: Path) -> None:
    path = tmp_path / "part.parquet"
    pq.write_table(columns.to_arrow(pair(3, 4), PAIR), path)
    with shared_databases(), open_engine(Dataset((path,))) as first, open_engine() as second:
        first.register("given", Dataset((path,)), PAIR)
        first.register("frame", pair(5), PAIR)
        first.run("CREATE TEMP TABLE made AS SELECT 1")
        for name in ("given", "frame", "made"):
            with pytest.raises(duckdb.CatalogException):
                second.run(f"SELECT * FROM {name}")  # noqa: S608 - its own names
        second.register("given", pair(6), PAIR)
        assert list(first.frame("SELECT * FROM given ORDER BY amount", PAIR)["amount"]) == [3, 4]


@pytest.mark.parametrize("sorts", [False, True])
def test_what_only_sorts_a_large_dataset_gets_less_memory(tmp_path: Path, *, sorts: bool) -> None:
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    table = columns.to_arrow(pair(3), PAIR)
    pq.write_table(table, small)
    # What a file is weighed by: its footer, here with much to say.
    pq.write_table(table.replace_schema_metadata({"long": "x" * 20_000_000}), large)
    schema = Schema("limit", {"held": DType.TEXT})
    held = []
    for path in (small, large):
        with open_engine(Dataset((path,)), sorts=sorts) as engine:
            answer = engine.frame("SELECT current_setting('memory_limit') AS held", schema)
            held.append(float(answer["held"][0].split()[0]))
    assert (held[1] < held[0]) is sorts


def test_engines_share_a_database_only_where_it_reads_what_they_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spilled"))
    (tmp_path / "spilled").mkdir()
    path = tmp_path / "part.parquet"
    pq.write_table(columns.to_arrow(pair(3), PAIR), path)
    with shared_databases():
        with open_engine(), shared_databases(), open_engine():
            assert len(list((tmp_path / "spilled").iterdir())) == 1
        with open_engine(Dataset((path,))) as engine:
            engine.register("given", Dataset((path,)), PAIR)
            assert len(list((tmp_path / "spilled").iterdir())) == 2
        with open_engine() as engine, pytest.raises(duckdb.PermissionException):
            engine.run("SELECT * FROM read_parquet($path)", {"path": str(path)})
    assert not list((tmp_path / "spilled").iterdir())
