"""Since when the service has not answered, as the first of our programs knows that asks it.

A poller notes it in the store. Since the last note of one creations tell: several in a
row that all wait for an answer.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import IntentState, Key, Poller
from kusanya.wire import Mode

_POLLS: Final = timedelta(minutes=2)
"""What a poller noted longer ago says nothing about now."""
_TRIED: Final = timedelta(seconds=30)
"""How long a client tries by itself before a creation has no answer."""
_LOOKED_AT: Final = 200
_ENOUGH: Final = 3
"""So many creations in a row without an answer are no accident."""
_RECENT: Final = timedelta(minutes=10)
_WAITING: Final = (IntentState.PREPARED, IntentState.SENT, IntentState.UNKNOWN)
_ANSWERED: Final = tuple(state for state in IntentState if state not in _WAITING)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
SILENT_FOR: Final = timedelta(seconds=40)
"""Longer than a client tries by itself; with the time until somebody asks, a minute at the most."""


class ServiceSilence(msgspec.Struct, frozen=True, kw_only=True):
    """The service does not answer."""

    since: datetime
    machines: tuple[str, ...] = ()
    """Those of the pollers that it does not answer; none where creations tell."""
    answers_others: bool = False
    """Whether it answers pollers on other machines."""

    def is_long(self, now: datetime) -> bool:
        """Return whether it has lasted too long for an accident."""
        return now - self.since >= SILENT_FOR


def load_service_silence(
    store: Store, mode: Mode, pollers: Sequence[Poller], *, now: datetime
) -> ServiceSilence | None:
    """Return since when the service has not answered, or None. Raises StoreError.

    `pollers` are those that ran lately, the one that ran last first.
    """
    running = [one for one in pollers if now - one.polled_at <= _POLLS]
    # Of one machine the newest note holds: what ran before it may have ended in the silence.
    newest_of = {one.name.partition(":")[0]: one for one in reversed(running)}
    silent = {
        machine: one.silent_since
        for machine, one in newest_of.items()
        if one.silent_since is not None
    }
    if not silent:
        noted_at = max((one.polled_at for one in running), default=None)
        return _of_creations(store, mode, after=noted_at, now=now)
    return ServiceSilence(
        since=min(silent.values()),
        machines=tuple(sorted(silent)),
        answers_others=len(silent) < len(newest_of),
    )


def _of_creations(
    store: Store, mode: Mode, *, after: datetime | None, now: datetime
) -> ServiceSilence | None:
    """Return what creations tell since an instant, and since the last that was answered."""
    answered = store.intents.page(mode, states=_ANSWERED, limit=1).rows
    known = [row.prepared_at for row in answered] + ([] if after is None else [after])
    tried = store.intents.page(
        mode, states=_WAITING, older_than=Key.after(now - _TRIED), limit=_LOOKED_AT
    )
    since = max(known, default=_NEVER)
    waiting = [row.prepared_at for row in tried.rows if row.prepared_at > since]
    if len(waiting) < _ENOUGH or now - waiting[0] > _RECENT:
        return None
    # Of more than were looked at, the first came soon after what is known in a shop so busy.
    has_more = bool(known) and len(waiting) == _LOOKED_AT
    return ServiceSilence(since=since if has_more else waiting[-1])
