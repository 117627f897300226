"""The keys of a filter of collections: what each reads of a row, and which have an index."""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from kusanya.domain.collection_columns import COLUMN_OF_KEY, FieldType, IndexScope
from kusanya.filters import KEYS, Filter, Range, Term, TimeRange
from kusanya.store.records import CollectionFilter, CollectionRow, MetadataTerm
from kusanya_console.lists.filtering import bounds, sought_and_tested
from kusanya_console.lists.paging import Test

_VALUES: Final[Mapping[str, Callable[[CollectionRow], object]]] = {
    **{key: attrgetter(column.name) for key, column in COLUMN_OF_KEY.items()},
    "phone": lambda row: row.phone.removeprefix("+"),
}
_LISTED: Final = {"status": "statuses", "channel": "channels", "code": "failure_codes"}
_PIECE: Final = 3
"""Shorter parts of a reference are in no index: they are tested row by row."""
_PHONE_END: Final = 8
"""So many digits are the end of a phone, more of them a whole one."""
_METADATA: Final = "meta"
COLLECTION_KEYS: Final = (*_VALUES, _METADATA)


def collection_query(query: Filter, *, now: datetime) -> tuple[CollectionFilter, Test | None]:
    """Return what the store seeks for collections, and the test for what is left, if any.

    The query was read with `keys=COLLECTION_KEYS`.
    """
    # Metadata is in no row: the store tells which rows have it, and which have not.
    metadata = tuple(
        MetadataTerm(tuple(map(_entry, term.values)), negated=term.negated)
        for term in query.terms
        if term.key == _METADATA
    )
    of_rows = tuple(term for term in query.terms if term.key != _METADATA)
    query = msgspec.structs.replace(query, terms=of_rows)
    sought, test = sought_and_tested(query, _seek, _VALUES, now=now)
    return CollectionFilter(metadata=metadata, **sought), test


def _entry(value: object) -> tuple[str, str]:
    name, _, said = str(value).partition("=")
    return name, said


def _seek(term: Term, now: datetime) -> dict[str, Any]:  # noqa: PLR0911 - a case each
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "status" | "channel" | "code":
            return {_LISTED[term.key]: term.values}
        case "ref" if isinstance(one, str) and len(one) >= _PIECE:
            return {"reference_part": one}
        case "description" if isinstance(one, str) and len(one) >= _PIECE:
            return {"description_part": one}
        case "phone" if isinstance(one, str) and len(one) > _PHONE_END:
            return {"phone": one}
        case "id":
            return {"ids": term.values}
        case "amount" if isinstance(one, Range):
            return bounds(amount_min=one.low, amount_max=one.high)
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return bounds(created_from=begin, created_to=end)
        case key if KEYS[key] is FieldType.WORD:
            column = COLUMN_OF_KEY[key]
            found = column.indexed is not IndexScope.NO
            return {"words": ((column.name, term.values),)} if found else {}
        case _:
            return {}
