"""Lists by keyset: a `Key` names the record after which a page begins.

So a page costs the same at the newest end and ten million records back.
"""

from typing import Generic, TypeVar

import msgspec

Record = TypeVar("Record")


class Key(msgspec.Struct, frozen=True, order=True):
    """A record's place in an order: the sort value, then the id.

    The sort value of instants is microseconds since the epoch.
    """

    value: int
    id: str


class Page(msgspec.Struct, Generic[Record], frozen=True):
    """Records in display order, and whether more lie in the direction that was read."""

    rows: tuple[Record, ...]
    more: bool
