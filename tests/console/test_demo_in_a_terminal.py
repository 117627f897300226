"""The demo in a real pseudo-terminal: it opens, and every way out leaves nothing behind."""

import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

pytestmark = pytest.mark.merge

DEADLINE_S = 60


def quit_key(master: int, _pid: int) -> None:
    os.write(master, b"\x11")  # ctrl+q


def sent(number: int) -> Callable[[int, int], None]:
    return lambda _master, pid: os.kill(pid, number)


def children_of(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def read_until(master: int, wanted: bytes, *, process: subprocess.Popen[bytes]) -> bytes:
    seen, deadline = b"", time.monotonic() + DEADLINE_S
    while wanted not in seen:
        assert time.monotonic() < deadline, f"no {wanted!r} on the screen"
        assert process.poll() is None, f"ended with {process.returncode}: {seen[-500:]!r}"
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            seen += os.read(master, 65536)
    return seen


def wait_for_end(master: int, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None:
        assert time.monotonic() < deadline, "the demo does not end"
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                os.read(master, 65536)  # the terminal keeps reading, as a real one does
            except OSError:
                break
    return process.wait(DEADLINE_S)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for what was left behind")
@pytest.mark.parametrize(
    ("leave", "code"),
    [
        pytest.param(quit_key, 0, id="ctrl+q"),
        pytest.param(sent(signal.SIGTERM), 143, id="SIGTERM", marks=pytest.mark.ci),
        pytest.param(sent(signal.SIGINT), 130, id="SIGINT", marks=pytest.mark.ci),
        pytest.param(sent(signal.SIGKILL), -9, id="SIGKILL"),
    ],
)
def test_leaving_the_demo_stops_every_process_and_frees_every_port(
    tmp_path: Path, leave: Callable[[int, int], None], code: int
) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(
        [sys.executable, "-m", "kusanya_console.cli", "demo", "--data", str(tmp_path / "demo")],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    try:
        read_until(master, b"following the newest", process=process)
        children = children_of(process.pid)
        assert len(children) >= 3
        leave(master, process.pid)
        assert wait_for_end(master, process) == code
        deadline = time.monotonic() + DEADLINE_S
        while any(map(is_running, children)):
            assert time.monotonic() < deadline, "children are left behind"
            time.sleep(0.1)  # real processes end in real time
        settings = msgspec.json.decode((tmp_path / "demo" / "demo.json").read_bytes())
        for port in (settings["service_port"], settings["receiver_port"]):
            with socket.socket() as probe:
                assert probe.connect_ex(("127.0.0.1", port)) != 0
        if code >= 0:
            assert termios.tcgetattr(slave)[3] == before[3], "the terminal is left in raw mode"
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)
