"""Pages by keyset: together they are the whole list, each record once, in both directions."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    SortOrder,
    Verdict,
)
from kusanya.wire import Mode

FEW = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def filled(store: Store, make: Any) -> Store:
    """Return a store with 60 collections in which sort values repeat."""
    futures = []
    for n in range(60):
        said = {"created_at": make.noon + timedelta(microseconds=n // 4), "amount": 1000 + n % 7}
        futures.append(store.submit(make.observation(n, source=Source.ANSWER, **said)))
        if n % 3:
            futures.append(
                store.submit(
                    make.arrival(
                        n,
                        at=make.noon + timedelta(microseconds=n // 5),
                        status="failed" if n % 3 == 1 else "succeeded",
                        **said,
                    )
                )
            )
    for future in futures:
        future.result()
    return store


def walk_down(
    store: Store, order: SortOrder, limit: int, where: CollectionFilter
) -> list[CollectionRow]:
    rows: list[CollectionRow] = []
    key = None
    while True:
        page = store.collections.page(
            Mode.TEST, where=where, order=order, older_than=key, limit=limit
        )
        rows += page.rows
        if not page.more:
            return rows
        assert len(page.rows) == limit
        key = page.rows[-1].key_in(order)


def walk_up(
    store: Store, order: SortOrder, limit: int, where: CollectionFilter
) -> list[CollectionRow]:
    page = store.collections.oldest(Mode.TEST, where=where, order=order, limit=limit)
    rows = list(page.rows)
    while page.more:
        key = rows[0].key_in(order)
        page = store.collections.page(
            Mode.TEST, where=where, order=order, newer_than=key, limit=limit
        )
        rows = [*page.rows, *rows]
    return rows


FILTERS = (
    CollectionFilter(),
    CollectionFilter(unwell=True),
    CollectionFilter(statuses=("failed", "created"), amount_min=1002),
    CollectionFilter(reference_part="v-00001"),
    CollectionFilter(reference_part="INV-"),
    CollectionFilter(amount_min=1002, amount_max=1003),
    CollectionFilter(amount_max=1001, channels=("MPESA_TZ",)),
)


def plainly(rows: list[CollectionRow], where: CollectionFilter) -> list[CollectionRow]:
    return [
        row
        for row in rows
        if (not where.unwell or row.status == "failed")
        and (not where.statuses or row.status in where.statuses)
        and row.amount >= (where.amount_min or 0)
        and row.amount <= (where.amount_max or row.amount)
        and (where.reference_part or "").lower() in row.reference.lower()
    ]


@FEW
@given(
    order=st.sampled_from(list(SortOrder)),
    limit=st.integers(1, 70),
    where=st.sampled_from(FILTERS),
)
def test_walking_a_list_down_or_up_gives_every_record_once(
    filled: Store, order: SortOrder, limit: int, where: CollectionFilter
) -> None:
    everything = list(filled.collections.page(Mode.TEST).rows)
    expected = sorted(plainly(everything, where), key=lambda row: row.key_in(order), reverse=True)
    assert walk_down(filled, order, limit, where) == expected
    assert walk_up(filled, order, limit, where) == expected


@pytest.mark.parametrize("order", list(SortOrder))
def test_an_amount_is_listed_alike_whether_its_rows_are_sorted_or_met_on_the_way(
    filled: Store, make: Any, order: SortOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    since = make.noon + timedelta(microseconds=4)
    asked = [
        CollectionFilter(amount_min=1002, amount_max=1002, created_from=since),
        CollectionFilter(amount_min=1002, created_from=since, created_to=since),
        CollectionFilter(amount_min=1003, created_to=since, statuses=("failed",)),
    ]
    listed = [walk_down(filled, order, 3, where) for where in asked]
    monkeypatch.setattr("kusanya.store.queries.collections.collections._SORTED", 0)
    assert [walk_down(filled, order, 3, where) for where in asked] == listed
    assert [bool(rows) for rows in listed] == [True, False, True]


def test_a_page_around_an_instant_has_both_sides(filled: Store, make: Any) -> None:
    page = filled.collections.around(Mode.TEST, make.noon + timedelta(microseconds=7), limit=20)
    offsets = [(row.created_at - make.noon) // timedelta(microseconds=1) for row in page.rows]
    assert offsets == sorted(offsets, reverse=True)
    assert len(page.rows) == 20
    assert (min(offsets), max(offsets)) == (5, 10)
    assert page.more


def test_open_collections_come_oldest_first_and_leave_when_final(filled: Store, make: Any) -> None:
    first = filled.collections.still_open(Mode.TEST, limit=15)
    rest = filled.collections.still_open(Mode.TEST, after=first.rows[-1].key)
    found = [row.id for row in (*first.rows, *rest.rows)]
    assert found == [row.id for row in sorted((*first.rows, *rest.rows), key=lambda r: r.key)]
    assert sorted(found) == sorted(f"col_{n}" for n in range(60) if n % 3 == 0)
    assert (first.more, rest.more) == (True, False)
    before = filled.collections.still_open(
        Mode.TEST, created_before=make.noon + timedelta(microseconds=1)
    )
    assert [row.id for row in before.rows] == ["col_0", "col_3"]
    assert filled.collections.still_open(Mode.LIVE).rows == ()


@FEW
@given(limit=st.integers(1, 50))
def test_walking_deliveries_down_and_up_gives_every_one_once(filled: Store, limit: int) -> None:
    down = list(filled.deliveries.page(Mode.TEST, limit=limit).rows)
    while (page := filled.deliveries.page(Mode.TEST, older_than=down[-1].key, limit=limit)).rows:
        down += page.rows
    assert len(down) == len({row.id for row in down}) == 40
    assert [row.key for row in down] == sorted((row.key for row in down), reverse=True)
    up = [down[-1]]
    while (page := filled.deliveries.page(Mode.TEST, newer_than=up[0].key, limit=limit)).rows:
        up = [*page.rows, *up]
    assert up == down


def test_deliveries_are_filtered(store: Store, make: Any) -> None:
    first = store.record(make.arrival(1))
    again = store.record(make.arrival(1, at=make.noon + timedelta(minutes=2)))
    forged = store.record(make.rejected(5))
    store.record(make.arrival(2))

    def found(**terms: Any) -> set[str]:
        page = store.deliveries.page(Mode.TEST, where=DeliveryFilter(**terms))
        return {row.id for row in page.rows}

    assert found(unwell=True) == {again.delivery_id, forged.delivery_id}
    assert found(event_id="evt_1") == {first.delivery_id, again.delivery_id}
    assert found(collection_id="col_1") == {first.delivery_id, again.delivery_id}
    assert found(verdicts=(Verdict.REJECTED,)) == {forged.delivery_id}
    assert found(arrived_from=make.noon + timedelta(minutes=1)) == {again.delivery_id}
    assert found(arrived_to=make.noon + timedelta(seconds=1)) == {forged.delivery_id}
    assert found(endpoints=("other",)) == set()


def test_references_and_phones_are_found_exactly(store: Store, make: Any) -> None:
    store.record(make.arrival(1, reference="A%_1", phone="+255754000001"))
    store.record(make.arrival(2, reference="A%_1x", phone="255754000001"))
    store.record(make.arrival(3, reference="a%_1", phone="255754000003"))

    def ids(rows: tuple[CollectionRow, ...]) -> list[str]:
        return [row.id for row in rows]

    assert ids(store.collections.by_reference(Mode.TEST, "A%_1")) == ["col_1"]
    where = CollectionFilter(reference_part="A%_")
    assert ids(store.collections.page(Mode.TEST, where=where).rows) == ["col_3", "col_2", "col_1"]
    where = CollectionFilter(ids=("col_2", "col_9"), statuses=("succeeded", "created", "failed"))
    assert ids(store.collections.page(Mode.TEST, where=where).rows) == ["col_2"]
    assert ids(store.collections.by_phone(Mode.TEST, "255754000001")) == ["col_2", "col_1"]
    assert ids(store.collections.by_phone(Mode.TEST, "+255754000001")) == ["col_2", "col_1"]
    since = make.noon + timedelta(seconds=2)
    assert ids(store.collections.by_phone(Mode.TEST, "255754000001", since=since)) == ["col_2"]
    assert store.collections.by_phone(Mode.LIVE, "255754000001") == ()
    assert set(store.collections.by_id(["col_1", "col_3", "col_9"], Mode.TEST)) == {
        "col_1",
        "col_3",
    }


def test_open_collections_stand_above_the_final_ones_and_the_newest_on_top(
    store: Store, make: Any
) -> None:
    for number in (1, 3):
        at = make.noon + timedelta(seconds=number)
        store.record(make.observation(number, source=Source.ANSWER, created_at=at))
    for number in (2, 4):
        store.record(make.arrival(number))
    rows = store.collections.page(Mode.TEST, order=SortOrder.FINAL).rows
    assert [row.id for row in rows[:2]] == ["col_3", "col_1"]
    assert {row.id for row in rows[2:]} == {"col_2", "col_4"}
    latest = store.collections.latest_finals(Mode.TEST, limit=9)
    assert latest == rows[2:]


def test_events_that_were_never_double_checked_are_paged_oldest_first(
    store: Store, make: Any
) -> None:
    for number in (4, 2, 0, 3, 1):
        store.record(make.arrival(number))
    store.record(make.arrival(9, mode="live"))
    store.record(make.observation(3, source=Source.EVENT_CHECK))
    first = store.events.unchecked(Mode.TEST, limit=2)
    assert [row.id for row in first.rows] == ["evt_0", "evt_1"]
    assert first.more
    rest = store.events.unchecked(Mode.TEST, after=first.rows[-1].key)
    assert [row.id for row in rest.rows] == ["evt_2", "evt_4"]
    assert not rest.more
    since = rest.rows[-1].first_arrived_at
    assert store.events.unchecked(Mode.TEST, since=since).rows == rest.rows[-1:]
    body = store.deliveries.body(rest.rows[-1].delivery_id)
    assert body is not None
    assert body.body == make.body(4)
