"""The files of an SQLite store are removed, replaced or overwritten under a running program.

What was acknowledged afterwards must be in the store that the next program opens; here nothing is.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from kusanya.errors import StoreDamaged, StoreError, StoreUnavailable
from kusanya.platform.sqlite import sqlite_driver
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.store.tables import file_identity
from kusanya.wire import Mode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHILD = Path(__file__).with_name("ingest_until_killed.py")


def beside(path: Path, *ends: str) -> list[Path]:
    return [path.with_name(path.name + end) for end in ends]


def remove(path: Path, *ends: str) -> None:
    for one in beside(path, *ends):
        one.unlink()


def copy(source: Path, target: Path) -> None:
    """Copy in a process of its own: closing a file lets go of all locks that this one has on it."""
    subprocess.run(["/bin/cp", str(source), str(target)], check=True)


def move_a_backup_over(path: Path) -> None:
    path.with_name("backup.db").rename(path)


def copy_a_backup_over(path: Path) -> None:
    copy(path.with_name("backup.db"), path)


def copy_an_older_state_over(path: Path) -> None:
    copy(path.with_name("older.db"), path)


def copy_another_store_over(path: Path) -> None:
    with Store.open(path.with_name("other.db")):
        pass
    copy(path.with_name("other.db"), path)


FACTS = 61
"""Of the store at work: two for each of thirty deliveries, and its backup."""
ACTS: dict[str, Callable[[Path], None]] = {
    "all three removed": lambda path: remove(path, "", "-wal", "-shm"),
    "the file removed": lambda path: remove(path, ""),
    "-wal removed": lambda path: remove(path, "-wal"),
    "-shm removed": lambda path: remove(path, "-shm"),
    "-wal and -shm removed": lambda path: remove(path, "-wal", "-shm"),
    "a backup moved over it": move_a_backup_over,
    "a backup copied over it": copy_a_backup_over,
    "an older state copied over it": copy_an_older_state_over,
    "another store copied over it": copy_another_store_over,
    "cut to nothing": lambda path: os.truncate(path, 0),
}


def take(store: Store, make: Any, numbers: range) -> list[int]:
    """Record arrivals; return those that were acknowledged."""
    acknowledged: list[int] = []
    for number in numbers:
        try:
            store.record(make.arrival(number))
        except StoreUnavailable:
            continue
        acknowledged.append(number)
    return acknowledged


def checkpoint(path: Path) -> None:
    """Bring everything into the main file, as any program on the store may do."""
    with closing(sqlite_driver().connect(str(path))) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def opened_elsewhere(path: Path) -> str:
    """Open the store in a process of its own; return its journal's end and findings, or why not."""
    program = (
        "import sys; from kusanya.store import Store\n"
        "with Store.open(sys.argv[1]) as store: print(store.feed.head(), store.maintenance.check())"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout or ended.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the store is to be."""
    return tmp_path / "store.db"


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, make: Any) -> Path:
    """Return a folder with a closed store that has been at work, an older state and a backup."""
    path = tmp_path_factory.mktemp("worked") / "store.db"
    with Store.open(path) as store:
        take(store, make, range(10))
        checkpoint(path)
        copy(path, path.with_name("older.db"))
        take(store, make, range(10, 20))
        store.maintenance.backup(path.with_name("backup.db"))
    return path.parent


@pytest.fixture
def running(worked: Path, path: Path, make: Any) -> Iterator[Store]:
    """Return an open store that is at work, with backups beside it."""
    for name in ("store.db", "older.db", "backup.db"):
        shutil.copy(worked / name, path.with_name(name))
    with Store.open(path) as store:
        take(store, make, range(20, 30))
        yield store


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
def test_nothing_is_acknowledged_that_the_next_program_does_not_find(
    act: Callable[[Path], None],
    running: Store,
    path: Path,
    make: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It looks again before it gives a file up: forty times half a second here.
    monkeypatch.setattr(file_identity, "_LOOK_AGAIN_S", 0.0)
    act(path)
    assert take(running, make, range(100, 140)) == []


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
def test_nothing_is_read_from_files_that_are_not_the_store(
    act: Callable[[Path], None], running: Store, path: Path
) -> None:
    act(path)
    with pytest.raises(StoreUnavailable, match=r"store\.db"):
        running.feed.head()


@pytest.mark.parametrize("act", ACTS.values(), ids=list(ACTS))
def test_a_process_that_only_reads_notices_too(
    act: Callable[[Path], None], running: Store, path: Path
) -> None:
    with Store.open(path, read_only=True) as reader:
        assert reader.feed.head() == FACTS
        act(path)
        with pytest.raises(StoreUnavailable, match=r"store\.db"):
            reader.collections.get("col_1", Mode.TEST)


def test_the_refusal_says_what_happened_and_what_to_do(running: Store, path: Path) -> None:
    remove(path, "")
    with pytest.raises(StoreUnavailable, match="was removed while") as caught:
        running.feed.head()
    assert "stop every program that uses this store" in str(caught.value)


def test_a_store_that_was_away_stays_refused_until_it_is_opened_anew(
    running: Store, path: Path, make: Any
) -> None:
    path.rename(path.with_name("away.db"))
    assert take(running, make, range(100, 101)) == []
    path.with_name("away.db").rename(path)
    assert take(running, make, range(101, 102)) == []


def test_what_a_removed_wal_held_is_saved_into_the_file(
    running: Store, path: Path, make: Any
) -> None:
    remove(path, "-wal")
    assert take(running, make, range(100, 101)) == []
    running.close()
    with Store.open(path) as again:
        assert [n for n in range(30) if again.collections.get(f"col_{n}", Mode.TEST) is None] == []
        assert again.maintenance.check() == ()


def test_a_store_without_its_shm_is_whole_when_it_is_opened_anew(
    running: Store, path: Path, make: Any
) -> None:
    remove(path, "-shm")
    assert take(running, make, range(100, 101)) == []
    assert "another program has" in opened_elsewhere(path), "this one still holds it"
    running.close()
    assert opened_elsewhere(path) == f"{FACTS} ()\n"


def test_checkpoints_of_other_programs_are_no_loss(running: Store, path: Path, make: Any) -> None:
    with Store.open(path) as other:
        for number in range(100, 130):
            assert take(running if number % 2 else other, make, range(number, number + 1))
            checkpoint(path)
            assert running.feed.head() == other.feed.head()
    running.maintenance.backup(path.with_name("another.db"))
    assert take(running, make, range(130, 140)) == list(range(130, 140))
    assert running.maintenance.check() == ()


def test_closing_a_lost_store_leaves_alone_what_stands_in_its_place(
    running: Store, path: Path, make: Any
) -> None:
    for one in beside(path, "", "-wal", "-shm"):
        one.unlink()
    with Store.open(path, migrate=True) as new:
        assert take(new, make, range(50)) == list(range(50))
        before = [one.stat().st_ino for one in beside(path, "", "-wal", "-shm")]
        running.close()
        assert [one.stat().st_ino for one in beside(path, "", "-wal", "-shm")] == before
        assert take(new, make, range(50, 60)) == list(range(50, 60))
        assert new.maintenance.check() == ()


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


@pytest.fixture
def mounted(path: Path) -> Iterator[Path]:
    """Mount the store's file alone somewhere else, as a container does that is given one file."""
    Store.open(path).close()
    place = path.with_name("in a container") / "store.db"
    place.parent.mkdir()
    place.touch()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "--bind", str(path), str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run([umount, "-l", str(place)], check=True)


@pytest.mark.root
def test_a_file_that_is_mounted_alone_is_refused(mounted: Path, path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="mount the folder"):
        Store.open(mounted)
    with pytest.raises(StoreUnavailable, match="mount the folder"):
        Store.open(mounted, read_only=True)
    Store.open(path).close()


def test_an_intent_is_not_kept_in_a_store_that_is_gone(running: Store, path: Path) -> None:
    remove(path, "", "-wal", "-shm")
    with pytest.raises(StoreError, match="was removed"):
        running.notes.add("col_1", Note("who asked"), author="asha", mode=Mode.TEST)
    with pytest.raises(StoreError, match="was removed"):
        running.poll_leases.take(Mode.TEST, by="me", until=NOON, limit=1)


def test_a_table_that_others_changed_is_not_a_replaced_file(running: Store, path: Path) -> None:
    with running._engines.reader.connect() as connection:
        connection.execute(text("SELECT 1"))
    checkpoint(path)
    assert running.feed.head() == FACTS


@pytest.fixture
def read_only_mount(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system that holds a store, and forbid to write on it."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    Store.open(folder / "store.db").close()
    subprocess.run([mount, "-o", "remount,ro", str(folder)], check=True)
    yield folder
    subprocess.run([umount, "-l", str(folder)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("read_only", [True, False])
def test_a_read_only_mount_is_named_as_the_reason(read_only_mount: Path, read_only: bool) -> None:
    with pytest.raises(StoreUnavailable, match="is not writable, and SQLite writes beside"):
        Store.open(read_only_mount / "store.db", read_only=read_only)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_store_replaced_around_a_fork_is_noticed_after_it(
    running: Store, path: Path, make: Any
) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    # No connection is open now; the next use opens the files again.
    path.with_name("backup.db").rename(path)
    assert take(running, make, range(100, 110)) == []
    with pytest.raises(StoreUnavailable, match="was replaced"):
        running.feed.head()
