"""Orders that were paid more than once, as a watcher finds them: what is new at each look."""

from datetime import datetime, timedelta
from typing import Final

from kusanya.store import Store
from kusanya.store.records import CollectionRow
from kusanya.wire import Mode

_FIRST_LOOK: Final = timedelta(days=1)
_OVERLAP: Final = timedelta(minutes=10)
"""What became known by another machine's clock shortly before the last look is looked at again."""
_REMEMBERED: Final = timedelta(days=7)


class SecondPaymentReader:
    """Finds payments of the last week whose order was paid before; by a new reader, of a day.

    `read` reads the store: on one thread, one call at a time.
    """

    def __init__(self, store: Store, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._known: dict[str, CollectionRow] = {}
        self._looked_at: datetime | None = None

    def read(self, *, now: datetime) -> tuple[CollectionRow, ...]:
        """Return them, the newest first. Raises StoreError."""
        since = now - _FIRST_LOOK if self._looked_at is None else self._looked_at - _OVERLAP
        found = self._store.collections.paid_again(self._mode, since=since)
        self._looked_at = now
        self._known |= {row.id: row for row in found}
        if self._known:
            still = self._store.collections.by_id(sorted(self._known), self._mode)
            self._known = {
                name: row
                for name, row in still.items()
                if row.is_paid and row.final_seen_at and row.final_seen_at > now - _REMEMBERED
            }
        newest = sorted(self._known.values(), key=lambda row: row.final_seen_at or now)
        return tuple(reversed(newest))
