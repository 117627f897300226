"""Muting an alarm: by its rule and subject, so that it may begin before the alarm does."""

from datetime import datetime, timedelta
from typing import Final

from kusanya.alarms.rules import RULES
from kusanya.store import Store
from kusanya.store.records import Acknowledgement
from kusanya.text import safe
from kusanya.wire import Mode

MUTED_AT_MOST: Final = timedelta(days=7)
"""A longer mute is forgotten by who asked for it."""


def mute(
    store: Store, key: str, mode: Mode, *, until: datetime, reason: str, actor: str, now: datetime
) -> Acknowledgement:
    """Send nothing about the alarm with this key in one mode up to an instant; durable, audited.

    Raises ValueError for a key that begins with no rule's code, for an end that is past or more
    than seven days ahead, and without a reason.
    """
    code, _, subject = key.partition(":")
    if code not in (codes := [rule.code for rule in RULES]):
        raise ValueError(f"no alarm is called {safe(code, 40)}: they are {', '.join(codes)}")
    if until - now > MUTED_AT_MOST:
        raise ValueError(f"an alarm is muted for {MUTED_AT_MOST.days} days at most")
    names = (code, mode.value, subject)
    return store.acknowledgements.record(
        ":".join(filter(None, names)), until=until, reason=reason, actor=actor
    )
