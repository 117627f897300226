"""After a restore: what was created since the backup is unknown, so nothing new is sent.

A store from a backup does not know what was sent after the backup was made. The service has no
look-up by reference, so a creation cannot ask it whether the customer was charged already. Until a
person has brought the collections of that time into the store, every new creation is refused, and
afterwards their references count as used.
"""

from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from kusanya.errors import IntentError, IntentReason, StoreError
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.intents.rows import INTENT_COLUMNS, change, to_intent
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import IntentState, Restore
from kusanya.store.tables.inserting import keep_in_meta
from kusanya.store.tables.schema import (
    audit,
    break_fact,
    claim,
    delivery,
    intent,
    intent_attempt,
    intent_change,
    note,
    observation,
    receipt,
    store_meta,
)
from kusanya.store.tables.values import from_us, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_DATES: Final = (
    observation.c.observed_at,
    delivery.c.arrived_at,
    intent_change.c.at,
    note.c.at,
    audit.c.at,
    break_fact.c.at,
    receipt.c.at,
)
_OPEN: Final = (IntentState.PREPARED.value, IntentState.SENT.value, IntentState.UNKNOWN.value)
# Made once: building a statement costs many times what running it does.
_META: Final = select(store_meta.c.value).where(store_meta.c.name == bindparam("of"))


class Restores(StorePart):
    """Whether the store was put back from a backup, and whether that is resolved."""

    def of(self, mode: Mode) -> Restore | None:
        """Return the last restore as it stands for a mode, or None where there was none."""
        with self._reading("read whether the store was restored") as connection:
            return _restore(connection, mode)

    def mark(self, *, actor: str, detail: str = "") -> int:
        """Mark the store as put back from a backup by other means than ours; audited.

        Returns how many creations were open in it. From now on nothing is sent until `resolve`.
        """
        return self._act(lambda writing: mark(writing, actor=actor, detail=detail))

    def resolve(self, mode: Mode, *, actor: str, why: str) -> Restore:
        """Record that all that was created between backup and restore is known; audited.

        From then on creations of this mode are sent again. Raises ValueError without a reason,
        StoreError where there is nothing to resolve.
        """
        if not why.strip():
            raise ValueError("resolving a restore needs a reason")

        def act(writing: Transaction) -> Restore:
            standing = _restore(writing.connection, mode)
            if standing is None or standing.resolved_at is not None:
                raise StoreError(f"no restore waits to be resolved in {mode.value} mode")
            resolved = msgspec.structs.replace(standing, resolved_at=writing.now)
            writing.connection.execute(
                update(store_meta)
                .where(store_meta.c.name == _name(mode))
                .values(value=_packed(resolved))
            )
            audited(
                writing,
                actor=actor,
                act="resolve restore",
                subject=None,
                detail=f"{mode.value} mode: {why}",
                outcome="done",
            )
            return resolved

        return self._act(act)


def mark(writing: Transaction, *, actor: str, detail: str) -> int:
    """Mark the store in the open transaction, and return how many creations were open in it.

    They lose their window: what was sent or decided for them since the backup is not known.
    """
    connection = writing.connection
    known_to = last_date(connection)
    open_intents = 0
    query = select(*INTENT_COLUMNS).where(intent.c.state.in_(_OPEN)).order_by(intent.c.id)
    for row in map(to_intent, connection.execute(query).mappings().all()):
        open_intents += 1
        if not row.attempts:
            # It may have been sent at any time since.
            connection.execute(
                insert(intent_attempt).values(
                    intent_id=row.id, number=1, sent_at=to_us(row.prepared_at)
                )
            )
        change(
            writing,
            row,
            at=writing.now,
            state=IntentState.UNKNOWN,
            attempts=row.attempts or 1,
            first_sent_at=row.first_sent_at or row.prepared_at,
            window_closed_at=row.window_closed_at or writing.now,
            outcome="the store was restored from a backup: what became of it since is not known",
            claimed_by=None,
            claimed_until=None,
        )
    connection.execute(delete(claim))
    for mode in Mode:
        before = _restore(connection, mode)
        unresolved = before is not None and before.resolved_at is None
        known = before.known_to if before is not None and unresolved else known_to
        _keep(connection, mode, Restore(at=writing.now, known_to=known))
    audited(writing, actor=actor, act="restore", subject=None, detail=detail, outcome="done")
    return open_intents


def last_date(connection: Connection) -> datetime | None:
    """Return the date of the latest fact, or None where there is none."""
    found = [connection.execute(select(func.max(at))).scalar_one() for at in _DATES]
    dates = [at for at in found if at is not None]
    return from_us(max(dates)) if dates else None


def check_restored(connection: Connection, mode: Mode) -> None:
    """Raise IntentError while a restore is not resolved: a new creation may be a second charge."""
    restore = _restore(connection, mode)
    if restore is not None and restore.resolved_at is None:
        raise IntentError(
            "this store was restored from a backup and does not know what was created since: the "
            "customer may have been charged already. Bring the collections of that time into it "
            "(kusanya store resolve-restore), then create again",
            reason=IntentReason.ASK_FIRST,
        )


def restored_at(connection: Connection) -> datetime | None:
    """Return when the store was put back from a backup the last time, or None."""
    restore = _restore(connection, Mode.LIVE)
    return None if restore is None else restore.at


def _restore(connection: Connection, mode: Mode) -> Restore | None:
    kept: str | None = connection.execute(_META, {"of": _name(mode)}).scalar_one_or_none()
    return None if kept is None else msgspec.json.decode(kept, type=Restore)


def _keep(connection: Connection, mode: Mode, restore: Restore) -> None:
    keep_in_meta(connection, _name(mode), _packed(restore))


def _name(mode: Mode) -> str:
    return f"restored_{mode.value}"


def _packed(restore: Restore) -> str:
    return msgspec.json.encode(restore).decode()
