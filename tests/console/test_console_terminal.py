"""What reaches the terminal when a console crashes or its terminal goes: no data of anyone."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya_console.ui.crash import crash_report

_RUN = """
import sys
from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp

class App(ConsoleApp):
    steps = 0

    def on_feed_advanced(self, message):
        super().on_feed_advanced(message)
        secret = "255754000111"
        App.steps += 1
        {step}

with Store.open(sys.argv[1], read_only=True) as store:
    app = App(AppContext(store=store, mode=Mode.LIVE, clock=SystemClock()))
    app.run()
    sys.exit(app.return_code or 0)
"""
_CRASH = """
        # There is no such module, and its name is told.
        self._open(type("Entry", (), {"module": f"{secret} with key x_live_sk_abcdef"}))
"""
_RESTLESS = """
import sys
from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp
from kusanya_console.output import Refused
from kusanya_console.cli.process.terminal import run_app

class App(ConsoleApp):
    def on_ready(self):
        self.set_interval(0.005, lambda: self.screen.refresh())

with Store.open(sys.argv[1], read_only=True) as store:
    try:
        run_app(App(AppContext(store=store, mode=Mode.LIVE, clock=SystemClock())))
    except Refused as ended:
        sys.exit(ended.code)
"""


def run_on_a_terminal(code: str, store: Path) -> tuple[int, bytes]:
    """Run a console on a pseudo-terminal; return its exit status and everything it wrote."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(store)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        close_fds=True,
    )
    os.close(follower)
    written = bytearray()
    try:
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up:
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    written += os.read(leader, 65_536)
                except OSError:  # the terminal is gone with its last writer
                    break
            elif child.poll() is not None:
                break
        return child.wait(timeout=10), bytes(written)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(leader)


@pytest.fixture
def benign_path(tmp_path: Path, clock: ManualClock, make_seed: Any) -> Path:
    """Write an ordinary store and return its path."""
    path = tmp_path / "benign.db"
    with Store.open(path, clock=clock) as store:
        make_seed(store).busy(10)
    return path


@pytest.mark.merge
def test_a_console_whose_terminal_has_gone_ends_although_it_still_writes(benign_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-c", _RESTLESS, str(benign_path)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(follower)
    try:
        written = b""
        while b"INV-482900" not in written:
            written += os.read(leader, 65_536)
        os.close(leader)
        time.sleep(2)  # a real process goes on writing to what is no longer there
        child.send_signal(signal.SIGHUP)
        assert child.wait(timeout=20) == 128 + signal.SIGHUP
    finally:
        child.kill()
        child.wait()


_QUIET = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{_RESTLESS}".replace(
    "self.set_interval", "(lambda *_: None)"
)


@pytest.mark.merge
def test_a_console_ends_with_its_terminal_although_no_signal_says_so(benign_path: Path) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-c", _QUIET, str(benign_path)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,  # whose terminal this is not: nobody is told when it goes
    )
    os.close(follower)
    try:
        written = b""
        while b"INV-482900" not in written:
            written += os.read(leader, 65_536)
        assert child.poll() is None
        os.close(leader)
        assert child.wait(timeout=20) == 128 + signal.SIGHUP
    finally:
        child.kill()
        child.wait()


@pytest.mark.merge
def test_a_crash_leaves_with_a_status_and_without_data(benign_path: Path) -> None:
    status, written = run_on_a_terminal(_RUN.replace("{step}", _CRASH.strip()), benign_path)
    after_exit = written.rsplit(b"\x1b[?1049l", 1)[-1]
    assert status == 1
    assert b"internal error, ModuleNotFoundError" in after_exit
    assert b"application/app.py" in after_exit, "our own frames are named"
    for private in (b"255754000111", b"live_sk", b"secret", b"sqlite", b"locals"):
        assert private not in after_exit


def test_a_crash_report_names_frames_of_our_own_only() -> None:
    said = crash_report(ValueError("a phone: 255754000111")).plain
    assert "internal error, ValueError" in said
    assert "255754000111" not in said
