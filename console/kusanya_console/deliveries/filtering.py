"""The keys of a filter of deliveries: what each reads of a line, and which have an index."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from kusanya.filters import Filter, Term, TimeRange
from kusanya.health.delivery_plan import attempt_of, attempts_due
from kusanya.store.records import (
    DeliveryFilter,
    DeliveryRow,
    MissingEventRow,
    MissingEventStatus,
    Verdict,
)
from kusanya_console.lists.filtering import bounds, sought_and_tested
from kusanya_console.lists.paging import Test

DeliveryRecord = DeliveryRow | MissingEventRow
"""A line of the deliveries: what arrived, or what should have."""

_VALUES: Final[Mapping[str, Callable[[DeliveryRecord], object]]] = {
    "event": lambda row: row.event_id,
    "type": lambda row: row.event_type,
    "endpoint": lambda row: row.endpoint,
    "verdict": lambda row: row.verdict.value,
    "reason": lambda row: row.reason,
    "try": lambda row: row.attempt,  # as the column counts it, see `delivery_query`
    "answer": lambda row: row.answer,
    "id": lambda row: row.collection_id,
    "ref": lambda row: row.reference,
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency,
    "age": lambda row: row.arrived_at,
    "at": lambda row: row.arrived_at,
}
DELIVERY_KEYS: Final = tuple(_VALUES)


def attempt_number(row: DeliveryRecord, *, now: datetime) -> int | None:
    """Return which attempt an arrival is, or how many are past of one that never came."""
    return attempts_due(row, now=now) if isinstance(row, MissingEventRow) else attempt_of(row)


def delivery_query(query: Filter, *, now: datetime) -> tuple[DeliveryFilter, Test | None]:
    """Return what the store seeks for deliveries, and the test for what is left, if any.

    The query was read with `keys=DELIVERY_KEYS`.
    """
    values = {**_VALUES, "try": lambda row: attempt_number(row, now=now)}
    sought, test = sought_and_tested(query, _seek, values, now=now)
    return DeliveryFilter(**sought), test


def _seek(term: Term, now: datetime) -> dict[str, Any]:  # noqa: PLR0911 - a case each
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
            return bounds(arrived_from=begin, arrived_to=end)
        case _:
            return {}
