"""The spill folder is private and never outlives its process for long, however the process ends."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pytest

from kusanya_books.engine import spill
from kusanya_books.engine.duckdb_engine import DuckDbEngine

ENDLESS_RUN = """
from kusanya_books.engine.duckdb_engine import DuckDbEngine
from kusanya_console.cli.process.signals import interrupted_by_sigterm

with interrupted_by_sigterm(), DuckDbEngine(memory="30MB", threads=1) as engine:
    engine.run("CREATE TEMP TABLE wide AS SELECT repeat(n::TEXT, 200) FROM range(100000) AS t(n)")
    print("spilled", flush=True)
    engine.run("CREATE TEMP TABLE endless AS SELECT sum(n) FROM range(1000000000000000) AS t(n)")
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def end_by(number: int, temporary: Path) -> int:
    """Start an endless run, end it by a signal once it has spilled, and return its exit code."""
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS_RUN],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"spilled\n"
        (folder,) = temporary.iterdir()
        assert f"-{run.pid}-" in folder.name
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.iterdir())
        run.send_signal(number)
        run.communicate(timeout=120)
    return run.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_asked_to_end_removes_its_spill_folder(
    number: signal.Signals, temporary: Path
) -> None:
    assert end_by(number, temporary) != 0
    assert not list(temporary.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask whether a process is alive")
def test_the_next_run_removes_the_spill_folder_of_a_killed_one(temporary: Path) -> None:
    assert end_by(signal.SIGKILL, temporary) == -signal.SIGKILL
    (left,) = temporary.iterdir()
    with DuckDbEngine():
        assert not left.exists()
    assert not list(temporary.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask whether a process is alive")
def test_nothing_but_the_folders_of_ended_processes_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "books.csv").touch()
    stays = [f"kusanya-spill-{os.getpid()}-a", f"kusanya-spill-{2**70}-a", "kusanya-spill-a"]
    for name in (*stays, f"kusanya-spill-{ended.pid}-a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").touch()
    (tmp_path / f"kusanya-spill-{ended.pid}-file").touch()
    (tmp_path / f"kusanya-spill-{ended.pid}-link").symlink_to(elsewhere)
    spill.purge(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    links = {f"kusanya-spill-{ended.pid}-{kind}" for kind in ("file", "link")}
    assert left == {*stays, *links, "elsewhere"}
    assert (elsewhere / "books.csv").exists()


def test_an_engine_that_does_not_start_or_fails_leaves_no_folder(temporary: Path) -> None:
    with pytest.raises(duckdb.Error):
        DuckDbEngine(memory="much")
    with pytest.raises(ZeroDivisionError), DuckDbEngine():
        raise ZeroDivisionError
    assert not list(temporary.iterdir())
