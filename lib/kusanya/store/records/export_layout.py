"""How the folder of an export is laid out, for who writes it and who reads it."""

from pathlib import Path
from typing import Final

INTENTS_FOLDER: Final = "_intents"
"""Readers of a folder of Parquet files pass over names that begin so."""
DAY_FOLDER: Final = "day="
"""Begins the name of a folder of one day; the key is no column of the files."""
_OLD_DAY_FOLDER: Final = "business_day="


def has_old_days(folder: Path) -> bool:
    """Return whether an earlier version exported here, with folders called as a column."""
    return any(folder.glob(f"{_OLD_DAY_FOLDER}*"))
