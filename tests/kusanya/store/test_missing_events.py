"""Missing events in the list of deliveries: exact at every place, from one small index."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import (
    DeliveryFilter,
    Key,
    MissingEventRow,
    Verdict,
)
from kusanya.wire import Mode


@pytest.fixture
def lines(store: Store, make: Any) -> list[str]:
    """Record arrivals and polled finals, many of them at one instant; return the ids in order."""
    draw = Random(7)  # noqa: S311 - reproducible
    for number in range(60):
        # Few instants: what breaks a tie between the two kinds is met often.
        at = make.noon + timedelta(minutes=draw.randrange(12))
        if draw.random() < 0.5:
            store.record(make.observation(number, source=Source.POLL, at=at))
        else:
            store.record(make.arrival(number, at=at))
    rows = store.deliveries.page_with_missing(Mode.TEST, limit=1_000).rows
    assert len(rows) == 60
    ranked = sorted(
        rows,
        key=lambda row: (row.arrived_at, not isinstance(row, MissingEventRow), row.key.id),
        reverse=True,
    )
    assert list(rows) == ranked, "at one instant arrivals stand above missing events"
    return [row.id for row in rows]


@pytest.mark.merge
def test_every_page_is_the_next_stretch_of_the_whole_list(store: Store, lines: list[str]) -> None:
    by_id = {row.id: row for row in store.deliveries.page_with_missing(Mode.TEST, limit=1_000).rows}
    for place, name in enumerate(lines):
        key = by_id[name].key
        below = store.deliveries.page_with_missing(Mode.TEST, older_than=key, limit=7)
        above = store.deliveries.page_with_missing(Mode.TEST, newer_than=key, limit=7)
        with_it = store.deliveries.page_with_missing(Mode.TEST, older_than=key.just_above, limit=7)
        assert [row.id for row in below.rows] == lines[place + 1 : place + 8]
        assert [row.id for row in above.rows] == lines[max(place - 7, 0) : place]
        assert [row.id for row in with_it.rows] == lines[place : place + 7]
        assert below.more == (place + 8 < 60)
        assert above.more == (place > 7)
    oldest = store.deliveries.page_with_missing(Mode.TEST, newer_than=Key.before_all(), limit=7)
    assert [row.id for row in oldest.rows] == lines[-7:]


def test_an_instant_is_entered_from_above_all_of_its_lines(
    store: Store, make: Any, lines: list[str]
) -> None:
    by_id = {row.id: row for row in store.deliveries.page_with_missing(Mode.TEST, limit=1_000).rows}
    at = make.noon + timedelta(minutes=6)
    page = store.deliveries.page_with_missing(Mode.TEST, older_than=Key.after(at), limit=1_000)
    assert [row.id for row in page.rows] == [n for n in lines if by_id[n].arrived_at <= at]


def test_an_event_that_arrives_takes_its_line_away(store: Store, make: Any) -> None:
    at = make.noon + timedelta(minutes=1)
    store.record(make.observation(1, source=Source.POLL, at=at))
    [row] = store.deliveries.page_with_missing(Mode.TEST).rows
    assert isinstance(row, MissingEventRow)
    assert (row.id, row.event_type, row.arrived_at) == ("absent:col_1", "collection.succeeded", at)
    hour = {"since": make.noon, "until": make.noon + timedelta(hours=1)}
    assert store.deliveries.count_missing(Mode.TEST, **hour) == 1
    assert store.deliveries.count_missing(Mode.LIVE, **hour) == 0
    assert store.deliveries.count_missing(Mode.TEST, since=at + timedelta(seconds=1), until=at) == 0
    store.record(make.arrival(1, at=at + timedelta(minutes=1)))
    assert store.deliveries.count_missing(Mode.TEST, **hour) == 0
    assert [row.verdict for row in store.deliveries.page_with_missing(Mode.TEST).rows] == [
        Verdict.VERIFIED
    ]


def test_a_missing_event_has_no_endpoint_and_no_verdict_of_an_arrival(
    store: Store, lines: list[str]
) -> None:
    def found(where: DeliveryFilter) -> set[bool]:
        rows = store.deliveries.page_with_missing(Mode.TEST, where=where, limit=1_000).rows
        return {isinstance(row, MissingEventRow) for row in rows}

    assert found(DeliveryFilter(endpoints=("shop",))) <= {False}
    assert found(DeliveryFilter(verdicts=(Verdict.VERIFIED,))) == {False}
    assert found(DeliveryFilter(unwell=True)) == {True}
    assert found(DeliveryFilter(only_missing=True)) == {True}
    missing = [name for name in lines if name.startswith("absent:")]
    where = DeliveryFilter(collection_id=missing[0].removeprefix("absent:"))
    page = store.deliveries.page_with_missing(Mode.TEST, where=where)
    assert [row.id for row in page.rows] == missing[:1]
