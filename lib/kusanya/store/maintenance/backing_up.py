"""A backup of a store: made while it is in use, under another name until it is whole.

An SQLite file is copied by SQLite, a PostgreSQL database by its own pg_dump. The store remembers a
backup only where its check found nothing: an alarm counts the age of the newest one that can be
put back.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.privacy import redact
from kusanya.store.records import Backup
from kusanya.store.tables.engine import Engines, only_store_errors
from kusanya.store.tables.sessions import refuse_poolers
from kusanya.store.tables.sqlite_file import need_folder, sync_folder

try:
    import fcntl
except ImportError:  # Windows: what a killed backup left is removed by hand there
    fcntl = None  # type: ignore[assignment]

PART: Final = ".part"
"""How the name of a backup ends that is not whole: no name of a backup ends so."""
_VARIABLES: Final = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "dbname": "PGDATABASE",
    "passfile": "PGPASSFILE",
    "options": "PGOPTIONS",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "channel_binding": "PGCHANNELBINDING",
    "connect_timeout": "PGCONNECT_TIMEOUT",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
"""Where PostgreSQL's programs look for the parts of an address: never on a command line."""


def copy_to(source: Engines, target: Path, *, clock: Clock) -> Backup:
    """Copy the store to a new file of this user's; whole and durable under its name on return.

    Until then it is `.NAME.part` beside it, and what a killed backup left there is removed. Raises
    StoreUnavailable when the file exists, where its folder is missing or it cannot be made, and for
    a store on PostgreSQL where pg_dump is not installed or fails, or where a pooler stands before
    the server.
    """
    if target.exists():
        raise StoreUnavailable(f"{target} exists already; a backup never overwrites")
    need_folder(target)
    began = clock.now()
    with only_store_errors(f"back up to {target}"):
        remove_parts(target.parent)
        with _part_of(target) as part:
            path = _part_name(target)
            if source.sqlite:
                _copy_file(source, path)
            else:
                with source.reading() as connection:
                    refuse_poolers(connection.connection.driver_connection, "a backup")
                _dump(source.writer.url, path)
            os.fsync(part.fileno())
            digest = hashlib.file_digest(part, "sha256").hexdigest()
            _name(path, target)
        sync_folder(target.parent)
    return Backup(at=began, name=target.name, sha256=digest)


def remove_parts(folder: Path) -> None:
    """Remove what killed backups left in `folder`; one that is being made is left alone."""
    if fcntl is None:
        return
    for path in folder.glob(f".*{PART}"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            path.unlink()


def _part_name(target: Path) -> Path:
    return target.with_name(f".{target.name}{PART}")


@contextlib.contextmanager
def _part_of(target: Path) -> Iterator[BufferedRandom]:
    """Make the file that becomes `target`, this user's alone from its first byte on."""
    path = _part_name(target)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise StoreUnavailable(f"{path} is there: is another backup being made?") from None
    with open(descriptor, "rb+") as file:  # noqa: PTH123 - a descriptor
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield file
        finally:
            path.unlink(missing_ok=True)


def _name(part: Path, target: Path) -> None:
    """Give what is whole its name, and never take another file's."""
    try:
        target.hardlink_to(part)
    except FileExistsError:
        raise StoreUnavailable(f"{target} exists already; a backup never overwrites") from None
    except OSError:  # a file system without second names
        part.rename(target)


def _copy_file(source: Engines, path: Path) -> None:
    with source.reading() as connection:
        # The copy is made inside the file system by SQLite itself, outside any transaction.
        raw: Any = connection.connection.driver_connection
        raw.execute("PRAGMA query_only = 0")
        try:
            raw.execute("VACUUM INTO ?", (str(path),))
        finally:
            raw.execute("PRAGMA query_only = 1")


def _dump(address: URL, path: Path) -> None:
    """Write a dump of PostgreSQL's own form, and read the whole of it back."""
    environ = dict(os.environ) | as_variables(address)
    for words in (
        ["pg_dump", "--no-password", "--format=custom", f"--file={path}"],
        ["pg_restore", f"--file={os.devnull}", str(path)],
    ):
        program = shutil.which(words[0])
        if program is None:
            raise StoreUnavailable(
                f"a PostgreSQL store is backed up by {words[0]}, which is not in PATH: install "
                "the server's postgresql-client; or copy it by other means and run "
                "kusanya store mark-backed-up"
            )
        done = subprocess.run(  # noqa: S603 - a program of PostgreSQL's, without a shell
            [program, *words[1:]],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
            raise StoreUnavailable(f"{words[0]} ended with {done.returncode}: {redact(said)}")


def as_variables(address: URL) -> dict[str, str]:
    """Return an address as the variables that PostgreSQL's programs read."""
    parts: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "user": address.username,
        "password": address.password,
        "dbname": address.database,
        **address.query,
    }
    return {
        _VARIABLES[name]: ",".join(value) if isinstance(value, tuple) else str(value)
        for name, value in parts.items()
        if value is not None and name in _VARIABLES
    }
