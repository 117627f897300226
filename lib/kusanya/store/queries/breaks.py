"""What people decide about breaks: owners, notes, statuses. Facts, none changed or removed."""

from typing import Any, Final

from sqlalchemy import Row, insert, select

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import BreakFact, BreakHistory, BreakStatus, BreakSubject, Key, Page
from kusanya.store.tables.schema import break_fact
from kusanya.store.tables.values import clean, from_us, maybe_clean, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_SAID: Final = ("seq", "mode", "at", "actor", "status", "owner", "note", "run_id")
_SUBJECT: Final = BreakSubject.__struct_fields__
_COLUMNS: Final = tuple(break_fact.c[name] for name in (*_SAID, *_SUBJECT))


class Breaks(StorePart):
    """Keeping and reading what was said about breaks."""

    def record(
        self,
        subject: BreakSubject,
        mode: Mode,
        *,
        actor: str,
        status: BreakStatus | None = None,
        owner: str | None = None,
        note: str | None = None,
        run_id: str | None = None,
    ) -> BreakFact:
        """Make what `actor` says about a break durable, with its audit row, and return it.

        What is None is not spoken of; an empty `owner` means nobody. A status other than open needs
        a reason in `note`. The store knows who says it, see `Audit.actor`. Raises ValueError
        where nothing is said or a reason is missing.
        """
        reason = (note or "").strip()
        if status is None and owner is None and not reason:
            raise ValueError("say something about the break: a status, an owner or a note")
        if status not in {None, BreakStatus.OPEN} and not reason:
            raise ValueError(f"give the reason why the break is {status}")

        def act(writing: Transaction) -> BreakFact:
            of_owner = [] if owner is None else [f"owner {owner.strip() or 'nobody'}"]
            row = audited(
                writing,
                actor=actor,
                act="note_break" if status is None else "resolve_break",
                subject=subject.break_id,
                detail="; ".join([*of_owner, *([reason] if reason else [])]),
                outcome="noted" if status is None else status.value,
            )
            fact = BreakFact(
                seq=writing.seq(),
                mode=mode,
                at=writing.now,
                actor=row.actor,
                subject=_cleaned(subject),
                status=status,
                owner=maybe_clean(None if owner is None else owner.strip(), NAME_MAX),
                note=clean(reason) if reason else None,
                run_id=run_id,
            )
            writing.connection.execute(insert(break_fact).values(**_values(fact)))
            return fact

        return self._act(act)

    def of(self, break_id: str, mode: Mode) -> tuple[BreakFact, ...]:
        """Return what was said about one break, oldest first."""
        it = break_fact.c
        query = select(*_COLUMNS).where(it.mode == mode.value, it.break_id == clean(break_id))
        with self._reading("read what was said about a break") as connection:
            return tuple(_to_fact(row) for row in connection.execute(query.order_by(it.seq)))

    def page(
        self, mode: Mode, *, older_than: Key | None = None, limit: int = 200
    ) -> Page[BreakFact]:
        """Return a page of the facts of one mode, newest first; keys are `Key(seq, "")`."""
        it = break_fact.c
        query = select(*_COLUMNS).where(it.mode == mode.value)
        if older_than is not None:
            query = query.where(it.seq < older_than.value)
        with self._reading("read what was said about breaks") as connection:
            rows = connection.execute(query.order_by(it.seq.desc()).limit(limit + 1))
            found = tuple(_to_fact(row) for row in rows)
        return Page(rows=found[:limit], more=len(found) > limit)

    def histories(self, mode: Mode, *, as_of: int | None = None) -> dict[str, BreakHistory]:
        """Return what is known of each break by its id, up to place `as_of` of the journal.

        Only breaks that somebody spoke of have one: as many as people have written.
        """
        it = break_fact.c
        query = select(*_COLUMNS).where(it.mode == mode.value)
        if as_of is not None:
            query = query.where(it.seq <= as_of)
        with self._reading("read what was said about breaks") as connection:
            rows = connection.execute(query.order_by(it.seq))
            return BreakHistory.of(_to_fact(row) for row in rows)


def _cleaned(subject: BreakSubject) -> BreakSubject:
    return BreakSubject(
        break_id=clean(subject.break_id, NAME_MAX),
        leg=clean(subject.leg, NAME_MAX),
        code=clean(subject.code, NAME_MAX),
        reference=maybe_clean(subject.reference, NAME_MAX),
        collection_id=maybe_clean(subject.collection_id, NAME_MAX),
        currency=maybe_clean(subject.currency, NAME_MAX),
        amount=subject.amount,
        figures=clean(subject.figures, NAME_MAX),
    )


def _values(fact: BreakFact) -> dict[str, Any]:
    said = {name: getattr(fact, name) for name in _SAID}
    about = {name: getattr(fact.subject, name) for name in _SUBJECT}
    status = None if fact.status is None else fact.status.value
    return {**said, **about, "mode": fact.mode.value, "at": to_us(fact.at), "status": status}


def _to_fact(row: Row[Any]) -> BreakFact:
    said = dict(zip(_SAID, row[: len(_SAID)], strict=True))
    said["mode"], said["at"] = Mode(said["mode"]), from_us(said["at"])
    said["status"] = None if said["status"] is None else BreakStatus(said["status"])
    about = dict(zip(_SUBJECT, row[len(_SAID) :], strict=True))
    return BreakFact(**said, subject=BreakSubject(**about))
