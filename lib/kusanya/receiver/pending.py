"""Commits that an event loop waits for: the way back from the journal's thread.

One wake-up of the loop carries the results of a whole committed batch, because a wake-up for each
delivery would cost more than classifying it.
"""

import asyncio
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import Final

from kusanya.store.records import DeliveryCommit

_Waiting = asyncio.Future[DeliveryCommit]


class PendingCommits:
    """All commits that one event loop waits for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop: Final = loop
        self._done: deque[tuple[_Waiting, Future[DeliveryCommit]]] = deque()
        self._waking = False

    def wait_for(self, commit: Future[DeliveryCommit]) -> _Waiting:
        """Return a future of this loop that ends as `commit` does.

        Cancelling it withdraws nothing: the delivery is written all the same.
        """
        waiting: _Waiting = self.loop.create_future()
        commit.add_done_callback(partial(self._resolved, waiting))
        return waiting

    def _resolved(self, waiting: _Waiting, commit: Future[DeliveryCommit]) -> None:
        # In the journal's thread. Appending before looking makes a lost wake-up impossible: the
        # loop clears the mark before it empties the queue.
        self._done.append((waiting, commit))
        if not self._waking:
            self._waking = True
            try:
                self.loop.call_soon_threadsafe(self._resolve_all)
            except RuntimeError:
                # The loop was closed: nobody is waiting any more, and the row is durable.
                self._done.clear()

    def _resolve_all(self) -> None:
        self._waking = False
        while self._done:
            waiting, commit = self._done.popleft()
            if waiting.done():
                continue  # given up at its deadline: it has its answer already
            try:
                waiting.set_result(commit.result())
            except Exception as error:  # noqa: BLE001 - whatever it is, one delivery waits for it
                waiting.set_exception(error)
