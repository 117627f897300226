"""A disk that loses power: which contents a folder may have after a recorded history was cut.

What a successful sync covered is there. Every later write is there, is not, or is there in some of
its 512-byte sectors, each independently of the others. A name is as it was at the last sync of its
folder, or as it is now. After a failed sync what it should have covered is in neither state for
sure, and no later sync makes up for it: that is how Linux treats pages that it could not write.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

from tests.proofs.kit.trace import Creation, Removal, Rename, Step, Sync, Truncation, Write

SECTOR: Final = 512
_VOLATILE: Final = "-shm"
"""SQLite's shared memory: whoever opens the store first makes it anew."""


class _PendingWrite(NamedTuple):
    place: int
    step: Write | Truncation


class _File:
    """One file: its durable bytes, and what was done to it since."""

    def __init__(self, durable: bytes = b"") -> None:
        self.durable = bytearray(durable)
        self.pending: list[_PendingWrite] = []


Fate = Callable[[], bool]
"""Whether the next write, or the next sector of it, reached the disk."""


class Disk:
    """The disk under one folder while its history is replayed."""

    def __init__(self, folder: str, before: Mapping[str, bytes], chance: Random) -> None:
        """Begin with what was durable `before` the history, by path."""
        self._folder = folder
        self._chance = chance
        self._names = {path: _File(data) for path, data in before.items()}
        self._durable_names = dict(self._names)

    def apply(self, step: Step, place: int) -> None:
        """Replay one step of the history, which stands at `place` of it."""
        match step:
            case Creation(path):
                self._names.setdefault(path, _File())
            case Removal(path):
                self._names.pop(path, None)
            case Rename(path, to) if path in self._names:
                self._names[to] = self._names.pop(path)
            case Write(path) | Truncation(path):
                self._names.setdefault(path, _File()).pending.append(_PendingWrite(place, step))
            case Sync(path, ok, began) if path == self._folder:
                if ok:
                    self._durable_names = dict(self._names)
            case Sync(path, ok, began) if path in self._names:
                self._sync(self._names[path], ok=ok, began=began)
            case _:
                pass

    def _sync(self, file: _File, *, ok: bool, began: int) -> None:
        meant = [pending for pending in file.pending if pending.place < began]
        file.pending = [pending for pending in file.pending if pending.place >= began]
        fate = _always if ok else self._coin
        for pending in meant:
            _apply_fate(file.durable, pending.step, fate)

    def states(self, count: int) -> Iterator[dict[str, bytes]]:
        """Yield the contents by path that the folder may have if the power fails now."""
        for _ in range(count):
            fate, torn = self._chance.choice(
                ((_never, False), (_always, False), (self._coin, False), (self._coin, True))
            )
            found: dict[str, bytes] = {}
            for path in sorted(self._names.keys() | self._durable_names.keys()):
                names = self._names if fate() else self._durable_names
                file = names.get(path)
                if file is None or path.endswith(_VOLATILE):
                    continue
                contents = bytearray(file.durable)
                for pending in file.pending:
                    if torn:
                        _apply_fate(contents, pending.step, fate)
                    elif fate():
                        _apply_fate(contents, pending.step, _always)
                found[path] = bytes(contents)
            yield found

    def _coin(self) -> bool:
        return self._chance.random() < 0.5


def _always() -> bool:
    return True


def _never() -> bool:
    return False


def _apply_fate(contents: bytearray, step: Write | Truncation, fate: Fate) -> None:
    """Bring those sectors of one write into `contents` that fate lets through."""
    if isinstance(step, Truncation):
        if fate():
            del contents[step.size :]
            contents.extend(bytes(step.size - len(contents)))
        return
    start, end = step.offset, step.offset + len(step.data)
    at = start
    while at < end:
        stop = end if fate is _always else min(end, (at // SECTOR + 1) * SECTOR)
        if fate():
            if len(contents) < stop:
                contents.extend(bytes(stop - len(contents)))
            contents[at:stop] = step.data[at - start : stop - start]
        at = stop
