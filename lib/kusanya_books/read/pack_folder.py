"""The folder of a pack as anything reads it: its manifest, and files as they were written."""

import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec

from kusanya.errors import InputRefused
from kusanya.platform.digest import fault_of
from kusanya.wire import Mode

MANIFEST: Final = "manifest.json"
_NAME: Final = re.compile(r"kusanya-(\d{4}-\d\d-\d\d)-(\d{4}-\d\d-\d\d)-(live|test)-(\w+)")


class PackName(msgspec.Struct, frozen=True):
    """What the name of a pack's folder says, whatever became of its files."""

    first: date
    last: date
    mode: str
    run: str

    def meets(self, first: date, last: date) -> bool:
        """Return whether it is of any of these days."""
        return self.first <= last and first <= self.last


def name_of(folder: Path) -> PackName | None:
    """Return what the name of a folder says; None where it is not that of a pack."""
    found = _NAME.fullmatch(folder.name) if folder.is_dir() else None
    if found is None:
        return None
    first, last, mode, run = found.groups()
    return PackName(date.fromisoformat(first), date.fromisoformat(last), mode, run)


def packs(out: Path) -> list[Path]:
    """Return the packs of a folder, also those that have a pack's name and lost their manifest."""
    return [
        folder
        for folder in sorted(out.glob("*"))
        if (folder / MANIFEST).is_file() or name_of(folder) is not None
    ]


def manifest(folder: Path) -> dict[str, Any]:
    """Return what a pack says of itself. Raises InputRefused when the folder is no pack."""
    try:
        found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        made_from = found["made_from"]
        _ = found["run_id"], dict(found["files"]), Mode(made_from["mode"])
        _ = tuple(made_from[name] for name in ("store_id", "first", "last", "as_of", "cutoff"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise no_pack(folder) from error
    return found


def is_of_entity(made_from: Mapping[str, Any], entity: str) -> bool:
    """Return whether a pack is of an entity's books; whose it is need not have been said always."""
    own = made_from.get("entity", "")
    return not own or not entity or own == entity


def is_of_shop(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two packs are of one store and mode, and of one entity's books."""
    is_same = all(one.get(part) == other[part] for part in ("store_id", "mode"))
    return is_same and is_of_entity(one, other["entity"])


def days_of(said: Mapping[str, Any]) -> tuple[date, date]:
    """Return the first and the last day of a pack, as its manifest says."""
    made_from = said["made_from"]
    return date.fromisoformat(made_from["first"]), date.fromisoformat(made_from["last"])


def previous_of(made_from: Mapping[str, Any]) -> str:
    """Return the run that a close carries, empty for none."""
    return str(made_from.get("files", {}).get("previous", ""))


def facts(made_from: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what was closed of its days; where it is booked is no part of that."""
    files = {name: one for name, one in made_from.get("files", {}).items() if name != "accounts"}
    names = ("first", "last", "as_of", "inputs")
    return (*(made_from.get(name) for name in names), files)


def written_at(folder: Path) -> int:
    """Return when a pack was made or made again, in ns: which of two of the same facts is newer."""
    path = folder / MANIFEST
    return path.stat().st_mtime_ns if path.exists() else 0


def as_written(folder: Path, said: dict[str, Any], name: str) -> Path:
    """Return the path of a file of a pack; `said` is what its manifest says.

    Raises InputRefused when it is not there or was changed: a pack stays as it was written, and
    what of it is lost would be missed by nobody.
    """
    try:
        written = said["files"][name]["sha256"]
    except (KeyError, TypeError) as error:
        raise older_pack(folder) from error
    if fault := fault_of(folder / name, written, made="written"):
        raise InputRefused(
            f"{folder.resolve().name}: {name} {fault}; copy the pack again, or close its period "
            "again"
        )
    return folder / name


def no_pack(folder: Path) -> InputRefused:
    """Return what is raised where a folder holds no pack."""
    return InputRefused(f"{folder.resolve().name} is not the folder of a pack")


def older_pack(folder: Path) -> InputRefused:
    """Return what is raised of a pack that lacks what this version writes."""
    return InputRefused(
        f"{folder.resolve().name}: an older version made this pack; close its period again"
    )
