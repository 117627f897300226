"""Following collections that no event has ended: few requests, spread, backing off.

`poll_open` is the background poller, run by either client. What it learns goes to the store as
observations; a final state learned here without an event is a missing event, from which
`kusanya.alarms` tells when an endpoint has gone silent.
"""

from kusanya.watch.poller import PollResult, PollSettings, poll_once, poll_open
from kusanya.watch.schedule import FIRST_POLL, next_poll

__all__ = ["FIRST_POLL", "PollResult", "PollSettings", "next_poll", "poll_once", "poll_open"]
