"""Following collections that no event has ended: few requests, spread, backing off.

`rounds` is the background poller, run by either client. What it learns goes to the store as
observations; a final state learned here without an event is a missing event, and `silence` says
when an endpoint has gone silent: the alarm that no handler can raise.

Each name is loaded when it is first used: whoever asks for a silence needs no client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kusanya.watch.following import Rhythm, Round, look, rounds
    from kusanya.watch.hearing import Silence, missed_events, silence
    from kusanya.watch.schedule import FIRST_LOOK, next_look

__all__ = [
    "FIRST_LOOK",
    "Rhythm",
    "Round",
    "Silence",
    "look",
    "missed_events",
    "next_look",
    "rounds",
    "silence",
]

_HOMES = {
    "FIRST_LOOK": "kusanya.watch.schedule",
    "Rhythm": "kusanya.watch.following",
    "Round": "kusanya.watch.following",
    "Silence": "kusanya.watch.hearing",
    "look": "kusanya.watch.following",
    "missed_events": "kusanya.watch.hearing",
    "next_look": "kusanya.watch.schedule",
    "rounds": "kusanya.watch.following",
    "silence": "kusanya.watch.hearing",
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'kusanya.watch' has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
