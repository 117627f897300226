"""Lists by keyset: a `Key` names the record after which a page begins.

So a page costs the same at the newest end and ten million records back.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import msgspec

from kusanya.store.tables.values import from_us, to_us

Record = TypeVar("Record")
_LAST = "\U0010ffff"
"""Above the first character of every id."""


class Key(msgspec.Struct, frozen=True, order=True):
    """A record's place in an order: the sort value, then the id.

    The sort value of instants is microseconds since the epoch.
    """

    value: int
    id: str

    @classmethod
    def after(cls, instant: datetime) -> "Key":
        """Return the key above all records of `instant` and below all later ones."""
        return cls(to_us(instant), _LAST)

    @classmethod
    def before_all(cls) -> "Key":
        """Return the key below every record."""
        return cls(-(2**62), "")

    @classmethod
    def after_all(cls) -> "Key":
        """Return the key above every record."""
        return cls(2**62, "")

    @property
    def just_above(self) -> "Key":
        """Return the smallest key above this one: what is older than it includes the record."""
        # No id holds a NUL, which would be smaller still: PostgreSQL takes none.
        return Key(self.value, self.id + "\x01")

    @property
    def instant(self) -> datetime:
        """Return the instant at which it stands, in an order by time."""
        return from_us(self.value)


class Page(msgspec.Struct, Generic[Record], frozen=True):
    """Records in display order, and whether more lie in the direction that was read."""

    rows: tuple[Record, ...]
    more: bool


class _Placed(Protocol):
    @property
    def key(self) -> Key: ...


_Row = TypeVar("_Row", bound=_Placed)


def read_all(read: Callable[[Key | None], Page[_Row]]) -> list[_Row]:
    """Return the rows of all pages, the newest first.

    `read` returns the page that is older than a key, or the newest. Raises what it raises.
    """
    page = read(None)
    found = list(page.rows)
    while page.more:
        page = read(found[-1].key)
        found += page.rows
    return found
