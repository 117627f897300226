"""A bound on what repeated deliveries may cost: every one is counted, the first of each are kept.

Who has captured a genuine delivery can send it again for as long as its signature is good. An
event that was taken says itself how often it has arrived. Of what is authentic and had no effect
(unreadable, of the wrong mode, in conflict) this process remembers what it kept, by the exact
bytes: another body is always kept.
"""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Final

from kusanya.store.records import Arrival, Verdict
from kusanya.store.tables.payload import body_digest

ROWS_PER_EVENT: Final = 20
"""A sender's plan has seven attempts; the others were sent by hand, or by somebody else."""
_REMEMBERED: Final = 1_000
_Key = tuple[str, str, str, bytes]


class Repeats:
    """Counts the kept rows of each body; used by the journal's one writer alone."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, int] = OrderedDict()
        self._open: Counter[_Key] = Counter()

    def begin(self) -> None:
        """Begin a transaction: what the last one kept counts only where it was committed."""
        self._open.clear()

    def has_room(
        self, item: Arrival, verdict: Verdict, arrivals: Mapping[tuple[str, str], int]
    ) -> bool:
        """Return whether a delivery is kept beside those like it, and count it if so.

        `arrivals` counts those of each event, this one included, by its id and mode. What is new is
        always kept, and what is rejected has a bound of its own.
        """
        if verdict is Verdict.VERIFIED or verdict is Verdict.REJECTED:
            return True
        if verdict is Verdict.REPEAT:
            return arrivals[item.event_id or "", item.observed_in.value] <= ROWS_PER_EVENT
        key = (item.endpoint, item.observed_in.value, verdict.value, body_digest(item.body))
        if self._kept.get(key, 0) + self._open[key] >= ROWS_PER_EVENT:
            return False
        self._open[key] += 1
        return True

    def commit(self) -> None:
        """Take note that the transaction's rows are durable."""
        for key, count in self._open.items():
            self._kept[key] = self._kept.pop(key, 0) + count
        while len(self._kept) > _REMEMBERED:
            self._kept.popitem(last=False)
        self._open.clear()
