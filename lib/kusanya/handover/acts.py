"""What people did in a shift: every act, but the routine ones of one person in a row as one.

A resend of hundreds of events is hundreds of acts. Notes, acknowledgements, decisions and all else
are listed one by one, however many routine acts there are.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import AuditFilter, AuditRow, read_all

_ROUTINE: Final = ("resend", "try phone")
"""Acts that are done to hundreds of records at once, without a word of a person's own."""
_ROUTINE_READ: Final = 5_000
"""So many routine acts are read, the newest; all are counted."""
_PAGE: Final = 1_000
_PAUSE: Final = timedelta(minutes=10)
"""Routine acts further apart are two runs."""
_ONE_BY_ONE: Final = 3
"""So many in a run are still listed each, with what they were done to."""


class ActRun(msgspec.Struct, frozen=True):
    """An act, or a run of one routine act: of one person, with one detail, ended in one way."""

    rows: tuple[AuditRow, ...]
    """Newest first, at least one."""

    @property
    def last(self) -> AuditRow:
        """Return the newest of them."""
        return self.rows[0]

    @property
    def first_at(self) -> datetime:
        """Return when the oldest of them was done."""
        return self.rows[-1].at

    @property
    def subject(self) -> str | None:
        """Return what it was done to, where it is one act."""
        return self.last.subject if len(self.rows) == 1 else None

    @property
    def outcome(self) -> str:
        """Return how it ended; of a run that ended for several reasons, how without the reason."""
        found = {row.outcome for row in self.rows}
        return self.last.outcome if len(found) == 1 else _ending(self.last)


class ShiftActs(msgspec.Struct, frozen=True):
    """All that people did since an instant."""

    runs: tuple[ActRun, ...]
    """Newest first."""
    by_person: dict[str, int]
    """How many acts each person did, all counted."""
    unlisted: int
    """How many of them, all routine and the oldest, are in no run."""


def load_acts(store: Store, *, since: datetime) -> ShiftActs:
    """Return what people did since an instant, in either mode. Raises StoreError."""
    others = _every(store, AuditFilter(since=since, but=_ROUTINE))
    only_routine = AuditFilter(since=since, exactly=_ROUTINE)
    routine = store.audit.page(where=only_routine, limit=_ROUTINE_READ)
    found = [ActRun((row,)) for row in others] + _runs(routine.rows)
    by_person = store.audit.count_by_actor(AuditFilter(since=since))
    return ShiftActs(
        runs=tuple(sorted(found, key=lambda run: run.last.seq, reverse=True)),
        by_person=by_person,
        unlisted=sum(by_person.values()) - len(others) - len(routine.rows),
    )


def _every(store: Store, where: AuditFilter) -> list[AuditRow]:
    return read_all(
        lambda older_than: store.audit.page(where=where, older_than=older_than, limit=_PAGE)
    )


def _runs(rows: Sequence[AuditRow]) -> list[ActRun]:
    """Return routine acts, newest first, as runs: another person's act between ends none."""
    runs: list[list[AuditRow]] = []
    latest: dict[tuple[str, ...], list[AuditRow]] = {}
    for row in rows:
        same = (row.actor, row.act, row.detail, _ending(row))
        run = latest.get(same)
        if run is None or run[-1].at - row.at > _PAUSE:
            run = latest[same] = []
            runs.append(run)
        run.append(row)
    return list(chain.from_iterable(map(_listed, runs)))


def _listed(run: Sequence[AuditRow]) -> Iterable[ActRun]:
    if len(run) > _ONE_BY_ONE:
        return (ActRun(tuple(run)),)
    return (ActRun((row,)) for row in run)


def _ending(row: AuditRow) -> str:
    return row.outcome.partition(":")[0]
