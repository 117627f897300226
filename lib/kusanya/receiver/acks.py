"""Wait on the event loop for what the journal's thread makes durable.

One wake-up of the loop serves every delivery of a committed batch; `asyncio.wrap_future` would wake
it once for each.
"""

import asyncio
from collections import deque
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Final, Generic, TypeVar

Result = TypeVar("Result")


class Acks(Generic[Result]):
    """Carry results from the threads that resolve futures to the tasks of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: Final = loop
        self._done: deque[tuple[asyncio.Future[Result], Future[Result]]] = deque()
        self._waking = False

    def wait(self, future: "Future[Result]") -> "asyncio.Future[Result]":
        """Return what to await for the result of `future`; cancelling it leaves `future` alone."""
        waiter: asyncio.Future[Result] = self.loop.create_future()
        future.add_done_callback(partial(self._resolved, waiter))
        return waiter

    def _resolved(self, waiter: "asyncio.Future[Result]", future: "Future[Result]") -> None:
        # In the resolving thread. Appending before looking makes a lost wake-up impossible: the
        # loop clears the mark before it empties the queue.
        self._done.append((waiter, future))
        if not self._waking:
            self._waking = True
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                # The loop was closed: nobody is waiting any more, and the row is durable.
                self._done.clear()

    def _deliver(self) -> None:
        self._waking = False
        while self._done:
            waiter, future = self._done.popleft()
            if waiter.done():
                continue
            try:
                error = future.exception()
            except CancelledError:
                waiter.cancel()
                continue
            if error is None:
                waiter.set_result(future.result())
            else:
                waiter.set_exception(error)
