"""The keys of a filter of the audit: what each reads of an act, and which have an index."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from kusanya.filters import Filter, Term, TimeRange
from kusanya.lookup import Subject
from kusanya.store.records import AuditFilter, AuditRow
from kusanya_console.lists.filtering import bounds, sought_and_tested
from kusanya_console.lists.paging import Test


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


_VALUES: Final[Mapping[str, Callable[[Act], object]]] = {
    "actor": lambda act: act.row.actor,
    "act": lambda act: act.row.act,
    "ref": lambda act: None if act.subject is None else act.subject.reference,
    "id": lambda act: act.row.subject,
    "outcome": lambda act: act.row.outcome,
    "age": lambda act: act.row.at,
    "at": lambda act: act.row.at,
}
AUDIT_KEYS: Final = tuple(_VALUES)


def audit_query(query: Filter, *, now: datetime) -> tuple[AuditFilter, Test | None]:
    """Return what the store seeks in the audit, and the test for what is left, if any.

    The query was read with `keys=AUDIT_KEYS`.
    """
    sought, test = sought_and_tested(query, _seek, _VALUES, now=now)
    return AuditFilter(**sought), test


def _seek(term: Term, now: datetime) -> dict[str, Any]:
    one = term.values[0] if len(term.values) == 1 else None
    match term.key:
        case "actor" | "act":
            return {f"{term.key}s": term.values}
        case "id":
            return {"subjects": term.values}
        case "at" if isinstance(one, TimeRange):
            begin, end = one.between(now)
            return bounds(since=begin, until=end)
        case _:
            return {}
