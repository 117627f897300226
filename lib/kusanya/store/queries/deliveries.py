"""Deliveries as they arrived: lists, single ones, exact bytes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
    union_all,
)

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import unindexed, unsearched
from kusanya.store.records import (
    MISSING_ID,
    DeliveryBody,
    DeliveryFilter,
    DeliveryRow,
    Key,
    MissingEventRow,
    Page,
    Verdict,
    missing_event,
)
from kusanya.store.tables.payload import unpack_headers
from kusanya.store.tables.schema import collection, delivery, event
from kusanya.store.tables.values import clean, delivery_id, delivery_seq, from_us, maybe_at, to_us
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.webhooks.refusals import SERVICE_REASONS, SIGNED_REASONS
from kusanya.wire import Mode

_ALL: Final = DeliveryFilter()
_SUCCESS: Final = (200, 299)
_IN_TIME_US: Final = ACKNOWLEDGEMENT_TIME // timedelta(microseconds=1)
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
        after = None if newer_than is None else (newer_than.value, _seq_in(newer_than), "")
        upto = None if older_than is None else (older_than.value, _seq_in(older_than), "")
        query = _arrived(mode, where, after, upto)
        found = self._deliveries(query.limit(limit + 1))
        rows = found[:limit]
        return Page(rows=rows if newer_than is None else rows[::-1], more=len(found) > limit)

    def oldest(
        self, mode: Mode, *, where: DeliveryFilter, after: DeliveryRow | None = None
    ) -> DeliveryRow | None:
        """Return the first arrival, or the first behind another one; None where there is none."""
        it = delivery.c
        query = select(*_DELIVERY).where(it.mode == mode.value, *_terms(where))
        if after is not None:
            since = to_us(after.arrived_at)
            # The plain bound for the endpoint's own index; a place would tempt to the whole list.
            place = tuple_(unindexed(it.arrived_at), it.seq) > tuple_(since, after.seq)
            query = query.where(it.arrived_at >= since, place)
        rows = self._deliveries(query.order_by(it.arrived_at, it.seq).limit(1))
        return rows[0] if rows else None

    def last_success(self, mode: Mode, endpoint: str, *, before: datetime) -> DeliveryRow | None:
        """Return the newest arrival before an instant that was answered with a 2xx in time.

        Reads what was answered otherwise in between, row by row.
        """
        where = DeliveryFilter(endpoints=(endpoint,), arrived_to=before)
        it = delivery.c
        query = _arrived(mode, where, None, None).where(
            it.answer.between(*_SUCCESS), it.took_us <= _IN_TIME_US
        )
        rows = self._deliveries(query.limit(1))
        return rows[0] if rows else None

    def count_rejected(self, mode: Mode, endpoint: str, *, since: datetime, until: datetime) -> int:
        """Count the rejected arrivals that are kept, which are bounded, between two instants.

        Only those that the service may have sent are counted.
        """
        it = delivery.c
        # By the small index of what is rejected, however many others came in between.
        arrived_at = unindexed(it.arrived_at)
        query = select(func.count()).where(
            it.endpoint == clean(endpoint),
            it.verdict == literal_column("'rejected'"),
            it.reason.in_(SERVICE_REASONS),
            unsearched(it.mode) == mode.value,
            arrived_at >= to_us(since),
            arrived_at < to_us(until),
        )
        with self._reading("count rejected deliveries") as connection:
            counted: int = connection.execute(query).scalar_one()
        return counted

    def page_with_missing(
        self,
        mode: Mode,
        *,
        where: DeliveryFilter = _ALL,
        older_than: Key | None = None,
        newer_than: Key | None = None,
        limit: int = 200,
    ) -> Page[DeliveryRow | MissingEventRow]:
        """Return a page as `page` does, with the missing events at the instants they were learned.

        At one instant an arrival stands above a missing event. Any text may stand in a key as id.
        """
        after = None if newer_than is None else _place(newer_than)
        upto = None if older_than is None else _place(older_than)
        arrived = _arrived(mode, where, after, upto).limit(limit + 1)
        missing = _missing(mode, where, after, upto).limit(limit + 1)
        found: list[tuple[_Place, DeliveryRow | MissingEventRow]] = []
        with self._reading("read deliveries") as connection:
            if not where.only_missing:
                rows = [_to_delivery(row) for row in connection.execute(arrived).mappings()]
                found += [((to_us(row.arrived_at), row.seq, ""), row) for row in rows]
            if not (where.endpoints or where.verdicts or where.event_id is not None):
                for row in connection.execute(missing):
                    one = missing_event(to_row(row))
                    if one is not None:
                        found.append(((to_us(one.arrived_at), _NO_SEQ, one.collection_id), one))
        found.sort(key=lambda pair: pair[0], reverse=after is None)
        kept = [row for _, row in found[:limit]]
        return Page(tuple(kept if after is None else kept[::-1]), more=len(found) > limit)

    def count_missing(self, mode: Mode, *, since: datetime, until: datetime) -> int:
        """Count the missing events that were learned from `since` on and before `until`."""
        it = collection.c
        query = (
            select(func.count())
            .select_from(collection)
            .where(it.mode == mode.value, *_IS_MISSING)
            .where(it.final_seen_at >= to_us(since), it.final_seen_at < to_us(until))
        )
        with self._reading("count missing events") as connection:
            counted: int = connection.execute(query).scalar_one()
        return counted

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


_Place = tuple[int, int, str]
"""Where a line of the list with missing events stands: instant, place of the arrival, collection.

