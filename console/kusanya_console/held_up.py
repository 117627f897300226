"""Creations that nobody works on any more: their program ended or gave up before an answer.

One that the service never took has asked no customer; one that left without an answer may have,
and nothing tells. Either is sent again by a person or by `kusanya intents resume`, with the same
key.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState, Key
from kusanya.wire import Mode

UNDER_WAY: Final = (IntentState.PREPARED, IntentState.SENT)
"""States that a creation passes through while its program works on it."""
_AFTER: Final = timedelta(seconds=60)
"""Longer than a client tries: its deadline and its last wait are over by then."""
LOOKED_AT: Final = 100
"""So many of the newest that could be held up."""


class HeldUp(msgspec.Struct, frozen=True, kw_only=True):
    """How many creations are held up, as far as was looked."""

    unsent: int = 0
    """The service took none of their attempts."""
    left: int = 0
    """They left, and no answer was kept."""
    since: datetime | None = None
    """When the oldest of them was made; None where there are more than were looked at."""

    @property
    def count(self) -> int:
        """Count both."""
        return self.unsent + self.left


def is_held_up(row: IntentRow, *, now: datetime) -> bool:
    """Tell whether a creation waits although no program works on it."""
    if row.state not in UNDER_WAY or now - row.prepared_at < _AFTER:
        return False
    return row.claimed_until is None or row.claimed_until <= now


def waiting(store: Store, mode: Mode, *, now: datetime) -> tuple[IntentRow, ...]:
    """Return the newest that are held up. Raises StoreError."""
    # From there on back: in an outage those of the last minute alone would fill a page.
    edge = Key.after(now - _AFTER)
    page = store.intents.page(mode, states=UNDER_WAY, older_than=edge, limit=LOOKED_AT)
    return tuple(row for row in page.rows if is_held_up(row, now=now))


def held_up(rows: Iterable[IntentRow], *, now: datetime) -> HeldUp:
    """Count those among `rows` that are held up."""
    found = [row for row in rows if is_held_up(row, now=now)]
    every = len(found) < LOOKED_AT
    return HeldUp(
        unsent=sum(row.state is IntentState.PREPARED for row in found),
        left=sum(row.state is IntentState.SENT for row in found),
        since=min((row.prepared_at for row in found), default=None) if every else None,
    )


def held_up_id(found: HeldUp, mode: Mode) -> str:
    """Return the id of one such alarm: it began with its oldest creation."""
    return f"held-up:{mode.value}:{'' if found.since is None else found.since.isoformat()}"


def many(count: int) -> str:
    """Return a count as far as was looked."""
    return f"{LOOKED_AT}+" if count >= LOOKED_AT else f"{count}"
