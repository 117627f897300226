"""A filter of collections as SQL, in forms that let the right index find the rows."""

from typing import Any, Final

from sqlalchemy import ColumnElement, literal_column

from kusanya.domain.collection_columns import COLUMNS, IndexScope
from kusanya.domain.status import OPEN
from kusanya.store.queries.planner_hints import unindexed, unsearched
from kusanya.store.records import CollectionFilter, SortOrder
from kusanya.store.tables.schema import collection
from kusanya.store.tables.values import clean, to_us
from kusanya.store.writer.projection import PLAINLY_WELL

LAST: Final = "\U0010ffff"
"""Above every character: PREFIX and this close the range of what begins with PREFIX."""


def conditions(where: CollectionFilter, order: SortOrder | None) -> list[ColumnElement[bool]]:
    """Return the conditions of a list in an order, or of one that the index of amounts finds."""
    it = collection.c
    terms: list[ColumnElement[bool]] = []
    sought = _sought(where) if order is SortOrder.CREATED else None
    for name, values in where.wanted.items():
        said = it[name] if it[name] is sought else unsearched(it[name])
        terms.append(said.in_([clean(value) for value in values]))
    if where.ids:
        terms.append(it.id.in_([clean(value) for value in where.ids]))
    if where.phone is not None:
        terms.append(it.phone.in_(phone_spellings(where.phone)))
    if _only_open(where):
        # What the small index of open ones holds.
        terms.append(it.final_seen_at.is_(None))
    if sought is not it.failure_code and (where.failure_codes or _only_unwell(where)):
        # Spelled out: a bound value would hide that the small index fits.
        terms.append(it.unwell == literal_column("1"))
    created_at = it.created_at if order else unindexed(it.created_at)
    return [*terms, *amount_within(where, it.amount), *created_within(where, created_at)]


def amount_within(where: CollectionFilter, amount: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    """Return the bounds of the amount."""
    terms: list[ColumnElement[bool]] = []
    if where.amount_min is not None:
        terms.append(amount >= where.amount_min)
    if where.amount_max is not None:
        terms.append(amount <= where.amount_max)
    return terms


def created_within(where: CollectionFilter, at: ColumnElement[Any]) -> list[ColumnElement[bool]]:
    """Return the bounds of the instant of creation."""
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
    if where.phone is not None or where.reference_part or where.description_part:
        return None
    wanted = where.wanted
    named = {
        column.indexed: collection.c[column.name]
        for column in COLUMNS
        if len(wanted.get(column.name, ())) == 1
    }
    if IndexScope.PRESENT in named:
        return named[IndexScope.PRESENT]
    fewer = where.failure_codes or _only_unwell(where) or _only_open(where)
    return None if fewer else named.get(IndexScope.ALL)


def _only_unwell(where: CollectionFilter) -> bool:
    """Return whether nothing that is plainly well is asked for."""
    return where.unwell or (bool(where.statuses) and PLAINLY_WELL.isdisjoint(where.statuses))


def _only_open(where: CollectionFilter) -> bool:
    """Return whether nothing that is final is asked for."""
    return bool(where.statuses) and OPEN.issuperset(where.statuses)


def phone_spellings(phone: str) -> tuple[str, str]:
    """Return a phone with and without a leading +."""
    digits = clean(phone.removeprefix("+"))
    return (digits, f"+{digits}")
