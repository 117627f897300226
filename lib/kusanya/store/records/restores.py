"""What comes of restoring, moving and erasing."""

from datetime import datetime

import msgspec


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
