"""Since when the service has not answered this program, by its own calls."""

from datetime import datetime, timedelta
from http import HTTPStatus

from kusanya.client.effects import Reply, Response
from kusanya.clock import Clock


class ServiceContact:
    """What the newest attempts met; used by one client at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._noted_at: float | None = None
        self.silent_since: datetime | None = None
        """When the first of the attempts began that all had no answer, or a 5xx; None where the
        last one was answered."""

    def note(self, reply: Reply, *, took_s: float) -> None:
        """Note what an attempt met that took so long."""
        self._noted_at = self._clock.monotonic()
        if isinstance(reply, Response) and reply.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self.silent_since = None
        elif self.silent_since is None:
            self.silent_since = self._clock.now() - timedelta(seconds=took_s)

    def is_older_than(self, seconds: float) -> bool:
        """Return whether nothing was attempted within so many seconds."""
        return self._noted_at is None or self._clock.monotonic() - self._noted_at > seconds
