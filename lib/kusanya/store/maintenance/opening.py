"""How a store is opened: made where there is none, refused where it is not what it should be."""

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import select
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreAway, StoreUnavailable
from kusanya.say import Said
from kusanya.store.maintenance import migrations
from kusanya.store.tables.delivery_months import add_months
from kusanya.store.tables.engine import Engines, engines, only_store_errors, why
from kusanya.store.tables.schema import store_meta
from kusanya.store.tables.sessions import is_lock_timeout
from kusanya.store.tables.sqlite_file import SqliteFile

_log: Final = logging.getLogger("kusanya.store")
_SYSTEM: Final = SystemClock()


def prepare(
    found: Engines,
    *,
    create: bool,
    migrate: bool,
    read_only: bool,
    upgrade: bool = False,
    clock: Clock = _SYSTEM,
) -> str:
    """Create and migrate as allowed; return the store's id.

    `upgrade` brings an older schema up to date and, unlike `migrate`, takes nothing else as it
    stands. Raises StoreError with what to do where the store cannot be used as it stands.
    """
    create, migrate = create and not read_only, migrate and not read_only
    with (
        only_store_errors(f"open the store {found.shown}"),
        _explained(found),
        # One use from here to the end: no fork comes between.
        found.connections.use(),
    ):
        if found.file is not None:
            _prepare_file(
                found.file, create=create, migrate=migrate, read_only=read_only, clock=clock
            )
            # A server's database counts as none while it is empty; a file is there or it is not.
            create = migrate
        revision = _revision(found)
        if revision is None and not create:
            raise StoreUnavailable(_no_store(found))
        if revision != migrations.REVISIONS[-1]:
            if revision is not None and not (migrate or upgrade):
                raise StoreUnavailable(
                    f"{found.shown} is of an older version: it has revision {revision} and this "
                    f"version needs {migrations.REVISIONS[-1]}; when every program that uses it "
                    "has this version, run kusanya store migrate"
                )
            bring_up_to_date(found, clock)
        elif not (read_only or found.sqlite):
            _make_months(found, clock)
        store_id = _store_id(found)
        if found.file is not None and not read_only:
            # Kept in the file: readers go on reading while the one writer writes.
            _pragma(found.file, "journal_mode = WAL")
            found.file.take_note(store_id)
        if found.identity is not None:
            found.identity.remember(read_only=read_only)
        return store_id


def _make_months(found: Engines, clock: Clock) -> None:
    """Make the months to come, so that nobody has to think of them."""
    try:
        with found.writing() as connection, connection.begin():
            add_months(connection, clock.now())
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        # There are months for long still; the next opening makes them.
        _log.warning("months not made", extra={"reason": why(error)})


@contextmanager
def _explained(found: Engines) -> Iterator[None]:
    """Say more than the engine does where an opening often fails."""
    try:
        yield
    except (SQLAlchemyError, StoreUnavailable) as error:
        folder = None if found.path is None else found.path.parent
        if folder is not None and folder.is_dir() and not os.access(folder, os.W_OK):
            raise StoreUnavailable(
                f"cannot open the store {found.shown}: {folder} is not writable, and SQLite writes "
                "beside the file even where it only reads: mount the folder writable, or copy the "
                "store to one that is"
            ) from error
        if not found.sqlite and _is_away(error):
            raise StoreAway(
                f"cannot open the store {found.shown}: {why(error)}; start again when the database "
                "answers, or let a supervisor do that"
            ) from None
        raise


def _is_away(error: Exception) -> bool:
    """Return whether no session was opened: the server has not said a word with a code."""
    return isinstance(error, OperationalError) and not getattr(error.orig, "sqlstate", None)


def _prepare_file(
    file: SqliteFile, *, create: bool, migrate: bool, read_only: bool, clock: Clock
) -> None:
    if not file.path.exists():
        if not migrate:
            file.refuse_new()
        if not (create or migrate):
            raise StoreUnavailable(
                Said(
                    "there is no store at {path}: check the path; kusanya store migrate begins one"
                ).of(path=file.path)
            )
        file.create(partial(_make, clock=clock))
    file.refuse_shared_names()
    if not migrate:
        file.refuse_foreign_wal()
    if not read_only:
        file.refuse_torn_apart(forgiving=migrate)


def _make(path: Path, *, clock: Clock) -> None:
    made = engines(str(path))
    try:
        bring_up_to_date(made, clock)
    finally:
        made.dispose()


def bring_up_to_date(found: Engines, clock: Clock) -> bool:
    """Bring a store up to date, or make one; tell whether anything was done."""
    with found.writing() as connection, connection.begin():
        done = migrations.upgrade(connection, now=clock.now())
    if found.file is not None:
        # Into the file itself: without its -wal it is still a store, only an older one.
        _pragma(found.file, "wal_checkpoint(TRUNCATE)")
    return done


def _pragma(file: SqliteFile, setting: str) -> None:
    try:
        with closing(file.connect("mode=rw")) as connection:
            connection.execute(f"PRAGMA {setting}").fetchall()
    except file.error as error:
        raise StoreUnavailable(
            Said("cannot open {path}: {why}").of(path=file.path, why=str(error))
        ) from None


def _revision(found: Engines) -> str | None:
    with found.reading() as connection:
        return migrations.revision(connection)


def _store_id(found: Engines) -> str:
    with found.reading() as connection:
        store_id: str = connection.execute(
            select(store_meta.c.value).where(store_meta.c.name == "store_id")
        ).scalar_one()
        return store_id


def _no_store(found: Engines) -> str:
    if found.sqlite:
        return (
            f"{found.path} holds no store: if one was here, put it back or restore a backup; "
            "to begin an empty one, run kusanya store migrate"
        )
    return f"{found.shown} is no store yet: run kusanya store migrate"
