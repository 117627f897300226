"""Receivers in processes of their own, that a test may kill, stop and trace."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.proofs.planted.bugs import now_planted

ROOT: Final = Path(__file__).parents[3]
_NURSERY: Final = ROOT / "tests/proofs/programs/nursery.py"


def environment() -> dict[str, str]:
    """Return the environment of a program that imports from tests/proofs."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


class ReceiverProcess:
    """One receiver in a process of its own."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid: Final = pid
        self.port: Final = port
        self._handle: Final = os.pidfd_open(pid)

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        try:
            signal.pidfd_send_signal(self._handle, number)
        except ProcessLookupError:
            return

    def ended(self, *, within_s: float) -> bool:
        """Return whether the process has ended, waiting for it up to `within_s`."""
        return bool(select.select([self._handle], [], [], within_s)[0])

    def kill(self) -> None:
        """Kill -9 and wait until the process is gone."""
        self.signal(signal.SIGKILL)
        assert self.ended(within_s=30), "a killed receiver did not end"

    def stop(self) -> None:
        """Stop gracefully and wait until the process is gone."""
        self.signal(signal.SIGTERM)
        assert self.ended(within_s=30), "a receiver that was told to stop did not end"

    def close(self) -> None:
        """Kill what still runs and let the handle go."""
        self.kill()
        os.close(self._handle)


class Nursery:
    """Starts receivers by forking a warm parent."""

    def __init__(self, *under: str) -> None:
        """Start the parent, under a program such as strace where one is named."""
        self._parent = subprocess.Popen(
            [*under, sys.executable, str(_NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )

    @contextmanager
    def receiver(
        self,
        url: str | Path,
        *,
        plant: str | None = None,
        checkpoint_pages: int | None = None,
        connections: dict[str, Any] | None = None,
    ) -> Iterator[ReceiverProcess]:
        """Run a receiver over the store at `url`; it is killed at the end if it still runs."""
        job = {
            "url": str(url),
            "plant": plant or now_planted(),
            "checkpoint_pages": checkpoint_pages,
            "connections": connections or {},
        }
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(job) + "\n")
        self._parent.stdin.flush()
        said = json.loads(self._parent.stdout.readline())
        assert "pid" in said, said
        running = ReceiverProcess(said["pid"], said["port"])
        try:
            yield running
        finally:
            running.close()

    def close(self) -> None:
        """End the parent and with it every child."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.stdout.close()
        assert self._parent.wait(30) == 0
