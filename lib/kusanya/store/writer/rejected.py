"""A bound on what forged deliveries may cost: counted exactly, kept as samples.

Per endpoint and reason the newest rows are kept, at most so many rows and so many bytes of bodies,
and all endpoints and reasons together have a bound too. Once full, one newcomer a second takes the
place of the oldest: a flood shows what it is like, and fills no disk.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, case, delete, func, literal_column, select, update

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.records import Arrival, Verdict
from kusanya.store.tables.schema import delivery, feed_head
from kusanya.store.tables.values import clean, maybe_clean
from kusanya.store.writer.repeats import Repeats

SAMPLE_EVERY: Final = timedelta(seconds=1)
_Group = tuple[str, str | None]
_Terms = tuple[ColumnElement[bool], ...]
_REJECTED: Final[ColumnElement[str]] = literal_column("'rejected'")


class RejectedLimits(msgspec.Struct, frozen=True):
    """How much of one endpoint's deliveries rejected for one reason is kept."""

    rows: int = 1_000
    body_bytes: int = 64 * 1024 * 1024

    @property
    def all_rows(self) -> int:
        """Return how many rows of all endpoints and reasons together are kept."""
        return 4 * self.rows

    @property
    def all_body_bytes(self) -> int:
        """Return how many bytes of bodies all of them together may have."""
        return 2 * self.body_bytes


class RejectedRetention:
    """Decides which rejected deliveries of a batch are kept, and makes room for them."""

    def __init__(self, limits: RejectedLimits) -> None:
        self._limits = limits
        self.repeats: Final = Repeats()
        self._next_sample: dict[_Group, datetime] = {}

    def admit(
        self, connection: Connection, items: Sequence[Any], *, now: datetime
    ) -> frozenset[int]:
        """Return the indices of the arrivals among `items` that are kept.

        Makes room in the same transaction: the oldest rows of a full group lose their bodies, then
        their places.
        """
        kept: list[int] = []
        groups: defaultdict[_Group, list[int]] = defaultdict(list)
        for index, item in enumerate(items):
            if not isinstance(item, Arrival):
                continue
            if item.verdict is Verdict.REJECTED:
                group = (clean(item.endpoint, NAME_MAX), maybe_clean(item.reason, NAME_MAX))
                groups[group].append(index)
            else:
                kept.append(index)
        for group, indices in groups.items():
            kept.extend(self._admit_group(connection, group, indices, items, now=now))
        return frozenset(kept)

    def _admit_group(
        self,
        connection: Connection,
        group: _Group,
        indices: list[int],
        items: Sequence[Any],
        *,
        now: datetime,
    ) -> list[int]:
        wait = self._next_sample.get(group)
        # A clock that was set back must not silence the samples for long.
        if wait is not None and wait - SAMPLE_EVERY <= now < wait:
            return []
        self._next_sample.pop(group, None)
        limits, own = self._limits, _of(group)
        rows, held = _kept(connection, own)
        all_rows, all_held = _kept(connection, _ALL)
        chosen = indices[: max(0, min(limits.rows - rows, limits.all_rows - all_rows))]
        if not chosen:
            self._next_sample[group] = now + SAMPLE_EVERY
            chosen = indices[-1:]
            _remove_oldest(connection, own, rows + 1 - limits.rows)
            # Again, because what has just gone counted there too.
            _remove_oldest(connection, _ALL, _kept(connection, _ALL)[0] + 1 - limits.all_rows)
        coming = sum(len(items[index].body) for index in chosen)
        _drop_bodies(connection, own, held + coming - limits.body_bytes)
        if all_held + coming > limits.all_body_bytes:
            all_held = _kept(connection, _ALL)[1]
            _drop_bodies(connection, _ALL, all_held + coming - limits.all_body_bytes)
        return chosen


# Spelled out: a bound value would hide from SQLite that the small index fits.
_ALL: Final[_Terms] = (delivery.c.verdict == _REJECTED,)


def _of(group: _Group) -> _Terms:
    endpoint, reason = group
    return (
        delivery.c.endpoint == endpoint,
        delivery.c.reason.is_(None) if reason is None else delivery.c.reason == reason,
        *_ALL,
    )


def _kept(connection: Connection, which: _Terms) -> tuple[int, int]:
    bytes_held = case((delivery.c.body.is_(None), 0), else_=delivery.c.body_bytes)
    query = select(func.count(), func.coalesce(func.sum(bytes_held), 0)).where(*which)
    rows, held = connection.execute(query).one()
    return rows, int(held)


def _remove_oldest(connection: Connection, which: _Terms, excess: int) -> None:
    if excess <= 0:
        return
    # Sorted here: asked to sort, an engine may walk through every delivery in the journal's order.
    found = connection.execute(select(delivery.c.seq).where(*which)).scalars()
    seqs = sorted(found)[:excess]
    connection.execute(delete(delivery).where(delivery.c.seq.in_(seqs)))
    connection.execute(update(feed_head).values(removed=feed_head.c.removed + len(seqs)))


def _drop_bodies(connection: Connection, which: _Terms, excess: int) -> None:
    if excess <= 0:
        return
    query = select(delivery.c.seq, delivery.c.body_bytes).where(
        *which, delivery.c.body.is_not(None)
    )
    seqs: list[int] = []
    for seq, size in sorted(map(tuple, connection.execute(query))):
        if excess <= 0:
            break
        seqs.append(seq)
        excess -= size
    connection.execute(update(delivery).where(delivery.c.seq.in_(seqs)).values(body=None))
