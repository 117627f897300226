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
    select,
    tuple_,
)

from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation
from kusanya.store.queries.planner_hints import unindexed, unsearched
from kusanya.store.queries.search import ReferenceSearch
from kusanya.store.records import CollectionFilter, CollectionRow, Key, Order, Page
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import collection, observation
from kusanya.store.tables.values import NAME_MAX, clean, to_us
from kusanya.store.writer.projection import COLUMNS, PLAINLY_WELL, to_row
from kusanya.wire import Mode, Status

_ORDERED_BY: Final = {
    Order.CREATED: collection.c.created_at,
    Order.FINAL: collection.c.final_seen_at,
    Order.AMOUNT: collection.c.amount,
}
_ALL: Final = CollectionFilter()
_RARE: Final = 1_000
"""So many rows are sorted in a few milliseconds."""
_SORTED: Final = 20_000
"""So many rows of an amount are sorted sooner than walking the list would meet a page of fewer."""
# Made once: building a statement costs more than running it does.
_BY_ID: Final = select(*COLUMNS).where(
    collection.c.id.in_(bindparam("of", expanding=True)), collection.c.mode == bindparam("in")
)
_LAST: Final = "\U0010ffff"
"""Above every character: PREFIX and this close the range of what begins with PREFIX."""


class Collections(ReferenceSearch):
    """Reading the projection and what it follows from."""

    def page(
        self,
        mode: Mode,
        *,
        where: CollectionFilter = _ALL,
        order: Order = Order.CREATED,
        older_than: Key | None = None,
        newer_than: Key | None = None,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return a page, newest or largest first, also when it was read upwards.

        `older_than` begins below a key and `newer_than` ends just above one; without either it is
        the newest page. `more` speaks of the direction that was read. With Order.FINAL only
        collections with a final state are listed.
        """
        value, query = self._listed(mode, where, order)
        place = tuple_(value, collection.c.id)
        if newer_than is not None:
            query = query.where(place > tuple_(newer_than.value, newer_than.id))
            query = query.order_by(value, collection.c.id)
        else:
            if older_than is not None:
                query = query.where(place < tuple_(older_than.value, older_than.id))
            query = query.order_by(value.desc(), collection.c.id.desc())
        return self._page(query, limit, reverse=newer_than is not None)

    def oldest(
        self,
        mode: Mode,
        *,
        where: CollectionFilter = _ALL,
        order: Order = Order.CREATED,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return the last page of the list, newest first within it."""
        value, query = self._listed(mode, where, order)
        return self._page(query.order_by(value, collection.c.id), limit, reverse=True)

    def around(
        self, mode: Mode, at: datetime, *, where: CollectionFilter = _ALL, limit: int = 200
    ) -> Page[CollectionRow]:
        """Return collections created about `at`, newest first: half after it, half up to it.

        `more` tells whether older ones lie below.
        """
        # No id reaches this key, so what was created at `at` itself lies below it.
        middle = Key(to_us(at), _LAST)
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
        query = select(*COLUMNS).where(it.mode == mode.value, it.final_seen_at.is_(None))
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
        self, mode: Mode, reference: str, *, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return the collections with exactly this reference, newest first."""
        it = collection.c
        query = (
            select(*COLUMNS)
            .where(it.mode == mode.value, it.reference == clean(reference, NAME_MAX))
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
        query = select(*COLUMNS).where(it.mode == mode.value, *_begins(prefix))
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
        query = select(*COLUMNS).where(it.mode == mode.value, it.phone.in_(_spellings(phone)))
        if since is not None:
            query = query.where(it.created_at >= to_us(since))
        return self._rows(
            query.order_by(unindexed(it.created_at).desc(), it.id.desc()).limit(limit)
        )

    def observations(self, collection_id: str, mode: Mode) -> tuple[Observation, ...]:
        """Return every fact that counts for a collection of one mode, in the order of hearing.

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
        self, mode: Mode, where: CollectionFilter, order: Order
    ) -> tuple[ColumnElement[Any], Select[Any]]:
        """Return the value that orders the list, and the list without its order."""
        value: ColumnElement[Any] = _ORDERED_BY[order]
        rare = self._is_rare(mode, where.reference_prefix)
        few = self._are_few(mode, where, order)
        terms = [collection.c.mode == mode.value]
        terms += _terms(where, None if few else order, walked=not rare)
        if where.phone is not None or rare or few:
            value = unindexed(value)
        if order is Order.FINAL:
            terms.append(value.is_not(None))
        return value, select(*COLUMNS).where(*terms)

    def _is_rare(self, mode: Mode, prefix: str | None) -> bool:
        """Tell whether so few references begin with `prefix` that they can be sorted.

        Otherwise walking the list in its order meets them soon enough.
        """
        if not prefix:
            return False
        query: Select[Any] = (
            select(literal_column("1"))
            .where(collection.c.mode == mode.value, *_begins(prefix))
            .limit(_RARE + 1)
        )
        with self._reading("read collections") as connection:
            return len(connection.execute(query).all()) <= _RARE

    def _are_few(self, mode: Mode, where: CollectionFilter, order: Order) -> bool:
        """Tell whether the index of amounts leads to fewer rows than walking the list would.

        Walking a history for an amount that nobody paid reads it to its end.
        """
        if order is Order.AMOUNT or (where.amount_min is None and where.amount_max is None):
            return False
        if where.phone is not None or where.reference_prefix:
            return False
        it = collection.c
        of_mode = it.mode == mode.value
        with self._reading("read collections") as connection:
            paid = _upto(connection, _SORTED, of_mode, *_paid(where, it.amount))
            if paid > _SORTED:
                return False
            if where.created_from is None:
                return True
            within = _created(where, it.created_at)
            return _upto(connection, paid, of_mode, *within) > paid

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


