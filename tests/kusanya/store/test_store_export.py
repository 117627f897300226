"""Parquet files by East African business day: exact amounts, masked phones."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from kusanya.errors import InputRefused, StoreUnavailable
from kusanya.store import Store
from kusanya.store.maintenance.export import business_day
from kusanya.store.records import ExportResult
from kusanya.wire import Mode
from kusanya_books.read.store import exported


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
    return rows


def test_the_business_day_turns_at_nine_in_the_evening_utc() -> None:
    assert business_day(datetime(2026, 3, 1, 20, 59, 59, tzinfo=UTC)) == date(2026, 3, 1)
    assert business_day(datetime(2026, 3, 1, 21, tzinfo=UTC)) == date(2026, 3, 2)


def test_each_day_has_its_file_and_every_collection_is_in_one(
    store: Store, make: Any, tmp_path: Path
) -> None:
    evening = make.noon.replace(hour=20, minute=59, second=59)
    store.record(make.arrival(1, created_at=evening, amount=2**63 - 1))
    store.record(make.arrival(2, created_at=evening.replace(hour=21), status="failed"))
    store.record(make.arrival(3, created_at=evening.replace(day=5), mode="live"))
    assert store.parquet.write(tmp_path / "out", Mode.TEST) == ExportResult(days=2, rows=2)
    (first,) = read(tmp_path / "out" / "day=2026-03-01" / "test.parquet")
    (second,) = read(tmp_path / "out" / "day=2026-03-02" / "test.parquet")
    assert (first["id"], first["amount"], first["created_at"]) == ("col_1", 2**63 - 1, evening)
    assert (second["id"], second["status"], second["fee"]) == ("col_2", "failed", 50)
    assert first["phone"] == "+255•••••001"
    assert not list((tmp_path / "out").rglob("live.parquet"))
    assert read(tmp_path / "out" / "_intents" / "test.parquet") == []
    assert store.audit.page().rows == ()
    only = store.parquet.write(
        tmp_path / "b", Mode.TEST, since=date(2026, 3, 2), until=date(2026, 3, 2)
    )
    assert only == ExportResult(days=1, rows=1)


def test_a_folder_may_be_named_like_an_address(
    store: Store, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store.record(make.arrival(1))
    store.parquet.write("s3:bucket", Mode.TEST)
    assert [path.name for path in tmp_path.glob("s3:bucket/day=*/*")] == ["test.parquet"]


def test_pandas_reads_the_whole_folder_as_one_table(
    store: Store, make: Any, tmp_path: Path
) -> None:
    store.record(make.arrival(1))
    store.record(make.arrival(2, created_at=make.noon.replace(day=2)))
    store.parquet.write(tmp_path / "out", Mode.TEST)
    frame = pd.read_parquet(tmp_path / "out")
    assert sorted(frame["id"]) == ["col_1", "col_2"]
    assert sorted(map(str, frame["day"])) == ["2026-03-01", "2026-03-02"]


def test_an_export_of_an_earlier_version_is_not_mixed_with_one_of_ours(
    store: Store, make: Any, tmp_path: Path
) -> None:
    store.record(make.arrival(1))
    (tmp_path / "business_day=2026-03-01").mkdir()
    with pytest.raises(StoreUnavailable, match="earlier version"):
        store.parquet.write(tmp_path, Mode.TEST)
    with pytest.raises(InputRefused, match="earlier version"):
        exported.days(tmp_path, mode=Mode.TEST)


def test_free_text_is_exported_without_phones_and_keys_as_they_are(
    store: Store, make: Any, tmp_path: Path
) -> None:
    said = "for 0754 000 001, order 7"
    store.record(make.arrival(1, description=said, reference="255754000001"))
    store.parquet.write(tmp_path / "masked", Mode.TEST)
    (row,) = read(tmp_path / "masked" / "day=2026-03-01" / "test.parquet")
    assert row["description"] == "for •••••001, order 7"
    assert row["reference"] == "255754000001"
    store.parquet.write(tmp_path / "whole", Mode.TEST, phones_for=("asha", "the regulator asked"))
    (row,) = read(tmp_path / "whole" / "day=2026-03-01" / "test.parquet")
    assert row["description"] == said


def test_whole_phones_leave_an_audit_row(store: Store, make: Any, tmp_path: Path) -> None:
    store.record(make.arrival(1))
    store.parquet.write(tmp_path, Mode.TEST, phones_for=("asha", "the regulator asked"))
    (row,) = read(tmp_path / "day=2026-03-01" / "test.parquet")
    assert row["phone"] == "255754000001"
    (audited,) = store.audit.page().rows
    assert (audited.actor, audited.act) == (store.audit.actor, "export_phones")
