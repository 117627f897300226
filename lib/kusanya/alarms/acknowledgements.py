"""Who looks after which alarm. An acknowledgement is an audit row; it hides no alarm."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.store import Store

ACKNOWLEDGE: Final = "acknowledge"
"""The audited act; its subject is the alarm's id."""


class Acknowledgement(msgspec.Struct, frozen=True):
    """Who looks after an alarm, since when, and what they said."""

    by: str
    at: datetime
    why: str


def acknowledgements(store: Store) -> dict[str, Acknowledgement]:
    """Return the newest acknowledgement of each alarm, by the alarm's id. Raises StoreError."""
    newest = store.audit.newest_done(ACKNOWLEDGE)
    return {alarm: Acknowledgement(row.actor, row.at, row.detail) for alarm, row in newest.items()}
