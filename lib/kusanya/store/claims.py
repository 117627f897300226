"""Who asks about which open collection: work shared out among any number of pollers.

A claim ends by itself, so the work of a process that died is taken over. On PostgreSQL claiming
skips rows that another one is claiming at this moment instead of waiting behind it.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, or_, select

from kusanya.store.base import Base
from kusanya.store.batch import Writing
from kusanya.store.engine import only_store_errors
from kusanya.store.inserting import insert_into
from kusanya.store.projection import COLUMNS, to_row
from kusanya.store.records import CollectionRow
from kusanya.store.schema import claim, collection
from kusanya.store.values import clean, to_us
from kusanya.wire import Mode


class Claims(Base):
    """Sharing out the collections that have no final state yet."""

    def claim_open(
        self,
        mode: Mode,
        *,
        by: str,
        until: datetime,
        created_before: datetime | None = None,
        limit: int = 100,
    ) -> tuple[CollectionRow, ...]:
        """Reserve up to `limit` open collections for one process until `until`, oldest first.

        Those that another process holds are left out, and so are one's own. Durable on return.
        """

        def take(connection: Connection, now: datetime) -> tuple[CollectionRow, ...]:
            it = collection.c
            query = (
                select(*COLUMNS)
                .outerjoin(claim, claim.c.collection_id == it.id)
                .where(
                    it.mode == mode.value,
                    it.final_seen_at.is_(None),
                    or_(claim.c.claimed_until.is_(None), claim.c.claimed_until <= to_us(now)),
                )
                .order_by(it.created_at, it.id)
                .limit(limit)
                .with_for_update(of=collection, skip_locked=True)
            )
            if created_before is not None:
                query = query.where(it.created_at < to_us(created_before))
            free = [to_row(row) for row in connection.execute(query)]
            won = _won(connection, [row.id for row in free], by=by, until=until, now=now)
            return tuple(row for row in free if row.id in won)

        if self._engines.sqlite:
            # Through the journal: SQLite has one writer, and waiting for its lock is unfair.
            return self._act(lambda writing: take(writing.connection, writing.now))
        self._writer()
        with (
            only_store_errors("claim work"),
            self._engines.writing() as connection,
            connection.begin(),
        ):
            return take(connection, self._clock.now())

    def release_open(self, ids: Sequence[str], *, by: str) -> None:
        """Give up one's own claims on these collections; those of others stay."""

        def act(writing: Writing) -> None:
            writing.connection.execute(
                delete(claim).where(
                    claim.c.collection_id.in_([clean(text) for text in ids]),
                    claim.c.claimed_by == clean(by),
                )
            )

        self._act(act)


def _won(
    connection: Connection, ids: Sequence[str], *, by: str, until: datetime, now: datetime
) -> set[str]:
    """Claim those of `ids` that are still free at this very moment."""
    if not ids:
        return set()
    rows = [
        {"collection_id": text, "claimed_by": clean(by), "claimed_until": to_us(until)}
        for text in ids
    ]
    insert = insert_into(claim, connection.dialect).values(rows)
    # What was read may have been claimed since: only the unique key decides.
    upsert = insert.on_conflict_do_update(
        index_elements=[claim.c.collection_id],
        set_={
            "claimed_by": insert.excluded.claimed_by,
            "claimed_until": insert.excluded.claimed_until,
        },
        where=claim.c.claimed_until <= to_us(now),
    ).returning(claim.c.collection_id)
    return set(connection.execute(upsert).scalars())
