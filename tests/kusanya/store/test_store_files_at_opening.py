"""What lies where an SQLite store is opened: nothing any more, a file alone, what a kill left."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.kusanya.store.store_files import (
    copy,
    copy_a_backup_over,
    move_a_backup_over,
    opened_elsewhere,
    remove,
    take,
)

from kusanya.errors import StoreDamaged, StoreUnavailable
from kusanya.platform.sqlite import sqlite_driver
from kusanya.store import Store
from kusanya.wire import Mode

CHILD = Path(__file__).with_name("ingest_until_killed.py")


def test_a_new_store_is_not_begun_in_silence_where_one_lay(running: Store, path: Path) -> None:
    remove(path, "", "-wal", "-shm")
    with pytest.raises(StoreUnavailable, match="is gone"):
        Store.open(path)
    assert not path.exists()
    with Store.open(path, migrate=True) as new:
        assert new.store_id != running.store_id
        assert new.feed.head() == 0
    Store.open(path).close()


@pytest.mark.parametrize("contents", [b"", "no tables"], ids=["empty", "no tables"])
def test_an_empty_file_is_not_taken_for_a_store(path: Path, contents: bytes | str) -> None:
    path.touch()
    if contents == "no tables":
        with closing(sqlite_driver().connect(str(path))) as other:
            other.execute("PRAGMA journal_mode = WAL")
            other.execute("CREATE TABLE gone (x)")
            other.execute("DROP TABLE gone")
    with pytest.raises(StoreUnavailable, match=r"holds no store.*kusanya store migrate"):
        Store.open(path)
    with Store.open(path, migrate=True) as begun:
        assert begun.maintenance.check() == ()


def test_a_fresh_store_is_whole_in_its_file_alone(path: Path) -> None:
    with Store.open(path) as store:
        copy(path, path.with_name("alone.db"))
        with Store.open(path.with_name("alone.db")) as alone:
            assert alone.store_id == store.store_id


@pytest.fixture
def child(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program that acknowledges, and stop it where it stands after some lines."""
    Store.open(path).close()
    with subprocess.Popen(
        [sys.executable, "-P", str(CHILD), str(path), "0"], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        for _ in range(100):
            running.stdout.readline()
        running.send_signal(signal.SIGSTOP)
        os.waitpid(running.pid, os.WUNTRACED)
        yield running
        running.kill()


def test_a_wal_removed_before_a_kill_is_reported_at_the_next_start(
    child: subprocess.Popen[str], path: Path
) -> None:
    remove(path, "-wal")
    child.kill()
    child.wait()
    with pytest.raises(StoreDamaged, match="-wal was removed or cut short"):
        Store.open(path)
    with pytest.raises(StoreDamaged, match="-wal was removed or cut short"):
        Store.open(path)
    with Store.open(path, migrate=True) as store:
        # A person has said to go on without it.
        assert store.maintenance.check() == ()


def test_a_killed_program_that_left_everything_is_no_reason_to_refuse(
    child: subprocess.Popen[str], path: Path
) -> None:
    child.kill()
    child.wait()
    with Store.open(path) as store:
        assert store.feed.head() > 100
        assert store.maintenance.check() == ()


@pytest.mark.merge
@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_second_program_is_refused_while_the_first_works_without_it(
    child: subprocess.Popen[str], path: Path, end: str
) -> None:
    remove(path, end)
    with pytest.raises(StoreUnavailable, match=r"another program has .* open"):
        Store.open(path)
    child.kill()
    child.wait()
    if end == "-shm":
        with Store.open(path) as store:
            assert store.maintenance.check() == ()


@pytest.mark.merge
@pytest.mark.parametrize("act", [move_a_backup_over, copy_a_backup_over], ids=["moved", "copied"])
def test_a_wal_of_the_former_file_is_not_applied_to_a_backup(
    act: Callable[[Path], None], running: Store, path: Path, make: Any
) -> None:
    act(path)
    assert take(running, make, range(100, 101)) == []
    running.close()
    with pytest.raises(StoreUnavailable, match=r"store\.db-wal belongs to the former file"):
        Store.open(path)
    with pytest.raises(StoreUnavailable, match=r"store\.db-wal belongs to the former file"):
        Store.open(path, read_only=True)
    remove(path, "-wal", "-shm")
    if act is move_a_backup_over:
        assert opened_elsewhere(path) == "40 ()\n"
    else:
        # This process holds the same file, overwritten, until it ends.
        assert "another program has" in opened_elsewhere(path)


def test_a_file_with_several_names_is_refused(path: Path) -> None:
    Store.open(path).close()
    os.link(path, path.with_name("second.db"))
    for name in (path, path.with_name("second.db")):
        with pytest.raises(StoreUnavailable, match="several names"):
            Store.open(name)


def test_a_link_to_the_file_is_the_same_store(path: Path, make: Any) -> None:
    link = path.with_name("folder") / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    with Store.open(path) as store, Store.open(link) as same:
        store.record(make.arrival(1))
        assert same.collections.get("col_1", Mode.TEST) is not None
        link.unlink()
        with pytest.raises(StoreUnavailable):
            same.feed.head()
        assert store.feed.head() == 2
