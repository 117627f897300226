"""How the folder of an export is laid out, for who writes it and who reads it."""

from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from kusanya.wire import Mode

INTENTS_FOLDER: Final = "_intents"
"""Readers of a folder of Parquet files pass over names that begin so."""
DAY_FOLDER: Final = "day="
"""Begins the name of a folder of one day; the key is no column of the files."""
_CONTENTS: Final = "_contents.json"
_OLD_DAY_FOLDER: Final = "business_day="


class Part(msgspec.Struct, frozen=True):
    """One export into the folder: of which days, both included, and what its store knew then."""

    since: date | None
    until: date | None
    seq: int
    """The place of the change feed when it began."""

    def holds(self, day: date) -> bool:
        """Return whether it wrote the collections that were created on a day."""
        return (self.since is None or self.since <= day) and (
            self.until is None or day <= self.until
        )


class Contents(msgspec.Struct, frozen=True):
    """What a folder holds of one mode."""

    parts: tuple[Part, ...]
    """The exports into it, the latest last."""
    files: dict[str, str]
    """The SHA-256 of each file, by its path in the folder."""

    def after(self, part: Part, files: dict[str, str]) -> "Contents":
        """Return the contents once one more export has ended."""
        left = {
            name: digest
            for name, digest in self.files.items()
            if name.startswith(DAY_FOLDER) and not part.holds(day_of(Path(name).parent.name))
        }
        parts = self.parts if left else ()
        return Contents((*parts, part), {**left, **files})


class ExportFolder(msgspec.Struct, frozen=True):
    """What the exports into a folder noted when they had ended: one that did not is not in it."""

    store_id: str
    modes: dict[Mode, Contents]


def contents(folder: Path) -> ExportFolder | None:
    """Return what a folder holds; None where no export ended. Raises ValueError for no JSON."""
    try:
        return msgspec.json.decode((folder / _CONTENTS).read_bytes(), type=ExportFolder)
    except FileNotFoundError:
        return None


def contents_file(folder: Path) -> Path:
    """Return where the contents are noted."""
    return folder / _CONTENTS


def day_of(name: str) -> date:
    """Return the day of a folder by its name. Raises ValueError for another folder's name."""
    return date.fromisoformat(name.removeprefix(DAY_FOLDER))


def has_old_days(folder: Path) -> bool:
    """Return whether an earlier version exported here, with folders called as a column."""
    return any(folder.glob(f"{_OLD_DAY_FOLDER}*"))
