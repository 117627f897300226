"""A bound on what forged deliveries may cost: counted exactly, kept as samples.

Per endpoint and reason the newest rows are kept, at most so many rows and so many bytes of bodies.
Once full, one newcomer a second takes the place of the oldest: a flood shows what it is like, and
fills no disk.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, case, delete, func, literal_column, select, update

from kusanya.store.records import Arrival, Verdict
from kusanya.store.schema import delivery, feed_head
from kusanya.store.values import NAME_MAX, clean, maybe_clean

SAMPLE_EVERY: Final = timedelta(seconds=1)
_Group = tuple[str, str | None]
_REJECTED: Final[ColumnElement[str]] = literal_column("'rejected'")


class Limits(msgspec.Struct, frozen=True):
    """How much of one endpoint's deliveries rejected for one reason is kept."""

    rows: int = 1_000
    body_bytes: int = 64 * 1024 * 1024


class Bound:
    """Decides which rejected deliveries of a batch are kept, and makes room for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
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
        rows, held = _kept(connection, group)
        chosen = indices[: max(0, self._limits.rows - rows)]
        if not chosen:
            self._next_sample[group] = now + SAMPLE_EVERY
            chosen = indices[-1:]
            _remove_oldest(connection, group, rows + 1 - self._limits.rows)
        coming = sum(len(items[index].body) for index in chosen)
        if held + coming > self._limits.body_bytes:
            _drop_bodies(connection, group, held + coming - self._limits.body_bytes)
        return chosen


def _of(group: _Group) -> tuple[Any, ...]:
    endpoint, reason = group
    return (
        delivery.c.endpoint == endpoint,
        delivery.c.reason.is_(None) if reason is None else delivery.c.reason == reason,
        # Spelled out: a bound value would hide from SQLite that the small index fits.
        delivery.c.verdict == _REJECTED,
    )


def _kept(connection: Connection, group: _Group) -> tuple[int, int]:
    bytes_held = case((delivery.c.body.is_(None), 0), else_=delivery.c.body_bytes)
    query = select(func.count(), func.coalesce(func.sum(bytes_held), 0)).where(*_of(group))
    rows, held = connection.execute(query).one()
    return rows, int(held)


def _remove_oldest(connection: Connection, group: _Group, excess: int) -> None:
    oldest = select(delivery.c.seq).where(*_of(group)).order_by(delivery.c.seq).limit(excess)
    seqs = connection.execute(oldest).scalars().all()
    connection.execute(delete(delivery).where(delivery.c.seq.in_(seqs)))
    connection.execute(update(feed_head).values(removed=feed_head.c.removed + len(seqs)))


def _drop_bodies(connection: Connection, group: _Group, excess: int) -> None:
    query = (
        select(delivery.c.seq, delivery.c.body_bytes)
        .where(*_of(group), delivery.c.body.is_not(None))
        .order_by(delivery.c.seq)
    )
    seqs: list[int] = []
    for seq, size in connection.execute(query):
        if excess <= 0:
            break
        seqs.append(seq)
        excess -= size
    connection.execute(update(delivery).where(delivery.c.seq.in_(seqs)).values(body=None))
