"""The demo without a terminal: every collection converges, also after a kill in the middle."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode
from kusanya_console.sandbox.demo.headless import Summary

DEADLINE_S = 100


def start(data: Path, *options: str) -> subprocess.Popen[bytes]:
    arguments = ["demo", "--headless", f"--data={data}", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "kusanya_console.cli", *arguments], stdout=subprocess.PIPE
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, list[bytes]]:
    out, _ = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out.splitlines()


@pytest.mark.merge
def test_a_demo_prints_a_line_a_second_and_ends_with_a_converged_summary(tmp_path: Path) -> None:
    code, lines = finish(start(tmp_path / "demo", "--seconds=6", "--speed=20", "--rate=3"))
    summary = msgspec.json.decode(lines[-1], type=Summary)
    assert (code, summary.converged, summary.mismatches) == (0, True, [])
    assert len(lines) >= 7
    assert b"verified" in lines[0]
    assert summary.collections == sum(summary.by_status.values()) > 50
    assert set(summary.by_status) == {"succeeded", "failed", "expired"}
    assert summary.deliveries["verified"] == summary.collections


@pytest.mark.ci
@pytest.mark.timeout(200)
def test_a_demo_that_is_killed_goes_on_at_its_next_start(tmp_path: Path) -> None:
    data = tmp_path / "demo"
    first = start(data, "--seconds=60", "--rate=8")
    assert first.stdout is not None
    while b"created    0" in (line := first.stdout.readline()) or not line:
        assert first.poll() is None
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=DEADLINE_S)
    code, lines = finish(start(data, "--seconds=5"))
    summary = msgspec.json.decode(lines[-1], type=Summary)
    assert (code, summary.converged, summary.mismatches) == (0, True, [])
    with Store.open(data / "store.sqlite", read_only=True) as store:
        assert store.maintenance.check() == ()
        intents = store.intents.page(Mode.TEST, limit=1000).rows
        ended = {intent.state for intent in intents}
        assert ended <= {IntentState.ANSWERED, IntentState.SETTLED}
        collections = [intent.collection_id for intent in intents]
        assert len(set(collections)) == len(collections) == summary.collections


@pytest.mark.merge
def test_a_demo_reports_that_one_of_its_processes_died(tmp_path: Path) -> None:
    demo = start(tmp_path / "demo", "--seconds=60")
    assert demo.stdout is not None
    demo.stdout.readline()
    children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
    names = {
        Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[3]: int(pid) for pid in children
    }
    subprocess.run(["kill", "-KILL", str(names[b"receive"])], check=True)  # noqa: S607 - coreutils
    began = time.monotonic()
    assert finish(demo)[0] == 1
    assert time.monotonic() - began < DEADLINE_S
