"""The collections that `kusanya store export` wrote, queried where they lie and never loaded whole.

Every function of `fees`, `failures`, `ledger` and `settlement` takes what this returns in place of
a frame, and `load.inputs` takes the folder in place of a store. The export tells no source of a fee
from another: of these, integrity says no evidence.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.platform.digest import fault_of
from kusanya.store.records.export_layout import (
    DAY_FOLDER,
    INTENTS_FOLDER,
    Contents,
    ExportFolder,
    contents,
    contents_file,
    day_of,
    has_old_days,
)
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, INTENTS, KEYS, DType, Schema
from kusanya_books.engine.engine import Dataset
from kusanya_books.engine.engines import open_engine
from kusanya_books.request.days import Period
from kusanya_books.request.report_inputs import EXPORT

_HEAD: Final = Schema("head", {"rows": DType.WHOLE, "seq": DType.WHOLE, "at": DType.INSTANT})
_KEYS: Final = """
SELECT id, reference FROM collections
WHERE created_at >= $begins AND created_at < $ends
ORDER BY created_at, id
"""
_NAMED: Final = """
SELECT * FROM collections
WHERE id IN (SELECT id FROM keys WHERE id IS NOT NULL)
    OR reference IN (SELECT reference FROM keys WHERE reference IS NOT NULL)
ORDER BY created_at, id
"""
_ANEW: Final = "copy the whole export again, or export the store into an empty folder"
_REFERENCES: Final = Schema("references", {"reference": DType.TEXT})
_AGAIN: Final = """
SELECT DISTINCT c.reference
FROM collections AS c
SEMI JOIN (
    SELECT reference FROM collections WHERE status IN {paid} AND created_at < $begins
) AS e ON e.reference = c.reference
WHERE c.status IN {paid} AND c.business_day BETWEEN $first AND $last
ORDER BY c.reference
"""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """How far an export's collections reach."""

    rows: int
    seq: int
    """The newest journal position among them."""
    at: datetime | None
    """When the newest of them was created or became final; None without rows."""


def collections(folder: Path, *, mode: Mode, period: Period, engine: str = "") -> Dataset:
    """Return the exported collections of `mode` that were created in the period or final in it.

    The same rows as a store gives; widen the period as `load.inputs` does. Raises InputRefused for
    a cutoff other than 00:00, at which the export turned its days, and where nothing of the mode
    was exported. `engine` is a Spark Connect address; DuckDB where empty.
    """
    if period.cutoff != timedelta(0):
        raise InputRefused("an export turns its days at 00:00; with another cutoff, read the store")
    every = _files(folder, mode)
    if not every:
        raise InputRefused(f"{folder.name} holds no exported {mode.value} collections")
    # Nothing created after the period can be final in it.
    paths = tuple(path for day, path in every if day <= period.last) or (every[0][1],)
    begins, ends = _literal(period.begins), _literal(period.ends)
    within = f"created_at >= {begins} AND created_at < {ends}"
    before = f"created_at < {begins} AND final_seen_at >= {begins}"
    return Dataset(paths, condition=f"({within}) OR ({before})", engine=engine)


def days(folder: Path, *, mode: Mode) -> list[date]:
    """Return the business days of the export in order. Raises InputRefused when it has none."""
    found = [day for day, _ in _files(folder, mode)]
    if not found:
        raise InputRefused(f"{folder.name} holds no exported {mode.value} collections")
    return found


def head(found: Dataset) -> Head:
    """Return how many collections there are and how far they reach."""
    # Final or not: what is open has no instant later than its creation.
    asked = (
        "SELECT count(*) AS rows, coalesce(max(seq), 0) AS seq, "
        "max(coalesce(completed_at, created_at)) AS at FROM collections"
    )
    with open_engine(found) as opened:
        opened.register("collections", found, COLLECTIONS)
        row = opened.frame(asked, _HEAD).iloc[0]
    at = None if pd.isna(row["at"]) else row["at"].to_pydatetime()
    return Head(rows=int(row["rows"]), seq=int(row["seq"]), at=at)


def references(folder: Path, *, mode: Mode, period: Period, engine: str = "") -> pd.DataFrame:
    """Return id and reference of the exported collections of `mode` created in the period."""
    paths = tuple(path for day, path in _files(folder, mode) if day <= period.last)
    if not paths:
        return columns.empty(KEYS)
    found = Dataset(paths, engine=engine)
    with open_engine(found) as opened:
        opened.register("collections", found, COLLECTIONS)
        return opened.frame(_KEYS, KEYS, {"begins": period.begins, "ends": period.ends})


