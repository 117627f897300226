"""A backup of an SQLite store: copied while it is in use, then checked as a restore would check it.

The store remembers a backup only where its check found nothing: an alarm counts the age of the
newest one that can be put back.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.store.records import Backup
from kusanya.store.tables.engine import Engines, only_store_errors
from kusanya.store.tables.sqlite_file import sync_folder


def copy_to(source: Engines, target: Path, *, clock: Clock) -> Backup:
    """Copy the store to a new file of this user's; durable on return.

    Raises StoreUnavailable when the file exists or the store is on PostgreSQL.
    """
    if not source.sqlite:
        raise StoreUnavailable(
            "back up a PostgreSQL store with pg_dump, then run kusanya store mark-backed-up"
        )
    if target.exists():
        raise StoreUnavailable(f"{target} exists already; a backup never overwrites")
    began = clock.now()
    with only_store_errors(f"back up to {target}"):
        with source.reading() as connection:
            # The copy is made inside the file system by SQLite itself, outside any transaction.
            raw: Any = connection.connection.driver_connection
            raw.execute("PRAGMA query_only = 0")
            try:
                raw.execute("VACUUM INTO ?", (str(target),))
            finally:
                raw.execute("PRAGMA query_only = 1")
        target.chmod(0o600)
        with target.open("rb+") as copy:
            os.fsync(copy.fileno())
            digest = hashlib.file_digest(copy, "sha256").hexdigest()
        sync_folder(target.parent)
    return Backup(at=began, name=target.name, sha256=digest)
