"""Who looks after which alarm, and which ones are muted: neither is hidden, and no message is sent.

An acknowledgement is of one outbreak and lasts as long as it. A mute is of an alarm in every
outbreak, has a reason and ends by itself.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from kusanya.store import Store
from kusanya.store.records import Acknowledgement


class Acknowledgements(msgspec.Struct, frozen=True):
    """What is acknowledged or muted as of one instant."""

    by_name: Mapping[str, Acknowledgement] = {}
    """By what it names: an alarm's id, or its name in every outbreak where it is muted."""

    def of(self, *names: str) -> Acknowledgement | None:
        """Return the newest that names one of these, see `Alarm.names`, or None."""
        found = [self.by_name[name] for name in names if name in self.by_name]
        return max(found, key=lambda one: one.at, default=None)


def acknowledgements(store: Store, names: Iterable[str], *, now: datetime) -> Acknowledgements:
    """Return which of these is acknowledged or still muted. Raises StoreError."""
    newest = store.acknowledgements.newest(names)
    return Acknowledgements(
        {name: one for name, one in newest.items() if one.until is None or one.until > now}
    )
