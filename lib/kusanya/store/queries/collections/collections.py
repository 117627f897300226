"""Collections in lists, by id, by reference and by phone; their facts and their state.

Every list is read by keyset on an index that holds its order, so a page costs the same anywhere in
the history.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from kusanya.collection_columns import NAME_MAX
from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation
from kusanya.store.queries.collections.terms import (
    LAST,
    amount_within,
    begins_with,
    conditions,
    created_within,
    phone_spellings,
)
from kusanya.store.queries.collections.texts import TextSearch, has_entry, with_entry
from kusanya.store.queries.planner_hints import unindexed, unsearched
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    Key,
    MetadataTerm,
    Page,
    SortOrder,
)
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import collection, metadata_entry, observation
from kusanya.store.tables.values import clean, to_us
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

_ORDERED_BY: Final = {
    SortOrder.CREATED: collection.c.created_at,
    SortOrder.FINAL: collection.c.final_seen_at,
    SortOrder.AMOUNT: collection.c.amount,
}
_ALL: Final = CollectionFilter()
_RARE: Final = 1_000
"""So many rows are sorted in a few milliseconds."""
_SORTED: Final = 20_000
"""So many rows of an amount are sorted sooner than walking the list would meet a page of fewer."""
_WALKED: Final = 50
"""Rows of a time lie side by side: so many are walked while one row of an amount is fetched."""
# Made once: building a statement costs more than running it does.
_BY_ID: Final = select(*SHOWN).where(
    collection.c.id.in_(bindparam("of", expanding=True)), collection.c.mode == bindparam("in")
)


class Collections(TextSearch):
    """Reading the projection and what it follows from."""

    def page(
        self,
        mode: Mode,
        *,
        where: CollectionFilter = _ALL,
        order: SortOrder = SortOrder.CREATED,
        older_than: Key | None = None,
        newer_than: Key | None = None,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return a page, newest or largest first, also when it was read upwards.

        `older_than` begins below a key and `newer_than` ends just above one; without either it is
        the newest page. `more` speaks of the direction that was read. With SortOrder.FINAL only
        collections with a final state are listed.
        """
        value, its_id, query = self._listed(mode, where, order)
        place = tuple_(value, its_id)
        if newer_than is not None:
            query = query.where(place > tuple_(newer_than.value, newer_than.id))
            query = query.order_by(value, its_id)
        else:
            if older_than is not None:
                query = query.where(place < tuple_(older_than.value, older_than.id))
            query = query.order_by(value.desc(), its_id.desc())
        return self._page(query, limit, reverse=newer_than is not None)

    def oldest(
        self,
        mode: Mode,
        *,
        where: CollectionFilter = _ALL,
        order: SortOrder = SortOrder.CREATED,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return the last page of the list, newest first within it."""
        value, its_id, query = self._listed(mode, where, order)
        return self._page(query.order_by(value, its_id), limit, reverse=True)

    def around(
        self, mode: Mode, at: datetime, *, where: CollectionFilter = _ALL, limit: int = 200
    ) -> Page[CollectionRow]:
        """Return collections created about `at`, newest first: half after it, half up to it.

        `more` tells whether older ones lie below.
        """
        # No id reaches this key, so what was created at `at` itself lies below it.
        middle = Key(to_us(at), LAST)
        after = self.page(mode, where=where, newer_than=middle, limit=limit // 2)
        upto = self.page(mode, where=where, older_than=middle, limit=limit - len(after.rows))
        return Page(rows=after.rows + upto.rows, more=upto.more)

    def still_open(
        self,
        mode: Mode,
        *,
        created_before: datetime | None = None,
        after: Key | None = None,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return collections without a final state, oldest first, from just after a key on."""
        it = collection.c
        query = select(*SHOWN).where(it.mode == mode.value, it.final_seen_at.is_(None))
        if created_before is not None:
            query = query.where(it.created_at < to_us(created_before))
        if after is not None:
            query = query.where(tuple_(it.created_at, it.id) > tuple_(after.value, after.id))
        return self._page(query.order_by(it.created_at, it.id), limit, reverse=False)

    def get(self, collection_id: str, mode: Mode) -> CollectionRow | None:
        """Return one collection of one mode, or None where that mode does not know it."""
        return self.by_id((collection_id,), mode).get(collection_id)

    def by_id(self, ids: Sequence[str], mode: Mode) -> dict[str, CollectionRow]:
        """Return the ones of `ids` that a mode knows, by id."""
        asked = {"of": [clean(text) for text in ids], "in": mode.value}
        with self._reading("read collections") as connection:
            return {row[0]: to_row(row) for row in connection.execute(_BY_ID, asked)}

    def by_reference(
        self, mode: Mode, *references: str, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return the collections with exactly this reference, or one of several, newest first."""
        it = collection.c
        asked = [clean(reference, NAME_MAX) for reference in references]
        query = (
            select(*SHOWN)
            .where(it.mode == mode.value, it.reference.in_(asked))
            .order_by(unindexed(it.created_at).desc(), it.id.desc())
            .limit(limit)
        )
        return self._rows(query)

    def by_prefix(self, mode: Mode, prefix: str, *, limit: int = 50) -> Page[CollectionRow]:
        """Return collections whose reference begins with `prefix`, newest first.

        Where more than a thousand do, those with the highest references: finding the newest of
        them could mean to read the whole history.
        """
        it = collection.c
        query = select(*SHOWN).where(it.mode == mode.value, *begins_with(prefix))
        if self._is_rare(mode, prefix):
            query = query.order_by(unindexed(it.created_at).desc(), it.id.desc())
        else:
            query = query.order_by(it.reference.desc())
        return self._page(query, limit, reverse=False)

    def by_phone(
        self, mode: Mode, phone: str, *, since: datetime | None = None, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return the collections of a phone, with or without a leading +, newest first."""
        it = collection.c
        query = select(*SHOWN).where(it.mode == mode.value, it.phone.in_(phone_spellings(phone)))
        if since is not None:
            query = query.where(it.created_at >= to_us(since))
        return self._rows(
            query.order_by(unindexed(it.created_at).desc(), it.id.desc()).limit(limit)
        )

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
        it = collection.c
        newest = (
            select(it.id, it.phone)
            .where(it.mode == mode.value)
            .order_by(it.created_at.desc(), it.id.desc())
            .limit(among)
        )
        if since is not None:
            newest = newest.where(it.created_at >= to_us(since))
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

    def observations(self, collection_id: str, mode: Mode) -> tuple[Observation, ...]:
        """Return every fact that counts for a collection of one mode, in the order of the journal.

        What the other mode says of this id is not among them, nor what is disputed: `state` lists
        it as a contradiction.
        """
        return tuple(fact for fact in self._facts(collection_id) if fact.counts_in(mode))

    def state(self, collection_id: str, mode: Mode) -> CollectionState | None:
        """Return the fold of all facts about a collection of one mode, or None where none counts.

        Evidence from the other mode and disputed facts show among its contradictions.
        """
        facts = self._facts(collection_id)
        return fold(facts, mode=mode) if any(fact.counts_in(mode) for fact in facts) else None

    def _facts(self, collection_id: str) -> tuple[Observation, ...]:
        query = (
            select(observation.c.payload)
            .where(observation.c.collection_id == clean(collection_id))
            .order_by(observation.c.observed_at, observation.c.seq)
        )
        with self._reading("read observations") as connection:
            return tuple(unpack(payload) for payload in connection.execute(query).scalars())

    def _listed(
        self, mode: Mode, where: CollectionFilter, order: SortOrder
    ) -> tuple[ColumnElement[Any], ColumnElement[str], Select[Any]]:
        """Return value and id that order the list, and the list without its order."""
        value: ColumnElement[Any] = _ORDERED_BY[order]
        its_id: ColumnElement[str] = collection.c.id
        parts = [
            (collection.c.reference, where.reference_part, self.containing),
            (collection.c.description, where.description_part, self.described),
        ]
        few = bool(where.ids) or self._are_few(mode, where, order)
        terms = [collection.c.mode == mode.value]
        for column, part, search in parts:
            if not part:
                continue
            found = search(mode, part, limit=_RARE + 1)
            if len(found) <= _RARE:
                few = True
                terms.append(collection.c.id.in_([row.id for row in found]))
            else:
                # Walking the list in its order meets enough of them soon.
                said = func.lower(unsearched(column))
                terms.append(said.contains(clean(part, NAME_MAX).lower(), autoescape=True))
        query = select(*SHOWN)
        metadata, fresh = self._in_index(mode, where)
        if metadata is not None and not fresh and not few and order is SortOrder.CREATED:
            ((name, said_value),) = metadata.entries
            beside, held = with_entry(mode, name, said_value)
            query = query.select_from(beside).where(held)
            value, its_id = metadata_entry.c.created_at, metadata_entry.c.collection_id
            terms += created_within(where, value)
        elif metadata is not None:
            few = self._narrow_to(terms, mode, metadata, fresh) or few
        others = (term for term in where.metadata if term is not metadata)
        terms += [self._has_entry(mode, term) for term in others]
        terms += conditions(where, None if few or metadata is not None else order)
        if where.phone is not None or (few and its_id is collection.c.id):
            value = unindexed(value)
        if order is SortOrder.FINAL:
            terms.append(value.is_not(None))
        return value, its_id, query.where(*terms)

    def _in_index(
        self, mode: Mode, where: CollectionFilter
    ) -> tuple[MetadataTerm | None, list[str]]:
        """Return the term that the index of metadata is read by, and what it has yet to take in."""
        for term in where.metadata:
            if not term.negated and len(term.entries) == 1:
                return term, self._fresh_ids(mode, term)
        return None, []

    def _narrow_to(
        self,
        terms: list[ColumnElement[bool]],
        mode: Mode,
        term: MetadataTerm,
        fresh: Sequence[str],
    ) -> bool:
        """Add the condition for one entry to `terms`; tell whether it leads to few rows."""
        ((name, value),) = term.entries
        _, held = with_entry(mode, name, value)
        query = select(metadata_entry.c.collection_id).where(held).limit(_RARE + 1)
        with self._reading("search metadata") as connection:
            ids = {*connection.execute(query).scalars(), *fresh}
        if len(ids) <= _RARE:
            terms.append(collection.c.id.in_(sorted(ids)))
            return True
        terms.append(self._has_entry(mode, term))
        return False

    def _has_entry(self, mode: Mode, term: MetadataTerm) -> ColumnElement[bool]:
        has, fresh = has_entry(mode, term), self._fresh_ids(mode, term)
        if fresh:
            has = or_(has, collection.c.id.in_(fresh))
        return ~has if term.negated else has

    def _is_rare(self, mode: Mode, prefix: str) -> bool:
        """Tell whether so few references begin with `prefix` that they can be sorted."""
        query: Select[Any] = (
            select(literal_column("1"))
            .where(collection.c.mode == mode.value, *begins_with(prefix))
            .limit(_RARE + 1)
        )
        with self._reading("read collections") as connection:
            return len(connection.execute(query).all()) <= _RARE

    def _are_few(self, mode: Mode, where: CollectionFilter, order: SortOrder) -> bool:
        """Tell whether the index of amounts leads to fewer rows than walking the list would.

        Walking a history for an amount that nobody paid reads it to its end.
        """
        if order is SortOrder.AMOUNT or (where.amount_min is None and where.amount_max is None):
            return False
        if where.phone is not None or where.reference_part or where.description_part:
            return False
        it = collection.c
        of_mode = it.mode == mode.value
        with self._reading("read collections") as connection:
            paid = _upto(connection, _SORTED, of_mode, *amount_within(where, it.amount))
            if paid > _SORTED:
                return False
            if where.created_from is None:
                return True
            within, most = created_within(where, it.created_at), paid * _WALKED
            return _upto(connection, most, of_mode, *within) > most

    def _rows(self, query: Select[Any]) -> tuple[CollectionRow, ...]:
        with self._reading("read collections") as connection:
            return tuple(to_row(row) for row in connection.execute(query))

    def _page(self, query: Select[Any], limit: int, *, reverse: bool) -> Page[CollectionRow]:
        found = self._rows(query.limit(limit + 1))
        rows = found[:limit]
        return Page(rows=rows[::-1] if reverse else rows, more=len(found) > limit)


def _upto(connection: Connection, bound: int, *terms: ColumnElement[bool]) -> int:
    """Count rows, one more than `bound` at most."""
    found: Select[Any] = (
        select(literal_column("1")).select_from(collection).where(*terms).limit(bound + 1)
    )
    counted: int = connection.execute(
        select(func.count()).select_from(found.subquery())
    ).scalar_one()
    return counted
