"""`kusanya tail`: every fact once, in the order of its commit, from a time on and as it comes."""

import json
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.console.cli.deploying import Kusanya
from tests.kit.payments import by_event, polled

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode

KUSANYA = "from kusanya_console.cli import main; main()"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUSANYA_MODE", "live")
    monkeypatch.setenv("KUSANYA_STORE", str(tmp_path / "store.sqlite"))
    with Store.open(tmp_path / "store.sqlite"):
        return tmp_path / "store.sqlite"


def seqs(kusanya: Kusanya, *arguments: str) -> list[int]:
    code, out, err = kusanya("tail", "--no-follow", "--json", *arguments)
    assert (code, err) == (0, "")
    return [json.loads(line)["seq"] for line in out.splitlines()]


def test_since_begins_at_the_facts_of_that_time_and_leaves_none_out(
    kusanya: Kusanya, path: Path
) -> None:
    now = datetime.now(UTC)
    with Store.open(path) as store:
        for hours in range(50, 0, -1):
            store.record(polled(hours, now - timedelta(hours=hours, minutes=5)))
        every = [change.seq for change in store.feed.changes(0)]
    assert len(every) == 50
    assert seqs(kusanya, "--since", "7d") == every
    assert seqs(kusanya, "--since", "3h") == every[-2:]
    assert seqs(kusanya, "--since", "90min") == every[-1:]
    assert seqs(kusanya) == []


def test_a_line_names_the_payment_as_it_stands_now_and_no_phone(
    kusanya: Kusanya, path: Path
) -> None:
    made = datetime.now(UTC) - timedelta(minutes=10)
    with Store.open(path) as store:
        store.record(polled("a", made, status="created", completed_at=None))
        store.record(by_event("a", made))
        store.record(polled("t", made, mode=Mode.TEST))
        store.audit.add(actor="asha", act="look", subject="255754123456", detail="0754123456")
    code, out, err = kusanya("tail", "--no-follow", "--since", "1h")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split("  ")[1] for line in lines] == ["observation", "observation", "audit"]
    assert lines[0].endswith("col_a  R-a  TZS 1,000  succeeded")
    assert "754123456" not in out


def test_a_time_or_a_length_that_is_none_is_refused(kusanya: Kusanya, path: Path) -> None:
    assert kusanya("tail", "--no-follow", "--since", "2 weeks")[0] == 2
    later = ManualClock(datetime.now(UTC)).now() + timedelta(days=1)
    assert kusanya("tail", "--no-follow", "--since", f"{later:%Y-%m-%d %H:%M}")[0] == 2


def test_it_goes_on_with_what_is_committed_until_ctrl_c(path: Path) -> None:
    now = datetime.now(UTC)
    with Store.open(path) as store:
        store.record(polled(1, now - timedelta(hours=1)))
        process = subprocess.Popen(
            [sys.executable, "-c", KUSANYA, "tail", "--since", "2h", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["collection_id"] == "col_1"
        store.record(polled(2, now - timedelta(days=3)))  # committed now, whenever it was
        assert json.loads(process.stdout.readline())["collection_id"] == "col_2"
        while process.poll() is None:
            # Python drops one that strikes while it collects garbage: a person presses again.
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
        assert process.returncode == 130
        assert process.stdout.read() == ""
        process.stdout.close()
