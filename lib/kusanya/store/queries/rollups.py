"""Counts and sums for dashboards: read from rollups, never from the history."""

from datetime import datetime

from sqlalchemy import select

from kusanya.store.queries.base import StorePart
from kusanya.store.records import DeliveryRollupRow, RollupRow, Verdict
from kusanya.store.tables.schema import delivery_rollup, rollup
from kusanya.store.tables.values import from_us, hour_of, to_us
from kusanya.wire import Mode


class Rollups(StorePart):
    """Reading the rollups."""

    def collections(self, mode: Mode, *, since: datetime, until: datetime) -> tuple[RollupRow, ...]:
        """Return the buckets of the hours from `since` up to, not including, `until`.

        One row per hour of creation, channel, currency, status and failure code. The hour that
        holds `since` is included whole. Sums take no collection for more than 10^12.
        """
        it = rollup.c
        query = (
            select(
                it.hour,
                it.channel,
                it.currency,
                it.status,
                it.failure_code,
                it.count,
                it.amount,
                it.fee,
            )
            .where(
                it.mode == mode.value,
                it.hour >= hour_of(to_us(since)),
                it.hour < to_us(until),
                it.count != 0,
            )
            .order_by(it.hour, it.channel, it.currency, it.status, it.failure_code)
        )
        with self._reading("read figures") as connection:
            return tuple(
                RollupRow(
                    hour=from_us(hour),
                    mode=mode,
                    channel=channel,
                    currency=currency,
                    status=status,
                    failure_code=failure_code or None,
                    count=count,
                    amount=amount,
                    fee=fee,
                )
                for (
                    hour,
                    channel,
                    currency,
                    status,
                    failure_code,
                    count,
                    amount,
                    fee,
                ) in connection.execute(query)
            )

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
