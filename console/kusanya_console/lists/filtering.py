"""A filter put to work: what an index can find is sought, the rest is tested row by row.

Which keys a list has, what each reads of a row and which of them have an index stands in the
`filtering.py` of its screen.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kusanya.domain.collection_columns import FieldType
from kusanya.filters import KEYS, Filter, Range, Term, TimeRange
from kusanya_console.lists.paging import Test

Values = Mapping[str, Callable[[Any], object]]
"""What each key of a list reads of a row."""
Seek = Callable[[Term, datetime], dict[str, Any]]
"""Returns how the store is asked for what a term names; nothing where no index finds it."""


def sought_and_tested(
    query: Filter, seek: Seek, values: Values, *, now: datetime
) -> tuple[dict[str, Any], Test | None]:
    """Return what the store is asked for, and the test for what is left, if any.

    The query was read with the keys of `values`.
    """
    sought: dict[str, Any] = {"unwell": query.unwell}
    left: list[Term] = []
    for term in query.terms:
        taken = {} if term.negated else seek(term, now)
        if taken and not taken.keys() & sought.keys():
            sought |= taken
            # What is looked for by a part is then compared as a whole.
            left += [term] if term.exact else []
        else:
            left.append(term)
    return sought, _test(left, values, now)


def bounds(**named: object) -> dict[str, Any]:
    """Return the bounds that are not open."""
    return {name: bound for name, bound in named.items() if bound is not None}


def _test(terms: Sequence[Term], values: Values, now: datetime) -> Test | None:
    if not terms:
        return None

    def test(row: Any) -> bool:
        return all(_matches(term, values[term.key](row), now) for term in terms)

    return test


def _matches(term: Term, value: object, now: datetime) -> bool:
    found = value is not None and any(_fits(term, one, value, now) for one in term.values)
    return found is not term.negated


def _fits(term: Term, wanted: object, value: object, now: datetime) -> bool:
    if isinstance(wanted, Range):
        number = (now - value).total_seconds() if isinstance(value, datetime) else value
        return isinstance(number, (int, float)) and wanted.contains(number)
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
