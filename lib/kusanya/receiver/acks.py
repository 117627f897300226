"""Deliveries that wait for their commit: the way back from the journal's thread to the event loop.

One wake-up of the loop carries the results of a whole committed batch, and one timer watches all
deadlines, because a wake-up or a timer for each delivery would cost more than judging it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Final

from kusanya.receiver.ingest import answer_text
from kusanya.store.records import Arrival, Receipt

Reply = Callable[["Pending | Refusal"], None]
"""What to answer to one delivery; called on the event loop once."""


class Refusal(Exception):  # noqa: N818 - control flow of the receiver, never leaves it
    """Answer `status` without keeping anything, and close the connection."""

    def __init__(self, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(text)
        self.status: Final = status
        self.text: Final = text.encode()
        self.headers: Final = headers


class Pending:
    """One delivery on its way into the journal; the journal's promise of a receipt."""

    __slots__ = ("_acks", "arrival", "began", "deadline", "error", "receipt", "reply")

    def __init__(
        self, acks: "Acks", arrival: Arrival, *, began: float, deadline: float, reply: Reply
    ) -> None:
        self._acks = acks
        self.arrival: Final = arrival
        self.began: Final = began
        """The stopwatch's reading when its request began."""
        self.deadline: Final = deadline
        """When it is given up, in the event loop's time."""
        self.reply: Final = reply
        self.receipt: Receipt | None = None
        """Set once it is durable."""
        self.error: BaseException | None = None
        """Set where it is not: the store's, or a TimeoutError where nobody knows yet."""

    headers: Final[tuple[tuple[bytes, bytes], ...]] = ()
    """Further header lines of its answer: none."""

    @property
    def status(self) -> int:
        """Return the HTTP status of the answer once this is durable."""
        return self.arrival.answer

    @property
    def text(self) -> bytes:
        """Return the body of that answer."""
        return answer_text(self.arrival).encode()

    def set_running_or_notify_cancel(self) -> bool:
        """Agree to be written: nobody withdraws a delivery."""
        return True

    def set_result(self, receipt: Receipt) -> None:
        """Keep the promise, in whichever thread."""
        self.receipt = receipt
        self._acks.resolved(self)

    def set_exception(self, error: BaseException | None) -> None:
        """Break the promise, in whichever thread."""
        self.error = error
        self._acks.resolved(self)


class Acks:
    """Everything that waits on one event loop; `over` is called there exactly once for each."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, over: Callable[[Pending], None]) -> None:
        self.loop: Final = loop
        self._over = over
        self._waiting: dict[Pending, None] = {}
        self._done: deque[Pending] = deque()
        self._waking = False
        self._looks_at = inf

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def expect(self, pending: Pending) -> None:
        """Wait for `pending`; call before the journal has it."""
        self._waiting[pending] = None
        if pending.deadline < self._looks_at:
            self._look_at(pending.deadline)

    def forget(self, pending: Pending) -> None:
        """Wait no more: the journal has refused it."""
        self._waiting.pop(pending, None)

    def resolved(self, pending: Pending) -> None:
        """Take note, in the resolving thread, of a promise kept or broken."""
        # Appending before looking makes a lost wake-up impossible: the loop clears the mark before
        # it empties the queue.
        self._done.append(pending)
        if not self._waking:
            self._waking = True
            try:
                self.loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                # The loop was closed: nobody is waiting any more, and the row is durable.
                self._done.clear()

    def _deliver(self) -> None:
        self._waking = False
        try:
            while self._done:
                self._end(self._done.popleft())
        finally:
            if self._done:
                # One answer could not be given: that is no reason to keep the others back.
                self._waking = True
                self.loop.call_soon(self._deliver)

    def _end(self, pending: Pending) -> None:
        # Whoever was given up at its deadline has its answer already.
        if pending in self._waiting:
            del self._waiting[pending]
            self._over(pending)

    def _look_at(self, instant: float) -> None:
        self._looks_at = instant
        self.loop.call_at(instant, self._look, instant)

    def _look(self, planned: float) -> None:
        if planned != self._looks_at:
            return  # an earlier look was planned since, and it plans the next
        self._looks_at = inf
        now = self.loop.time()
        try:
            for pending in [one for one in self._waiting if one.deadline <= now]:
                pending.error = TimeoutError("not durable in time")
                self._end(pending)
        finally:
            if self._waiting:
                self._look_at(min(one.deadline for one in self._waiting))
