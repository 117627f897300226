"""Settle intents of unknown outcome by what the receiver hears.

A create whose answer was lost is settled by an event with its reference, whenever that arrives.
Runs on a thread of its own, after the acknowledgement and never before it, and looks at all open
intents at once: there are few of them, and an event that settles none costs nothing.
"""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.intents import settle_waiting
from kusanya.store import Store
from kusanya.store.records import Arrival, Receipt, Verdict
from kusanya.wire import Mode

EVERY_S: Final = 1.0
"""At most so often the open intents are looked at. Real seconds: they spare the disk."""


class Settling:
    """Settles in the background; `with` starts and stops it.

    `offer` is the `on_receipt` of a receiver. `rest` waits until the next look and returns early,
    with True, when the given event is set: the receiver stops.
    """

    def __init__(
        self,
        store: Store,
        *,
        mode: Mode,
        clock: Clock | None = None,
        rest: Callable[[threading.Event], bool] = lambda stopping: stopping.wait(EVERY_S),
    ) -> None:
        self._store = store
        self._mode = mode
        self._clock = clock or SystemClock()
        self._rest = rest
        self._heard = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kusanya-settling", daemon=True)
        self.settled = 0
        """Intents settled since the start."""
        self.failed = 0
        """Looks that the store did not allow; each is repeated."""

    def offer(self, arrival: Arrival, receipt: Receipt) -> None:
        """Take note of an acknowledged delivery; returns at once and never raises."""
        if receipt.verdict is Verdict.VERIFIED and arrival.reference is not None:
            self._heard.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the look under way; what is still to be settled is settled by the next start."""
        self._stopping.set()
        self._heard.set()
        self._thread.join()

    def _run(self) -> None:
        # Something may have been heard just before the last stop.
        self._heard.set()
        while not self._stopping.is_set():
            self._heard.wait()
            if self._stopping.is_set():
                return
            self._heard.clear()
            self._look()
            if self._rest(self._stopping):
                return

    def _look(self) -> None:
        try:
            self.settled += settle_waiting(self._store, now=self._clock.now(), mode=self._mode)
        except StoreError:
            self.failed += 1
            self._heard.set()
