"""Intents that no program works on any more: it ended or gave up before there was an answer.

One that the service never took has asked no customer; one that left without an answer may have,
and nothing tells. A person or `kusanya intents resume` sends either again, with the same key.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState, Key
from kusanya.wire import Mode

UNDER_WAY: Final = (IntentState.PREPARED, IntentState.SENT)
"""States that an intent passes through while its program works on it."""
_STALLED_AFTER: Final = timedelta(seconds=60)
"""Longer than a client tries: its deadline and its last wait are over by then."""
_LOOKED_AT: Final = 100
"""So many of the newest that could be stalled."""


class StalledIntents(msgspec.Struct, frozen=True, kw_only=True):
    """How many intents are stalled, as far as was looked."""

    unsent: int = 0
    """The service took none of their attempts."""
    unanswered: int = 0
    """They left, and no answer was kept."""
    since: datetime | None = None
    """When the oldest of them was made; None where there are more than were looked at."""

    @property
    def count(self) -> int:
        """Count both."""
        return self.unsent + self.unanswered


def is_stalled(row: IntentRow, *, now: datetime) -> bool:
    """Return whether an intent waits although no program works on it."""
    if row.state not in UNDER_WAY or now - row.prepared_at < _STALLED_AFTER:
        return False
    return row.claimed_until is None or row.claimed_until <= now


def stalled_intents(store: Store, mode: Mode, *, now: datetime) -> tuple[IntentRow, ...]:
    """Return the newest intents that are stalled. Raises StoreError."""
    # From there on back: in an outage those of the last minute alone would fill a page.
    edge = Key.after(now - _STALLED_AFTER)
    page = store.intents.page(mode, states=UNDER_WAY, older_than=edge, limit=_LOOKED_AT)
    return tuple(row for row in page.rows if is_stalled(row, now=now))


def count_stalled(rows: Iterable[IntentRow], *, now: datetime) -> StalledIntents:
    """Count those among `rows` that are stalled."""
    stalled = [row for row in rows if is_stalled(row, now=now)]
    has_all = len(stalled) < _LOOKED_AT
    return StalledIntents(
        unsent=sum(row.state is IntentState.PREPARED for row in stalled),
        unanswered=sum(row.state is IntentState.SENT for row in stalled),
        since=min((row.prepared_at for row in stalled), default=None) if has_all else None,
    )


def format_count(count: int) -> str:
    """Return a count of stalled intents as far as was looked."""
    return f"{_LOOKED_AT}+" if count >= _LOOKED_AT else f"{count}"
