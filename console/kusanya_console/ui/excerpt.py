"""The part of a long list that is held: frozen, and all that a table sees of the list."""

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

import msgspec

from kusanya.store.records import Key


class Row(Protocol):
    """What a list needs of its records."""

    @property
    def id(self) -> str:
        """Return what never changes about the record."""
        ...

    @property
    def seq(self) -> int:
        """Return the journal position of its latest change."""
        ...


R = TypeVar("R", bound=Row)


class ListExcerpt(msgspec.Struct, Generic[R], frozen=True):
    """The part of a list that is held, in display order."""

    rows: tuple[R, ...] = ()
    has_newer: bool = False
    has_older: bool = False
    reached: Key | None = None
    """Where a search that ran out of time stopped; it goes on from there when asked to."""

    def patched(self, news: Mapping[str, R]) -> "ListExcerpt[R]":
        """Return the excerpt with the present form of some of its records, each in its place."""
        if not news:
            return self
        return ListExcerpt(
            tuple(news.get(row.id, row) for row in self.rows),
            self.has_newer,
            self.has_older,
            self.reached,
        )
