"""The columns of a collection, each declared once: what it holds, who filters by it, who sees it.

The store's table, the projection, the filter's keys, the index that a list takes, exports and
masked copies follow from COLUMNS. A text is masked in what is handed on unless declared harmless.
"""

from enum import StrEnum
from typing import Final

import msgspec

WORD_MAX: Final = 64
"""Longest status, channel, currency or failure code in a column; four of them share a key."""
NAME_MAX: Final = 256
"""Longest id, reference or phone in a column: PostgreSQL indexes no entry above 2,704 bytes."""


class FieldType(StrEnum):
    """What the values of a filter's key are."""

    WORD = "word"
    PART = "part"
    PHONE = "phone"
    NUMBER = "number"
    AGE = "age"
    TIME = "time"
    ENTRY = "entry"
    """A name and its value, of which a collection has any number."""


class ColumnType(StrEnum):
    """What a column holds."""

    NAME = "name"
    """A text that is compared byte by byte: what indexes hold."""
    TEXT = "text"
    WHOLE = "whole"
    COUNT = "count"
    INSTANT = "instant"
    """Microseconds since the epoch, UTC."""

    @property
    def is_text(self) -> bool:
        """Return whether the column holds text."""
        return self in {ColumnType.NAME, ColumnType.TEXT}


class IndexScope(StrEnum):
    """Which rows the column's own index holds, in the order of creation."""

    NO = "no"
    ALL = "all"
    PRESENT = "present"
    """Those that have a value: for what few collections have."""


class CollectionColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column, with the value of the field of the same name in `CollectionState`.

    `seq`, `event_id` and `unwell` are no fields of it: `store/writer/projection.py` makes them.
    """

    name: str
    type: ColumnType
    optional: bool = False
    longest: int | None = None
    """A longer text is cut."""
    keys: tuple[tuple[str, FieldType], ...] = ()
    """The filter's keys that ask for it."""
    indexed: IndexScope = IndexScope.NO
    harmless: bool = False
    """Whether a text is the service's own or a key: an export has it as it is, a masked copy
    without phones. Any other has its phones masked in an export and is hidden in a masked copy."""


_NAME, _TEXT, _WHOLE, _COUNT, _INSTANT = ColumnType
_WORD = FieldType.WORD

COLUMNS: Final[tuple[CollectionColumn, ...]] = (
    CollectionColumn(name="id", type=_NAME, keys=(("id", _WORD),), harmless=True),
    CollectionColumn(name="seq", type=_WHOLE),
    CollectionColumn(name="mode", type=_NAME, harmless=True),
    CollectionColumn(
        name="status", type=_NAME, longest=WORD_MAX, keys=(("status", _WORD),), harmless=True
    ),
    CollectionColumn(name="amount", type=_WHOLE, keys=(("amount", FieldType.NUMBER),)),
    CollectionColumn(name="fee", type=_WHOLE, keys=(("fee", FieldType.NUMBER),)),
    CollectionColumn(
        name="currency", type=_TEXT, longest=WORD_MAX, keys=(("currency", _WORD),), harmless=True
    ),
    CollectionColumn(
        name="channel",
        type=_NAME,
        longest=WORD_MAX,
        keys=(("channel", _WORD),),
        indexed=IndexScope.ALL,
        harmless=True,
    ),
    CollectionColumn(
        name="phone", type=_NAME, longest=NAME_MAX, keys=(("phone", FieldType.PHONE),)
    ),
    # The books know it: masked it would meet no line of theirs.
    CollectionColumn(
        name="reference",
        type=_NAME,
        longest=NAME_MAX,
        keys=(("ref", FieldType.PART),),
        harmless=True,
    ),
    CollectionColumn(
        name="description", type=_TEXT, optional=True, keys=(("description", FieldType.PART),)
    ),
    CollectionColumn(
        name="failure_code",
        type=_NAME,
        optional=True,
        longest=WORD_MAX,
        keys=(("code", _WORD),),
        indexed=IndexScope.PRESENT,
        harmless=True,
    ),
    CollectionColumn(name="failure_message", type=_TEXT, optional=True, harmless=True),
    CollectionColumn(
        name="created_at",
        type=_INSTANT,
        keys=(("age", FieldType.AGE), ("at", FieldType.TIME)),
    ),
    CollectionColumn(name="completed_at", type=_INSTANT, optional=True),
    CollectionColumn(name="first_seen_at", type=_INSTANT),
    CollectionColumn(name="final_seen_at", type=_INSTANT, optional=True),
    CollectionColumn(name="learned_from", type=_TEXT, optional=True, harmless=True),
    CollectionColumn(
        name="event_id", type=_NAME, optional=True, keys=(("event", _WORD),), harmless=True
    ),
    CollectionColumn(name="contradictions", type=_COUNT),
    CollectionColumn(name="unwell", type=_COUNT),
)
"""In the order of the table; a new one stands last, where a migration adds it."""

_ASKED_MOST: Final = ("status", "channel", "code", "ref", "phone", "amount", "fee", "currency")
_DECLARED: Final = {key: column for column in COLUMNS for key, _ in column.keys}
COLUMN_OF_KEY: Final = {key: _DECLARED[key] for key in (*_ASKED_MOST, *_DECLARED)}
"""The column that each key of the filter asks for; first those that people ask for most."""
KEY_TYPES: Final = {key: dict(column.keys)[key] for key, column in COLUMN_OF_KEY.items()}
"""What the values of each of these keys are."""