def _terms(
    where: CollectionFilter, order: Order | None, *, walked: bool
) -> list[ColumnElement[bool]]:
    """Return the conditions of a list in an order, or of one that the index of amounts finds."""
    it = collection.c
    terms: list[ColumnElement[bool]] = []
    sought = _sought(where) if order is Order.CREATED else None
    for column, values in (
        (it.status, where.statuses),
        (it.channel, where.channels),
        (it.failure_code, where.failure_codes),
    ):
        if values:
            said = column if column is sought else unsearched(column)
            terms.append(said.in_([clean(value) for value in values]))
    if where.reference_prefix:
        terms += _begins(where.reference_prefix, walked=walked)
    if where.phone is not None:
        terms.append(it.phone.in_(_spellings(where.phone)))
    if where.statuses == (Status.CREATED,):
        # What the small index of open ones holds.
        terms.append(it.final_seen_at.is_(None))
    if sought is not it.failure_code and (where.failure_codes or _only_unwell(where)):
        # Spelled out: a bound value would hide that the small index fits.
        terms.append(it.unwell == literal_column("1"))
    created_at = it.created_at if order else unindexed(it.created_at)
    return [*terms, *_paid(where, it.amount), *_created(where, created_at)]


def _paid(where: CollectionFilter, amount: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    terms: list[ColumnElement[bool]] = []
    if where.amount_min is not None:
        terms.append(amount >= where.amount_min)
    if where.amount_max is not None:
        terms.append(amount <= where.amount_max)
    return terms


def _created(where: CollectionFilter, at: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    terms: list[ColumnElement[bool]] = []
    if where.created_from is not None:
        terms.append(at >= to_us(where.created_from))
    if where.created_to is not None:
        terms.append(at < to_us(where.created_to))
    return terms


def _sought(where: CollectionFilter) -> ColumnElement[Any] | None:
    """Return the column whose own index, in the order of creation, fits best: one value of it.

    Several values would come one behind the other, and all of them would have to be sorted.
    """
    if where.phone is not None or where.reference_prefix:
        return None
    if len(where.failure_codes) == 1:
        return collection.c.failure_code
    fewer = where.failure_codes or _only_unwell(where) or where.statuses == (Status.CREATED,)
    return collection.c.channel if len(where.channels) == 1 and not fewer else None


def _only_unwell(where: CollectionFilter) -> bool:
    """Tell whether nothing that is plainly well is asked for."""
    return where.unwell or (bool(where.statuses) and PLAINLY_WELL.isdisjoint(where.statuses))


def _begins(prefix: str, *, walked: bool = False) -> list[ColumnElement[bool]]:
    start = clean(prefix)
    reference: ColumnElement[str] = collection.c.reference
    if walked:
        reference = unsearched(reference)
    return [reference >= start, reference < start + _LAST]


def _spellings(phone: str) -> tuple[str, str]:
    digits = clean(phone.removeprefix("+"))
    return (digits, f"+{digits}")
