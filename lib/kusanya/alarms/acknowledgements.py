"""Who looks after which alarm. An acknowledgement is an audit row; it hides no alarm."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.store import Store

ACKNOWLEDGE: Final = "acknowledge"
"""The audited act; its subject is the alarm's id."""
_AUDIT_READ: Final = 1_000
"""Acknowledgements older than so many audit rows are forgotten."""


class Acknowledgement(msgspec.Struct, frozen=True):
    """Who looks after an alarm, since when, and what they said."""

    by: str
    at: datetime
    why: str


def acknowledgements(store: Store) -> dict[str, Acknowledgement]:
    """Return the newest acknowledgement of each alarm, by the alarm's id. Raises StoreError."""
    found: dict[str, Acknowledgement] = {}
    page, read = store.audit.page(), 0
    while True:
        for row in page.rows:
            if row.act == ACKNOWLEDGE and row.subject is not None and row.outcome == "done":
                found.setdefault(row.subject, Acknowledgement(row.actor, row.at, row.detail))
        read += len(page.rows)
        if not page.more or read >= _AUDIT_READ:
            return found
        page = store.audit.page(older_than=page.rows[-1].key)
