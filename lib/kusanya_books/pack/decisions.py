"""What people say about the open items of a pack: read with what is known today, and recorded.

A pack never changes. What people say goes to the store as facts, and the next run reads it there.
"""

from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.privacy import mask_text
from kusanya.store import Store
from kusanya.store.records import BreakFact, BreakStatus
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import DType
from kusanya_books.judge import open_items
from kusanya_books.match import break_life
from kusanya_books.read import earlier_pack, pack_folder
from kusanya_books.read.pack_folder import MANIFEST

_PREFIX_LENGTH: Final = 4
"""Fewest characters of an id that may stand for the whole."""


class OpenItems(msgspec.Struct, frozen=True, kw_only=True):
    """The open items of one pack, with what people have said up to now."""

    folder: Path
    run_id: str
    mode: Mode
    frame: pd.DataFrame

    def find(self, text: str) -> Any:
        """Return the item whose id is `text` or alone begins so, as a row of `ITEMS`.

        Raises InputRefused for none, and for several.
        """
        wanted = text.strip().lower()
        ids = self.frame["break_id"]
        chosen = self.frame[ids == wanted]
        if chosen.empty and len(wanted) >= _PREFIX_LENGTH:
            chosen = self.frame[ids.str.startswith(wanted)]
        if len(chosen) != 1:
            raise InputRefused(
                f"{len(chosen)} breaks of {self.folder.name} begin with {text}: give the whole id"
                if len(chosen)
                else f"{self.folder.name} has no open break {text}; kusanya breaks list shows them"
            )
        return next(columns.records(chosen))


def load(store: Store, pack: str | Path) -> OpenItems:
    """Return the open items of a pack with their statuses, owners and notes of today.

    `pack` is the folder of a pack, or a folder of packs: then the latest period's newest one that
    was made from this store. Raises InputRefused where there is none, or it is another store's.
    """
    folder, manifest = _newest(Path(pack), store.store_id)
    frame = earlier_pack.items(folder, manifest)
    mode = Mode(manifest["made_from"]["mode"])
    histories = store.breaks.histories(mode)
    said: dict[str, list[str | None]] = {
        name: [] for name in ("status", "owner", "note", "decided_by")
    }
    for row in columns.records(frame):
        history = histories.get(row.break_id)
        status = break_life.status_of(history, open_items.subject_of(row))
        decided = history is not None and status is not BreakStatus.OPEN
        said["status"].append(status.value)
        said["owner"].append(_shown(None if history is None else history.owner))
        said["note"].append(_shown(None if history is None else history.note))
        said["decided_by"].append(
            history.decision.actor if history and decided and history.decision else None
        )
    fresh = {
        name: pd.Series(values, frame.index, DType.TEXT.pandas) for name, values in said.items()
    }
    return OpenItems(
        folder=folder, run_id=manifest["run_id"], mode=mode, frame=frame.assign(**fresh)
    )


def record(
    store: Store,
    items: OpenItems,
    break_id: str,
    *,
    actor: str | None = None,
    status: str | None = None,
    owner: str | None = None,
    note: str | None = None,
) -> BreakFact:
    """Record what a person says about one open item of a pack, and return the fact.

    `status` is open, explained, accepted or to_be_booked; all but open need a reason in `note`. An
    accepted item stands against no later verdict while its code and its money stay what they are.
    Raises InputRefused for an unknown item or status and for a missing reason, and StoreError where
    the store cannot be written.
    """
    row = items.find(break_id)
    try:
        return store.breaks.record(
            open_items.subject_of(row),
            items.mode,
            actor=actor or store.audit.actor,
            status=None if status is None else BreakStatus(status.replace("-", "_")),
            owner=owner,
            note=note,
            run_id=items.run_id,
        )
    except ValueError as error:
        raise InputRefused(str(error)) from error


def _newest(pack: Path, store_id: str) -> tuple[Path, dict[str, Any]]:
    folders = [pack] if (pack / MANIFEST).is_file() else pack_folder.packs(pack)
    if not folders:
        raise InputRefused(f"{pack} is no pack and holds none: name the folder of one")
    read = [(folder, pack_folder.manifest(folder)) for folder in folders]
    ours = [(folder, found) for folder, found in read if found["made_from"]["store_id"] == store_id]
    if not ours:
        raise InputRefused(f"no pack in {pack} was made from this store: name the store it is of")

    def order(one: tuple[Path, dict[str, Any]]) -> tuple[str, int, int]:
        folder, made_from = one[0], one[1]["made_from"]
        return made_from["last"], int(made_from["as_of"]), pack_folder.written_at(folder)

    return max(ours, key=order)


def _shown(text: str | None) -> str | None:
    return None if text is None else mask_text(text)
