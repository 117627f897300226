"""Creations without an answer, sent again by the watcher: each with its own key and its own bytes.

Only what left is sent again, and only inside its window: the service answers what became of it, and
asks no customer twice. What never left asked nobody; whether it still should is a person's.
"""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.domain.assumptions import REPLAY_WINDOW
from kusanya.errors import (
    Conflict,
    IntentError,
    NoAnswer,
    NotSent,
    RateLimited,
    ServiceUnavailable,
)
from kusanya.intents import replay_left
from kusanya.intents.creating import mode_of, proceed
from kusanya.store import Store
from kusanya.store.records import AttemptRow, IntentRow, IntentState

_LEFT: Final = (IntentState.SENT, IntentState.UNKNOWN)
_PAGE: Final = 100
_FIRST_PAUSE: Final = timedelta(minutes=1)
_LONGEST_PAUSE: Final = timedelta(minutes=15)
_NOT_NOW: Final = (NoAnswer, NotSent, Conflict, RateLimited, ServiceUnavailable)


def resume_due(store: Store, core: Core, profile: str, *, budget: int) -> Effects[int]:
    """Send again what is due of a profile's creations, `budget` at most; return how many ended.

    The oldest come first: their windows close first. Durable on return. A service that does not
    answer ends the round. Raises AuthenticationError and PermissionDenied for a key that is
    refused, StoreError.
    """
    look = partial(
        store.intents.sent_since,
        mode_of(core),
        core.clock.now() - REPLAY_WINDOW,
        states=_LEFT,
        profile=profile,
        limit=_PAGE,
    )
    page, ended, asked = (yield from call(look)), 0, 0
    while True:
        last = yield from call(partial(store.intents.last_attempts, [row.id for row in page.rows]))
        due = [row for row in page.rows if _is_due(row, last.get(row.id), now=core.clock.now())]
        for row in due[: budget - asked]:
            # Sending takes its time: another process may have sent the next one meanwhile.
            newest = yield from call(partial(store.intents.last_attempts, [row.id]))
            if not _is_due(row, newest.get(row.id), now=core.clock.now()):
                continue
            asked += 1
            try:
                yield from proceed(store, core, row, profile=profile)
            except _NOT_NOW:
                return ended
            except IntentError:
                continue  # somebody else sends it, or it came to its end: the store says so
            ended += 1
        if not page.more or asked >= budget:
            return ended
        page = yield from call(partial(look, after=page.rows[-1].key))


def _is_due(row: IntentRow, last: AttemptRow | None, *, now: datetime) -> bool:
    """Return whether nobody sends a creation and its last sending is long enough ago."""
    if last is None or replay_left(row, now=now) <= timedelta():
        return False
    if row.claimed_until is not None and row.claimed_until > now:
        return False
    # As long again as it was tried: a client that tried some times at once waits no longer for it.
    tried = last.sent_at - (row.first_sent_at or last.sent_at)
    return now - last.sent_at >= min(max(tried, _FIRST_PAUSE), _LONGEST_PAUSE)
