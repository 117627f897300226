"""Opening: creating, refusing and reading someone else's store."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from kusanya.errors import StoreTooNew, StoreUnavailable
from kusanya.store import Store
from kusanya.wire import Mode

Opener = Callable[..., Store]


@pytest.fixture
def prepared() -> bool:
    """Begin with nothing: these tests are about how a store comes to be."""
    return False


def test_a_store_keeps_its_id_and_its_facts(open_store: Opener, make: Any) -> None:
    first = open_store()
    first.record(make.arrival(1))
    first.close()
    again = open_store()
    assert again.store_id == first.store_id
    assert len(again.store_id) == 32
    assert again.collections.get("col_1", Mode.TEST) is not None


def test_a_closed_store_refuses_to_read_and_to_write(open_store: Opener, make: Any) -> None:
    store = open_store()
    store.record(make.arrival(1))
    store.close()
    for use in (
        lambda: store.collections.get("col_1", Mode.TEST),
        store.feed.head,
        lambda: store.record(make.arrival(2)),
        store.migrate,
    ):
        with pytest.raises(StoreUnavailable, match="the store is closed"):
            use()
    store.close()


def test_a_newer_store_is_refused_and_left_untouched(open_store: Opener, make: Any) -> None:
    store = open_store()
    with store._engines.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text("DELETE FROM store_meta WHERE name = 'works_from'"))
    with pytest.raises(StoreTooNew, match="newer"):
        open_store()
    with store._engines.reader.connect() as connection:
        kept = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    assert kept == "9999"


def test_a_reader_neither_creates_nor_writes(open_store: Opener, make: Any) -> None:
    with pytest.raises(StoreUnavailable):
        open_store(read_only=True)
    with pytest.raises(StoreUnavailable):
        open_store(create=False)
    store = open_store()
    reader = open_store(read_only=True)
    store.record(make.arrival(1))
    assert reader.collections.get("col_1", Mode.TEST) is not None
    assert reader.queue_depth == 0
    with pytest.raises(StoreUnavailable, match="read-only"):
        reader.submit(make.arrival(2))
    with pytest.raises(StoreUnavailable, match="read-only"):
        reader.migrate()
    with (
        pytest.raises(DBAPIError, match=r"(?i)read-?only"),
        reader._engines.reader.connect() as connection,
    ):
        connection.execute(text("DELETE FROM delivery"))


def test_a_database_of_something_else_is_refused(url: str, open_store: Opener) -> None:
    from kusanya.store.tables.engine import engines
    from kusanya.store.tables.sqlite_file import create_file

    found = engines(url)
    if found.path is not None:
        create_file(found.path)
    with found.writer.begin() as connection:
        connection.execute(text("CREATE TABLE cats (name TEXT)"))
    found.dispose()
    with pytest.raises(StoreUnavailable, match="something else"):
        open_store()


def test_a_plain_path_is_an_sqlite_store_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a store?.db"
    with Store.open(path) as store:
        assert store.url_shown == f"sqlite:///{path}"
        assert store.collections.page(Mode.LIVE).rows == ()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with store._engines.writer.connect() as connection:
            settings = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "mmap_size", "foreign_keys")
            ]
    assert settings == ["wal", 2, 0, 1]


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://u:geheim@host/db", "SQLite file or a postgresql"),
        ("sqlite://", "lives in a file"),
        ("sqlite:///:memory:", "lives in a file"),
        (
            "postgresql://u:geheim@127.0.0.1:1/db",
            r"refused.*; start again when the database answers",
        ),
        ("://", "address cannot be read"),
    ],
    ids=["other engine", "no file", "memory", "nobody listens", "no address"],
)
def test_an_address_that_is_no_store_says_what_is_wrong(url: str, says: str) -> None:
    with pytest.raises(StoreUnavailable, match=says) as caught:
        Store.open(url)
    assert "geheim" not in str(caught.value)


def test_a_path_that_cannot_be_a_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("plainly a text, and longer than an empty database" * 9)
    for path in (tmp_path, tmp_path / "file", tmp_path / "file" / "below.db"):
        with pytest.raises(StoreUnavailable, match="cannot open the store") as caught:
            Store.open(str(path))
        assert len(str(caught.value).splitlines()) == 1
    assert (tmp_path / "file").read_text().startswith("plainly")


def test_a_password_is_never_shown() -> None:
    from kusanya.store.tables.engine import engines

    shown = engines("postgresql://asha:geheim@db.internal/pay?password=geheim2").shown
    assert "geheim" not in shown
    assert shown.startswith("postgresql://asha:***@db.internal/pay")


def test_the_folder_of_a_new_store_and_of_a_backup_is_synced_after_its_name_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: dict[Path, set[str]] = {}
    fsync = os.fsync

    def watched(descriptor: int) -> None:
        folder = Path(f"/proc/self/fd/{descriptor}").readlink()
        if folder.is_dir():
            synced[folder] = {path.name for path in folder.iterdir()}
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    (tmp_path / "stores").mkdir()
    (tmp_path / "backups").mkdir()
    with Store.open(tmp_path / "stores" / "new.db") as store:
        # Without it the name of the file could be gone after a loss of power.
        assert "new.db" in synced[tmp_path / "stores"]
        store.maintenance.backup(tmp_path / "backups" / "copy.db")
        assert "copy.db" in synced[tmp_path / "backups"]
