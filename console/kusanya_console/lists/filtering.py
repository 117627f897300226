"""A filter put to work: what an index can find is sought, the rest is tested row by row."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import msgspec

from kusanya.collection_columns import COLUMN_OF_KEY, FieldType, IndexScope
from kusanya.filters import KEYS, Filter, Range, Term, TimeRange
from kusanya.health.report import attempt_of, attempts_due
from kusanya.lookup import Subject
from kusanya.store.records import (
    AuditFilter,
    AuditRow,
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    MetadataTerm,
    MissingEventRow,
    MissingEventStatus,
    Verdict,
)
from kusanya_console.lists.paging import Test

Arrived = DeliveryRow | MissingEventRow
"""A line of the deliveries: what arrived, or what should have."""


class Act(msgspec.Struct, frozen=True):
    """A line of the audit: what somebody did, and the payment or creation it was done to."""

    row: AuditRow
    subject: Subject | None = None

    @property
    def id(self) -> str:
        """Return the id of the audit row."""
        return self.row.id

    @property
    def seq(self) -> int:
        """Return the place of the audit row, which never changes."""
        return self.row.seq


def attempt_number(row: Arrived, *, now: datetime) -> int | None:
    """Return which attempt an arrival is, or how many are past of one that never came."""
    return attempts_due(row, now=now) if isinstance(row, MissingEventRow) else attempt_of(row)


_LISTED: Final = {"status": "statuses", "channel": "channels", "code": "failure_codes"}

_COLLECTION: Final[Mapping[str, Callable[[CollectionRow], object]]] = {
    **{key: attrgetter(column.name) for key, column in COLUMN_OF_KEY.items()},
    "phone": lambda row: row.phone.removeprefix("+"),
}
_DELIVERY: Final[Mapping[str, Callable[[Arrived], object]]] = {
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
_AUDIT: Final[Mapping[str, Callable[[Act], object]]] = {
    "actor": lambda act: act.row.actor,
    "act": lambda act: act.row.act,
    "ref": lambda act: None if act.subject is None else act.subject.reference,
    "id": lambda act: act.row.subject,
    "outcome": lambda act: act.row.outcome,
    "age": lambda act: act.row.at,
    "at": lambda act: act.row.at,
}


_PIECE: Final = 3
"""Shorter parts of a reference are in no index: they are tested row by row."""
_PHONE_END: Final = 8
"""So many digits are the end of a phone, more of them a whole one."""
_METADATA: Final = "meta"
COLLECTION_KEYS: Final = (*_COLLECTION, _METADATA)
DELIVERY_KEYS: Final = tuple(_DELIVERY)
AUDIT_KEYS: Final = tuple(_AUDIT)


def collection_query(found: Filter, *, now: datetime) -> tuple[CollectionFilter, Test | None]:
    """Return what the store seeks for collections, and the test for what is left, if any.

    The filter was read with `keys=COLLECTION_KEYS`.
    """
    # Metadata is in no row: the store tells which rows have it, and which have not.
    metadata = tuple(
        MetadataTerm(tuple(map(_entry, term.values)), negated=term.negated)
        for term in found.terms
        if term.key == _METADATA
    )
    sought: dict[str, Any] = {"unwell": found.unwell, "metadata": metadata}
    left: list[Term] = []
    for term in found.terms:
        taken = {} if term.negated or term.key == _METADATA else _seek_collections(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
            # What is looked for by a part is then compared as a whole.
            left += [term] if term.exact else []
        elif term.key != _METADATA:
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
    values = {**_DELIVERY, "try": lambda row: attempt_number(row, now=now)}
    return DeliveryFilter(**sought), _test(left, values, now)


def audit_query(found: Filter, *, now: datetime) -> tuple[AuditFilter, Test | None]:
    """Return what the store seeks in the audit, and the test for what is left, if any.

    The filter was read with `keys=AUDIT_KEYS`.
    """
    sought: dict[str, Any] = {"unwell": found.unwell}
    left: list[Term] = []
    for term in found.terms:
        taken = {} if term.negated or term.exact else _seek_acts(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
        else:
            left.append(term)
    return AuditFilter(**sought), _test(left, _AUDIT, now)


def _seek_acts(term: Term, now: datetime) -> dict[str, Any]:
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "actor" | "act":
            return {f"{term.key}s": term.values}
        case "id":
            return {"subjects": term.values}
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return _some(since=begin, until=end)
        case _:
            return {}


def _entry(value: object) -> tuple[str, str]:
    name, _, said = str(value).partition("=")
    return name, said


def _seek_collections(  # noqa: PLR0911 - a case each
    term: Term, now: datetime
) -> dict[str, Any]:
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
            return _some(amount_min=one.low, amount_max=one.high)
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return _some(created_from=begin, created_to=end)
        case key if KEYS[key] is FieldType.WORD:
            column = COLUMN_OF_KEY[key]
            found = column.indexed is not IndexScope.NO
            return {"words": ((column.name, term.values),)} if found else {}
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
    if KEYS[term.key] is FieldType.PART and not term.exact:
        return str(wanted).casefold() in str(value).casefold()
    if term.key == "phone":
        return str(value).endswith(str(wanted))
    return str(value) == wanted
