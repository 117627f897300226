"""Deliveries as they arrived: lists, single ones, exact bytes."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, literal_column, select, tuple_, union_all

from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import unindexed, unsearched
from kusanya.store.records import (
    DeliveryBody,
    DeliveryFilter,
    DeliveryRow,
    Key,
    Page,
    Verdict,
)
from kusanya.store.tables.payload import unpack_headers
from kusanya.store.tables.schema import delivery, event
from kusanya.store.tables.values import clean, delivery_id, delivery_seq, from_us, maybe_at, to_us
from kusanya.wire import Mode

_ALL: Final = DeliveryFilter()
_DELIVERY: Final = tuple(delivery.c[name] for name in DeliveryRow.__struct_fields__ if name != "id")


class Deliveries(StorePart):
    """Reading deliveries."""

    def page(
        self,
        mode: Mode,
        *,
        where: DeliveryFilter = _ALL,
        older_than: Key | None = None,
        newer_than: Key | None = None,
        limit: int = 200,
    ) -> Page[DeliveryRow]:
        """Return a page of arrivals, newest first, also when it was read upwards.

        `older_than` begins below a key and `newer_than` ends just above one; without either it is
        the newest page. `more` speaks of the direction that was read.
        """
        it = delivery.c
        narrow = where.event_id is not None or where.collection_id is not None
        its_mode = unsearched(it.mode) if narrow else it.mode
        query = select(*_DELIVERY).where(its_mode == mode.value, *_terms(where))
        arrived_at = unindexed(it.arrived_at) if narrow else it.arrived_at
        place = tuple_(arrived_at, it.seq)
        if newer_than is not None:
            query = query.where(place > tuple_(newer_than.value, _seq_in(newer_than)))
            query = query.order_by(arrived_at, it.seq)
        else:
            if older_than is not None:
                query = query.where(place < tuple_(older_than.value, _seq_in(older_than)))
            query = query.order_by(arrived_at.desc(), it.seq.desc())
        found = self._deliveries(query.limit(limit + 1))
        rows = found[:limit]
        return Page(rows=rows if newer_than is None else rows[::-1], more=len(found) > limit)

    def get(self, id_: str) -> DeliveryRow | None:
        """Return one arrival, or None where it is unknown."""
        return self.by_id((id_,)).get(id_)

    def by_id(self, ids: Sequence[str]) -> dict[str, DeliveryRow]:
        """Return the known ones of `ids`, by id."""
        query = select(*_DELIVERY).where(delivery.c.seq.in_(_seqs(ids)))
        return {row.id: row for row in self._deliveries(query)}

    def body(self, id_: str) -> DeliveryBody | None:
        """Return the exact bytes of one arrival, or None where it is unknown."""
        query = select(delivery.c.body, delivery.c.headers).where(delivery.c.seq.in_(_seqs((id_,))))
        with self._reading("read a delivery") as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        body, headers = row
        return DeliveryBody(
            body=None if body is None else bytes(body), headers=unpack_headers(headers)
        )

    def _deliveries(self, query: Select[Any]) -> tuple[DeliveryRow, ...]:
        with self._reading("read deliveries") as connection:
            return tuple(_to_delivery(row) for row in connection.execute(query).mappings())


def _seqs(ids: Sequence[str]) -> list[int]:
    return [seq for text in ids if (seq := delivery_seq(text)) is not None]


def _seq_in(key: Key) -> int:
    seq = delivery_seq(key.id)
    if seq is None:
        raise ValueError("the key is not one of a delivery")
    return seq


def _to_delivery(row: Any) -> DeliveryRow:
    return DeliveryRow(
        **{
            **row,
            "id": delivery_id(row["seq"]),
            "arrived_at": from_us(row["arrived_at"]),
            "mode": Mode(row["mode"]),
            "verdict": Verdict(row["verdict"]),
            "event_created_at": maybe_at(row["event_created_at"]),
            "signed_at": maybe_at(row["signed_at"]),
        }
    )


def _terms(where: DeliveryFilter) -> list[ColumnElement[bool]]:
    it = delivery.c
    terms: list[ColumnElement[bool]] = []
    if where.verdicts:
        terms.append(it.verdict.in_([verdict.value for verdict in where.verdicts]))
    if where.endpoints:
        terms.append(it.endpoint.in_([clean(name) for name in where.endpoints]))
    if where.event_id is not None:
        terms.append(_says(_OTHER.c.event_id, event.c.id, clean(where.event_id)))
    if where.collection_id is not None:
        wanted = clean(where.collection_id)
        terms.append(_says(_OTHER.c.collection_id, event.c.collection_id, wanted))
    if where.arrived_from is not None:
        terms.append(it.arrived_at >= to_us(where.arrived_from))
    if where.arrived_to is not None:
        terms.append(it.arrived_at < to_us(where.arrived_to))
    if where.unwell or (where.verdicts and Verdict.VERIFIED not in where.verdicts):
        # Spelled out: a bound value would hide that the small index fits.
        terms.append(it.verdict != literal_column("'verified'"))
    return terms


_OTHER: Final = delivery.alias("other")


def _says(
    said: ColumnElement[str | None], known: ColumnElement[str], wanted: str
) -> ColumnElement[bool]:
    """Return the condition that a delivery says `wanted`.

    Each event knows the place of its first arrival; only the other arrivals are in an index.
    """
    others = select(_OTHER.c.seq).where(
        said == wanted, _OTHER.c.verdict != literal_column("'verified'")
    )
    firsts = select(event.c.seq).where(known == wanted)
    return delivery.c.seq.in_(union_all(others, firsts))
