"""A terminal that may go away: what is written to it then is dropped, and nothing waits for it.

Textual's thread for writing dies of the first write that fails; its queue then fills, and the whole
console waits for room in it for ever, deaf to the signal that says that its terminal has gone.
"""

from typing import IO, Any

from textual.driver import Driver

from kusanya_console.ui.compaction import compact


class LastingFile:
    """A file that takes what is written also after its terminal has gone."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self.gone = False

    def write(self, text: str) -> int:
        """Write, or drop what nobody will see any more."""
        if not self.gone:
            try:
                self._file.write(compact(text))
            except (OSError, ValueError):  # an end of the terminal, or its closed file
                self.gone = True
        return len(text)

    def flush(self) -> None:
        """Send what was written, unless there is nobody to send it to."""
        if not self.gone:
            try:
                self._file.flush()
            except (OSError, ValueError):
                self.gone = True

    def fileno(self) -> int:
        """Return the terminal's file descriptor."""
        return self._file.fileno()


def lasting(driver: type[Driver]) -> type[Driver]:
    """Return `driver` writing to a `LastingFile`, where it writes to a terminal at all."""
    if driver.__module__ != "textual.drivers.linux_driver":  # which cannot be loaded everywhere
        return driver

    class LastingDriver(driver):  # type: ignore[valid-type, misc] # a base that is chosen as it runs
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self._file: Any = LastingFile(self._file)

    return LastingDriver
