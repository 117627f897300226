"""One line on standard error that says what a long command is doing, for people who wait."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Final

from kusanya.text import safe

_TICK_S: Final = 1


@contextmanager
def progress_line(first: str) -> Iterator[Callable[[str], None] | None]:
    """Yield what says at a terminal what is being done; None where nobody waits at one.

    It begins with `first`, and the line is gone at the end.
    """
    if not sys.stderr.isatty():
        yield None
        return
    line, stopped = ProgressLine(), Event()
    line.step(first)
    drawing = Thread(target=line.keep_drawing, args=(stopped,), daemon=True)
    drawing.start()
    try:
        yield line.step
    finally:
        stopped.set()
        drawing.join()


class ProgressLine:
    """The line that says what is being done and for how long, drawn again each second."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._doing, self._since = "", clock()

    def step(self, doing: str) -> None:
        """Say what is being done from now on."""
        self._doing, self._since = doing, self._clock()
        self.draw()

    def draw(self) -> None:
        """Draw the line; after a second it says how long the step has taken."""
        waited = int(self._clock() - self._since)
        _redraw(safe(self._doing, 70) + (f", {waited} s" if waited else ""), self._lock)

    def keep_drawing(self, stopped: Event) -> None:
        """Draw the line again each second until `stopped` is set, then leave it empty."""
        while not stopped.wait(_TICK_S):
            self.draw()
        _redraw("", self._lock)


def _redraw(line: str, lock: Lock) -> None:
    with lock:
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
