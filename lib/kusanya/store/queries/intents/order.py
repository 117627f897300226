"""What the store knows of one order: everything under a reference, read at one moment."""

from typing import Final

from sqlalchemy import Connection, bindparam, select

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.queries.intents.rows import same_reference
from kusanya.store.queries.planner_hints import unindexed
from kusanya.store.records.erased_names import maybe_erased
from kusanya.store.records.order import OrderFacts
from kusanya.store.tables.schema import collection, receipt
from kusanya.store.tables.values import clean
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

# Made once: building a statement costs many times what running it does.
_COLLECTIONS: Final = (
    select(*SHOWN)
    .where(
        collection.c.mode == bindparam("of_mode"),
        collection.c.reference.in_((bindparam("of_reference"), bindparam("erased_reference"))),
    )
    .order_by(unindexed(collection.c.created_at).desc(), collection.c.id.desc())
)
_WITH_RECEIPT: Final = (
    select(receipt.c.collection_id)
    .where(
        receipt.c.mode == bindparam("of_mode"),
        receipt.c.collection_id.in_(bindparam("ids", expanding=True)),
    )
    .distinct()
)


def order_of(connection: Connection, mode: Mode, reference: str) -> OrderFacts:
    """Return what is known under a reference of one mode."""
    said = clean(reference, NAME_MAX)
    wanted = {"of_mode": mode.value, "of_reference": said, "erased_reference": maybe_erased(said)}
    rows = tuple([to_row(row) for row in connection.execute(_COLLECTIONS, wanted)])
    unpaid = [row.id for row in rows if not row.is_paid]
    claimed = (
        connection.execute(_WITH_RECEIPT, {"of_mode": mode.value, "ids": unpaid}).scalars().all()
        if unpaid
        else ()
    )
    return OrderFacts(
        mode=mode,
        reference=reference,
        intents=same_reference(connection, mode, reference),
        collections=rows,
        claimed=frozenset(claimed),
    )
