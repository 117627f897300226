"""Payments about which facts disagree, and which nobody has acknowledged yet."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.state.anomalies import AnomalyKind, anomaly_of
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, Key
from kusanya.wire import Mode

_REMEMBERED: Final = timedelta(days=7)
"""An older payment is the month-end's concern."""
_NEWEST: Final = 200
_PAGES: Final = 25
"""So many pages of payments that are not well are looked through at the first time."""


class OpenAnomaly(msgspec.Struct, frozen=True, kw_only=True):
    """One field of one payment for which different facts were observed."""

    collection_id: str
    kind: AnomalyKind
    urgent: bool

    @property
    def id(self) -> str:
        """Return what an acknowledgement of it names."""
        return anomaly_id(self.kind, self.collection_id)

    @property
    def is_fee(self) -> bool:
        """Return whether only the fee differs."""
        return self.kind is AnomalyKind.FEE_CHANGED


def anomaly_id(kind: AnomalyKind, collection_id: str) -> str:
    """Return what an acknowledgement of an anomaly of a collection names."""
    return f"odd:{kind.value}:{collection_id}"


class OpenAnomalyReader:
    """Finds the anomalies of the last week; what was found once is looked up by its id again.

    `read` reads the store: on one thread, one call at a time.
    """

    def __init__(self, store: Store, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._known: dict[str, tuple[CollectionRow, tuple[OpenAnomaly, ...]]] = {}
        self._looked_back = False

    def read(self, *, now: datetime) -> tuple[OpenAnomaly, ...]:
        """Return those that nobody has acknowledged, the newest payment first; raises StoreError.

        Facts of little weight that differ, such as a description, are left to Health.
        """
        since = now - _REMEMBERED
        for row in self._candidates(since):
            known = self._known.get(row.id)
            if known is None or known[0].seq != row.seq:
                self._known[row.id] = (row, self._anomalies(row))
        self._known = {
            name: known for name, known in self._known.items() if known[0].created_at >= since
        }
        newest = sorted(self._known.values(), key=lambda known: known[0].key, reverse=True)
        found = [one for _, anomalies in newest for one in anomalies if one.urgent or one.is_fee]
        if not found:
            return ()
        held = acknowledgements(self._store, [one.id for one in found], now=now)
        return tuple(one for one in found if held.of(one.id) is None)

    def _candidates(self, since: datetime) -> list[CollectionRow]:
        where = CollectionFilter(unwell=True, created_from=since)
        found: dict[str, CollectionRow] = {}
        older_than: Key | None = None
        for _ in range(1 if self._looked_back else _PAGES):
            page = self._store.collections.page(
                self._mode, where=where, older_than=older_than, limit=_NEWEST
            )
            found |= {row.id: row for row in page.rows if row.contradictions}
            if not page.more:
                break
            older_than = page.rows[-1].key
        self._looked_back = True
        if self._known:
            found |= self._store.collections.by_id(sorted(self._known), self._mode)
        return list(found.values())

    def _anomalies(self, row: CollectionRow) -> tuple[OpenAnomaly, ...]:
        state = self._store.collections.state(row.id, row.mode)
        if state is None:
            return ()
        anomalies = [anomaly_of(one) for one in state.contradictions]
        return tuple(
            OpenAnomaly(collection_id=row.id, kind=one.kind, urgent=one.urgent) for one in anomalies
        )
