"""An earlier pack as a run reads it: what it closed, and what it left open."""

from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.errors import FrameError, InputRefused
from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    ITEMS,
    LEDGER,
    MOVEMENTS,
    POSTINGS,
    STATEMENT,
    Schema,
)
from kusanya_books.engine.engine import Dataset, exactly
from kusanya_books.read import pack_folder
from kusanya_books.request.days import cutoff
from kusanya_books.request.days import period as as_period
from kusanya_books.request.earlier_period import Compared, EarlierPeriod

NOT_CLOSED: Final = "not_closed"
"""What the manifest calls the periods that follow each other whose files were not read whole."""
BEGINS: Final = "begins"
"""What the manifest calls the first day of the packs that follow each other."""
COMPARED: Final = "compared"
"""What the manifest calls that which was given to the packs that follow each other, by days."""
PAYERS: Final = "paid_by_operators"
"""What the manifest calls the channels and currencies that operators pay out themselves."""
CLOSED_FILE: Final = "closed.parquet"
ITEMS_FILE: Final = "open_items.parquet"
"""What is open, for a later run and for `kusanya breaks`."""
MOVEMENTS_FILE: Final = "open_movements.parquet"
"""The lines of operators' and banks' statements that a later run needs beside its own."""
PAYOUTS_FILE: Final = "open_payouts.parquet"
"""The lines of the settlement statement that a bank's open items are about."""
EARNED_FILE: Final = "earned.parquet"
SETTLEMENT_FILE: Final = "settlement_lines.parquet"
"""What the payments of each day are, of the packs that follow each other, as their entries book."""
LINES_FILE: Final = "open_lines.parquet"
"""The lines of the books that a later run needs beside its own."""

_FILES: Final = (
    CLOSED_FILE,
    ITEMS_FILE,
    LINES_FILE,
    MOVEMENTS_FILE,
    PAYOUTS_FILE,
    EARNED_FILE,
    SETTLEMENT_FILE,
)


class EarlierPack(msgspec.Struct, frozen=True, kw_only=True):
    """What a pack's folder holds for a later run."""

    manifest: dict[str, Any]
    closed: Dataset
    carried: EarlierPeriod


def read(folder: Path) -> EarlierPack:
    """Return what an earlier pack holds.

    Raises InputRefused when the folder is no pack, an older version made it, or a file that is read
    is not as it was written.
    """
    said = pack_folder.manifest(folder)
    files = {name: pack_folder.as_written(folder, said, name) for name in _FILES}
    try:
        exactly(pq.read_schema(files[CLOSED_FILE]).empty_table(), CLOSED)
        made_from = said["made_from"]
        span = as_period(
            f"{made_from['first']}..{made_from['last']}", cutoff=cutoff(made_from["cutoff"])
        )
        lines = _table(files[LINES_FILE], LEDGER)
        carried = EarlierPeriod(
            run_id=said["run_id"],
            period=span,
            as_of=int(made_from["as_of"]),
            begins=date.fromisoformat(said.get(BEGINS, made_from["first"])),
            items=_table(files[ITEMS_FILE], ITEMS),
            lines=lines.assign(row_no=pd.array(range(-1, -len(lines) - 1, -1), dtype="Int64")),
            compared=msgspec.convert(said.get(COMPARED, ()), tuple[Compared, ...]),
            not_closed=msgspec.convert(said.get(NOT_CLOSED, ()), tuple[tuple[date, date], ...]),
            payers=[(channel, currency) for channel, currency in said.get(PAYERS, ())],
            movements=_table(files[MOVEMENTS_FILE], MOVEMENTS),
            payouts=_table(files[PAYOUTS_FILE], STATEMENT),
            earned=_table(files[EARNED_FILE], POSTINGS),
            settlement_lines=_table(files[SETTLEMENT_FILE], STATEMENT),
        )
    except FrameError as error:
        raise pack_folder.older_pack(folder) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise pack_folder.no_pack(folder) from error
    if not carried.compared:
        raise pack_folder.older_pack(folder)
    return EarlierPack(manifest=said, closed=Dataset((files[CLOSED_FILE],)), carried=carried)


def newest(out: Path, *, store_id: str, mode: str, entity: str, before: date) -> Path | None:
    """Return the pack in `out` whose period ends last before a day, the newest of several.

    Only packs of the same store, mode and entity count; None where there is none. One that names no
    entity counts where none of the same day names this one: else a name that is given for the first
    time would leave all open items behind. A folder that is no pack is passed over, but not one
    that has the name of a pack and lost its manifest: `read` refuses it.
    """
    found: list[tuple[tuple[str, bool, str, int, int], Path]] = []
    for folder in pack_folder.packs(out):
        try:
            made_from = pack_folder.manifest(folder)["made_from"]
            of = (made_from["store_id"], made_from["mode"])
            is_ours = of == (store_id, mode) and pack_folder.is_of_entity(made_from, entity)
            last, is_named = made_from["last"], made_from.get("entity", "") == entity
            judged_on, as_of = made_from["judged_on"], int(made_from["as_of"])
        except (InputRefused, ValueError, KeyError, TypeError):
            name = pack_folder.name_of(folder)
            if name is None:
                continue
            is_ours, last, is_named = name.mode == mode, name.last.isoformat(), False
            judged_on, as_of = "", 0
        if is_ours and last < before.isoformat():
            written_at = pack_folder.written_at(folder)
            found.append(((last, is_named, judged_on, as_of, written_at), folder))
    return max(found)[1] if found else None


def followers(folder: Path) -> list[tuple[date, date]]:
    """Return the periods beside a pack whose packs carry another, earlier close of its days.

    One that was closed again since, and carries this pack, is not among them.
    """
    own = pack_folder.manifest(folder)
    days, facts = pack_folder.days_of(own), pack_folder.facts(own["made_from"])
    earlier: set[str] = set()
    same: set[str] = set()
    carries: list[tuple[tuple[date, date], str]] = []
    for other in pack_folder.packs(folder.parent):
        name = pack_folder.name_of(other)
        if name is not None and name.last < days[0]:
            continue  # no earlier period carries it
        try:
            said = pack_folder.manifest(other)
        except InputRefused:
            continue  # what it carries nobody can read, and a close that reads it is refused
        if not pack_folder.is_of_shop(said["made_from"], own["made_from"]):
            continue
        period = pack_folder.days_of(said)
        if period == days:
            is_same = pack_folder.facts(said["made_from"]) == facts
            (same if is_same else earlier).add(said["run_id"])
        carries.append((period, pack_folder.previous_of(said["made_from"])))
    again = {period for period, previous in carries if previous in same}
    return sorted({period for period, previous in carries if previous in earlier} - again)


def items(folder: Path, said: dict[str, Any]) -> pd.DataFrame:
    """Return the open items of a pack; `said` is what its manifest says.

    Raises InputRefused where they are not as they were written.
    """
    try:
        return _table(pack_folder.as_written(folder, said, ITEMS_FILE), ITEMS)
    except FrameError as error:
        raise pack_folder.older_pack(folder) from error
    except (OSError, ValueError) as error:
        raise pack_folder.no_pack(folder) from error


def _table(path: Path, schema: Schema) -> pd.DataFrame:
    found = columns.from_arrow(pq.read_table(path))
    newer = [name for name in schema.defaults if name not in found]
    if newer:  # than the pack
        found = pd.concat([found, columns.frame(schema, found)[newer]], axis=1)
    return columns.check(found, schema)
