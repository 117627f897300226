"""One process at a time sends an intent, and a dead one holds nothing.

A lease stands in the store. It ends by itself a minute after its process last renewed it; on
the same machine a process that is gone is seen at once.
"""

import os
import socket
import uuid
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from kusanya.clock import Clock
from kusanya.errors import IntentError, IntentReason
from kusanya.store import Store

LEASE_TIME: Final = timedelta(seconds=60)
"""How long a lease outlasts the last sign of its process; longer than one attempt can take."""


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that this process alone may send, until the lease runs out."""

    store: Store
    clock: Clock
    by: str
    intent_id: str

    @classmethod
    def new(cls, store: Store, clock: Clock, intent_id: str) -> "Lease":
        """Return a lease that is not taken yet; no two calls share one, also in one process."""
        return cls(store=store, clock=clock, by=new_holder(), intent_id=intent_id)

    def take(self) -> None:
        """Take or prolong the lease. Raises IntentError where another call holds it."""
        if self._taken():
            return
        holder = self.store.intents.get(self.intent_id)
        if holder is not None and holder.claimed_by is not None and is_gone(holder.claimed_by):
            # A process that was killed holds nothing: its work goes on at once.
            self.store.intents.release_lease(self.intent_id, by=holder.claimed_by)
            if self._taken():
                return
        raise IntentError(
            "another call is sending this intent now: wait for it, then look again",
            reason=IntentReason.BEING_SENT,
            intent_id=self.intent_id,
        )

    def _taken(self) -> bool:
        until = self.clock.now() + LEASE_TIME
        return self.store.intents.take_lease(self.intent_id, by=self.by, until=until)

    def release(self) -> None:
        """Give the lease up."""
        self.store.intents.release_lease(self.intent_id, by=self.by)


def new_holder() -> str:
    """Return a name for one holder of leases in this process; no two are the same."""
    return f"{this_process()}:{uuid.uuid4().hex[:12]}"


def this_process() -> str:
    """Return a name for this process that people can follow: machine and number."""
    return f"{socket.gethostname()}:{os.getpid()}@{_machine()}"


def is_gone(holder: str) -> bool:
    """Return whether `holder` is a process of this machine that no longer runs.

    False wherever that cannot be known: on another machine, in another container, on a system
    without /proc. A number that was given to a new process only keeps the lease to its end.
    """
    name, _, place = holder.partition("@")
    machine, _, _ = place.partition(":")
    number = name.rpartition(":")[2]
    if not machine or machine != _machine() or not number.isdigit():
        return False
    return not Path("/proc", number).exists()


@cache
def _machine() -> str:
    # This boot of this machine, and this namespace of process numbers; nothing where unknown.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        return f"{boot}-{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""
