"""Counts and sums for dashboards: read from rollups, and of the history at most one hour."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from kusanya.store.queries.base import StorePart
from kusanya.store.records import DeliveryRollupRow, RollupRow, Verdict
from kusanya.store.tables.schema import collection, delivery, delivery_rollup, rollup
from kusanya.store.tables.values import from_us, hour_of, to_us
from kusanya.wire import Mode


class Rollups(StorePart):
    """Reading the rollups."""

    def collections(self, mode: Mode, *, since: datetime, until: datetime) -> tuple[RollupRow, ...]:
        """Return the buckets of the hours from `since` up to, not including, `until`.

        One row per hour of creation, channel, currency, status and failure code. The hour that
        holds `since` is included whole. Sums take no collection for more than 10^12.
        """
        with self._reading("read figures") as connection:
            return collection_rollups(connection, mode, since=since, until=until)

    def deliveries(
        self, mode: Mode, *, since: datetime, until: datetime
    ) -> tuple[DeliveryRollupRow, ...]:
        """Return the counts of arrivals in the hours from `since` up to, not including, `until`.

        One row per hour, endpoint, verdict and reason. Rejected deliveries that were not kept are
        counted here like any other.
        """
        it = delivery_rollup.c
        query = (
            select(it.hour, it.endpoint, it.verdict, it.reason, it.count)
            .where(it.mode == mode.value, it.hour >= hour_of(to_us(since)), it.hour < to_us(until))
            .order_by(it.hour, it.endpoint, it.verdict, it.reason)
        )
        with self._reading("read figures") as connection:
            return tuple(
                DeliveryRollupRow(
                    hour=from_us(hour),
                    endpoint=endpoint,
                    mode=mode,
                    verdict=Verdict(verdict),
                    reason=reason or None,
                    count=count,
                )
                for hour, endpoint, verdict, reason, count in connection.execute(query)
            )

    def within(self, mode: Mode, *, since: datetime, until: datetime) -> tuple[RollupRow, ...]:
        """Return one bucket, beginning with `since`, of what was created between two instants.

        Counted by the row: for the part of an hour, which no rollup has.
        """
        return self._counted(mode, collection.c.created_at, since=since, until=until)

    def finals_within(
        self, mode: Mode, *, since: datetime, until: datetime
    ) -> tuple[RollupRow, ...]:
        """Return one bucket of what became final between two instants, whenever it was created."""
        return self._counted(mode, collection.c.final_seen_at, since=since, until=until)

    def _counted(
        self, mode: Mode, at: ColumnElement[Any], *, since: datetime, until: datetime
    ) -> tuple[RollupRow, ...]:
        it = collection.c
        query = (
            select(
                it.channel, it.currency, it.status, it.failure_code,
                func.count(), func.sum(it.amount), func.sum(it.fee),
            )
            .where(it.mode == mode.value, at >= to_us(since), at < to_us(until))
            .group_by(it.channel, it.currency, it.status, it.failure_code)
        )  # fmt: skip
        with self._reading("read figures") as connection:
            return tuple(
                RollupRow(
                    hour=since, mode=mode, channel=channel, currency=currency, status=status,
                    failure_code=code, count=count, amount=int(amount), fee=int(fee),
                )
                for channel, currency, status, code, count, amount, fee in connection.execute(query)
            )  # fmt: skip

    def arrivals_within(
        self, mode: Mode, *, since: datetime, until: datetime
    ) -> tuple[DeliveryRollupRow, ...]:
        """Return one bucket, beginning with `since`, of what arrived between two instants.

        Counted by the row: rejected deliveries that were not kept are not among them.
        """
        it = delivery.c
        query = (
            select(it.endpoint, it.verdict, it.reason, func.count())
            .where(
                it.mode == mode.value, it.arrived_at >= to_us(since), it.arrived_at < to_us(until)
            )
            .group_by(it.endpoint, it.verdict, it.reason)
        )
        with self._reading("read figures") as connection:
            return tuple(
                DeliveryRollupRow(
                    hour=since, endpoint=endpoint, mode=mode, verdict=Verdict(verdict),
                    reason=reason, count=count,
                )
                for endpoint, verdict, reason, count in connection.execute(query)
            )  # fmt: skip


def collection_rollups(
    connection: Connection, mode: Mode, *, since: datetime, until: datetime
) -> tuple[RollupRow, ...]:
    """Return what `Rollups.collections` does, as a connection sees it."""
    it = rollup.c
    query = (
        select(
            it.hour, it.channel, it.currency, it.status, it.failure_code,
            it.count, it.amount, it.fee,
        )
        .where(
            it.mode == mode.value,
            it.hour >= hour_of(to_us(since)),
            it.hour < to_us(until),
            it.count != 0,
        )
        .order_by(it.hour, it.channel, it.currency, it.status, it.failure_code)
    )  # fmt: skip
    return tuple(
        RollupRow(
            hour=from_us(hour), mode=mode, channel=channel, currency=currency, status=status,
            failure_code=code or None, count=count, amount=amount, fee=fee,
        )
        for hour, channel, currency, status, code, count, amount, fee in connection.execute(query)
    )  # fmt: skip
