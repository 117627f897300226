"""Follow the clock of an embedded service, so that signatures verify in its time.

The service publishes `{now, kind, speed}` at /dashboard/clock. Real and accelerated time run on by
themselves between two readings; virtual time stands still until somebody advances it, so it is
asked for again at every use that is older than `max_age_s`.
"""

import http.client
import threading
import time
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kusanya.clock import Clock, SystemClock, parse_speed
from kusanya.errors import ConfigurationError
from kusanya.secret import Secret

_RESYNC_S: Final = 30.0
_TIMEOUT_S: Final = 5.0


class _Reading(msgspec.Struct, frozen=True):
    now: datetime
    kind: str
    speed: float | None = None


class ServiceClock:
    """The clock of the service at `url`, read over HTTP.

    Raises ConfigurationError at construction when the address does not answer with a clock; later
    a failed reading keeps the last one running, because a restart of the service must not stop
    whoever follows it.
    """

    def __init__(self, url: str, token: Secret, *, max_age_s: float = 0.0) -> None:
        self._url: Final = url
        self._token: Final = token
        self._max_age_s: Final = max_age_s
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._anchor = time.monotonic()
        self._reading = self._read()

    def now(self) -> datetime:
        """Return the service's present time."""
        with self._lock:
            age = time.monotonic() - self._anchor
            if age > (self._max_age_s if self._reading.kind == "virtual" else _RESYNC_S):
                self._refresh()
            if self._reading.kind == "virtual":
                return self._reading.now
            return self._reading.now + timedelta(seconds=time.monotonic() - self._anchor) * (
                self._reading.speed or 1.0
            )

    @property
    def is_virtual(self) -> bool:
        """Tell whether the service's time stands still between advances."""
        return self._reading.kind == "virtual"

    @property
    def speed(self) -> float:
        """Return how many seconds of the service pass in a real one."""
        return self._reading.speed or 1.0

    def monotonic(self) -> float:
        """Return seconds for durations; never slower than real time."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of the service's time; a virtual clock is waited for in real time."""
        time.sleep(max(0.0, seconds / self.speed))

    async def asleep(self, seconds: float) -> None:
        """Wait like `sleep`, without blocking the loop."""
        import asyncio

        await asyncio.sleep(max(0.0, seconds / self.speed))

    def _refresh(self) -> None:
        try:
            self._reading = self._read()
        except ConfigurationError:
            # The service is away: the last reading goes on, and the next use asks again.
            self._anchor, self._reading = (
                time.monotonic(),
                msgspec.structs.replace(self._reading, now=self._running_on()),
            )

    def _running_on(self) -> datetime:
        if self._reading.kind == "virtual":
            return self._reading.now
        return self._reading.now + timedelta(seconds=time.monotonic() - self._anchor) * self.speed

    def _read(self) -> _Reading:
        for attempt in (1, 2):  # a kept connection may have been closed by a restart
            try:
                body = self._get()
                reading = msgspec.json.decode(body, type=_Reading)
            except (OSError, http.client.HTTPException) as error:
                self._connection = None
                if attempt == 2:  # noqa: PLR2004 - the second of the two
                    raise ConfigurationError(
                        f"no service clock at {self._url}: is the service running there?"
                    ) from error
            except msgspec.MsgspecError as error:
                raise ConfigurationError(f"{self._url} does not answer with a clock") from error
            else:
                self._anchor = time.monotonic()
                return reading
        raise AssertionError("unreachable: the second attempt returns or raises")

    def _get(self) -> bytes:
        parts = urlsplit(self._url)
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                parts.hostname or "", parts.port or 80, timeout=_TIMEOUT_S
            )
        self._connection.request(
            "GET", parts.path, headers={"Authorization": f"Bearer {self._token.reveal()}"}
        )
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise ConfigurationError(
                f"{self._url} answered {answer.status}: check KUSANYA_DASHBOARD_TOKEN"
            )
        return body


def parse_clock(text: str, *, token: Secret | None, max_age_s: float = 0.0) -> Clock:
    """Return the clock that a `--clock` value names: `real`, or a service's /dashboard/clock.

    Raises ConfigurationError for anything else: a receiver with a speed of its own would drift
    away from the service whose signatures it checks.
    """
    if text == "real":
        return SystemClock()
    if text.startswith("http://"):
        if token is None:
            raise ConfigurationError("to follow a service's clock set KUSANYA_DASHBOARD_TOKEN")
        return ServiceClock(text, token, max_age_s=max_age_s)
    try:
        parse_speed(text)
    except ValueError:
        raise ConfigurationError("a clock is 'real' or http://.../dashboard/clock") from None
    raise ConfigurationError(
        "an accelerated clock is followed from the service: http://.../dashboard/clock"
    )
