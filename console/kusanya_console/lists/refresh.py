"""What a list reads next: a person's wish first, then the news of the feed, one at a time.

Pure: it holds what waits and hands out the next reading; the screen runs it on a thread. News that
waits is one set of ids, never a queue.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from kusanya_console.widgets.window import PageWindow, Row

R = TypeVar("R", bound=Row)


class Listed(msgspec.Struct, Generic[R], frozen=True):
    """One reading of the list: the window, how many newer records there are, where to point."""

    window: PageWindow[R]
    newer: int = 0
    point: str | None = None
    changed: frozenset[str] = frozenset()
    """Records that are new or read otherwise than before: they bear a mark."""
    heard: frozenset[str] = frozenset()
    """Records with news of any kind, a note on them too."""


Reading = Callable[[], Listed[R]]


class Agenda(Generic[R]):
    """The readings of one list; at most one is under way."""

    def __init__(self) -> None:
        self.news: set[str] = set()
        self._fresh = False
        self._busy = False
        self._wish: Reading[R] | None = None
        self._begun: Reading[R] | None = None

    @property
    def idle(self) -> bool:
        """Tell whether nothing is read and nothing waits to be."""
        return not self._fresh and not self._busy and self._wish is None

    @property
    def wished(self) -> bool:
        """Tell whether a person's wish waits."""
        return self._wish is not None

    def wish(self, reading: Reading[R]) -> None:
        """Take what a person asked for; a wish not yet begun gives way to a later one."""
        self._wish = reading

    def hear(self, ids: frozenset[str], *, anyway: bool = False) -> None:
        """Take the ids of records with news; `anyway` reads the list again without any."""
        self.news |= ids
        self._fresh = self._fresh or bool(ids) or anyway

    def begin(
        self, catch_up: Callable[[frozenset[str]], Reading[R]], *, news: bool
    ) -> Reading[R] | None:
        """Return the reading to run now, or None; `news` is False while the list is held still."""
        if self._busy:
            return None
        reading = self._begun = self._wish
        self._wish = None
        if reading is None and self._fresh and news:
            ids, self.news, self._fresh = frozenset(self.news), set(), False
            reading = catch_up(ids)
        self._busy = reading is not None
        return reading

    def end(self) -> None:
        """Note that the reading under way has been shown."""
        self._busy = False

    def fail(self) -> None:
        """Note that it failed: wish and news are read again with the next tick that works."""
        self._busy = False
        self._fresh = True
        self._wish = self._wish or self._begun