def unknown_intents(folder: Path, *, mode: Mode) -> pd.DataFrame:
    """Return the creations of `mode` without an answer, as they were at the export."""
    found = Dataset((folder / INTENTS_FOLDER / f"{mode.value}.parquet",))
    with open_engine(found) as opened:
        opened.register("intents", found, INTENTS)
        return opened.frame("SELECT * FROM intents ORDER BY sent_at, id", INTENTS)


def paid_before(
    folder: Path, *, mode: Mode, period: Period, before: Period, engine: str = ""
) -> list[str]:
    """Return the references paid in the period that were paid before the days of `before` too."""
    paths = tuple(path for day, path in _files(folder, mode) if day <= period.last)
    if not paths:
        return []
    found = Dataset(paths, engine=engine)
    with open_engine(found) as opened:
        opened.register("collections", found, COLLECTIONS)
        days = {"first": period.first, "last": period.last, "begins": before.begins}
        return opened.frame(_AGAIN, _REFERENCES, days)["reference"].tolist()


def of_keys(folder: Path, keys: pd.DataFrame, *, mode: Mode, engine: str = "") -> pd.DataFrame:
    """Return the exported collections of `mode` that the keys name, of whichever day."""
    paths = tuple(path for _, path in _files(folder, mode))
    if keys.empty or not paths:
        return columns.empty(COLLECTIONS)
    found = Dataset(paths, engine=engine)
    with open_engine(found) as opened:
        opened.register("collections", found, COLLECTIONS)
        opened.register("keys", keys, KEYS)
        return opened.frame(_NAMED, COLLECTIONS)


def whole(found: Dataset) -> pd.DataFrame:
    """Return the collections as a frame, ordered by creation and id, as a store gives them."""
    with open_engine(found) as opened:
        opened.register("collections", found, COLLECTIONS)
        return opened.frame("SELECT * FROM collections ORDER BY created_at, id", COLLECTIONS)


def digest(folder: Path) -> str:
    """Return the SHA-256 of all files of the export, each with the name of its day and mode.

    Of whichever day: keys of the books are looked up in all of them. Raises InputRefused for a file
    that is not as it was exported.
    """
    hashed = hashlib.sha256()
    for held in _noted(folder).modes.values():
        for name, written in sorted(held.files.items()):
            if fault := fault_of(folder / name, written, made="exported"):
                raise InputRefused(f"{folder.name}: {name} {fault}; {_ANEW}")
            hashed.update(f"{name}\n{written}\n".encode())
    return hashed.hexdigest()


def store_id(folder: Path) -> str:
    """Return which store was exported, as packs name it."""
    return f"{EXPORT} of {_noted(folder).store_id}"


def lacking(folder: Path, *, mode: Mode, first: date, last: date) -> Iterator[str]:
    """Yield what the folder does not hold of the collections created on the days, in sentences."""
    parts = _noted(folder).modes[mode].parts
    advice = f"export the store again, whole or from {first} on"
    every = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    by = {day: [part.seq for part in parts if part.holds(day)] for day in every}
    if never := [day for day, found in by.items() if not found]:
        yield f"the export does not hold what was created on {_listed(never)}: {advice}"
    if before := [day for day, found in by.items() if found and found[-1] < parts[-1].seq]:
        yield (
            f"of {_listed(before)} the export is older than of the rest, and what became of their "
            f"payments since is not known: {advice}"
        )


def _listed(days: list[date]) -> str:
    more = f" and {len(days) - 1:,} other day(s)" if days[1:] else ""
    return f"{days[0]}{more}"


def _noted(folder: Path) -> ExportFolder:
    try:
        return contents(folder) or ExportFolder("", {})
    except ValueError as error:
        name = contents_file(folder).name
        raise InputRefused(f"{folder.name}: {name} cannot be read; {_ANEW}") from error


def _files(folder: Path, mode: Mode) -> list[tuple[date, Path]]:
    """Return the files of a mode by their days: exactly those that were exported."""
    if has_old_days(folder):
        raise InputRefused(
            f"{folder.name} was exported by an earlier version: export again into an empty folder"
        )
    found = sorted(folder.glob(f"{DAY_FOLDER}*/{mode.value}.parquet"))
    held = _noted(folder).modes.get(mode, Contents((), {}))
    wanted = {name for name in held.files if name.startswith(DAY_FOLDER)}
    there = {str(path.relative_to(folder)) for path in found}
    for name in sorted(wanted - there):
        raise InputRefused(f"{folder.name}: {name} is missing; {_ANEW}")
    for name in sorted(there - wanted):
        raise InputRefused(f"{folder.name}: {name} is of no export that has ended; {_ANEW}")
    return [(day_of(path.parent.name), path) for path in found]


def _literal(at: datetime) -> str:
    return f"TIMESTAMPTZ '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00'"
