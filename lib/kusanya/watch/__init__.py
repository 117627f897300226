"""Following collections that no event has ended: few requests, spread, backing off.

`rounds` is the background poller, run by either client. What it learns goes to the store as
observations; a final state learned here without an event is a missing event, and `silence` says
when an endpoint has gone silent: the alarm that no handler can raise.
"""

from kusanya.watch.rounds import Rhythm, Round, look, rounds
from kusanya.watch.schedule import FIRST_LOOK, next_look
from kusanya.watch.silence import Silence, missed_events, silence

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
