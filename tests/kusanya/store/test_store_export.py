"""Parquet files by East African business day: exact amounts, masked phones."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from kusanya.store import Store
from kusanya.store.maintenance.export import business_day
from kusanya.store.records import Exported
from kusanya.wire import Mode


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
    assert store.parquet.write(tmp_path / "out", Mode.TEST) == Exported(days=2, rows=2)
    (first,) = read(tmp_path / "out" / "business_day=2026-03-01" / "test.parquet")
    (second,) = read(tmp_path / "out" / "business_day=2026-03-02" / "test.parquet")
    assert (first["id"], first["amount"], first["created_at"]) == ("col_1", 2**63 - 1, evening)
    assert (second["id"], second["status"], second["fee"]) == ("col_2", "failed", 50)
    assert first["phone"] == "+255•••••001"
    assert not list((tmp_path / "out").rglob("live.parquet"))
    assert read(tmp_path / "out" / "_intents" / "test.parquet") == []
    assert store.audit.page().rows == ()
    only = store.parquet.write(
        tmp_path / "b", Mode.TEST, since=date(2026, 3, 2), until=date(2026, 3, 2)
    )
    assert only == Exported(days=1, rows=1)


def test_whole_phones_leave_an_audit_row(store: Store, make: Any, tmp_path: Path) -> None:
    store.record(make.arrival(1))
    store.parquet.write(tmp_path, Mode.TEST, phones_for=("asha", "the regulator asked"))
    (row,) = read(tmp_path / "business_day=2026-03-01" / "test.parquet")
    assert row["phone"] == "255754000001"
    (audited,) = store.audit.page().rows
    assert (audited.actor, audited.act) == (store.audit.actor, "export_phones")
