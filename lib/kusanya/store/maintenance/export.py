"""Export of collections to Parquet files, one folder per business day.

The business day is East Africa Time, UTC+3 without summer time: the day on which the customer saw
the payment. Phones are masked unless asked for, and asking is audited. Beside what the store keeps
stands what reconciliation derives, so that the files can be read where they lie: days, hour and a
keyed hash that groups the collections of one customer.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import and_, select

from kusanya.domain.business_day import EAT
from kusanya.domain.collection_columns import COLUMNS, ColumnType
from kusanya.errors import StoreUnavailable
from kusanya.platform.digest import digest_of
from kusanya.platform.private_file import write_private
from kusanya.privacy import mask_phone, mask_text, phone_hashes
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import CollectionRow, ExportResult, IntentState
from kusanya.store.records.export_layout import (
    DAY_FOLDER,
    INTENTS_FOLDER,
    Contents,
    ExportFolder,
    Part,
    contents,
    contents_file,
    has_old_days,
)
from kusanya.store.tables.engine import only_store_errors
from kusanya.store.tables.schema import collection, event, feed_head, intent
from kusanya.store.tables.sessions import are_masked
from kusanya.store.tables.sqlite_file import sync_folder
from kusanya.store.tables.values import from_us, maybe_at, to_us
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

_UNANSWERED: Final = (IntentState.UNKNOWN.value, IntentState.SENT.value)
_ROWS: Final = 50_000
"""Rows per row group: what is in memory at a time."""


def business_day(at: datetime) -> date:
    """Return the East African calendar day of an instant."""
    return at.astimezone(EAT).date()


class Parquet(StorePart):
    """Writing collections out for other tools."""

    def write(
        self,
        folder: str | Path,
        mode: Mode,
        *,
        since: date | None = None,
        until: date | None = None,
        phones_for: tuple[str, str] | None = None,
    ) -> ExportResult:
        """Write `folder`/day=YYYY-MM-DD/MODE.parquet for each day with collections.

        A row is a collection as `CollectionRow` has it, placed on the business day of its creation,
        and DERIVED columns; fee_202, fee_event and fee_get are missing, because telling the sources
        apart takes every fact. Amounts are 64-bit integers, instants UTC microseconds, days naive
        midnights. `since` and `until` are business days, both included. Phones are masked, those in
        a description too, unless `phones_for` names the person and the reason, which leaves an
        audit row. Beside the days, `folder`/_intents/MODE.parquet lists the creations without an
        answer: id, reference, amount, sent_at. Each file is whole or absent; what the folder holds
        is noted last, so that an export that did not end, or lost a file, is not taken for a whole.
        No column is called as the folders are: pandas, Spark and DuckDB read `folder` as one table.
        Raises StoreUnavailable when pyarrow is missing, for a login that sees masked views, and
        where the folder cannot be written or holds an export of an earlier version or other store.
        """
        folder = Path(folder).absolute()  # to pyarrow a path as a:b is an address
        if has_old_days(folder):
            raise StoreUnavailable(
                f"{folder} holds an export of an earlier version: choose another folder"
            )
        if phones_for is not None:
            actor, reason = phones_for
            self._audited_export(actor=actor, reason=reason, folder=folder)
        days = rows = 0
        files: dict[str, str] = {}
        with only_store_errors(f"export to {folder}"):
            noted = self._noted(folder)
            part = Part(since, until, self._head())
            earlier = noted.modes.pop(mode, Contents((), {}))
            _note(folder, noted)
            for day in self._days(mode, since=since, until=until):
                target = folder / f"{DAY_FOLDER}{day.isoformat()}" / f"{mode.value}.parquet"
                rows += self._export_day(target, mode, day, masked=phones_for is None)
                days += 1
                files[str(target.relative_to(folder))] = digest_of(target)
            target = folder / INTENTS_FOLDER / f"{mode.value}.parquet"
            self._export_intents(target, mode)
            files[str(target.relative_to(folder))] = digest_of(target)
            noted.modes[mode] = earlier.after(part, files)
            _note(folder, noted)
        return ExportResult(days=days, rows=rows)

    def _noted(self, folder: Path) -> ExportFolder:
        """Return what the folder holds up to now."""
        try:
            noted = contents(folder) or ExportFolder(self._store_id, {})
        except ValueError as error:
            raise StoreUnavailable(
                f"{contents_file(folder)} cannot be read: choose another folder"
            ) from error
        if noted.store_id != self._store_id:
            raise StoreUnavailable(
                f"{folder} holds an export of another store: choose another folder"
            )
        return noted

    def _head(self) -> int:
        with self._reading("export") as connection:
            if are_masked(connection):
                raise StoreUnavailable(
                    "this login sees masked views of the store, in which customers cannot be told "
                    "apart: export with a login of the role kusanya_ask"
                )
            head: int = connection.execute(select(feed_head.c.seq)).scalar_one()
            return head

    def _audited_export(self, *, actor: str, reason: str, folder: Path) -> None:
        self._act(
            lambda writing: audited(
                writing,
                actor=actor,
                act="export_phones",
                subject=None,
                detail=f"{folder}: {reason}",
                outcome="begun",
            )
        )

    def _days(self, mode: Mode, *, since: date | None, until: date | None) -> Iterator[date]:
        """Yield the business days that have collections; one indexed step each."""
        it = collection.c
        at = None if since is None else _starts(since)
        while True:
            query = select(it.created_at).where(it.mode == mode.value)
            if at is not None:
                query = query.where(it.created_at >= to_us(at))
            with self._reading("export") as connection:
                first = connection.execute(
                    query.order_by(it.created_at, it.id).limit(1)
                ).scalar_one_or_none()
            if first is None:
                return
            day = business_day(from_us(first))
            if until is not None and day > until:
                return
            yield day
            at = _starts(day + timedelta(days=1))

    def _export_intents(self, target: Path, mode: Mode) -> None:
        pa, pq = _pyarrow()
        it = intent.c
        query = (
            select(it.id, it.reference, it.amount, it.first_sent_at)
            .where(it.mode == mode.value, it.state.in_(_UNANSWERED))
            .order_by(it.prepared_at, it.id)
        )
        with self._reading("export") as connection:
            rows = connection.execute(query).all()
        schema = pa.schema(
            [
                ("id", pa.string()),
                ("reference", pa.string()),
                ("amount", pa.int64()),
                ("sent_at", pa.timestamp("us", tz="UTC")),
            ]
        )
        intents = [
            dict(zip(schema.names, (*row[:-1], maybe_at(row[-1])), strict=True)) for row in rows
        ]
        target.parent.mkdir(parents=True, exist_ok=True)
        growing = target.with_suffix(".growing")
        pq.write_table(pa.Table.from_pylist(intents, schema=schema), growing)
        _finish(growing, target)

    def _export_day(self, target: Path, mode: Mode, day: date, *, masked: bool) -> int:
        pa, pq = _pyarrow()
        schema = _schema(pa)
        target.parent.mkdir(parents=True, exist_ok=True)
        growing = target.with_suffix(".growing")
        it = collection.c
        # An event is looked up only where the service left completed_at out.
        joined = collection.outerjoin(
            event,
            and_(it.completed_at.is_(None), event.c.id == it.event_id, event.c.mode == it.mode),
        )
        query = (
            select(*SHOWN, event.c.created_at.label("event_at"))
            .select_from(joined)
            .where(
                it.mode == mode.value,
                it.created_at >= to_us(_starts(day)),
                it.created_at < to_us(_starts(day + timedelta(days=1))),
            )
            .order_by(it.created_at, it.id)
        )
        rows = 0
        with (
            self._reading("export") as connection,
            pq.ParquetWriter(growing, schema, compression="zstd") as writer,
        ):
            found = connection.execute(query.execution_options(yield_per=_ROWS))
            for part in found.partitions():
                listed = [to_row(row[:-1]) for row in part]
                keys = _phone_keys([row.phone for row in listed], self._store_id)
                records = [
                    _record(row, maybe_at(of[-1]), phone_key=key, masked=masked)
                    for row, of, key in zip(listed, part, keys, strict=True)
                ]
                writer.write_table(pa.Table.from_pylist(records, schema=schema))
                rows += len(records)
        _finish(growing, target)
        return rows


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise StoreUnavailable(
            "an export needs pyarrow: pip install 'kusanya[reconcile]'"
        ) from None
    return pa, pq


def _note(folder: Path, noted: ExportFolder) -> None:
    """Note what the folder holds; durable on return."""
    folder.mkdir(parents=True, exist_ok=True)
    write_private(contents_file(folder), msgspec.json.encode(noted, order="sorted").decode())
    sync_folder(folder)


def _finish(growing: Path, target: Path) -> None:
    growing.chmod(0o600)
    growing.replace(target)
    sync_folder(target.parent)


def _starts(day: date) -> datetime:
    return datetime.combine(day, time(), EAT).astimezone(UTC)


def _record(
    row: CollectionRow, event_at: datetime | None, *, phone_key: str, masked: bool
) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in CollectionRow.__struct_fields__}
    if masked:
        values |= {name: _masked(name, values[name]) for name in _MASKED}
    local = row.created_at.astimezone(EAT)
    at, source = _final(row, event_at)
    return {
        **values,
        "mode": row.mode.value,
        "phone_masked": mask_phone(row.phone),
        "phone_key": phone_key,
        "created_day": _midnight(local),
        "created_hour": local.hour,
        "created_weekday": local.weekday(),
        "business_day": None if at is None else _midnight(at.astimezone(EAT)),
        "day_source": source,
    }


def _masked(name: str, text: str | None) -> str | None:
    if text is None:
        return None
    return mask_phone(text) if name == "phone" else mask_text(text)


def _final(row: CollectionRow, event_at: datetime | None) -> tuple[datetime | None, str | None]:
    """Return the instant whose day money counts on, and who said it."""
    for at, source in (
        (row.completed_at, "completed_at"),
        (event_at, "event"),
        (row.final_seen_at, "first seen"),
    ):
        if at is not None:
            return at, source
    return None, None


def _phone_keys(phones: list[str], key: str) -> list[str]:
    import numpy as np

    hashed = phone_hashes(np.array(phones, dtype="object"), key=key)
    return [f"{number:016x}" for number in hashed.tolist()]


def _midnight(local: datetime) -> datetime:
    return datetime.combine(local.date(), time())


DERIVED: Final = (
    "phone_masked",
    "phone_key",
    "created_day",
    "created_hour",
    "created_weekday",
    "business_day",
    "day_source",
    "fee_202",
    "fee_event",
    "fee_get",
)
"""Columns that the store does not keep; reconciliation's collections have the same ones."""
_MASKED: Final = tuple(one.name for one in COLUMNS if one.type.is_text and not one.harmless)
_TYPES: Final = {one.name: one.type for one in COLUMNS}
_WHOLE: Final = frozenset(
    {
        *(name for name, kind in _TYPES.items() if kind in {ColumnType.WHOLE, ColumnType.COUNT}),
        *("created_hour", "created_weekday", "fee_202", "fee_event", "fee_get"),
    }
)
_INSTANTS: Final = frozenset(name for name, kind in _TYPES.items() if kind is ColumnType.INSTANT)
_DAYS: Final = frozenset({"created_day", "business_day"})


def _schema(pa: Any) -> Any:
    def kind(name: str) -> Any:
        if name in _WHOLE:
            return pa.int64()
        if name in _DAYS:
            return pa.timestamp("us")
        return pa.timestamp("us", tz="UTC") if name in _INSTANTS else pa.string()

    names = (*CollectionRow.__struct_fields__, *DERIVED)
    return pa.schema([(name, kind(name)) for name in names])
