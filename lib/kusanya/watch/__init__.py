"""Following collections that no event has ended: few requests, spread, backing off.

`poll_open` is the background poller, run by either client. What it learns goes to the store as
observations; a final state learned here without an event is a missing event, and `detect_silence`
says when an endpoint has gone silent: the alarm that no handler can raise.

Each name is loaded when it is first used: whoever asks for a silence needs no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kusanya.watch.poller import PollResult, PollSettings, poll_once, poll_open
    from kusanya.watch.schedule import FIRST_POLL, next_poll
    from kusanya.watch.silence import Silence, detect_silence, missed_events

__all__ = [
    "FIRST_POLL",
    "PollResult",
    "PollSettings",
    "Silence",
    "detect_silence",
    "missed_events",
    "next_poll",
    "poll_once",
    "poll_open",
]

_HOMES = {
    "FIRST_POLL": "kusanya.watch.schedule",
    "PollSettings": "kusanya.watch.poller",
    "PollResult": "kusanya.watch.poller",
    "Silence": "kusanya.watch.silence",
    "poll_once": "kusanya.watch.poller",
    "missed_events": "kusanya.watch.silence",
    "next_poll": "kusanya.watch.schedule",
    "poll_open": "kusanya.watch.poller",
    "detect_silence": "kusanya.watch.silence",
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'kusanya.watch' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
