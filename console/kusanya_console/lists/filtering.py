"""A filter put to work: what an index can find is sought, the rest is tested row by row.

Testing stops after a quarter of a second of searching, and the window says how far back it came:
a rare thing in a long history must not hold the screen.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from kusanya.filters import KEYS, Filter, FilterError, Kind, Range, Span, Term
from kusanya.health import attempt_of
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    Key,
    Page,
    Verdict,
)
from kusanya_console.lists.paging import PageSource
from kusanya_console.widgets.window import Row

R = TypeVar("R", bound=Row)
Test = Callable[[Any], bool]
BUDGET_S: Final = 0.25
_STEP: Final = 500
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
_DELIVERY: Final[Mapping[str, Callable[[DeliveryRow], object]]] = {
    "event": lambda row: row.event_id,
    "type": lambda row: row.event_type,
    "endpoint": lambda row: row.endpoint,
    "verdict": lambda row: row.verdict.value,
    "reason": lambda row: row.reason,
    "try": attempt_of,
    "answer": lambda row: row.answer,
    "id": lambda row: row.collection_id,
    "ref": lambda row: row.reference,
    "amount": lambda row: row.amount,
    "currency": lambda row: row.currency,
    "age": lambda row: row.arrived_at,
    "at": lambda row: row.arrived_at,
}


def of_collections(found: Filter, *, now: datetime) -> tuple[CollectionFilter, Test | None]:
    """Return what the store seeks for collections, and the test for what is left, if any.

    Raises FilterError for a key that collections do not have.
    """
    sought: dict[str, Any] = {"unwell": found.unwell}
    left: list[Term] = []
    for term in _known(found, _COLLECTION, "collections"):
        taken = {} if term.negated else _seek_collections(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
        else:
            left.append(term)
    return CollectionFilter(**sought), _test(left, _COLLECTION, now)


def of_deliveries(found: Filter, *, now: datetime) -> tuple[DeliveryFilter, Test | None]:
    """Return what the store seeks for deliveries, and the test for what is left, if any.

    Raises FilterError for a key that deliveries do not have.
    """
    sought: dict[str, Any] = {"unwell": found.unwell}
    left: list[Term] = []
    for term in _known(found, _DELIVERY, "deliveries"):
        taken = {} if term.negated else _seek_deliveries(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
        else:
            left.append(term)
    return DeliveryFilter(**sought), _test(left, _DELIVERY, now)


def of_missing(found: Filter, *, now: datetime) -> Test:
    """Return the test that missing events pass; none of them is plainly well.

    Raises FilterError for a key that deliveries do not have.
    """
    return _test(_known(found, _DELIVERY, "deliveries"), _DELIVERY, now) or _everything


def _everything(_row: object) -> bool:
    return True


def _known(found: Filter, fields: Mapping[str, Any], whose: str) -> tuple[Term, ...]:
    for term in found.terms:
        if term.key not in fields:
            raise FilterError(f"{whose} have no {term.key}; they have {', '.join(fields)}")
    return found.terms


def _seek_collections(term: Term, now: datetime) -> dict[str, Any]:
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "status" | "channel" | "code":
            return {_LISTED[term.key]: term.values}
        case "ref" | "phone" if one is not None and not term.exact:
            return {"reference_prefix" if term.key == "ref" else "phone": one}
        case "amount" if isinstance(one, Range):
            return _some(amount_min=one.low, amount_max=one.high)
        case "at" if isinstance(one, Span):
            begin, end = one.between(now)
            return _some(created_from=begin, created_to=end)
        case _:
            return {}


def _seek_deliveries(term: Term, now: datetime) -> dict[str, Any]:
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "endpoint":
            return {"endpoints": term.values}
        case "verdict" if {verdict.value for verdict in Verdict}.issuperset(map(str, term.values)):
            return {"verdicts": tuple(Verdict(str(value)) for value in term.values)}
        case "event" if one is not None:
            return {"event_id": one}
        case "id" if one is not None:
            return {"collection_id": one}
        case "at" if isinstance(one, Span):
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
    if isinstance(wanted, Span):
        begin, end = wanted.between(now)
        return isinstance(value, datetime) and (
            (begin is None or value >= begin) and (end is None or value < end)
        )
    if KEYS[term.key] is Kind.PREFIX and not term.exact:
        return str(value).startswith(str(wanted))
    return str(value) == wanted


class NarrowedSource(Generic[R]):
    """A source of which only the rows that pass a test are kept."""

    def __init__(
        self,
        source: PageSource[R],
        test: Test,
        *,
        budget_s: float = BUDGET_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._test = test
        self._budget_s = budget_s
        self._monotonic = monotonic
        self.stopped_at: Key | None = None
        self.tests_rows = True

    def key(self, row: R) -> Key:
        """Return the record's place in the order beneath."""
        return self._source.key(row)

    def page(self, *, older_than: Key | None, newer_than: Key | None, limit: int) -> Page[R]:
        """Return what passes; where the time was up, `stopped_at` says how far it looked."""
        self.stopped_at = None
        upwards = newer_than is not None
        until = self._monotonic() + self._budget_s
        kept: list[R] = []
        while True:
            step = self._source.page(older_than=older_than, newer_than=newer_than, limit=_STEP)
            rows = step.rows[::-1] if upwards else step.rows
            for row in rows:
                if self._test(row):
                    kept.append(row)
                    if len(kept) == limit:
                        return self._page(kept, more=True, upwards=upwards)
            if not step.more or not rows:
                return self._page(kept, more=False, upwards=upwards)
            edge = self._source.key(rows[-1])
            older_than, newer_than = (None, edge) if upwards else (edge, None)
            if self._monotonic() >= until:
                self.stopped_at = edge
                return self._page(kept, more=True, upwards=upwards)

    def again(self, ids: Sequence[str]) -> Mapping[str, R]:
        """Return the present form of those among known records that still pass."""
        found = self._source.again(ids)
        return {name: row for name, row in found.items() if self._test(row)}

    def _page(self, kept: list[R], *, more: bool, upwards: bool) -> Page[R]:
        return Page(tuple(kept[::-1] if upwards else kept), more)
