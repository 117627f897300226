"""Whether what is submitted becomes durable now, said in the log when that changes.

One line when an outage begins and one when it ends: a line for each refused delivery would bury
both.
"""

import logging
from time import monotonic
from typing import Final

_log: Final = logging.getLogger("kusanya.store")


class Outage:
    """What became of the last transaction; used by the journal's thread, read by any."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._began_at: float | None = None
        self._refused = 0
        self._committed_at: float | None = None

    def committed_within(self, seconds: float) -> bool:
        """Return whether the last transaction was committed, and not longer ago than that."""
        at = self._committed_at
        return at is not None and monotonic() - at <= seconds

    def failed(self, why: str) -> None:
        """Take note of a transaction that was not committed because the store failed."""
        self._committed_at = None
        if self._began_at is None:
            self._began_at = monotonic()
            _log.warning("the store cannot be written", extra={"store": self._shown, "reason": why})

    def refused(self, count: int) -> None:
        """Count submissions that were not kept because of it."""
        if self._began_at is not None:
            self._refused += count

    def committed(self) -> None:
        """Take note of a transaction that is durable."""
        now = self._committed_at = monotonic()
        if self._began_at is not None:
            lasted_s, refused = round(now - self._began_at, 3), self._refused
            self._began_at, self._refused = None, 0
            _log.info(
                "the store can be written again",
                extra={"store": self._shown, "refused": refused, "lasted_s": lasted_s},
            )
