"""What a person types on the Service screen, read: lengths of time and how often a fault strikes.

Pure. A text that cannot be read raises ValueError with a sentence for the line under the box.
"""

import re
from datetime import timedelta
from typing import Final

from kusanya_console.sandbox.dashboard.records import FaultRule

_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_PART: Final = re.compile(r"([0-9]{1,9})\s*(min|[smhd])\s*")
_FARTHEST: Final = timedelta(days=3_660)
_PERCENT: Final = re.compile(r"([0-9]{1,3})\s*%")
_TIMES: Final = re.compile(r"([0-9]{1,6})\s*(?:x|times?)")
_SECONDS: Final = re.compile(r"(-?[0-9]{1,8}(?:\.[0-9]{1,3})?)\s*s")
_STRIKES: Final = (
    "write always, or any of: 20% (how often), 3 times (how often in all), 5 s (how long)"
)

FAULTS: Final = {
    "lose_answer": "the 202 is lost after the commit",
    "fail_before_commit": "a POST answers 500, nothing is kept",
    "reset_request": "a POST is cut before anything is kept",
    "delay_answer": "an answer waits some seconds",
    "drip_answer": "an answer trickles for some seconds",
    "storage_full": "the storage refuses, as a full disk",
    "delay_delivery": "an attempt is put off by some seconds",
    "drop_delivery": "an attempt is lost on its way",
    "duplicate_delivery": "an answered attempt is sent again",
    "reorder_delivery": "an attempt lets others go first",
    "corrupt_body": "one byte changes after signing",
    "corrupt_signature": "one digit of the signature changes",
    "drip_delivery": "a body trickles for some seconds",
    "reset_delivery": "the connection is cut mid-body",
    "clock_skew": "signed with a clock that is off",
}
"""Every fault of the embedded service, in its order; a test compares it with the service's own."""


def parse_duration(text: str) -> timedelta:
    """Return what 90 s, 5 min, 2 h 36 min or 3 d says. Raises ValueError."""
    seconds, at = 0, 0
    written = text.strip().lower()
    while match := _PART.match(written, at):
        seconds += int(match[1]) * _UNITS[match[2]]
        at = match.end()
    if at != len(written) or not written:
        raise ValueError("write a length of time as 90 s, 5 min, 2 h 36 min or 3 d")
    if not 0 < seconds <= _FARTHEST.total_seconds():
        raise ValueError("the clock moves forward, by ten years at most")
    return timedelta(seconds=seconds)


def parse_fault_rule(kind: str, text: str) -> FaultRule:
    """Return the rule that `always`, or 20% 3 times 5 s, describes. Raises ValueError."""
    rest = text.strip().lower()
    rate, times, seconds = 1.0, None, 5.0
    if found := _PERCENT.search(rest):
        rate = int(found[1]) / 100
        rest = rest.replace(found[0], " ", 1)
    if found := _TIMES.search(rest):
        times = int(found[1])
        rest = rest.replace(found[0], " ", 1)
    if found := _SECONDS.search(rest):
        seconds = float(found[1])
        rest = rest.replace(found[0], " ", 1)
    if rest.replace("always", " ", 1).strip(" ,") or not 0 < rate <= 1 or times == 0:
        raise ValueError(_STRIKES)
    return FaultRule(kind=kind, rate=rate, times=times, seconds=seconds)
