"""Collections in lists; their facts and their state.

Every list is read by keyset on an index that holds its order, so a page costs the same anywhere in
the history.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.domain.status import PAID
from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation
from kusanya.store.queries.collections.hidden import state_of
from kusanya.store.queries.collections.metadata import has_entry, with_entry
from kusanya.store.queries.collections.names import NameSearch
from kusanya.store.queries.collections.open_prompts import Ages, counting
from kusanya.store.queries.collections.terms import (
    LAST,
    amount_within,
    conditions,
    created_within,
)
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.queries.planner_hints import bound_asked, unindexed, unsearched
from kusanya.store.records import (
    OPEN_FIRST,
    CollectionFilter,
    CollectionRow,
    Key,
    MetadataTerm,
    OpenPrompts,
    Page,
    SortOrder,
)
from kusanya.store.tables.payload import HIDDEN, unpack
from kusanya.store.tables.schema import collection, metadata_entry, observation
from kusanya.store.tables.values import clean, from_us, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.projection import SHOWN
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


class _Part(msgspec.Struct, frozen=True):
    """A stretch of a list that one index holds in its order; some lists are two, one upon another.

    A list by final state begins with the open ones: they have none, and must not be hidden by it.
    """

    order: SortOrder
    is_open: bool | None = None
    """Whether it holds open collections, or final ones; both where None."""

    def has(self, key: Key) -> bool:
        """Return whether a key of the list lies in this stretch."""
        return self.is_open is None or self.is_open == (key.value >= OPEN_FIRST)

    def where(self) -> list[ColumnElement[bool]]:
        """Return what keeps the other stretch out."""
        ended = collection.c.final_seen_at
        if self.is_open is None:
            return []
        return [ended.is_(None) if self.is_open else ended.is_not(None)]


_FINALS: Final = _Part(SortOrder.FINAL, is_open=False)
_PARTS: Final = {
    SortOrder.CREATED: (_Part(SortOrder.CREATED),),
    SortOrder.FINAL: (_Part(SortOrder.CREATED, is_open=True), _FINALS),
    SortOrder.AMOUNT: (_Part(SortOrder.AMOUNT),),
}
"""The stretches of a list, downwards."""


@cache
def _whole_list(part: _Part, *, upwards: bool, bounded: bool) -> Select[Any]:
    """Return a stretch of a mode's list; made once, which costs more than running it."""
    value, its_id = _ORDERED_BY[part.order], collection.c.id
    query = select(*SHOWN).where(collection.c.mode == bindparam("of_mode"), *part.where())
    return _in_order(value, its_id, query, upwards=upwards, bounded=bounded)


def _in_order(
    value: ColumnElement[Any],
    its_id: ColumnElement[str],
    query: Select[Any],
    *,
    upwards: bool,
    bounded: bool,
) -> Select[Any]:
    """Return a list in its order; where it is bounded, from just behind the key that is asked."""
    if bounded:
        place = tuple_(value, its_id)
        # As large as a key is: PostgreSQL is told the types.
        key = tuple_(bindparam("key_value", type_=BigInteger), bindparam("key_id", type_=Text))
        query = query.where(place > key if upwards else place < key)
    ends = (value, its_id) if upwards else (value.desc(), its_id.desc())
    return query.order_by(*ends).limit(bound_asked())


