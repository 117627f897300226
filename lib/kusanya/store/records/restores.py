"""What comes of backing up, restoring, moving and erasing."""

from datetime import datetime, timedelta

import msgspec

from kusanya.store.records.rows import StoreFinding


class Backup(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the store that can be put back, as the store itself remembers it."""

    at: datetime
    """What was committed before is in it."""
    name: str
    """Of its file, or how it was made; without the folder."""
    sha256: str = ""
    """Of its file, in hexadecimal; empty where other tools made it."""


class BackupResult(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was made, and whether it was found to be sound."""

    backup: Backup
    findings: tuple[StoreFinding, ...]
    """What its check found; where there is anything the store does not remember the backup."""


class BackupStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The newest verified backup, and how old it may become."""

    last: Backup | None = None
    expected_since: datetime | None = None
    """When somebody said how old it may become; None where nobody has."""
    within: timedelta | None = None
    """How old it may become; None for any age."""

    @property
    def since(self) -> datetime | None:
        """Return from when its age counts; None where no backup is expected."""
        if self.within is None:
            return None
        return self.expected_since if self.last is None else self.last.at


class Restore(msgspec.Struct, frozen=True, kw_only=True):
    """A restore, as it stands for one mode.

    What was created between `known_to` and `at` may be missing from the store. Until `resolved_at`
    nothing new is sent in this mode.
    """

    at: datetime
    known_to: datetime | None
    """The date of the latest fact of the backup; None for a store without one."""
    resolved_at: datetime | None = None


class RestoreResult(msgspec.Struct, frozen=True, kw_only=True):
    """A store that was put back from a backup."""

    sha256: str
    """Of the backup's file, in hexadecimal."""
    facts: int
    known_to: datetime | None
    open_intents: int
    """Creations that were open in the backup; none of them is sent again."""


class MoveResult(msgspec.Struct, frozen=True, kw_only=True):
    """A store that was moved to another engine."""

    rows: int
    """All rows of the store."""
    copied: int
    """Those that this call copied."""
    digest: str | None
    """Of every row, the same before and after; None where an earlier call had verified it."""
    seconds: float


class ErasureResult(msgspec.Struct, frozen=True, kw_only=True):
    """How many rows of each kind lost what was personal in them."""

    collections: int
    creations: int
    deliveries: int
    notes: int
