"""The change feed: every committed row of the journal, in one order, none missed, none twice.

`seq` is handed out under the lock of one counter row that is held until COMMIT, so whatever a
reader sees up to the counter is all there will ever be up to it.
"""

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    Table,
    cast,
    literal,
    null,
    select,
    union_all,
    update,
)

from kusanya.errors import PlaceAhead
from kusanya.store.queries.base import StorePart
from kusanya.store.records import Change, ChangeKind
from kusanya.store.tables.schema import (
    audit,
    break_fact,
    delivery,
    feed_head,
    intent_change,
    note,
    observation,
    outcome,
    receipt,
)
from kusanya.store.tables.values import delivery_id, from_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_NOTHING: Final = cast(null(), String)


class Feed(StorePart):
    """Reading the journal forward."""

    def head(self) -> int:
        """Return the place of the last committed change; 0 in an empty store."""
        with self._reading("read the change feed") as connection:
            head: int = connection.execute(select(feed_head.c.seq)).scalar_one()
            return head

    def changes(self, after: int, *, limit: int = 1000) -> tuple[Change, ...]:
        """Return the changes after place `after`, oldest first, at most `limit`.

        Calling again with the last one's `seq` goes on without a gap, also while others write.
        Raises PlaceAhead for a place that this store has not reached: what it calls that place
        later is another change.
        """
        with self._reading("read the change feed") as connection:
            # A bound read first: what commits during the query belongs to the next call.
            head = connection.execute(select(feed_head.c.seq)).scalar_one()
            if after > head:
                raise PlaceAhead(
                    f"the change feed ends at {head}, and {after} lies ahead of it: the place is "
                    "of another store, or of this one before it was restored from a backup"
                )
            parts = [_part(kind, table, after, head, limit) for kind, table in _TABLES.items()]
            query = union_all(*parts).order_by("seq").limit(limit)
            return tuple(_change(row) for row in connection.execute(query))


def touch(writing: Transaction) -> None:
    """Write the journal's end as it is: a transaction that reaches the disk and changes nothing."""
    writing.connection.execute(update(feed_head).values(removed=feed_head.c.removed))


_TABLES: Final = {
    ChangeKind.OBSERVATION: observation,
    ChangeKind.DELIVERY: delivery,
    ChangeKind.INTENT: intent_change,
    ChangeKind.NOTE: note,
    ChangeKind.AUDIT: audit,
    ChangeKind.BREAK: break_fact,
    ChangeKind.RECEIPT: receipt,
    ChangeKind.OUTCOME: outcome,
}

_COLUMNS: Final[dict[ChangeKind, tuple[ColumnElement[Any], ...]]] = {
    ChangeKind.OBSERVATION: (
        _NOTHING,
        observation.c.mode,
        observation.c.collection_id,
        observation.c.observed_at,
    ),
    ChangeKind.DELIVERY: (
        _NOTHING,
        delivery.c.mode,
        delivery.c.collection_id,
        delivery.c.arrived_at,
    ),
    ChangeKind.INTENT: (
        intent_change.c.intent_id,
        intent_change.c.mode,
        intent_change.c.collection_id,
        intent_change.c.at,
    ),
    ChangeKind.NOTE: (note.c.id, note.c.mode, note.c.subject, note.c.at),
    ChangeKind.AUDIT: (audit.c.id, _NOTHING, audit.c.subject, audit.c.at),
    ChangeKind.BREAK: (
        break_fact.c.break_id,
        break_fact.c.mode,
        break_fact.c.collection_id,
        break_fact.c.at,
    ),
    ChangeKind.RECEIPT: (
        receipt.c.receipt,
        receipt.c.mode,
        receipt.c.collection_id,
        receipt.c.at,
    ),
    ChangeKind.OUTCOME: (
        outcome.c.id,
        outcome.c.mode,
        outcome.c.collection_id,
        outcome.c.at,
    ),
}
"""Own id (missing: made from its place), mode, whom it concerns, when."""


def _part(kind: ChangeKind, table: Table, after: int, head: int, limit: int) -> Select[Any]:
    own_id, mode, concerns, at = _COLUMNS[kind]
    inner = (
        select(
            table.c.seq.label("seq"),
            literal(kind.value).label("kind"),
            own_id.label("own_id"),
            mode.label("mode"),
            concerns.label("concerns"),
            at.label("at"),
        )
        .where(table.c.seq > after, table.c.seq <= head)
        .order_by(table.c.seq)
        .limit(limit)
        .subquery(kind.value)
    )
    return select(inner)


def _change(row: Any) -> Change:
    seq, kind, own_id, mode, concerns, at = row
    if own_id is None:
        own_id = delivery_id(seq) if kind == ChangeKind.DELIVERY else f"obs_{seq}"
    return Change(
        seq=seq,
        kind=ChangeKind(kind),
        id=own_id,
        mode=None if mode is None else Mode(mode),
        collection_id=concerns if concerns is not None and concerns.startswith("col_") else None,
        at=from_us(at),
    )
