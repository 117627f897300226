"""Since when the service has not answered, as the first of our programs knows that asks it.

A poller notes it in the store. Where none runs, creations tell: the newest ones, several in a row,
that all wait for an answer.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState, Poller
from kusanya.wire import Mode

_POLLS: Final = timedelta(minutes=2)
"""What a poller noted longer ago says nothing about now."""
_TRIED: Final = timedelta(seconds=30)
"""How long a client tries by itself before a creation has no answer."""
_NEWEST: Final = 20
_ENOUGH: Final = 3
"""So many of the newest creations without an answer are no accident."""
_RECENT: Final = timedelta(minutes=10)
_WAITING: Final = frozenset({IntentState.PREPARED, IntentState.SENT, IntentState.UNKNOWN})
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

    def heard_until(self, now: datetime) -> datetime:
        """Return until when the service told how prompts stand."""
        return now if self.answers_others else min(self.since, now)


def load_service_silence(
    store: Store, mode: Mode, pollers: Sequence[Poller], *, now: datetime
) -> ServiceSilence | None:
    """Return since when the service has not answered, or None. Raises StoreError.

    `pollers` are those that ran lately, the one that ran last first.
    """
    running = [one for one in pollers if now - one.polled_at <= _POLLS]
    if not running:
        newest = store.intents.page(mode, limit=_NEWEST).rows
        return _of_creations(newest, now=now)
    # Of one machine the newest note holds: what ran before it may have ended in the silence.
    newest_of = {one.name.partition(":")[0]: one for one in reversed(running)}
    silent = {
        machine: one.silent_since
        for machine, one in newest_of.items()
        if one.silent_since is not None
    }
    if not silent:
        return None
    return ServiceSilence(
        since=min(silent.values()),
        machines=tuple(sorted(silent)),
        answers_others=len(silent) < len(newest_of),
    )


def _of_creations(newest: Sequence[IntentRow], *, now: datetime) -> ServiceSilence | None:
    """Return what the newest creations tell, the newest first."""
    tried = [row for row in newest if now - row.prepared_at > _TRIED]
    waiting = list(takewhile(lambda row: row.state in _WAITING, tried))
    if len(waiting) < _ENOUGH or now - waiting[0].prepared_at > _RECENT:
        return None
    return ServiceSilence(since=waiting[-1].prepared_at)
