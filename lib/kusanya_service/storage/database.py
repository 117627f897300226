"""Opening the database: durable settings, migrations, and clear refusals.

WAL with synchronous=FULL: a change that was answered survives power loss. `kusanya.platform.sqlite`
says which SQLite is new enough for that.
"""

import os
from pathlib import Path
from typing import Any, Final

from kusanya.platform.sqlite import bind_unchanged, sqlite_driver, sqlite_refusal
from kusanya_service.errors import DataDamaged, DataFolderUnusable, DataTooNew
from kusanya_service.storage.schema import MIGRATIONS

Connection = Any
"""A connection of the driver, which ships no types."""

FILE_NAME: Final = "service.sqlite"
_LOCK_WAIT_S: Final = 5.0
_CACHE_KIB: Final = 64 * 1024
_CHECKPOINT_PAGES: Final = 2_000

sqlite: Final = sqlite_driver()
OperationalError: Final = sqlite.OperationalError
DatabaseError: Final = sqlite.DatabaseError


def open_database(path: Path) -> Connection:
    """Open the database for writing, creating or migrating it as needed.

    Raises DataTooNew before anything was touched, DataDamaged, or DataFolderUnusable.
    """
    if refusal := sqlite_refusal(sqlite):
        raise DataFolderUnusable(refusal)
    bind_unchanged(sqlite)
    try:
        connection = _connect(path)
        _refuse_newer(connection)
        _set_pragmas(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        _migrate(connection)
    except sqlite.OperationalError as error:
        raise DataFolderUnusable(f"the data folder cannot be used: {error}") from None
    except sqlite.DatabaseError as error:
        raise DataDamaged(f"{path.name} in the data folder is damaged: {error}") from None
    _sync_folder(path.parent)
    return connection


def open_reader(path: Path) -> Connection:
    """Open the database for reading alone."""
    connection = _connect(path)
    _set_pragmas(connection)
    connection.execute("PRAGMA query_only = ON")
    return connection


def reopen_writer(path: Path) -> Connection:
    """Open the database again after a failed write: the old connection's view is not trusted."""
    connection = _connect(path)
    _set_pragmas(connection)
    return connection


def _connect(path: Path) -> Connection:
    # Each connection stays in one thread at a time; the writer's is opened in another than its own.
    return sqlite.connect(
        str(path), timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False
    )


def _set_pragmas(connection: Connection) -> None:
    for pragma in (
        "synchronous = FULL",
        "foreign_keys = ON",
        "mmap_size = 0",
        "temp_store = MEMORY",
        f"cache_size = -{_CACHE_KIB}",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _version(connection: Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _refuse_newer(connection: Connection) -> None:
    version = _version(connection)
    if version > len(MIGRATIONS):
        connection.close()
        raise DataTooNew(
            f"the data folder was written by a newer version (data version {version}, this program "
            f"knows {len(MIGRATIONS)}): use that version, or another data folder"
        )


def _migrate(connection: Connection) -> None:
    for number, (_, script) in enumerate(MIGRATIONS[_version(connection) :], _version(connection)):
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number + 1};\nCOMMIT;"
        )


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows opens no folder to sync it; NTFS keeps a journal of names
    # SQLite passes over a failed sync of the folder; without it a new file can be lost whole.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
