"""A backup put back beside the store and checked there: only that proves that it is one."""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import Connection, text

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.privacy import redact
from kusanya.privacy.secret_url import SecretUrl
from kusanya.store.maintenance.backing_up import as_variables
from kusanya.store.maintenance.maintenance import Maintenance
from kusanya.store.maintenance.opening import prepare
from kusanya.store.maintenance.restoring import restore_file
from kusanya.store.queries.base import StoreParts
from kusanya.store.records import StoreFinding
from kusanya.store.tables.engine import Engines, engines, only_store_errors
from kusanya.store.tables.sessions import refuse_poolers

SCRATCH_NAME: Final = "_scratch"
"""How the name of a database ends whose contents may be thrown away."""
_DUMP: Final = b"PGDMP"
_SCHEMAS: Final = text(
    "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' "
    "AND nspname <> 'information_schema'"
)


def verify_backup(
    backup: Path, *, clock: Clock, scratch: SecretUrl | None = None
) -> tuple[StoreFinding, ...]:
    """Put a backup back in another place, check it as `check` does, and remove it again.

    Of a file it is put into a temporary folder; of pg_dump's into the database `scratch`, whose
    name ends in `_scratch`: everything in it is dropped before and afterwards. Returns what the
    check found. Raises StoreUnavailable where it cannot be put back at all.
    """
    with only_store_errors(f"open the backup {backup}"), backup.open("rb") as file:
        is_dump = file.read(len(_DUMP)) == _DUMP
    if not is_dump:
        with TemporaryDirectory(prefix="kusanya-verify-") as folder:
            restore_file(backup, Path(folder) / "store.sqlite", clock=clock)
        return ()  # what has findings is not put back
    if scratch is None:
        raise StoreUnavailable(
            f"a dump is put back into an empty database: name one that ends in {SCRATCH_NAME}"
        )
    found = engines(scratch)
    try:
        if found.sqlite or not (found.writer.url.database or "").endswith(SCRATCH_NAME):
            raise StoreUnavailable(
                f"{found.shown} does not end in {SCRATCH_NAME}: all that it holds would be dropped"
            )
        with only_store_errors(f"put a backup back into {found.shown}"):
            with found.reading() as connection:
                refuse_poolers(connection.connection.driver_connection, "a proof of a backup")
            _empty(found)
            try:
                _put_back(backup, found)
                store_id = prepare(found, create=False, migrate=False, read_only=True, clock=clock)
                return Maintenance(StoreParts(found, None, clock, store_id)).check()
            finally:
                _empty(found)
    finally:
        found.dispose()


def _empty(found: Engines) -> None:
    found.reader.dispose()  # their sessions would hold what is dropped
    with found.writer.connect() as connection, connection.begin():
        _drop_all(connection)
        connection.execute(text("CREATE SCHEMA public"))


def _drop_all(connection: Connection) -> None:
    for name in connection.execute(_SCHEMAS).scalars().all():
        connection.execute(text(f"DROP SCHEMA {name} CASCADE"))


def _put_back(backup: Path, found: Engines) -> None:
    program = shutil.which("pg_restore")
    if program is None:
        raise StoreUnavailable("pg_restore is not in PATH: install the server's postgresql-client")
    environ = dict(os.environ) | as_variables(found.writer.url)
    words = ["--no-password", "--no-owner", "--no-privileges", "--exit-on-error"]
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL's, without a shell
        [program, *words, f"--dbname={environ['PGDATABASE']}", str(backup)],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise StoreUnavailable(f"{backup} cannot be put back: {redact(said) or done.returncode}")
