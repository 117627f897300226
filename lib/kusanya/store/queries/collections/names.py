"""Collections by what names them: an id, a reference or how it begins, a phone or its end."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, bindparam, func, literal_column, select

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.queries.collections.metadata import MetadataSearch
from kusanya.store.queries.collections.parts_of_text import BY_ID
from kusanya.store.queries.collections.terms import LAST, phone_spellings
from kusanya.store.queries.planner_hints import bound_asked, unindexed
from kusanya.store.records import CollectionRow, Page
from kusanya.store.tables.schema import collection
from kusanya.store.tables.values import clean, to_us
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

_RARE: Final = 1_000
"""So many rows are sorted in a few milliseconds."""
_IT: Final = collection.c
_OF_MODE: Final[ColumnElement[bool]] = _IT.mode == bindparam("of_mode")
_NEWEST_FIRST: Final = (unindexed(_IT.created_at).desc(), _IT.id.desc())
# Made once: building a statement costs more than running it does.
_ONE: Final = select(*SHOWN).where(_IT.id == bindparam("of_id"), _OF_MODE)
_NEWEST: Final = select(*SHOWN).where(_OF_MODE).order_by(*_NEWEST_FIRST).limit(bound_asked())
_BY_REFERENCE: Final = _NEWEST.where(_IT.reference == bindparam("reference"))
_BY_REFERENCES: Final = _NEWEST.where(_IT.reference.in_(bindparam("references", expanding=True)))
_BEGINNING: Final = (
    select(*SHOWN)
    .where(_OF_MODE, _IT.reference >= bindparam("first"), _IT.reference < bindparam("last"))
    .limit(bound_asked())
)
_NEWEST_BEGINNING: Final = _BEGINNING.order_by(*_NEWEST_FIRST)
_HIGHEST_BEGINNING: Final = _BEGINNING.order_by(_IT.reference.desc())
_COUNT_BEGINNING: Final = select(func.count()).select_from(
    _BEGINNING.with_only_columns(literal_column("1")).subquery()
)
_BY_PHONE: Final = _NEWEST.where(_IT.phone.in_((bindparam("digits"), bindparam("with_plus"))))
_BY_PHONE_SINCE: Final = _BY_PHONE.where(_IT.created_at >= bindparam("since"))


class NameSearch(MetadataSearch):
    """Finding collections by what names them, beside their texts."""

    def get(self, collection_id: str, mode: Mode) -> CollectionRow | None:
        """Return one collection of one mode, or None where that mode does not know it."""
        rows = self._rows(_ONE, {"of_id": clean(collection_id), "of_mode": mode.value})
        return rows[0] if rows else None

    def by_id(self, ids: Sequence[str], mode: Mode) -> dict[str, CollectionRow]:
        """Return the ones of `ids` that a mode knows, by id."""
        if not ids:
            return {}
        asked = {"ids": [clean(text) for text in ids], "of_mode": mode.value}
        return {row.id: row for row in self._rows(BY_ID, asked)}

    def by_reference(
        self, mode: Mode, *references: str, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return the collections with exactly this reference, or one of several, newest first."""
        asked = [clean(reference, NAME_MAX) for reference in references]
        bound = {"of_mode": mode.value, "bound": limit}
        if len(asked) == 1:
            return self._rows(_BY_REFERENCE, {"reference": asked[0], **bound})
        return self._rows(_BY_REFERENCES, {"references": asked, **bound})

    def by_prefix(self, mode: Mode, prefix: str, *, limit: int = 50) -> Page[CollectionRow]:
        """Return collections whose reference begins with `prefix`, newest first.

        Where more than a thousand do, those with the highest references: finding the newest of
        them could mean to read the whole history.
        """
        first = clean(prefix)
        asked = {"of_mode": mode.value, "first": first, "last": first + LAST}
        with self._reading("read collections") as connection:
            count = connection.execute(_COUNT_BEGINNING, {**asked, "bound": _RARE + 1}).scalar_one()
            if not count:
                return Page(rows=(), more=False)
            query = _NEWEST_BEGINNING if count <= _RARE else _HIGHEST_BEGINNING
            found = connection.execute(query, {**asked, "bound": limit + 1})
            rows = tuple([to_row(row) for row in found])
        return Page(rows=rows[:limit], more=len(rows) > limit)

    def by_phone(
        self, mode: Mode, phone: str, *, since: datetime | None = None, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return the collections of a phone, with or without a leading +, newest first."""
        with self._reading("read collections") as connection:
            return of_phone(connection, mode, phone, since=since, limit=limit)

    def by_phone_end(
        self,
        mode: Mode,
        digits: str,
        *,
        since: datetime | None = None,
        among: int = 20_000,
        limit: int = 50,
    ) -> tuple[CollectionRow, ...]:
        """Return the collections whose phone ends so, newest first, `among` so many newest.

        No index holds the ends of phones: the bound keeps the question short. With `since` those
        created before it are left out.
        """
        newest = (
            select(_IT.id, _IT.phone)
            .where(_IT.mode == mode.value)
            .order_by(_IT.created_at.desc(), _IT.id.desc())
            .limit(among)
        )
        if since is not None:
            newest = newest.where(_IT.created_at >= to_us(since))
        last = newest.subquery()
        ids = (
            select(last.c.id)
            .where(last.c.phone.endswith(clean(digits), autoescape=True))
            .limit(limit)
        )
        with self._reading("read collections") as connection:
            named = connection.execute(ids).scalars().all()
        rows = self.by_id(named, mode).values()
        return tuple(sorted(rows, key=lambda row: row.key, reverse=True))

    def _rows(self, query: Select[Any], asked: dict[str, Any]) -> tuple[CollectionRow, ...]:
        with self._reading("read collections") as connection:
            return _shown(connection, query, asked)


def of_phone(
    connection: Connection, mode: Mode, phone: str, *, since: datetime | None, limit: int
) -> tuple[CollectionRow, ...]:
    """Return the collections of a phone, with or without a leading +, newest first."""
    digits, with_plus = phone_spellings(phone)
    asked = {"of_mode": mode.value, "digits": digits, "with_plus": with_plus, "bound": limit}
    if since is None:
        return _shown(connection, _BY_PHONE, asked)
    return _shown(connection, _BY_PHONE_SINCE, {**asked, "since": to_us(since)})


def _shown(
    connection: Connection, query: Select[Any], asked: dict[str, Any]
) -> tuple[CollectionRow, ...]:
    return tuple([to_row(row) for row in connection.execute(query, asked)])
