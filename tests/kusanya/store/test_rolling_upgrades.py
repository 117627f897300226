"""Two versions of the schema at once: a program one revision behind works where it was only added.

The newer version is made here: a column and a table that this one does not know.
"""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import inspect, text
from tests.kit.intents import begin_intent

from kusanya.errors import StoreTooNew
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.maintenance import migrations
from kusanya.store.records import BreakSubject, Note
from kusanya.store.tables.engine import engines
from kusanya.store.tables.schema import metadata
from kusanya.wire import Mode

Opener = Callable[..., Store]
NEXT = f"{int(migrations.REVISIONS[-1]) + 1:04d}"


def migrate_to_next(url: str, *, works_from: str | None) -> None:
    """Do what a later version's migration would do: add to every table."""
    found = engines(url)
    with found.writing() as connection, connection.begin():
        for table in metadata.tables:
            if table in inspect(connection).get_table_names():
                connection.execute(text(f"ALTER TABLE {table} ADD COLUMN of_tomorrow BIGINT"))
        connection.execute(text("CREATE TABLE tomorrow (id BIGINT PRIMARY KEY)"))
        connection.execute(text(f"UPDATE alembic_version SET version_num = '{NEXT}'"))  # noqa: S608 - our own
        connection.execute(text("DELETE FROM store_meta WHERE name = 'works_from'"))
        if works_from is not None:
            connection.execute(
                text("INSERT INTO store_meta (name, value) VALUES ('works_from', :revision)"),
                {"revision": works_from},
            )
    found.dispose()


def work(store: Store, make: Any, first: int) -> None:
    """Write facts of every kind, as a program of this version does."""
    for number in range(first, first + 20):
        store.submit(make.observation(number, source=Source.ANSWER))
        store.submit(make.arrival(number))
    store.record(make.rejected(first))
    store.notes.add(f"col_{first}", Note("seen"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look")
    store.acknowledgements.record("stuck:test", actor="asha", reason="mine")
    store.receipts.record(f"col_{first}", Mode.TEST, f"R{first}", source="m.csv", actor="asha")
    subject = BreakSubject(break_id=f"{first:016x}", leg="books", code="missing_in_ledger")
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked")
    begun = begin_intent(store,
        idempotency_key=f"k-{first}", body=b"{}", mode=Mode.TEST, profile="shop",
        reference=f"NEW-{first}", amount=1, phone="255754000001", at=make.noon, by="me",
        until=make.noon,
    ).result()  # fmt: skip
    assert begun.new


def test_programs_one_revision_behind_go_on_and_start_again(
    url: str, open_store: Opener, make: Any
) -> None:
    running = open_store()
    work(running, make, 0)
    migrate_to_next(url, works_from=migrations.REVISIONS[-1])
    work(running, make, 100)
    started = open_store()
    work(started, make, 200)
    work(running, make, 300)
    assert {row.id for row in started.collections.page(Mode.TEST, limit=200).rows} == {
        f"col_{first + number}" for first in (0, 100, 200, 300) for number in range(20)
    }
    assert started.maintenance.check() == ()
    assert started.maintenance.rebuild().collections == 0
    assert not started.migrate()  # an older program never takes anything back


@pytest.mark.parametrize("works_from", [None, NEXT])
def test_a_program_that_cannot_work_with_a_newer_store_leaves_it_alone(
    url: str, open_store: Opener, works_from: str | None
) -> None:
    open_store().close()
    migrate_to_next(url, works_from=works_from)
    with pytest.raises(StoreTooNew, match="left untouched"):
        open_store()


def test_a_migration_says_from_which_revision_on_programs_can_work(
    url: str, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    last, before = migrations.REVISIONS[-1], migrations.REVISIONS[-2]
    found = engines(url)
    for additive, said in (({last}, before), (set(), None)):
        monkeypatch.setattr(migrations, "_is_additive", additive.__contains__)
        with found.writing() as connection, connection.begin():
            migrations._say_works_from(connection, last)
            kept = connection.execute(
                text("SELECT value FROM store_meta WHERE name = 'works_from'")
            ).scalar_one_or_none()
            assert kept == said
    found.dispose()
    open_store()
