"""A migrated store has the same schema as the tables say, on both engines."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from tests.kusanya.store.older import OlderStore, everything

from kusanya.errors import StoreUnavailable
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.maintenance import migrations
from kusanya.store.records import Note
from kusanya.store.tables.engine import Engines, engines
from kusanya.store.tables.schema import metadata
from kusanya.store.tables.sqlite_file import create_file
from kusanya.wire import Mode

Opener = Callable[..., Store]
FIRST = migrations.REVISIONS[0]


@pytest.fixture
def prepared() -> bool:
    """Begin with nothing: these tests are about how a store comes to be."""
    return False


def described(connection: Connection) -> dict[str, Any]:
    """Return everything that a schema is made of, as the engine itself tells it."""
    found: dict[str, Any] = {}
    inspector = inspect(connection)
    for table in inspector.get_table_names():
        found[table] = (
            [(c["name"], repr(c["type"]), c["nullable"]) for c in inspector.get_columns(table)],
            inspector.get_pk_constraint(table),
            sorted(map(repr, inspector.get_unique_constraints(table))),
            sorted(map(repr, inspector.get_check_constraints(table))),
        )
    if connection.dialect.name == "sqlite":
        rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        for name, sql in rows:
            found[f"sql of {name}"] = re.sub(r"\s+", "", sql).replace('"', "")
    else:
        rows = connection.execute(
            text(
                "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
            )
        )
        of_months: list[str] = []
        for table, name, definition in rows:
            if re.fullmatch(r"delivery_(\d{4}_\d{2}|other)", table):
                # PostgreSQL names these itself, in the order in which it happens to copy them.
                of_months.append(definition.replace(name, "copied"))
            else:
                found[f"index {name}"] = definition
        found["indexes of months"] = sorted(of_months)
    return found


def schema_of(engine: Engine, build: Callable[[Connection], object]) -> dict[str, Any]:
    with engine.connect() as connection, connection.begin() as transaction:
        build(connection)
        found = described(connection)
        found["rows"] = rows_of(connection)
        transaction.rollback()  # the next one starts from nothing
    return found


def rows_of(connection: Connection) -> dict[str, list[str]]:
    """Return what stands in each table; a store's id is its own."""
    own = {"store_id"}
    return {
        table: sorted(
            repr(tuple(row))
            for row in connection.execute(text(f"SELECT * FROM {table}"))  # noqa: S608 - its own names
            if own.isdisjoint(row)
        )
        for table in inspect(connection).get_table_names()
        if "_search" not in table
    }


def walk_from_the_first(connection: Connection) -> None:
    migrations.upgrade(connection, to=migrations.REVISIONS[0])
    migrations.upgrade(connection)


def test_a_new_store_is_as_all_revisions_one_after_the_other_leave_it(url: str) -> None:
    found = engines(url)
    if found.path is not None:
        create_file(found.path)
    try:
        new = schema_of(found.writer, migrations.upgrade)
        walked = schema_of(found.writer, walk_from_the_first)
    finally:
        found.dispose()
    assert len(new) > len(metadata.tables)
    assert walked == new


def ours(name: str | None, kind: str, _parents: object) -> bool:
    """Leave out the indexes of pieces and the months, which each engine has in its own way."""
    own = r"(reference|description)_search.*|delivery_(before|other|[0-9_]+)"
    return not (kind == "table" and re.fullmatch(own, str(name)))


def test_nothing_is_left_to_migrate(open_store: Opener) -> None:
    store = open_store()
    assert not store.migrate()
    with store._engines.reader.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": ours})
        assert compare_metadata(context, metadata) == []


@pytest.fixture
def older(url: str, make: Any) -> Engines:
    """Return a store of the first revision, with facts of each kind."""
    found = engines(url)
    if found.path is not None:
        create_file(found.path)
    with found.writer.begin() as connection:
        assert migrations.upgrade(connection, to=FIRST)
    with OlderStore(found) as old:
        for number in range(20):
            old.record(make.arrival(number))
        old.record(make.observation(3, source=Source.EVENT_CHECK))
        old.record(make.rejected(1))
        old.notes.add("col_1", Note("kept"), author="asha", mode=Mode.TEST)
    return found


