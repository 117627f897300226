"""Everything that is kept: the journal, the projection, the change feed.

`Store` is the door; the records it takes and gives are in `kusanya.store.records`.
"""

from kusanya.store.maintenance.journal_copy import JournalCopy
from kusanya.store.maintenance.migrations import REVISIONS
from kusanya.store.maintenance.moving import move_store
from kusanya.store.maintenance.restoring import restore_file
from kusanya.store.maintenance.roles import roles_sql
from kusanya.store.maintenance.verifying import verify_backup
from kusanya.store.store import Store, check_store

__all__ = [
    "REVISIONS",
    "JournalCopy",
    "Store",
    "check_store",
    "move_store",
    "restore_file",
    "roles_sql",
    "verify_backup",
]
