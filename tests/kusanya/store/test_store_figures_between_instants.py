"""Figures between two instants are what counting the rows by hand gives, on both engines."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest

from kusanya.store import Store
from kusanya.store.records import CollectionRow, RollupRow
from kusanya.wire import Mode

HOUR = timedelta(hours=1)
MICRO = timedelta(microseconds=1)
SHIFTS = (-HOUR, -MICRO, timedelta(0), MICRO, timedelta(minutes=30), HOUR - MICRO, HOUR)
"""Where, from noon, something was created; and where the spans that are asked for begin and end."""
STATES = (("succeeded", None), ("failed", "invalid_pin"), ("created", None))


@pytest.fixture
def filled(store: Store, make: Any) -> Store:
    """Return a store in which each instant, state, mode and channel has a collection."""
    cases = product(SHIFTS, STATES, Mode, ("MPESA_TZ", "TIGO_TZ"))
    for number, (shift, (status, code), mode, channel) in enumerate(cases):
        said = {
            "created_at": make.noon + shift, "status": status, "failure_code": code,
            "mode": mode.value, "channel": channel, "amount": 1_000 + number, "fee": number,
        }  # fmt: skip
        store.record(make.arrival(number, **said))
    return store


def sums(rows: tuple[RollupRow, ...]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    found = {
        (row.channel, row.currency, row.status, row.failure_code): (row.count, row.amount, row.fee)
        for row in rows
    }
    assert len(found) == len(rows)
    return found


def rows_of(store: Store, mode: Mode) -> tuple[CollectionRow, ...]:
    rows = store.collections.page(mode, limit=200).rows
    assert len(rows) == len(SHIFTS) * len(STATES) * 2
    return rows


def counted(
    rows: tuple[CollectionRow, ...], name: str, since: datetime, until: datetime
) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Return the same, of each row by itself."""
    found: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    for row in rows:
        at = getattr(row, name)
        if at is not None and since <= at < until:
            key = row.channel, row.currency, row.status, row.failure_code
            count, amount, fee = found.get(key, (0, 0, 0))
            found[key] = count + 1, amount + row.amount, fee + row.fee
    return found


def test_what_was_created_or_became_final_between_two_instants_is_counted_by_the_row(
    filled: Store, make: Any
) -> None:
    rollups, rows = filled.rollups, {mode: rows_of(filled, mode) for mode in Mode}
    for begin, end, mode in product(SHIFTS, SHIFTS, Mode):
        span = {"since": make.noon + begin, "until": make.noon + end}
        found = rollups.within(mode, **span)
        assert sums(found) == counted(rows[mode], "created_at", **span)
        assert {(row.hour, row.mode) for row in found} <= {(span["since"], mode)}
        assert sums(rollups.finals_within(mode, **span)) == counted(
            rows[mode], "final_seen_at", **span
        )


def test_whole_hours_begin_with_the_one_of_the_first_instant_and_end_before_the_last(
    filled: Store, make: Any
) -> None:
    rows = {mode: rows_of(filled, mode) for mode in Mode}
    for begin, end, mode in product(SHIFTS, SHIFTS, Mode):
        since, until = make.noon + begin, make.noon + end
        first = since.replace(minute=0, second=0, microsecond=0)
        wanted: Counter[tuple[datetime, str]] = Counter()
        for row in rows[mode]:
            hour = row.created_at.replace(minute=0, second=0, microsecond=0)
            wanted[hour, row.status] += first <= hour < until
        found: Counter[tuple[datetime, str]] = Counter()
        for each in filled.rollups.collections(mode, since=since, until=until):
            found[each.hour, each.status] += each.count
        assert found == +wanted


def test_arrivals_between_two_instants_are_counted_by_the_row_and_by_whole_hours(
    filled: Store, make: Any
) -> None:
    arrived = [row.arrived_at for row in filled.deliveries.page(Mode.TEST, limit=200).rows]
    assert len(arrived) == len(SHIFTS) * len(STATES) * 2
    for begin, end in product(sorted(set(arrived)), repeat=2):
        rows = filled.rollups.arrivals_within(Mode.TEST, since=begin, until=end)
        assert sum(row.count for row in rows) == sum(begin <= at < end for at in arrived)
        hours = filled.rollups.deliveries(Mode.TEST, since=begin, until=end)
        first = begin.replace(minute=0, second=0, microsecond=0)
        whole = [at.replace(minute=0, second=0, microsecond=0) for at in arrived]
        assert sum(row.count for row in hours) == sum(first <= at < end for at in whole)
