"""A program on a pseudo-terminal, timed: when its first text came, and how a key is answered.

Textual asks a terminal a few questions and waits for none of the answers, so nobody need play one.
"""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

SIZE = (36, 120)
WAIT_S = 60.0


class Terminal:
    """One child on a terminal of its own; `with` ends it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.began = time.perf_counter()
        self.child = subprocess.Popen(
            arguments,
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=os.environ | {"TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(follower)

    def wait_for(self, pattern: bytes, *, within_s: float = WAIT_S) -> float:
        """Read until `pattern` was written; return the instant. Raises TimeoutError."""
        found = re.compile(pattern)
        seen = bytearray()
        give_up = time.perf_counter() + within_s
        while (left := give_up - time.perf_counter()) > 0:
            if select.select([self._leader], [], [], left)[0]:
                seen += os.read(self._leader, 65_536)
                if found.search(seen):
                    return time.perf_counter()
        raise TimeoutError(f"{pattern!r} did not come; last came {bytes(seen[-2000:])!r}")

    def drain(self, quiet_s: float) -> int:
        """Read until nothing came for `quiet_s`; return how many bytes that were."""
        read = 0
        while select.select([self._leader], [], [], quiet_s)[0]:
            read += len(os.read(self._leader, 65_536))
        return read

    def read_some(self, wait_s: float) -> bytes:
        """Return what came, or nothing when nothing came in time."""
        if select.select([self._leader], [], [], wait_s)[0]:
            return os.read(self._leader, 65_536)
        return b""

    def read_for(self, seconds: float) -> int:
        """Read whatever comes for so long; return how many bytes that were."""
        read, until = 0, time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self._leader], [], [], left)[0]:
                read += len(os.read(self._leader, 65_536))
        return read

    def press(self, keys: bytes) -> float:
        """Type `keys`; return the instant."""
        at = time.perf_counter()
        os.write(self._leader, keys)
        return at

    @property
    def cpu_s(self) -> float:
        """Return the CPU time that the child has used until now."""
        with open(f"/proc/{self.child.pid}/stat") as file:  # noqa: PTH123 - one line of the kernel
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory_mb(self) -> float:
        """Return the child's resident memory in MB."""
        with open(f"/proc/{self.child.pid}/statm") as file:  # noqa: PTH123 - as above
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.child.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):  # the terminal goes with the child
            self.read_for(0.3)
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        os.close(self._leader)
