"""What people decided about breaks, and which receipts operators gave."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from kusanya.wire import Mode


class BreakStatus(StrEnum):
    """What people have decided about a break."""

    OPEN = "open"
    EXPLAINED = "explained"
    """The cause is known; the break stands until it is put right."""
    ACCEPTED = "accepted"
    """It stays as it is, by name and with a reason: it no longer stands against the verdict."""
    TO_BE_BOOKED = "to_be_booked"


class BreakSubject(msgspec.Struct, frozen=True, kw_only=True):
    """What a break is about, as a run said it: enough to know it without the run's pack."""

    break_id: str
    leg: str
    code: str
    reference: str | None = None
    collection_id: str | None = None
    currency: str | None = None
    amount: int | None = None
    figures: str = ""
    """Every amount and fee of both sides, as one text."""

    def says_the_same(self, other: "BreakSubject") -> bool:
        """Return whether code and money are those of `other`: a decision covers no more."""
        mine, others = (
            (one.break_id, one.code, one.currency, one.amount, one.figures) for one in (self, other)
        )
        return mine == others


class BreakFact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that one person said about a break; what it does not speak of is None."""

    seq: int
    mode: Mode
    at: datetime
    actor: str
    """Who worked on the store, as the audit has it."""
    subject: BreakSubject
    status: BreakStatus | None = None
    owner: str | None = None
    """Who takes care of it; empty for nobody."""
    note: str | None = None
    """Free text; with a status its reason."""
    run_id: str | None = None
    """The run whose pack the person looked at."""


class BreakHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the facts about one break say together: of each field the newest that speaks of it."""

    break_id: str
    subject: BreakSubject
    """What the break was when somebody last spoke of it."""
    status: BreakStatus = BreakStatus.OPEN
    owner: str | None = None
    note: str | None = None
    decision: BreakFact | None = None
    """The fact that set the status."""

    def status_for(self, now: BreakSubject) -> BreakStatus:
        """Return the status of the break as it is `now`.

        Open again where code or money are not those that the decision was about.
        """
        decision = self.decision
        return (
            self.status
            if decision is not None and decision.subject.says_the_same(now)
            else BreakStatus.OPEN
        )

    @classmethod
    def of(cls, facts: Iterable[BreakFact]) -> "dict[str, BreakHistory]":
        """Return the history of each break by its id, from facts in the order of the journal."""
        found: dict[str, BreakHistory] = {}
        for fact in facts:
            id_ = fact.subject.break_id
            known = found.get(id_) or cls(break_id=id_, subject=fact.subject)
            found[id_] = msgspec.structs.replace(
                known,
                subject=fact.subject,
                status=known.status if fact.status is None else fact.status,
                decision=known.decision if fact.status is None else fact,
                owner=known.owner if fact.owner is None else fact.owner or None,
                note=known.note if fact.note is None else fact.note,
            )
        return found


class ReceiptFact(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's receipt of one collection, and which file said so."""

    seq: int
    collection_id: str
    mode: Mode
    receipt: str
    source: str
    at: datetime
    actor: str