A missing event has `_NO_SEQ`, which is below every arrival of its instant.
"""
_NO_SEQ: Final = -1
_ABOVE: Final = Key(0, "").just_above.id
_LAST_SEQ: Final = 2**63 - 1
_EVER: Final = Key.after_all().value
_IS_MISSING: Final = (
    collection.c.event_id.is_(None),
    collection.c.final_seen_at.is_not(None),
)


def _place(key: Key) -> _Place:
    if key.id.startswith(MISSING_ID):
        return (key.value, _NO_SEQ, key.id.removeprefix(MISSING_ID))
    seq = delivery_seq(key.id)
    if seq is not None:
        return (key.value, seq, "")
    below = delivery_seq(key.id.removesuffix(_ABOVE))
    if below is not None:  # just above an arrival
        return (key.value, below, _ABOVE)
    return (key.value, _NO_SEQ, "") if key.id < delivery_id(0) else (key.value, _LAST_SEQ, "")


def _arrived(
    mode: Mode, where: DeliveryFilter, after: _Place | None, upto: _Place | None
) -> Select[Any]:
    it = delivery.c
    narrow = where.event_id is not None or where.collection_id is not None
    its_mode = unsearched(it.mode) if narrow else it.mode
    arrived_at = unindexed(it.arrived_at) if narrow else it.arrived_at
    query = select(*_DELIVERY).where(its_mode == mode.value, *_terms(where))
    place = tuple_(arrived_at, it.seq)
    if after is not None:
        query = query.where(place > tuple_(after[0], after[1]))
        return query.order_by(arrived_at, it.seq)
    if upto is not None:
        # What lies just above an arrival has the arrival itself below it.
        query = query.where(place < tuple_(upto[0], upto[1] + (upto[2] != "")))
    return query.order_by(arrived_at.desc(), it.seq.desc())


def _missing(
    mode: Mode, where: DeliveryFilter, after: _Place | None, upto: _Place | None
) -> Select[Any]:
    it = collection.c
    query = select(*SHOWN).where(it.mode == mode.value, *_IS_MISSING)
    if where.collection_id is not None:
        query = query.where(it.id == clean(where.collection_id))
    if where.arrived_from is not None:
        query = query.where(it.final_seen_at >= to_us(where.arrived_from))
    if where.arrived_to is not None:
        query = query.where(it.final_seen_at < to_us(where.arrived_to))
    elif upto is None:
        # Without an upper bound SQLite takes the index of all final states for as good as the small
        # one of missing events, and reads it until it has met a page of them.
        query = query.where(it.final_seen_at < _EVER)
    place = tuple_(it.final_seen_at, it.id)
    if after is not None:
        # All of them stand below an arrival of their instant.
        bound = (
            place > tuple_(after[0], after[2])
            if after[1] == _NO_SEQ
            else it.final_seen_at > after[0]
        )
        return query.where(bound).order_by(it.final_seen_at, it.id)
    if upto is not None:
        bound = (
            place < tuple_(upto[0], upto[2]) if upto[1] == _NO_SEQ else it.final_seen_at <= upto[0]
        )
        query = query.where(bound)
    return query.order_by(it.final_seen_at.desc(), it.id.desc())


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
    if where.trusted:
        known = exists().where(collection.c.id == it.collection_id, collection.c.mode == it.mode)
        signed = it.reason.in_(SIGNED_REASONS)
        terms.append(or_(it.verdict != literal_column("'rejected'"), signed, known))
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
