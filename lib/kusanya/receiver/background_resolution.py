"""Resolve intents of unknown outcome by what the receiver is sent.

A create whose answer was lost is resolved by an event with its reference, whenever that arrives.
Runs on a thread of its own, after the acknowledgement and never before it, and looks at all open
intents at once: there are few of them, and an event that resolves none costs nothing. There is no
thread while there is nothing to look at.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final, Self

from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.intents import resolve_waiting
from kusanya.platform.closing import Closing
from kusanya.platform.forks import ForkAware
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict

_log: Final = logging.getLogger("kusanya.receiver")
EVERY_S: Final = 1.0
"""At most so often the open intents are looked at. Real seconds: they spare the disk."""
_SELDOM_S: Final = 60.0
"""At least so often after a failure."""

Rest = Callable[[threading.Event, float], bool]
"""Waits so many seconds; returns early, with True, when the event is set: the receiver stops."""


class IntentResolver(ForkAware, Closing):
    """Resolves intents in the background, of every mode that the store holds.

    `offer` is called with each acknowledged delivery, in any thread of any process: after a fork
    the child begins anew. `with` looks once at the beginning and stops at the end.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        rest: Rest = threading.Event.wait,
    ) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._rest = rest
        self.resolved = 0
        """Intents resolved since the start."""
        self.failed = 0
        """Looks that failed; each is repeated."""
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._wanted = False
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def after_fork_in_child(self) -> None:
        """Leave the thread to the parent, and the lock, which may have been taken."""
        self._begin_anew()

    def offer(self, arrival: Arrival, commit: DeliveryCommit) -> None:
        """Take note of an acknowledged delivery; returns at once and never raises."""
        if commit.verdict is Verdict.VERIFIED and arrival.reference is not None:
            self.start()

    def start(self) -> None:
        """Look at the open intents soon; returns at once."""
        if self._wanted:
            return
        with self._lock:
            self._wanted = True
            if self._thread is None:
                self._stopping = threading.Event()
                self._thread = threading.Thread(
                    target=self._run,
                    args=(self._stopping,),
                    name="kusanya-resolve-intents",
                    daemon=True,
                )
                self._thread.start()

    def close(self) -> None:
        """Finish the look under way; what is still open is looked at after the next start."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def _run(self, stopping: threading.Event) -> None:
        pause = EVERY_S
        while True:
            self._wanted = False
            if self._look():
                pause = EVERY_S
            else:
                pause = min(2 * pause, _SELDOM_S)
                self._wanted = True
            stopped = self._rest(stopping, pause)
            with self._lock:
                if stopped or not self._wanted:
                    self._wanted = False
                    self._thread = None
                    return

    def _look(self) -> bool:
        """Resolve what can be resolved; tell whether the look was complete."""
        try:
            return self._resolve()
        except ReferenceError:
            # The store of `handle` was let go: there is nothing left to look at.
            return True

    def _resolve(self) -> bool:
        try:
            resolved = resolve_waiting(self._store, now=self._clock.now())
        except ReferenceError:
            raise
        except StoreError as error:
            if self._store.is_closed:
                return True  # for good: nobody wants more looks
            _log.warning("open intents cannot be looked at", extra={"why": str(error)})
        except Exception:  # noqa: BLE001 - one mistake of ours must not end all later looks
            _log.exception("looking at the open intents failed")
        else:
            self.resolved += resolved
            if resolved:
                _log.info("intents resolved by events", extra={"count": resolved})
            return True
        self.failed += 1
        return False
