"""A list written to a file: what the filter lets through, newest first, phones masked.

Read by keyset, so that it costs the same per row however long the list is. The spreadsheet's CSV
makes outside text visible and marks as text what would be taken for a formula. `.raw.csv` and JSON
Lines are for programs: every value comes back exactly as it is kept.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Final, TypeVar

from kusanya.errors import KusanyaError
from kusanya.privacy import mask_text
from kusanya.say import Said, plural
from kusanya.store.records import Key
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui.excerpt import Row

R = TypeVar("R", bound=Row)
Value = str | int | None
Rows = Callable[[Iterable[list[Value]]], None]
"""Writes some rows."""
_ROWS: Final = 1_000
_LONGEST: Final = 1_000
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""Full-width signs begin a formula too where a spreadsheet is set to an East Asian language."""


class ExportFormat(StrEnum):
    """How a list is written; the value is what the file's name ends with."""

    SHEET = ".csv"
    RAW = ".raw.csv"
    LINES = ".jsonl"


def masked(text: str | None) -> str | None:
    """Return a text as it is exported: phones in it masked."""
    return None if text is None else mask_text(text)


def format_exact(at: datetime | None) -> str | None:
    """Return an instant as it is exported: in UTC, to the last digit kept."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def write_list(
    pages: ListPages[R],
    fields: Mapping[str, Callable[[R], Value]],
    target: Path,
    *,
    form: ExportFormat = ExportFormat.SHEET,
    stopped: Callable[[], bool],
) -> ActionResult:
    """Write every row of the list to `target` and say where it went.

    The file is complete or absent, never in another's place, and only its owner may read it.
    `stopped` is asked between pages; an export that is stopped leaves nothing. Raises KusanyaError
    where it cannot be written.
    """
    growing = target.with_name(f"{target.name}.growing")
    try:
        # Made anew, for its owner alone from its first byte: a leftover may be anybody's to read.
        growing.unlink(missing_ok=True)
        handle = os.open(growing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        # Spreadsheets need the mark to read UTF-8; programs stumble over it.
        encoding = "utf-8-sig" if form is ExportFormat.SHEET else "utf-8"
        with open(handle, "w", encoding=encoding, newline="") as file:  # noqa: PTH123 - a handle
            rows = _write(pages, fields, _WRITERS[form](file, list(fields)), stopped)
        if rows is None:
            said = "the export was stopped and left nothing"
            return ActionResult(said, ActionOutcome.NOTHING_TO_DO)
        target = _placed(growing, target)
    except OSError as error:
        raise KusanyaError(
            Said("cannot write {path}: {why}").of(path=target, why=error.strerror)
        ) from error
    finally:
        growing.unlink(missing_ok=True)
    return ActionResult(
        plural(
            rows,
            "1 row written to {path}, phones masked",
            "{count} rows written to {path}, phones masked",
            path=safe(str(target), 400),
        ),
        file=target,
    )


def _placed(growing: Path, target: Path) -> Path:
    """Give a finished file its name, or the next one that is free, and return it."""
    stem, point, ending = target.name.partition(".")
    for number in range(2, 1000):
        try:
            # Two exports of one second: the first one to link a name has it.
            target.hardlink_to(growing)
        except FileExistsError:
            target = target.with_name(f"{stem}-{number}{point}{ending}")
        except OSError:
            if not target.exists():  # a disk without hard links
                return growing.replace(target)
            target = target.with_name(f"{stem}-{number}{point}{ending}")
        else:
            return target
    raise KusanyaError(
        Said("{folder} holds too many exports of this second already").of(folder=target.parent)
    )


def _write(
    pages: ListPages[R],
    fields: Mapping[str, Callable[[R], Value]],
    write: Rows,
    stopped: Callable[[], bool],
) -> int | None:
    rows = 0
    edge: Key | None = None
    while not stopped():
        page = pages.page(older_than=edge, limit=_ROWS)
        write([field(row) for field in fields.values()] for row in page.rows)
        rows += len(page.rows)
        edge = pages.scan_stopped_at or (pages.key(page.rows[-1]) if page.rows else None)
        if not page.more or edge is None:
            return rows
    return None


def _sheet(file: IO[str], names: list[str]) -> Rows:
    writer = csv.writer(file)
    writer.writerow(names)

    def write(rows: Iterable[list[Value]]) -> None:
        writer.writerows([_cell(value) for value in row] for row in rows)

    return write


def _raw(file: IO[str], names: list[str]) -> Rows:
    # Every text is quoted and nothing else, so that a reader tells "" from nothing and "7" from 7.
    def write(rows: Iterable[list[Value]]) -> None:
        file.writelines(f"{','.join(map(_exact, row))}\r\n" for row in rows)

    write([list(names)])
    return write


def _lines(file: IO[str], names: list[str]) -> Rows:
    # In ASCII alone: a printed file has no character that a terminal acts on.
    def write(rows: Iterable[list[Value]]) -> None:
        file.writelines(f"{json.dumps(dict(zip(names, row, strict=True)))}\n" for row in rows)

    return write


_WRITERS: Final = {ExportFormat.SHEET: _sheet, ExportFormat.RAW: _raw, ExportFormat.LINES: _lines}


def _exact(value: Value) -> str:
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def _cell(value: Value) -> str | int:
    if value is None or isinstance(value, int):
        return "" if value is None else value
    text = safe(value, _LONGEST)
    # A spreadsheet runs what begins like a formula, also after spaces.
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
