"""Counts and sums for dashboards: read from rollups, and of the history at most one hour."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from kusanya.store.queries.base import StorePart
from kusanya.store.records import DeliveryRollupRow, RollupRow, Verdict
from kusanya.store.tables.schema import collection, delivery, delivery_rollup, rollup
from kusanya.store.tables.values import from_us, hour_of, to_us
from kusanya.wire import Mode

# Made once: building a statement costs many times what running it does, and health asks ten times.
_COLLECTIONS: Final = (
    select(
        rollup.c.hour, rollup.c.channel, rollup.c.currency, rollup.c.status, rollup.c.failure_code,
        rollup.c.count, rollup.c.amount, rollup.c.fee,
    )
    .where(
        rollup.c.mode == bindparam("of_mode"),
        rollup.c.hour >= bindparam("since"),
        rollup.c.hour < bindparam("until"),
        rollup.c.count != 0,
    )
    .order_by(
        rollup.c.hour, rollup.c.channel, rollup.c.currency, rollup.c.status, rollup.c.failure_code
    )
)  # fmt: skip
_DELIVERIES: Final = (
    select(
        delivery_rollup.c.hour,
        delivery_rollup.c.endpoint,
        delivery_rollup.c.verdict,
        delivery_rollup.c.reason,
        delivery_rollup.c.count,
    )
    .where(
        delivery_rollup.c.mode == bindparam("of_mode"),
        delivery_rollup.c.hour >= bindparam("since"),
        delivery_rollup.c.hour < bindparam("until"),
    )
    .order_by(
        delivery_rollup.c.hour,
        delivery_rollup.c.endpoint,
        delivery_rollup.c.verdict,
        delivery_rollup.c.reason,
    )
)


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
                for hour, endpoint, verdict, reason, count in connection.execute(
                    _DELIVERIES, _span(mode, since, until)
                )
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
    found = connection.execute(_COLLECTIONS, _span(mode, since, until))
    return tuple(
        RollupRow(
            hour=from_us(hour), mode=mode, channel=channel, currency=currency, status=status,
            failure_code=code or None, count=count, amount=amount, fee=fee,
        )
        for hour, channel, currency, status, code, count, amount, fee in found
    )  # fmt: skip


def _span(mode: Mode, since: datetime, until: datetime) -> dict[str, Any]:
    return {"of_mode": mode.value, "since": hour_of(to_us(since)), "until": to_us(until)}
