"""A recorded history is cut at many places, to see whether what was acknowledged survives."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.proofs.kit.disk import Disk
from tests.proofs.kit.recovered import disagreements, look
from tests.proofs.kit.trace import Acknowledgement, Step

_EACH: Final = 4
"""States per place: the disk may keep none, all or any part of what was not synced."""
_THOROUGHLY: Final = 100
"""Every so many states the whole product opens the store and checks it."""


class History(NamedTuple):
    """What a receiver did to its files, and what it acknowledged meanwhile."""

    folder: Path
    steps: list[Step]
    acks: list[Acknowledgement]
    before: Mapping[str, bytes] = {}
    """The files as they were when the recording began, by path."""


class Tally:
    """What was found in the states of one history."""

    def __init__(self) -> None:
        self.states = 0
        self.losing = 0
        """States in which an acknowledged delivery is missing."""
        self.broken: list[str] = []

    def add(self, path: Path, bodies: list[bytes]) -> None:
        """Look at one state."""
        self.states += 1
        found = look(path, bodies)
        self.losing += bool(found.lost)
        if found.damage is not None:
            self.broken.append(found.damage)
        elif self.states % _THOROUGHLY == 0:
            self.broken.extend(disagreements(path))


def cut_everywhere(history: History, memory: Path, *, states: int) -> Tally:
    """Cut the history at places spread over all of it until `states` states were looked at."""
    tally = Tally()
    chance = Random(states)  # noqa: S311 - a repeatable choice
    while tally.states < states:
        _replay(history, memory, tally, states - tally.states, chance)
    return tally


def _replay(history: History, memory: Path, tally: Tally, states: int, chance: Random) -> None:
    disk = Disk(str(history.folder), history.before, chance)
    cuts = set(_spread(len(history.steps), -(-states // _EACH), chance))
    acknowledged_at = {ack.place: ack.body for ack in history.acks}
    kept: list[bytes] = []
    for place, step in enumerate(history.steps):
        disk.apply(step, place)
        if place in acknowledged_at:
            kept.append(acknowledged_at[place])
        if place not in cuts:
            continue
        for contents in disk.states(_EACH):
            _write(memory, contents)
            tally.add(memory / "store.db", kept)


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    for leftover in folder.iterdir():
        leftover.unlink()
    for name, data in contents.items():
        (folder / Path(name).name).write_bytes(data)


def _spread(places: int, wanted: int, chance: Random) -> Iterator[int]:
    """Yield one place out of each of `wanted` equal parts, or every place."""
    if wanted >= places:
        yield from range(places)
        return
    for part in range(wanted):
        yield chance.randrange(part * places // wanted, (part + 1) * places // wanted)
