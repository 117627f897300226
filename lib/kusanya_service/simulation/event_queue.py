"""The event queue: the open outcomes and attempts, in the order in which they happen.

Held in memory, rebuilt from the storage at start. An entry is a reminder, not a fact: who acts
on it reads the storage first, so that a stale one does nothing.
"""

import asyncio
import heapq
import itertools
from typing import Final

import msgspec


class DueOutcome(msgspec.Struct, frozen=True, gc=False):
    """A collection's outcome is due."""

    collection: int


class DueAttempt(msgspec.Struct, frozen=True, gc=False):
    """An attempt of a delivery is due."""

    delivery: int
    endpoint: int


DueItem = DueOutcome | DueAttempt


class EventQueue:
    """A heap of items by instant; items of one instant keep the order they were put in."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, DueItem]] = []
        self._order = itertools.count()
        self.earlier: Final = asyncio.Event()
        """Set when an item was put before all others, for the task that sleeps until the first."""

    def put(self, due_ms: int, item: DueItem) -> None:
        """Add an item that is due at a monotonic instant."""
        if not self._heap or due_ms < self._heap[0][0]:
            self.earlier.set()
        heapq.heappush(self._heap, (due_ms, next(self._order), item))

    def next_due(self) -> int | None:
        """Return the instant of the first item, or None when nothing is open."""
        return self._heap[0][0] if self._heap else None

    def take(self, until_ms: int) -> list[DueItem]:
        """Remove and return everything due up to and including an instant."""
        taken = []
        while self._heap and self._heap[0][0] <= until_ms:
            taken.append(heapq.heappop(self._heap)[2])
        return taken

    def __len__(self) -> int:
        return len(self._heap)
