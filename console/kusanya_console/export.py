"""A list written out as CSV for spreadsheets: what the filter lets through, newest first.

Read by keyset, so that it costs the same per row however long the list is. Phones are masked; text
from outside is made visible, and what a spreadsheet would take for a formula is marked as text.
"""

import csv
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from kusanya.errors import KusanyaError
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow, DeliveryRow, Key
from kusanya.text import safe
from kusanya_console.doing import Ended
from kusanya_console.pages import PageSource
from kusanya_console.window import Row

R = TypeVar("R", bound=Row)
Value = str | int | None
_ROWS: Final = 1_000
_LONGEST: Final = 1_000
_FORMULA: Final = ("=", "+", "-", "@")

COLLECTIONS: Final[Mapping[str, Callable[[CollectionRow], Value]]] = {
    "created_at": lambda row: _instant(row.created_at),
    "completed_at": lambda row: _instant(row.completed_at),
    "mode": lambda row: row.mode.value,
    "reference": lambda row: row.reference,
    "id": lambda row: row.id,
    "status": lambda row: row.status,
    "amount": lambda row: row.amount,
    "fee": lambda row: row.fee,
    "net": lambda row: row.net,
    "currency": lambda row: row.currency,
    "channel": lambda row: row.channel,
    "phone": lambda row: mask_phone(row.phone),
    "failure_code": lambda row: row.failure_code,
    "event_id": lambda row: row.event_id,
}
DELIVERIES: Final[Mapping[str, Callable[[DeliveryRow], Value]]] = {
    "arrived_at": lambda row: _instant(row.arrived_at),
    "mode": lambda row: row.mode.value,
    "endpoint": lambda row: row.endpoint,
    "verdict": lambda row: row.verdict.value,
    "reason": lambda row: row.reason,
    "answer": lambda row: row.answer,
    "took_us": lambda row: row.took_us,
    "event_id": lambda row: row.event_id,
    "event_type": lambda row: row.event_type,
    "collection_id": lambda row: row.collection_id,
    "reference": lambda row: row.reference,
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency,
}


def write_csv(
    source: PageSource[R],
    fields: Mapping[str, Callable[[R], Value]],
    target: Path,
    *,
    stopped: Callable[[], bool],
) -> Ended:
    """Write every row of `source` to `target` and say where it went.

    The file is complete or absent, and only its owner may read it. `stopped` is asked between
    pages; an export that is stopped leaves nothing. Raises KusanyaError where it cannot be written.
    """
    growing = target.with_suffix(".growing")
    try:
        # Made for its owner alone from its first byte; a leftover of a crash is written over.
        handle = os.open(growing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(handle, "w", encoding="utf-8-sig", newline="") as file:  # noqa: PTH123 - a handle
            rows = _write(source, fields, csv.writer(file), stopped)
        if rows is None:
            return Ended("the export was stopped and left nothing", well=False)
        growing.replace(target)
    except OSError as error:
        raise KusanyaError(f"cannot write {target}: {error.strerror}") from error
    finally:
        growing.unlink(missing_ok=True)
    return Ended(f"{rows:,} rows written to {safe(str(target), 400)}, phones masked")


def _write(
    source: PageSource[R],
    fields: Mapping[str, Callable[[R], Value]],
    writer: "csv._writer",  # type: ignore[name-defined] # the module names no public type
    stopped: Callable[[], bool],
) -> int | None:
    writer.writerow(fields)
    rows = 0
    edge: Key | None = None
    while not stopped():
        page = source.page(older_than=edge, newer_than=None, limit=_ROWS)
        writer.writerows([_cell(field(row)) for field in fields.values()] for row in page.rows)
        rows += len(page.rows)
        edge = source.stopped_at or (source.key(page.rows[-1]) if page.rows else None)
        if not page.more or edge is None:
            return rows
    return None


def _cell(value: Value) -> str | int:
    if value is None or isinstance(value, int):
        return "" if value is None else value
    text = safe(value, _LONGEST)
    # A spreadsheet runs what begins like a formula, also after spaces.
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
