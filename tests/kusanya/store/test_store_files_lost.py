"""The files of an SQLite store are removed, replaced or overwritten under a running program.

What was acknowledged afterwards must be in the store that the next program opens; here nothing is.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.kusanya.store.store_files import (
    beside,
    checkpoint,
    copy,
    copy_a_backup_over,
    move_a_backup_over,
    opened_elsewhere,
    remove,
    take,
)

from kusanya.errors import StoreError, StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.store.tables import file_identity
from kusanya.store.tables.sqlite_file import SqliteFile
from kusanya.wire import Mode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def copy_an_older_state_over(path: Path) -> None:
    copy(path.with_name("older.db"), path)


def copy_another_store_over(path: Path) -> None:
    with Store.open(path.with_name("other.db")):
        pass
    copy(path.with_name("other.db"), path)


def cut(path: Path, end: str, to: int) -> None:
    [one] = beside(path, end)
    os.truncate(one, to if to >= 0 else one.stat().st_size + to)


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
    "-wal cut to nothing": lambda path: cut(path, "-wal", 0),
    "-wal cut short": lambda path: cut(path, "-wal", -5_000),
    "-shm cut to nothing": lambda path: cut(path, "-shm", 0),
    "-shm cut short": lambda path: cut(path, "-shm", 4_096),
}


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


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_what_was_cut_short_is_named_and_the_process_goes_on(
    running: Store, path: Path, make: Any, end: str
) -> None:
    """Touching a page of the -shm that is not there any more would end the process by a signal."""
    cut(path, end, 0)
    with pytest.raises(StoreUnavailable, match=f"store.db{end} was cut short while"):
        running.prove_writable()
    assert take(running, make, range(100, 110)) == []
    running.close()
    assert "cut short" in opened_elsewhere(path), "not opened as if nothing were missing"


def test_a_wal_that_was_emptied_by_a_checkpoint_is_no_loss(
    running: Store, path: Path, make: Any
) -> None:
    [wal] = beside(path, "-wal")
    for number in range(100, 110):
        assert take(running, make, range(number, number + 1)) == [number]
        checkpoint(path)
        assert wal.stat().st_size == 0
        assert running.feed.head() > 0
    assert take(running, make, range(110, 120)) == list(range(110, 120))
    assert running.maintenance.check() == ()


def test_a_wal_to_which_another_program_appends_between_two_looks_is_no_loss(
    running: Store, path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = SqliteFile.wal_bytes_indexed
    looks: list[int] = []

    def appended_since(file: SqliteFile) -> int:
        looks.append(indexed(file))
        return 10**9 if len(looks) == 1 else looks[-1]

    monkeypatch.setattr(SqliteFile, "wal_bytes_indexed", appended_since)
    checkpoint(path)
    assert running.record(make.arrival(40)).delivery_id
    assert len(looks) == 2


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


@pytest.mark.merge
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
