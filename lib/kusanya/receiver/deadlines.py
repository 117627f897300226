"""The time that each delivery has, watched by one timer of the event loop.

Every delivery has the same time, so the oldest one is always the next that is due. A timer for each
would cost as much as decoding its body.
"""

import asyncio
from collections import deque
from types import TracebackType
from typing import Any, Final


class Deadline:
    """When one task is to be given up: as `asyncio.timeout_at`, but for the timer."""

    __slots__ = ("_cancelling", "at", "is_over", "task")

    def __init__(self, at: float, task: asyncio.Task[Any]) -> None:
        self.at: Final = at
        self.task: asyncio.Task[Any] | None = task
        """None once it has left the `with` block."""
        self.is_over = False
        self._cancelling: Final = task.cancelling()

    def __enter__(self) -> None:
        """Begin; what is awaited inside ends with TimeoutError once the time is over."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self.task = self.task, None
        # Cancelled by somebody else too, the task has to end as cancelled.
        if (
            self.is_over
            and task is not None
            and task.uncancel() <= self._cancelling
            and kind is asyncio.CancelledError
        ):
            raise TimeoutError from error


class Deadlines:
    """All deadlines of one event loop, each `seconds` after its beginning."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._seconds = seconds
        self._open: deque[Deadline] = deque()
        self._is_armed = False

    def begin(self) -> Deadline:
        """Return the deadline of the loop's current task, to be used in a `with` statement."""
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a deadline is that of a task")
        deadline = Deadline(self._loop.time() + self._seconds, task)
        self._drop_ended()
        self._open.append(deadline)
        if not self._is_armed:
            self._arm()
        return deadline

    def _drop_ended(self) -> None:
        while self._open and self._open[0].task is None:
            self._open.popleft()

    def _arm(self) -> None:
        self._is_armed = bool(self._open)
        if self._open:
            self._loop.call_at(self._open[0].at, self._expire, self._open[0].at)

    def _expire(self, due: float) -> None:
        for deadline in self._open:
            if deadline.at > due:
                break
            if deadline.task is not None:
                deadline.is_over = True
                deadline.task.cancel()
        while self._open and self._open[0].at <= due:
            self._open.popleft()
        self._drop_ended()
        self._arm()
