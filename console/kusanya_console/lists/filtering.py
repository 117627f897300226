"""A filter put to work: what an index can find is sought, the rest is tested row by row."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from kusanya.filters import KEYS, FieldType, Filter, Range, Term, TimeRange
from kusanya.health import attempt_of
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    MissingEventRow,
    MissingEventStatus,
    Verdict,
)
from kusanya_console.lists.paging import Test

Arrived = DeliveryRow | MissingEventRow
"""A line of the deliveries: what arrived, or what should have."""
_LISTED: Final = {"status": "statuses", "channel": "channels", "code": "failure_codes"}

_COLLECTION: Final[Mapping[str, Callable[[CollectionRow], object]]] = {
    "status": lambda row: row.status,
    "channel": lambda row: row.channel,
    "code": lambda row: row.failure_code,
    "ref": lambda row: row.reference,
    "phone": lambda row: row.phone.removeprefix("+"),
    "amount": lambda row: row.amount,
    "fee": lambda row: row.fee,
    "currency": lambda row: row.currency,
    "id": lambda row: row.id,
    "age": lambda row: row.created_at,
    "at": lambda row: row.created_at,
    "event": lambda row: row.event_id,
}
_DELIVERY: Final[Mapping[str, Callable[[Arrived], object]]] = {
    "event": lambda row: row.event_id,
    "type": lambda row: row.event_type,
    "endpoint": lambda row: row.endpoint,
    "verdict": lambda row: row.verdict.value,
    "reason": lambda row: row.reason,
    "try": lambda row: row.attempt if isinstance(row, MissingEventRow) else attempt_of(row),
    "answer": lambda row: row.answer,
    "id": lambda row: row.collection_id,
    "ref": lambda row: row.reference,
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency,
    "age": lambda row: row.arrived_at,
    "at": lambda row: row.arrived_at,
}


COLLECTION_KEYS: Final = tuple(_COLLECTION)
DELIVERY_KEYS: Final = tuple(_DELIVERY)


def collection_query(found: Filter, *, now: datetime) -> tuple[CollectionFilter, Test | None]:
    """Return what the store seeks for collections, and the test for what is left, if any.

    The filter was read with `keys=COLLECTION_KEYS`.
    """
    sought: dict[str, Any] = {"unwell": found.unwell}
    left: list[Term] = []
    for term in found.terms:
        taken = {} if term.negated else _seek_collections(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
        else:
            left.append(term)
    return CollectionFilter(**sought), _test(left, _COLLECTION, now)


def delivery_query(found: Filter, *, now: datetime) -> tuple[DeliveryFilter, Test | None]:
    """Return what the store seeks for deliveries, and the test for what is left, if any.

    The filter was read with `keys=DELIVERY_KEYS`.
    """
    sought: dict[str, Any] = {"unwell": found.unwell}
    left: list[Term] = []
    for term in found.terms:
        taken = {} if term.negated else _seek_deliveries(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
        else:
            left.append(term)
    return DeliveryFilter(**sought), _test(left, _DELIVERY, now)


def _seek_collections(term: Term, now: datetime) -> dict[str, Any]:
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "status" | "channel" | "code":
            return {_LISTED[term.key]: term.values}
        case "ref" | "phone" if one is not None and not term.exact:
            return {"reference_prefix" if term.key == "ref" else "phone": one}
        case "amount" if isinstance(one, Range):
            return _some(amount_min=one.low, amount_max=one.high)
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return _some(created_from=begin, created_to=end)
        case _:
            return {}


def _seek_deliveries(term: Term, now: datetime) -> dict[str, Any]:  # noqa: PLR0911 - a case each
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "endpoint":
            return {"endpoints": term.values}
        case "verdict" if term.values == (MissingEventStatus.MISSING.value,):
            return {"only_missing": True}
        case "verdict" if {verdict.value for verdict in Verdict}.issuperset(map(str, term.values)):
            return {"verdicts": tuple(Verdict(str(value)) for value in term.values)}
        case "event" if one is not None:
            return {"event_id": one}
        case "id" if one is not None:
            return {"collection_id": one}
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return _some(arrived_from=begin, arrived_to=end)
        case _:
            return {}


def _some(**bounds: object) -> dict[str, Any]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _test(
    terms: Sequence[Term], fields: Mapping[str, Callable[[Any], object]], now: datetime
) -> Test | None:
    if not terms:
        return None

    def test(row: Any) -> bool:
        return all(_holds(term, fields[term.key](row), now) for term in terms)

    return test


def _holds(term: Term, value: object, now: datetime) -> bool:
    found = value is not None and any(_fits(term, one, value, now) for one in term.values)
    return found is not term.negated


def _fits(term: Term, wanted: object, value: object, now: datetime) -> bool:
    if isinstance(wanted, Range):
        number = (now - value).total_seconds() if isinstance(value, datetime) else value
        return isinstance(number, (int, float)) and wanted.holds(number)
    if isinstance(wanted, TimeRange):
        begin, end = wanted.between(now)
        return isinstance(value, datetime) and (
            (begin is None or value >= begin) and (end is None or value < end)
        )
    if KEYS[term.key] is FieldType.PREFIX and not term.exact:
        return str(value).startswith(str(wanted))
    return str(value) == wanted
