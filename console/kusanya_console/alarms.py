"""What a person should look after: alarms of endpoints and channels, and oddities of payments.

An alarm has an id that tells one outbreak from the next, so that whoever acknowledged the last one
has not acknowledged this one. Acknowledgements are audit rows; they hide no alarm, they name who
looks after it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from kusanya.health import Health, UnusableDeliveries
from kusanya.state.anomalies import Anomaly, AnomalyKind, anomalies
from kusanya.store import Store
from kusanya.store.records import AuditRow, CollectionFilter, CollectionRow
from kusanya.watch import Silence
from kusanya.wire import Mode

ACKNOWLEDGE: Final = "acknowledge"
_AUDIT_READ: Final = 1_000
"""Acknowledgements older than so many audit rows are forgotten."""
_NEWEST: Final = 150
"""So many of the newest collections, and of the newest that are not well, are looked through."""
INBOX_SHOWN: Final = 12
"""Oddities of payments that have a line of their own; the rest are counted."""


class Acknowledged(msgspec.Struct, frozen=True):
    """Who looks after an alarm, since when, and what they said."""

    by: str
    at: datetime
    why: str


class Oddity(msgspec.Struct, frozen=True):
    """One oddity of one payment."""

    row: CollectionRow
    anomaly: Anomaly

    @property
    def id(self) -> str:
        """Return what an acknowledgement of it names."""
        return f"odd:{self.anomaly.kind.value}:{self.row.id}"


class Inbox(msgspec.Struct, frozen=True):
    """What is odd among the newest payments, and what has been acknowledged."""

    odd: tuple[Oddity, ...]
    """Not acknowledged; the urgent first, then the newest."""
    looked_at: int
    """How many collections were looked through."""
    acknowledged: Mapping[str, Acknowledged]
    """By the alarm's id."""
    more: bool = False
    """True when there are older payments, which were not looked at."""

    @property
    def kinds(self) -> tuple[tuple[AnomalyKind, int], ...]:
        """Return how many there are of each kind, in the catalogue's order."""
        counts = dict.fromkeys(AnomalyKind, 0)
        for one in self.odd:
            counts[one.anomaly.kind] += 1
        return tuple((kind, count) for kind, count in counts.items() if count)


class Inspector:
    """Looks through the newest payments; one that did not change is not looked at again.

    `inspect` reads the store: on one thread, one call at a time.
    """

    def __init__(self, store: Store, *, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._known: dict[str, tuple[int, bool, tuple[Anomaly, ...]]] = {}

    def inspect(self, *, now: datetime) -> Inbox:
        """Return the inbox as of now; raises StoreError."""
        pages = [
            self._store.collections.page(self._mode, where=where, limit=_NEWEST)
            for where in (CollectionFilter(), CollectionFilter(unwell=True))
        ]
        rows = {row.id: row for page in pages for row in page.rows}
        self._known = {name: self._found(row, now) for name, row in rows.items()}
        told = acknowledged(self._audit())
        odd = [
            Oddity(rows[name], anomaly)
            for name, (_, _, found) in self._known.items()
            for anomaly in found
        ]
        kept = [one for one in odd if one.id not in told]
        kept.sort(key=lambda one: one.row.key, reverse=True)
        kept.sort(key=lambda one: not one.anomaly.urgent)
        more = any(page.more for page in pages)
        return Inbox(tuple(kept), len(rows), told, more)

    def _found(self, row: CollectionRow, now: datetime) -> tuple[int, bool, tuple[Anomaly, ...]]:
        known = self._known.get(row.id)
        # A missing event becomes one by the mere passing of time.
        if known is not None and known[0] == row.seq and known[1] == row.missing_event is False:
            return known
        facts = self._store.collections.observations(row.id, row.mode)
        state = self._store.collections.state(row.id, row.mode)
        found = () if state is None else anomalies(state, facts, now=now)
        return row.seq, row.missing_event, found

    def _audit(self) -> list[AuditRow]:
        rows: list[AuditRow] = []
        page = self._store.audit.page()
        while True:
            rows += page.rows
            if not page.more or len(rows) >= _AUDIT_READ:
                return rows
            page = self._store.audit.page(older_than=page.rows[-1].key)


def acknowledged(rows: Iterable[AuditRow]) -> dict[str, Acknowledged]:
    """Return who looks after which alarm, the newest word of each; rows come newest first."""
    told: dict[str, Acknowledged] = {}
    for row in rows:
        if row.act == ACKNOWLEDGE and row.subject is not None and row.outcome == "done":
            told.setdefault(row.subject, Acknowledged(row.actor, row.at, row.detail))
    return told


def silence_id(silent: Silence, mode: Mode) -> str:
    """Return the id of one silence: it began after one certain arrival."""
    last = silent.last_arrival_at
    return f"silent:{mode.value}:{'never' if last is None else last.isoformat()}"


def failing_id(endpoint: str, lit_at: datetime | None, mode: Mode) -> str:
    """Return the id of one run of failures of an endpoint."""
    return f"failing:{mode.value}:{endpoint}:{'' if lit_at is None else lit_at.isoformat()}"


def unusable_id(found: UnusableDeliveries) -> str:
    """Return the id of the newest such deliveries: an acknowledgement lasts until more come."""
    at = f"{found.last_hour:%Y-%m-%dT%H}"
    return f"{found.verdict.value}:{found.mode.value}:{found.endpoint}:{at}"


def sender_id(endpoint: str, since: datetime | None, mode: Mode) -> str:
    """Return the id of one run of failures that the sender tells of."""
    return f"sender:{mode.value}:{endpoint}:{'' if since is None else since.isoformat()}"


def stuck_id(channel: str, found: Health, mode: Mode) -> str:
    """Return the id of one outage of a channel: an acknowledgement of it lasts for its hour."""
    return f"stuck:{mode.value}:{channel}:{found.at:%Y-%m-%dT%H}"
