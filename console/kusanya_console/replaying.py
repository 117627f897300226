"""A recording played again: a store of its own that fills as it did, and a clock that says when.

The player owns both. Screens, feed and pages are those of every console and read that store; they
cannot tell the difference, which is why the status line does.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, delete, update
from sqlalchemy.dialects.sqlite import insert

from kusanya.errors import KusanyaError
from kusanya.store import Store, migrations
from kusanya.store.tables.engine import engines, only_store_errors
from kusanya.store.tables.schema import feed_head, metadata
from kusanya.store.tables.values import from_us, to_us
from kusanya_console.recording_file import Frame, Recorded

SPEEDS: Final = (1, 10, 60)
_KEPT: Final = frozenset({"store_meta", "claim"})


class ReplayClock:
    """The recorded time: it runs at a speed, stands, and jumps; never past its ends."""

    def __init__(
        self, start: datetime, end: datetime, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.start: Final = start
        self.end: Final = end
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._at = start
        self._since = monotonic()
        self.speed = SPEEDS[0]
        self.paused = False

    def now(self) -> datetime:
        """Return the recorded instant that is played."""
        with self._lock:
            return self._now()

    def monotonic(self) -> float:
        """Return real seconds: waiting for a store is not part of a recording."""
        return self._monotonic()

    def sleep(self, seconds: float) -> None:
        """Block for real seconds."""
        time.sleep(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Suspend for real seconds."""
        import asyncio

        await asyncio.sleep(max(0.0, seconds))

    @property
    def is_over(self) -> bool:
        """Tell whether the recording's end is reached."""
        return self.now() >= self.end

    def pause(self, *, paused: bool) -> None:
        """Stand, or go on."""
        with self._lock:
            self._anchor(self._now())
            self.paused = paused

    def run_at(self, speed: int) -> None:
        """Run at another speed from here on."""
        with self._lock:
            self._anchor(self._now())
            self.speed = speed

    def jump(self, to: datetime) -> None:
        """Go to an instant of the recording."""
        with self._lock:
            self._anchor(min(max(to, self.start), self.end))

    def _anchor(self, at: datetime) -> None:
        self._at, self._since = at, self._monotonic()

    def _now(self) -> datetime:
        if self.paused:
            return self._at
        gone = timedelta(seconds=(self._monotonic() - self._since) * self.speed)
        return min(self._at + gone, self.end)


class Player:
    """Plays `recorded` into a new store in `folder`. Raises KusanyaError."""

    def __init__(
        self,
        recorded: Recorded,
        folder: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if recorded.opening.revision != migrations.REVISIONS[-1]:
            raise KusanyaError(
                "this recording was made by another version of Kusanya: replay it with that one"
            )
        self.recorded = recorded
        self.path: Final = folder / "replay.sqlite"
        Store.open(self.path).close()
        self._engines = engines(str(self.path))
        self._played = 0
        self._lock = threading.Lock()
        opening = recorded.opening
        self.clock: Final = ReplayClock(
            from_us(opening.started_at), from_us(recorded.ends_at), monotonic=monotonic
        )
        self.rewind()

    @property
    def next_at(self) -> datetime | None:
        """Return when the next recorded change comes, or None after the last."""
        frames = self.recorded.frames
        return from_us(frames[self._played].at) if self._played < len(frames) else None

    def catch_up(self) -> None:
        """Put into the store whatever had come by the clock's instant."""
        with self._lock:
            until = to_us(self.clock.now())
            frames = self.recorded.frames
            end = self._played
            while end < len(frames) and frames[end].at <= until:
                end += 1
            if end > self._played:
                self._apply(frames[self._played : end])
                self._played = end

    def rewind(self) -> None:
        """Put the store back to the recording's beginning; `catch_up` goes on from there."""
        with self._lock:
            with only_store_errors("rewind"), self._engines.writer.begin() as connection:
                for table in reversed(metadata.sorted_tables):
                    if table.name not in _KEPT and table is not feed_head:
                        connection.execute(delete(table))
                head = {"seq": 0, "removed": 0, "searched": 0}
                connection.execute(update(feed_head).values(**head))
                for frame in self.recorded.beginning:
                    _put(connection, frame)
            self._played = 0

    def close(self) -> None:
        """Let go of the store."""
        self._engines.dispose()

    def _apply(self, frames: tuple[Frame, ...]) -> None:
        with only_store_errors("replay"), self._engines.writer.begin() as connection:
            for frame in frames:
                _put(connection, frame)


def _put(connection: Connection, frame: Frame) -> None:
    for name, rows in frame.tables.items():
        table = metadata.tables.get(name)
        if table is None or name in _KEPT:
            raise KusanyaError(f"the recording speaks of a table {name[:40]!r} that there is not")
        names = [column.name for column in table.c]
        if any(len(row) != len(names) for row in rows):
            raise KusanyaError(f"the recording's rows of {name} have other columns")
        values: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in rows]
        if table is feed_head:
            # Nothing of a replay is in the index of references: it is looked through instead.
            for value in values:
                value["searched"] = 0
        connection.execute(insert(table).prefix_with("OR REPLACE"), values)
