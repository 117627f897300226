"""Anomalies among the newest payments that nobody has acknowledged."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from kusanya.alarms.acknowledgements import Acknowledgements, acknowledgements
from kusanya.alarms.open_anomalies import anomaly_id
from kusanya.state.anomalies import Anomaly, AnomalyKind, anomalies
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow
from kusanya.wire import Mode

_NEWEST: Final = 150
"""So many of the newest collections, and of the newest that are not well, are looked through."""


class AnomalousCollection(msgspec.Struct, frozen=True):
    """One anomaly of one collection."""

    row: CollectionRow
    anomaly: Anomaly

    @property
    def id(self) -> str:
        """Return what an acknowledgement of it names."""
        return anomaly_id(self.anomaly.kind, self.row.id)


class AnomalyReport(msgspec.Struct, frozen=True):
    """The anomalies of the newest payments, and what is looked after."""

    found: tuple[AnomalousCollection, ...]
    """Not acknowledged; the urgent first, then the newest."""
    looked_at: int
    """How many collections were looked through."""
    held: Acknowledgements
    more: bool = False
    """True when there are older payments, which were not looked at."""

    @property
    def kinds(self) -> tuple[tuple[AnomalyKind, int], ...]:
        """Return how many there are of each kind, in the catalogue's order."""
        counts = dict.fromkeys(AnomalyKind, 0)
        for one in self.found:
            counts[one.anomaly.kind] += 1
        return tuple((kind, count) for kind, count in counts.items() if count)


class AnomalyScanner:
    """Looks through the newest payments; one that did not change is not looked at again.

    `scan` reads the store: on one thread, one call at a time.
    """

    def __init__(self, store: Store, *, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._known: dict[str, tuple[int, bool, tuple[Anomaly, ...]]] = {}

    def scan(self, *, now: datetime, alarms: Iterable[str] = ()) -> AnomalyReport:
        """Return the report as of now, with who looks after `alarms`; raises StoreError."""
        pages = [
            self._store.collections.page(self._mode, where=where, limit=_NEWEST)
            for where in (CollectionFilter(), CollectionFilter(unwell=True))
        ]
        rows = {row.id: row for page in pages for row in page.rows}
        self._known = {name: self._anomalies(row, now) for name, row in rows.items()}
        every = [
            AnomalousCollection(rows[name], anomaly)
            for name, (_, _, found) in self._known.items()
            for anomaly in found
        ]
        names = (*alarms, *(one.id for one in every))
        held = acknowledgements(self._store, names, now=now)
        found = [one for one in every if held.of(one.id) is None]
        found.sort(key=lambda one: one.row.key, reverse=True)
        found.sort(key=lambda one: not one.anomaly.urgent)
        more = any(page.more for page in pages)
        return AnomalyReport(tuple(found), len(rows), held, more)

    def _anomalies(
        self, row: CollectionRow, now: datetime
    ) -> tuple[int, bool, tuple[Anomaly, ...]]:
        known = self._known.get(row.id)
        # A missing event becomes one by the mere passing of time.
        if known is not None and known[0] == row.seq and known[1] == row.missing_event is False:
            return known
        facts = self._store.collections.observations(row.id, row.mode)
        state = self._store.collections.state(row.id, row.mode)
        found = () if state is None else anomalies(state, facts, now=now)
        return row.seq, row.missing_event, found
