"""The collections that `kusanya store export` wrote, queried where they lie and never loaded whole.

Every function of `fees`, `failures`, `ledger` and `settlement` takes what this returns in place of
a frame. The export tells no source of a fee from another: of these, integrity says no evidence.
"""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from kusanya.reconcile.days import Period
from kusanya.reconcile.engine import Dataset
from kusanya.reconcile.errors import InputRefused
from kusanya.wire import Mode

_FOLDER: Final = "business_day="


def collections(folder: Path, *, mode: Mode, period: Period) -> Dataset:
    """Return the exported collections of `mode` that were created in the period or final in it.

    The same rows as a store gives; widen the period as `load.inputs` does. Raises InputRefused for
    a cutoff other than 00:00, at which the export turned its days, and where nothing of the mode
    was exported.
    """
    if period.cutoff != timedelta(0):
        raise InputRefused("an export turns its days at 00:00; with another cutoff, read the store")
    found = folder.glob(f"{_FOLDER}*/{mode.value}.parquet")
    every = sorted((_day(path.parent), path) for path in found)
    if not every:
        raise InputRefused(f"{folder.name} holds no exported {mode.value} collections")
    # Nothing created after the period can be final in it.
    paths = tuple(path for day, path in every if day <= period.last) or (every[0][1],)
    begins, ends = _literal(period.begins), _literal(period.ends)
    within = f"created_at >= {begins} AND created_at < {ends}"
    before = f"created_at < {begins} AND final_seen_at >= {begins}"
    return Dataset(paths, condition=f"({within}) OR ({before})")


def _day(folder: Path) -> date:
    try:
        return date.fromisoformat(folder.name.removeprefix(_FOLDER))
    except ValueError:
        raise InputRefused(f"{folder.name} is not a folder of an export") from None


def _literal(at: datetime) -> str:
    return f"TIMESTAMPTZ '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00'"