class Collections(NameSearch):
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
        the newest page. `more` speaks of the direction that was read.
        """
        upwards = newer_than is not None
        key = newer_than if upwards else older_than
        return self._page(mode, where, order, key, limit, upwards=upwards)

    def oldest(
        self,
        mode: Mode,
        *,
        where: CollectionFilter = _ALL,
        order: SortOrder = SortOrder.CREATED,
        limit: int = 200,
    ) -> Page[CollectionRow]:
        """Return the last page of the list, newest first within it."""
        return self._page(mode, where, order, None, limit, upwards=True)

    def latest_finals(self, mode: Mode, *, limit: int) -> tuple[CollectionRow, ...]:
        """Return the collections whose final state was learned last, the latest first."""
        return self._stretch(mode, _ALL, _FINALS, None, limit, upwards=False)

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
        found = self._rows(query.order_by(it.created_at, it.id).limit(limit + 1), {})
        return Page(rows=found[:limit], more=len(found) > limit)

    def open_by_channel(
        self,
        mode: Mode,
        ages: Mapping[str, Ages],
        *,
        now: datetime,
        known: Mapping[str, Ages],
        listened: tuple[datetime, datetime] | None = None,
        phones: str,
        limit: int,
    ) -> tuple[OpenPrompts, ...]:
        """Return by channel how many collections without a final state are of which age.

        An age is counted from it on: of `ages` as of `now`, of `known` as of when the service last
        said that the collection is open, or, of one made since the first of the two instants when
        its events were `listened` to, as of the second. `phones` names the age of `known` whose
        phones are counted. The newest `limit` are looked at: in a long outage the old ones must not
        hide a channel that hangs since. Raises StoreError.
        """
        query, values = counting(
            mode, ages, known, now=now, listened=listened, phones=phones, limit=limit
        )
        with self._reading("count open collections") as connection:
            return tuple(
                OpenPrompts(
                    channel=channel,
                    count=count,
                    oldest_at=from_us(oldest),
                    phones=on_phones,
                    older=dict(zip((*ages, *known), older, strict=True)),
                )
                for channel, oldest, count, on_phones, *older in connection.execute(query, values)
            )

    def count_open(self, mode: Mode) -> int:
        """Return how many collections have no final state."""
        it = collection.c
        query = select(func.count()).where(it.mode == mode.value, it.final_seen_at.is_(None))
        with self._reading("read collections") as connection:
            return int(connection.execute(query).scalar_one())

    def paid_again(
        self, mode: Mode, *, since: datetime, limit: int = 100
    ) -> tuple[CollectionRow, ...]:
        """Return payments whose order was paid before, of those that became known from `since` on.

        An order is a reference; the latest come first.
        """
        it, first = collection.c, collection.alias("first")
        paid = tuple(sorted(PAID))
        before = exists().where(
            first.c.mode == it.mode,
            first.c.reference == it.reference,
            first.c.status.in_(paid),
            tuple_(first.c.final_seen_at, first.c.id) < tuple_(it.final_seen_at, it.id),
        )
        query = select(*SHOWN).where(
            it.mode == mode.value,
            it.final_seen_at >= to_us(since),
            it.status.in_(paid),
            it.reference != "",
            before,
        )
        return self._rows(query.order_by(it.final_seen_at.desc(), it.id.desc()).limit(limit), {})

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
        if any(fact.counts_in(mode) for fact in facts):
            return fold(facts, mode=mode)
        # Whoever sees masked views is shown what follows from the facts, and not the facts.
        row = None if facts else self.get(collection_id, mode)
        return None if row is None else state_of(row)

    def rule(self, fact: Observation, *, why: str, actor: str = "") -> None:
        """Keep a ruling on a payment, audited; both are durable on return. Raises StoreError."""

        def act(writing: Transaction) -> None:
            overruled = f"{len(fact.overrules)} facts overruled"
            audited(
                writing,
                actor=actor,
                act="rule payment",
                subject=fact.collection.id,
                detail=f"{fact.collection.status}, {overruled}: {why}",
                outcome="done",
            )

        self._queue(act, observation=fact).result()

    def _facts(self, collection_id: str) -> tuple[Observation, ...]:
        query = (
            select(observation.c.payload)
            .where(
                observation.c.collection_id == clean(collection_id),
                observation.c.payload != HIDDEN,
            )
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

    def _are_few(self, mode: Mode, where: CollectionFilter, order: SortOrder) -> bool:
        """Return whether the index of amounts leads to fewer rows than walking the list would.

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

    def _page(
        self,
        mode: Mode,
        where: CollectionFilter,
        order: SortOrder,
        key: Key | None,
        limit: int,
        *,
        upwards: bool,
    ) -> Page[CollectionRow]:
        """Return the page behind a key, or the first one; newest first whichever way it is read."""
        parts = _PARTS[order][::-1] if upwards else _PARTS[order]
        if key is not None:
            # What lies before the key's own stretch is not on the way.
            parts = parts[next(at for at, part in enumerate(parts) if part.has(key)) :]
        found: tuple[CollectionRow, ...] = ()
        for part in parts:
            found += self._stretch(mode, where, part, key, limit + 1 - len(found), upwards=upwards)
            if len(found) > limit:
                break
            key = None  # the next stretch is read from its beginning
        rows = found[:limit]
        return Page(rows=rows[::-1] if upwards else rows, more=len(found) > limit)

    def _stretch(
        self,
        mode: Mode,
        where: CollectionFilter,
        part: _Part,
        key: Key | None,
        limit: int,
        *,
        upwards: bool,
    ) -> tuple[CollectionRow, ...]:
        """Return at most `limit` rows of one stretch of a list behind a key, as they are read."""
        asked: dict[str, Any] = {"of_mode": mode.value, "bound": limit}
        if key is not None:
            above = OPEN_FIRST if part.is_open else 0
            asked |= {"key_value": key.value - above, "key_id": key.id}
        bounded = key is not None
        if where == _ALL:
            query = _whole_list(part, upwards=upwards, bounded=bounded)
        else:
            value, its_id, listed = self._listed(mode, where, part.order)
            query = _in_order(
                value, its_id, listed.where(*part.where()), upwards=upwards, bounded=bounded
            )
        return self._rows(query, asked)


def _upto(connection: Connection, bound: int, *terms: ColumnElement[bool]) -> int:
    """Count rows, one more than `bound` at most."""
    found: Select[Any] = (
        select(literal_column("1")).select_from(collection).where(*terms).limit(bound + 1)
    )
    counted: int = connection.execute(
        select(func.count()).select_from(found.subquery())
    ).scalar_one()
    return counted
