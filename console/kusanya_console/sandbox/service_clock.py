"""Follow the clock of an embedded service, so that signatures verify in its time.

The service publishes `{now, kind, speed, origin}` at /dashboard/clock, without asking for a token.
Real and accelerated time run on by themselves once they are known; virtual time stands still until
somebody advances it, so it is asked for again at every use that is older than `max_age_s`.
"""

import contextlib
import threading
import time
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

import msgspec

from kusanya.clock import Clock, ScaledClock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret_url import mask_url

_TIMEOUT_S: Final = 5.0
_LARGEST_BYTES: Final = 4096
_PATH: Final = "/dashboard/clock"


class _ClockState(msgspec.Struct, frozen=True):
    now: datetime
    kind: str
    speed: float | None = None
    origin: datetime | None = None


class VirtualClock(SystemClock):
    """The standing clock of the service at `url`, read over HTTP whenever it is used.

    A reading that fails keeps the last one: a restart of the service must not stop a program
    that follows it. Waiting on this clock waits in real time, because nobody knows when it moves.
    """

    def __init__(self, url: str, *, max_age_s: float = 0.0) -> None:
        self._url: Final = url
        self._max_age_s: Final = max_age_s
        self._lock = threading.Lock()
        self._now = _read(url).now
        self._read_at = time.monotonic()

    def now(self) -> datetime:
        """Return where the service's time stands."""
        with self._lock:
            if time.monotonic() - self._read_at > self._max_age_s:
                # With the service away time stands where it stood, and the next use asks again.
                with contextlib.suppress(ConfigurationError):
                    self._now = _read(self._url).now
                self._read_at = time.monotonic()
            return self._now


def parse_clock(text: str, *, max_age_s: float = 0.0) -> Clock:
    """Return the clock that a `--clock` value names: `real`, or a service's /dashboard/clock.

    Raises ConfigurationError for anything else, and for an address that does not answer with a
    clock. A factor such as 60x is refused too: a receiver with a speed of its own would drift away
    from the service whose signatures it checks.
    """
    if text == "real":
        return SystemClock()
    try:
        named = text.startswith("http://") and urlsplit(text).path.endswith(_PATH)
    except ValueError:  # brackets that hold no address
        named = False
    if not named:
        raise ConfigurationError(
            f"a clock is 'real', or http://HOST:PORT{_PATH} to follow a service's"
        )
    reading = _read(text)
    if reading.kind == "virtual":
        return VirtualClock(text, max_age_s=max_age_s)
    if reading.origin is None or reading.speed is None:
        return SystemClock()
    return ScaledClock(reading.speed, origin=reading.origin)


def _read(url: str) -> _ClockState:
    import httpcore  # late: most programs follow no service's clock

    from kusanya.platform.deadline import CallDeadline, DeadlineBackend

    deadline = CallDeadline()
    deadline.start(_TIMEOUT_S)
    body = b""
    try:
        parts = urlsplit(url)
        asked = httpcore.URL(
            scheme="http", host=parts.hostname or "", port=parts.port or 80, target=parts.path
        )
        with (
            httpcore.ConnectionPool(network_backend=DeadlineBackend(deadline)) as pool,
            pool.stream("GET", asked, headers={"Host": parts.netloc.rpartition("@")[2]}) as answer,
        ):
            for chunk in answer.iter_stream():
                body += chunk
                if len(body) > _LARGEST_BYTES:
                    break
        return msgspec.json.decode(body, type=_ClockState)
    except (
        ValueError,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
    ) as error:
        raise ConfigurationError(
            f"no service clock at {mask_url(url)}: is the embedded service running there?"
        ) from error
