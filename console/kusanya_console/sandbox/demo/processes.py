"""Child processes that start in order, end with their parent and leave nothing behind.

A child gets its secrets through the environment, never on its command line, writes what it has to
say into a log file, and holds a lifeline: its standard input, which closes when the parent ends
in whatever way.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from kusanya.errors import KusanyaError
from kusanya.text import safe

_START_S: Final = 30.0
_STOP_S: Final = 8.0
_SAYS: Final = "kusanya: "


class ChildFailed(KusanyaError):  # noqa: N818 - what happened
    """A child process ended before it was ready, or while it was needed."""


class Child:
    """One `kusanya` subcommand running as a child process."""

    def __init__(
        self, name: str, arguments: Sequence[str], *, environ: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self._log = log
        log.touch(mode=0o600)
        with log.open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own command
                [sys.executable, "-m", "kusanya_console.cli", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=dict(environ),
                # Ctrl-C in the terminal is the parent's to answer: children are stopped in order.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """Return whether the process has not ended."""
        return self._process.poll() is None

    def first_line(self) -> bytes:
        """Return the line that says the child is ready; raises ChildFailed when it ends instead."""
        import threading

        timer = threading.Timer(_START_S, self._process.kill)
        timer.start()
        try:
            line = _pipe(self._process.stdout).readline()
        finally:
            timer.cancel()
        if not line:
            raise ChildFailed(f"{self.name} did not start: {self.last_words()}")
        return line

    def lines(self) -> IO[bytes]:
        """Return the child's standard output."""
        return _pipe(self._process.stdout)

    def last_words(self) -> str:
        """Return the last line of the child's log, safe to show."""
        try:
            text = self._log.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return f"no word in {self._log}"
        code = self._process.poll()
        killed = f"it was ended by signal {-code}" if code is not None and code < 0 else ""
        # Its complaint, which the log lines of its work may surround.
        lines = text.split("\n")
        complaint = next((line for line in reversed(lines) if line.startswith(_SAYS)), lines[-1])
        said = safe(complaint.removeprefix(_SAYS), 400)
        return killed or said or "it said nothing"

    def ask_to_stop(self) -> None:
        """Close the lifeline, which asks the child to stop by itself."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()

    def ensure_stopped(self, *, within_s: float = _STOP_S) -> None:
        """Wait for the child's end; past `within_s` it is killed."""
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()


def child_environment(**settings: str) -> dict[str, str]:
    """Return this process's environment without its own KUSANYA_ settings, plus `settings`."""
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("KUSANYA_")}
    return inherited | {f"KUSANYA_{name.upper()}": value for name, value in settings.items()}


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("children are started with pipes")
    return stream
