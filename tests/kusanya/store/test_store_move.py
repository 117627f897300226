"""A store in a file becomes one on PostgreSQL: the same rows, killed wherever, and never two."""

import os
import random
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Integer, MetaData, Table, select, text
from tests.kit.intents import begin_intent
from tests.kusanya.store.older import everything

from kusanya.clock import ManualClock, SystemClock
from kusanya.errors import StoreError, StoreUnavailable
from kusanya.platform.sqlite import sqlite_driver
from kusanya.state.observation import Source
from kusanya.store import Store, move_store
from kusanya.store.maintenance import moving
from kusanya.store.records import BreakSubject, Note
from kusanya.store.tables.engine import engines
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres
CLOCK = SystemClock()


class Stopped(Exception):  # noqa: N818 - no error of ours
    """The move ended here."""


@pytest.fixture
def prepared() -> bool:
    """Begin with an empty database."""
    return False


@pytest.fixture
def place(tmp_path: Path, make: Any, clock: ManualClock) -> Path:
    """Return the file of a store with facts of every kind."""
    path = tmp_path / "store.db"
    with Store.open(path, clock=clock) as store:
        fill(store, make, 30)
    return path


def fill(store: Store, make: Any, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        store.submit(make.observation(number, source=Source.ANSWER))
        store.submit(
            make.arrival(
                number,
                status=("succeeded", "failed", "odd")[number % 3],
                metadata={"order_id": f"A-{number}"},
                description="Bus fare",
            )
        )
    store.submit(make.arrival(first + 1))
    store.submit(make.rejected(first + 1))
    store.notes.add(f"col_{first}", Note("called"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look")
    store.receipts.record(f"col_{first}", Mode.TEST, "SJ31HG4K2", source="m.csv", actor="asha")
    subject = BreakSubject(break_id="0123456789abcdef", leg="books", code="missing_in_ledger")
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked the shop")
    now = make.noon
    begun = begin_intent(store,
        idempotency_key=f"k-{first}", body=b'{"amount":1}\x00\xff', mode=Mode.TEST, profile="shop",
        reference=f"NEW-{first}", amount=1, phone="255754000001", at=now, by="me",
        until=now + timedelta(seconds=60), target="http://127.0.0.1:9",
    ).result()  # fmt: skip
    assert begun.new


def rows(url: str) -> dict[str, list[Any]]:
    found = engines(url)
    try:
        held = everything(found)
    finally:
        found.dispose()
    # Each engine has its own indexes, and says how far they came.
    del held["feed_head"], held["metadata_entry"]
    return held


def moved_rows(url: str) -> dict[str, list[Any]]:
    return {name: sorted(map(repr, said)) for name, said in rows(url).items()}


def test_a_moved_store_holds_the_same_and_the_file_is_none_any_more(
    place: Path, postgres_url: str, make: Any, clock: ManualClock
) -> None:
    before = moved_rows(str(place))
    seen: list[tuple[int, int]] = []
    done = move_store(place, postgres_url, clock=CLOCK, progress=lambda *at: seen.append(at))
    assert moved_rows(postgres_url) == before
    assert seen[-1] == (done.rows, done.rows)
    assert done.copied == done.rows
    assert done.digest is not None
    with Store.open(postgres_url, clock=clock) as store:
        assert store.maintenance.check() == ()
        assert store.maintenance.rebuild().collections == 0
        assert [row.id for row in store.collections.containing(Mode.TEST, "000007")] == ["col_7"]
        assert [row.id for row in store.collections.by_metadata(Mode.TEST, "A-7")] == ["col_7"]
        assert len(store.collections.described(Mode.TEST, "bus f")) == 30
        head = store.feed.head()
        assert store.record(make.arrival(90)).seq > head
    for read_only in (False, True):
        with pytest.raises(StoreUnavailable, match=r"was moved to postgresql://.*: use that one"):
            Store.open(place, read_only=read_only, clock=clock)
    again = move_store(place, postgres_url, clock=CLOCK)
    assert (again.rows, again.copied, again.digest) == (done.rows, 0, None)
    with Store.open(postgres_url, clock=clock) as store:
        assert store.collections.get("col_90", Mode.TEST) is not None


def test_a_move_that_was_stopped_anywhere_goes_on(
    place: Path, postgres_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "_SLICE", 10)
    before, reached = moved_rows(str(place)), [0]

    def stop(done: int, _total: int) -> None:
        if done >= reached[0] + 40:
            reached[0] = done
            raise Stopped

    stops = 0
    while True:
        try:
            done = move_store(place, postgres_url, clock=CLOCK, progress=stop)
        except Stopped:
            stops += 1
            # Nobody works on half a store.
            with pytest.raises(StoreUnavailable, match="move into this database is not finished"):
                Store.open(postgres_url, clock=clock)
            continue
        break
    assert stops >= 3
    assert done.copied < done.rows
    assert moved_rows(postgres_url) == before
    with Store.open(postgres_url, clock=clock) as store:
        assert store.maintenance.check() == ()


@pytest.mark.parametrize("step", ["_verify", "_mark_moved", "_release"])
def test_there_is_never_more_than_one_store(
    place: Path,
    postgres_url: str,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    def stop(_self: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(moving._Move, step, stop)
        with pytest.raises(Stopped):
            move_store(place, postgres_url, clock=CLOCK)
    stores = []
    for url in (str(place), postgres_url):
        try:
            Store.open(url, clock=clock).close()
        except StoreError:
            continue
        stores.append(url)
    assert stores == ([] if step == "_release" else [str(place)])
    move_store(place, postgres_url, clock=CLOCK)
    Store.open(postgres_url, clock=clock).close()


def test_a_file_that_was_changed_between_two_parts_is_moved_as_it_is_in_the_end(
    place: Path, postgres_url: str, make: Any, clock: ManualClock
) -> None:
    def stop(done: int, total: int) -> None:
        if done > total // 2:
            raise Stopped

    with pytest.raises(Stopped):
        move_store(place, postgres_url, clock=CLOCK, progress=stop)
    with Store.open(place, clock=clock) as store:
        fill(store, make, 5, first=50)
        store.retention.forget_bodies(before=datetime(2027, 1, 1, tzinfo=UTC))
    before = moved_rows(str(place))
    with pytest.raises(StoreUnavailable, match="is the store still; run the same command again"):
        move_store(place, postgres_url, clock=CLOCK)
    move_store(place, postgres_url, clock=CLOCK)
    assert moved_rows(postgres_url) == before


def test_yes_and_no_count_as_the_same_in_the_file_and_in_the_database(postgres_url: str) -> None:
    said = Column("said", Boolean)
    answers = Table("answers", MetaData(), Column("seq", Integer, primary_key=True), said)
    with closing(sqlite_driver().connect(":memory:")) as file:
        file.execute("CREATE TABLE answers (seq INTEGER PRIMARY KEY, said BOOLEAN)")
        file.executemany("INSERT INTO answers VALUES (?, ?)", [(1, True), (2, False), (3, None)])
        rows = file.execute("SELECT seq, said FROM answers ORDER BY seq").fetchall()
        here = moving._digest(file.execute("SELECT seq, said FROM answers ORDER BY seq"))
    found = engines(postgres_url)
    try:
        with found.writer.begin() as connection:
            answers.create(connection)
            moving._copy_in(connection, answers, rows)
            kept = connection.execute(answers.select().order_by(answers.c.seq)).all()
            copied = map(moving._as_in_a_file, answers.c)
            there = moving._digest(connection.execute(select(*copied).order_by(answers.c.seq)))
    finally:
        found.dispose()
    assert kept == [(1, True), (2, False), (3, None)]
    assert there == here


def test_a_move_is_refused_while_anybody_has_the_file_open(
    place: Path, postgres_url: str, clock: ManualClock
) -> None:
    with (
        Store.open(place, clock=clock),
        pytest.raises(StoreUnavailable, match="stop every program"),
    ):
        move_store(place, postgres_url, clock=CLOCK)
    locked: list[str] = []

    def write(*_at: int) -> None:
        try:
            with closing(sqlite_driver().connect(str(place), timeout=0)) as other:
                other.execute("UPDATE feed_head SET seq = seq")
        except sqlite_driver().Error as error:
            locked.append(str(error))

    move_store(place, postgres_url, clock=CLOCK, progress=write)
    assert set(locked) == {"database is locked"}


def test_a_move_goes_into_an_empty_database_only(
    place: Path, postgres_url: str, tmp_path: Path, clock: ManualClock
) -> None:
    with pytest.raises(StoreUnavailable, match="from a file to a postgresql"):
        move_store(place, str(tmp_path / "other.db"), clock=CLOCK)
    Store.open(postgres_url, clock=clock).close()
    held = rows(postgres_url)
    with pytest.raises(StoreUnavailable, match="holds a store already"):
        move_store(place, postgres_url, clock=CLOCK)
    assert rows(postgres_url) == held
    found = engines(postgres_url)
    with found.writing() as connection, connection.begin():
        connection.execute(text("DROP TABLE alembic_version"))
    found.dispose()
    with pytest.raises(StoreUnavailable, match="holds something else"):
        move_store(place, postgres_url, clock=CLOCK)
    with pytest.raises(StoreUnavailable, match="there is no store at"):
        move_store(tmp_path / "none.db", postgres_url, clock=CLOCK)
    Store.open(place, clock=clock).close()


CHILD = """
import sys
from kusanya.clock import SystemClock
from kusanya.store import move_store
from kusanya.store.maintenance import moving
moving._SLICE = 200
def report(done, total):
    print(done, flush=True)
move_store(sys.argv[1], sys.argv[2], clock=SystemClock(), progress=report)
"""


@pytest.mark.ci
def test_a_move_killed_five_times_ends_with_the_same_rows(
    tmp_path: Path, postgres_url: str, make: Any, clock: ManualClock
) -> None:
    place = tmp_path / "large.db"
    with Store.open(place, clock=clock) as store:
        fill(store, make, 4_000)
    before = moved_rows(str(place))
    chance = random.Random(5)  # noqa: S311 - a repeatable choice
    command = [sys.executable, "-P", "-c", CHILD, str(place), postgres_url]
    for _ in range(5):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ)) as child:
            assert child.stdout is not None
            for _line in range(chance.randint(1, 12)):
                child.stdout.readline()
            child.kill()
        assert child.returncode == -9
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert moved_rows(postgres_url) == before
    Store.open(postgres_url, clock=clock).close()
