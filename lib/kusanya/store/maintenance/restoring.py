"""A store put back from a backup: verified, never over anything, and marked.

The mark is durable before the file has the store's name: no program can open the store and send
what was sent already.
"""

import hashlib
import os
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import func, select

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.platform.sqlite import sqlite_driver
from kusanya.store.maintenance import migrations
from kusanya.store.maintenance.maintenance import JOURNAL, Maintenance
from kusanya.store.maintenance.opening import prepare
from kusanya.store.queries.base import StoreParts
from kusanya.store.queries.notes_and_audit import operating_system_user
from kusanya.store.queries.restores import last_date, mark
from kusanya.store.records import RestoreResult
from kusanya.store.tables.engine import Engines, engines, only_store_errors
from kusanya.store.tables.sqlite_file import create_file, need_folder, sync_folder
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.statements import statements

_PIECE: Final = 1 << 20


def restore_file(
    backup: Path,
    target: Path,
    *,
    clock: Clock,
    sha256: str | None = None,
    migrate: bool = False,
) -> RestoreResult:
    """Put the store of the file `backup` back at `target`, and mark it as restored.

    The backup is only read. Raises StoreUnavailable where anything stands at `target` already or
    its folder is missing, where the backup is none, has findings, is of another revision (unless
    `migrate` allows to bring the copy up to date) or has not the digest `sha256`.
    """
    # Late: it brings much that no other use of a store needs.
    from tempfile import TemporaryDirectory

    _refuse_what_stands(target)
    with (
        only_store_errors(f"restore {backup}"),
        TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder,
    ):
        copy = Path(folder) / target.name
        digest = _copy(backup, copy)
        if sha256 is not None and sha256.strip().lower() != digest:
            raise StoreUnavailable(
                f"{backup} is not the backup that was meant: its SHA-256 is {digest}"
            )
        _refuse_damaged(copy, backup)
        found = engines(str(copy))
        try:
            result = _marked(found, backup, digest, clock=clock, migrate=migrate)
        finally:
            found.dispose()
        _into_one_file(found)
        try:
            os.link(copy, target)  # unlike a rename it never takes another file's place
        except FileExistsError:
            raise _stands(target) from None
        sync_folder(target.parent)
    return result


def _refuse_damaged(copy: Path, backup: Path) -> None:
    """Refuse a file whose pages do not fit together, before a program opens it as a store."""
    driver = sqlite_driver()
    try:
        with closing(driver.connect(copy)) as connection:
            [(said,), *_] = connection.execute("PRAGMA quick_check")
    except driver.DatabaseError as error:
        said = str(error)
    if said not in {"ok", "file is not a database"}:
        raise StoreUnavailable(f"the backup {backup} is damaged: take another one")


def _marked(
    found: Engines, backup: Path, digest: str, *, clock: Clock, migrate: bool
) -> RestoreResult:
    with found.reading() as connection:
        revision = migrations.revision(connection)
    if revision is None:
        raise StoreUnavailable(f"{backup} holds no store")
    if revision != migrations.REVISIONS[-1] and not migrate:
        raise StoreUnavailable(
            f"the backup {backup} is of an older version: it has revision {revision} and this "
            f"version needs {migrations.REVISIONS[-1]}; to bring the restored store up to date, "
            "add --migrate"
        )
    store_id = prepare(found, create=False, migrate=migrate, read_only=False)
    findings = Maintenance(StoreParts(found, None, clock, store_id)).check()
    if findings:
        raise StoreUnavailable(
            f"the backup {backup} does not agree with itself ({findings[0].sentence}; "
            f"{len(findings)} findings): take another one"
        )
    with found.writing() as connection, connection.begin():
        known_to = last_date(connection)
        facts = sum(
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in JOURNAL
        )
        writing = Transaction(
            connection, statements=statements(connection.dialect), now=clock.now()
        )
        open_intents = mark(writing, actor=operating_system_user(), detail=f"sha256 {digest}")
        writing.finish()
    return RestoreResult(sha256=digest, facts=facts, known_to=known_to, open_intents=open_intents)


def _refuse_what_stands(target: Path) -> None:
    if os.path.lexists(target):  # also a folder without a name, as . and /
        raise _stands(target)
    need_folder(target)
    for beside in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        if os.path.lexists(beside):
            raise _stands(beside)


def _stands(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} exists already, and a restore never overwrites: stop the programs that use it and "
        "move it away"
    )


def _copy(backup: Path, copy: Path) -> str:
    """Copy the file and return the SHA-256 of what was copied."""
    wal = Path(f"{backup}-wal")
    if wal.exists() and wal.stat().st_size:
        raise StoreUnavailable(
            f"{backup} has a -wal beside it, so it is a store and no backup: make a backup of it "
            "with kusanya store backup"
        )
    digest = hashlib.sha256()
    create_file(copy)
    with backup.open("rb") as source, copy.open("wb") as sink:
        while piece := source.read(_PIECE):
            digest.update(piece)
            sink.write(piece)
    return digest.hexdigest()


def _into_one_file(found: Engines) -> None:
    """Bring what was written into the file itself, durably; nobody else knows of it yet."""
    file = found.file
    if file is None:
        raise StoreUnavailable("a backup is restored into a file")
    with closing(file.connect("mode=rw")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    with file.path.open("rb+") as written:
        os.fsync(written.fileno())
