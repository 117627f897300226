"""What the data folder remembers of time, so that a restart goes on where the last run stopped.

The wall clock can be set while the service is stopped, and then it says nothing about how much time
has passed. Within one boot the machine's uptime does; after a reboot nothing does. Time that only
the wall clock vouches for does not count against the retention of idempotency keys: a key that was
forgotten too early would charge a second time.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kusanya_service.errors import DataDamaged
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection

Number = TypeVar("Number", int, float)
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_LAST: Final = "last_ms"
_ORIGIN: Final = "origin_ms"
_SPEED: Final = "speed"
_BOOT: Final = "boot"
_UPTIME: Final = "uptime_ms"


class Uptime(msgspec.Struct, frozen=True):
    """How long the machine has been up, suspended or not, since which boot."""

    boot: str
    ms: int


ReadUptime = Callable[[], Uptime | None]


class StoredClock(msgspec.Struct, frozen=True, kw_only=True):
    """The service's time at one moment."""

    last_ms: int | None = None
    """The monotonic instant."""
    uptime: Uptime | None = None
    """The machine's uptime at that instant, where it is known."""
    origin_ms: int | None = None
    speed: float | None = None

    def machine_ms_since(self, now: Uptime | None) -> int | None:
        """Return how much real time has passed since then, or None where nothing tells."""
        if self.uptime is None or now is None or now.boot != self.uptime.boot:
            return None
        return now.ms - self.uptime.ms if now.ms >= self.uptime.ms else None


def read_uptime() -> Uptime | None:
    """Return the machine's uptime, or None on a platform without boot identifiers."""
    try:
        boot = _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return None
    return Uptime(boot, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000)


def load_clock(connection: Connection) -> StoredClock:
    """Return the time that earlier runs stored; raises DataDamaged for what is no time."""
    boot, uptime_ms = queries.meta(connection, _BOOT), load_number(connection, _UPTIME)
    return StoredClock(
        last_ms=load_number(connection, _LAST),
        uptime=Uptime(boot, uptime_ms) if boot and uptime_ms is not None else None,
        origin_ms=load_number(connection, _ORIGIN),
        speed=load_number(connection, _SPEED, float),
    )


def store_clock(connection: Connection, now: StoredClock, *, extend_key_uses_ms: int = 0) -> None:
    """Store the time and let idempotency keys live longer, in one transaction."""
    if extend_key_uses_ms:
        changes.extend_key_uses(connection, extend_key_uses_ms)
    changes.set_meta(connection, _LAST, str(now.last_ms))
    changes.set_meta(connection, _BOOT, now.uptime.boot if now.uptime else "")
    changes.set_meta(connection, _UPTIME, str(now.uptime.ms if now.uptime else 0))
    if now.origin_ms is not None:
        changes.set_meta(connection, _ORIGIN, str(now.origin_ms))
        changes.set_meta(connection, _SPEED, repr(now.speed))


def load_number(
    connection: Connection, name: str, read: Callable[[str], Number] = int
) -> Number | None:
    """Return a number that the data folder remembers, or None; raises DataDamaged."""
    text = queries.meta(connection, name)
    try:
        return None if text is None else read(text)
    except ValueError:
        raise DataDamaged("the data folder remembers something that is no number") from None