def test_a_store_of_the_first_revision_comes_up_to_date_with_all_its_data(
    older: Engines, url: str, open_store: Opener, make: Any
) -> None:
    before = everything(older)
    with pytest.raises(StoreUnavailable, match="older version"):
        Store.open(url)
    older.dispose()
    store = open_store(migrate=True)
    after = everything(store._engines)
    assert after == before
    assert len(before["delivery"]) == 21
    assert store.maintenance.check() == ()
    unchecked = store.events.unchecked(Mode.TEST).rows
    assert [row.id for row in unchecked] == [f"evt_{n}" for n in range(20) if n != 3]
    assert store.record(make.arrival(50)).seq == store.feed.head() - 1


def test_who_looked_after_an_alarm_is_known_after_the_upgrade(url: str, open_store: Opener) -> None:
    found = engines(url)
    if found.path is not None:
        create_file(found.path)
    said = [
        ("acknowledge", "silent:live:shop:never", "first", "done"),
        ("acknowledge", "silent:live:shop:never", "second", "done"),
        ("acknowledge", "stuck:live:x", "no", "failed: no"),
        ("look", "stuck:live:x", "", "done"),
    ]
    with found.writer.begin() as connection:
        migrations.upgrade(connection, to="0011")
        for seq, (act, subject, detail, outcome) in enumerate(said, start=1):
            connection.execute(
                text(
                    "INSERT INTO audit (seq, id, at, actor, act, subject, detail, outcome) VALUES "
                    "(:seq, :id, 1, 'asha', :act, :subject, :detail, :outcome)"
                ),
                {"seq": seq, "id": f"a{seq}", "act": act, "subject": subject, "detail": detail,
                 "outcome": outcome},
            )  # fmt: skip
        connection.execute(text("UPDATE feed_head SET seq = 4"))
    found.dispose()
    store = open_store(migrate=True)
    [(alarm, held)] = store.acknowledgements.newest(one[1] for one in said).items()
    assert (alarm, held.actor, held.reason, held.until) == (said[0][1], "asha", "second", None)
    assert store.maintenance.check() == ()


def test_a_migration_that_fails_leaves_the_older_store_as_it_was(
    older: Engines, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(older)
    older.dispose()
    reached: list[str] = []

    def fail(connection: Connection, to: str) -> None:
        reached.append(connection.execute(text("SELECT * FROM alembic_version")).scalar_one())
        raise OSError("the power went")

    monkeypatch.setattr(migrations, "_say_works_from", fail)
    with pytest.raises(Exception, match="open the store"):
        Store.open(url, migrate=True)
    assert reached == [migrations.REVISIONS[-1]], "all of it was done, and is undone"
    again = engines(url)
    with again.reader.connect() as connection:
        assert migrations.revision(connection) == FIRST
    assert everything(again) == before
    again.dispose()
    monkeypatch.undo()
    with Store.open(url, migrate=True) as store:
        assert store.maintenance.check() == ()


def test_every_revision_is_known_by_its_name_and_says_whether_it_only_adds() -> None:
    script = ScriptDirectory(str(Path(migrations.__file__).parent))
    found = list(script.walk_revisions())
    assert tuple(revision.revision for revision in reversed(found)) == migrations.REVISIONS
    assert {type(revision.module.additive) for revision in found} == {bool}


def test_two_that_open_a_new_store_at_once_make_one(url: str) -> None:
    import threading

    opened: list[str] = []
    failed: list[Exception] = []

    def open_it() -> None:
        try:
            with Store.open(url) as store:
                opened.append(store.store_id)
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(opened) == 4
    assert len(set(opened)) == 1


@pytest.mark.parametrize("table", sorted(metadata.tables))
def test_every_name_follows_the_convention(table: str) -> None:
    for index in metadata.tables[table].indexes:
        assert str(index.name).startswith(f"ix_{table}_")


@pytest.mark.postgres
def test_a_migration_may_think_longer_between_statements_than_the_journal(
    postgres_url: str,
) -> None:
    found = engines(postgres_url)
    asked = text("SELECT current_setting('idle_in_transaction_session_timeout')")
    with found.writing() as connection, connection.begin():
        before = connection.execute(asked).scalar_one()
        migrations.upgrade(connection)
        assert (before, connection.execute(asked).scalar_one()) == ("5s", "1min")
    found.dispose()
