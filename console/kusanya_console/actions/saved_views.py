"""Filters that people saved under a name, for everybody who works on the store.

A saved view is an audit row: who saved or deleted which, and when. The
newest row of a name counts.
"""

import re
from datetime import datetime
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import AuditFilter

SAVE: Final = "save view"
DELETE: Final = "delete view"
"""The audited acts; their subject is the list and the name, as in live:@fraud."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")


class SavedView(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of one list under a name."""

    of: str
    """The list: live, deliveries or audit."""
    name: str
    text: str
    """The filter, as `kusanya.filters.parse` reads it."""
    by: str
    at: datetime


def load_views(store: Store) -> tuple[SavedView, ...]:
    """Return the saved views of every list, by name. Raises StoreError."""
    newest: dict[str, SavedView | None] = {}
    where = AuditFilter(acts=(SAVE, DELETE))
    page = store.audit.page(where=where)
    while True:
        for row in page.rows:
            of, _, name = (row.subject or "").partition(":@")
            if not name or row.act not in {SAVE, DELETE}:
                continue
            view = SavedView(of=of, name=name, text=row.detail, by=row.actor, at=row.at)
            newest.setdefault(row.subject or "", view if row.act == SAVE else None)
        if not page.more:
            break
        page = store.audit.page(where=where, older_than=page.rows[-1].key)
    held = (view for view in newest.values() if view is not None)
    return tuple(sorted(held, key=lambda view: (view.of, view.name)))


def save_view(store: Store, *, of: str, name: str, text: str) -> SavedView:
    """Save a filter of a list under a name, in place of what it named before.

    Raises ValueError for what is no name, and StoreError.
    """
    _check(name)
    row = store.audit.add(
        actor=store.audit.actor, act=SAVE, subject=f"{of}:@{name}", detail=text, outcome="done"
    )
    return SavedView(of=of, name=name, text=row.detail, by=row.actor, at=row.at)


def delete_view(store: Store, *, of: str, name: str) -> None:
    """Delete a saved view; who did it stays in the audit. Raises ValueError and StoreError."""
    _check(name)
    store.audit.add(actor=store.audit.actor, act=DELETE, subject=f"{of}:@{name}", outcome="done")


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(
            "a name has small letters, digits, - and _, 30 at most, as in fraud or night-shift"
        )
