"""An earlier pack as a run reads it: what it closed, and what it left open."""

import json
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.errors import FrameError, InputRefused
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    ITEMS,
    LEDGER,
    MOVEMENTS,
    STATEMENT,
    Schema,
)
from kusanya_books.engine.engine import Dataset, exactly
from kusanya_books.request.days import cutoff
from kusanya_books.request.days import period as as_period
from kusanya_books.request.earlier_period import Compared, EarlierPeriod

MANIFEST: Final = "manifest.json"
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
LINES_FILE: Final = "open_lines.parquet"
"""The lines of the books that a later run needs beside its own."""


class EarlierPack(msgspec.Struct, frozen=True, kw_only=True):
    """What a pack's folder holds for a later run."""

    manifest: dict[str, Any]
    closed: Dataset
    carried: EarlierPeriod | None
    """None where an older version made the pack."""
    begins: date
    """The first day of the packs that follow each other, this one the last."""


def read(folder: Path) -> EarlierPack:
    """Return what an earlier pack holds.

    Raises InputRefused when the folder is no pack, or an older version made it.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        closed = Dataset((folder / CLOSED_FILE,))
        exactly(pq.read_schema(folder / CLOSED_FILE).empty_table(), CLOSED)
        made_from = manifest["made_from"]
        span = as_period(
            f"{made_from['first']}..{made_from['last']}", cutoff=cutoff(made_from["cutoff"])
        )
        begins = min(span.first, date.fromisoformat(manifest.get(BEGINS, made_from["first"])))
        carried = None
        if (folder / ITEMS_FILE).exists() and (folder / LINES_FILE).exists():
            lines = _table(folder / LINES_FILE, LEDGER)
            numbers = pd.array(range(-1, -len(lines) - 1, -1), dtype="Int64")
            carried = EarlierPeriod(
                run_id=manifest["run_id"],
                period=span,
                begins=begins,
                items=items(folder),
                lines=lines.assign(row_no=numbers),
                compared=msgspec.convert(manifest.get(COMPARED, ()), tuple[Compared, ...]),
                payers=[(channel, currency) for channel, currency in manifest.get(PAYERS, ())],
                movements=_maybe(folder / MOVEMENTS_FILE, MOVEMENTS),
                payouts=_maybe(folder / PAYOUTS_FILE, STATEMENT),
            )
        _ = manifest["run_id"], Mode(made_from["mode"])
    except (OSError, ValueError, KeyError, TypeError, FrameError) as error:
        raise InputRefused(f"{folder.resolve().name} is not the folder of a pack") from error
    if carried is not None and not carried.compared:
        raise InputRefused(
            f"{folder.resolve().name}: an older version made this pack; close its period again"
        )
    return EarlierPack(manifest=manifest, closed=closed, carried=carried, begins=begins)


def newest(out: Path, *, store_id: str, mode: str, entity: str, before: date) -> Path | None:
    """Return the pack in `out` whose period ends last before a day, the newest of several.

    Only packs of the same store, mode and entity count; None where there is none. A folder that is
    no pack is passed over.
    """
    found = []
    for path in sorted(out.glob(f"*/{MANIFEST}")):
        try:
            made_from = json.loads(path.read_text(encoding="utf-8"))["made_from"]
            last, of = made_from["last"], (made_from["store_id"], made_from["mode"])
            ours = (*of, made_from.get("entity", "")) == (store_id, mode, entity)
            order = (last, made_from["judged_on"], made_from["as_of"], path.parent.name)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if ours and last < before.isoformat():
            found.append((order, path.parent))
    return max(found)[1] if found else None


def items(folder: Path) -> pd.DataFrame:
    """Return the open items of a pack. Raises OSError or ValueError where it holds none."""
    read = columns.from_arrow(pq.read_table(folder / ITEMS_FILE))
    if "subject" not in read:
        # An older version named it in the id alone.
        read.insert(list(ITEMS.columns).index("subject"), "subject", None)
        read = columns.frame(ITEMS, read)
    return columns.check(read, ITEMS)


def _maybe(path: Path, schema: Schema) -> pd.DataFrame | None:
    return _table(path, schema) if path.exists() else None


def _table(path: Path, schema: Schema) -> pd.DataFrame:
    return columns.check(columns.from_arrow(pq.read_table(path)), schema)
