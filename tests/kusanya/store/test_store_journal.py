"""What an arrival or an observation becomes once it is durable."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.kusanya.store.customer import kept

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.store.tables.schema import collection, delivery, event, observation
from kusanya.store.writer import journal
from kusanya.store.writer.row_values import DeliveryValues, EventValues, ObservationValues
from kusanya.wire import Mode


@pytest.mark.spec("delivery-4")
def test_a_repeated_event_is_kept_and_counted_and_changes_nothing(store: Store, make: Any) -> None:
    first = store.record(make.arrival(1))
    before = store.collections.get("col_1", Mode.TEST)
    again = store.record(make.arrival(1, at=make.noon + timedelta(minutes=1)))
    assert (first.verdict, again.verdict) == (Verdict.VERIFIED, Verdict.REPEAT)
    assert store.collections.get("col_1", Mode.TEST) == before
    assert len(store.collections.observations("col_1", Mode.TEST)) == 1
    event = store.events.get("evt_1")
    assert event is not None
    assert event.arrivals == 2
    assert len(store.deliveries.page(Mode.TEST).rows) == 2


@pytest.mark.spec("delivery-4")
def test_repeats_within_one_batch_are_found_too(store: Store, make: Any) -> None:
    waiting = [store.submit(make.arrival(n % 3)) for n in range(60)]
    verdicts = [future.result().verdict for future in waiting]
    assert verdicts.count(Verdict.VERIFIED) == 3
    assert verdicts.count(Verdict.REPEAT) == 57
    assert [len(store.collections.observations(f"col_{n}", Mode.TEST)) for n in range(3)] == [
        1,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("values", "table"),
    [(DeliveryValues, delivery), (EventValues, event), (ObservationValues, observation)],
)
def test_the_values_of_a_row_stand_in_the_order_of_the_columns(values: Any, table: Any) -> None:
    assert list(values._fields) == [column.name for column in table.c]


def test_the_exact_bytes_of_a_delivery_come_back(store: Store, make: Any) -> None:
    arrival = make.arrival(1, description="nul \0 and ☃", reference="odd \0 reference")
    receipt = store.record(arrival)
    body = store.deliveries.body(receipt.delivery_id)
    assert body is not None
    assert body.body == arrival.body
    assert body.headers == arrival.headers
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert row.description == "nul ␀ and ☃"
    assert (
        store.collections.observations("col_1", Mode.TEST)[0].collection.description
        == "nul \0 and ☃"
    )


def test_the_same_saying_is_one_observation(store: Store, make: Any) -> None:
    fact = make.observation(1, source=Source.POLL)
    first = store.record(fact)
    assert store.record(fact) == first
    assert store.collections.observations("col_1", Mode.TEST) == (fact,)


def test_a_delivery_is_known_by_its_row(store: Store, make: Any) -> None:
    arrival = make.arrival(7)
    receipt = store.record(arrival)
    row = store.deliveries.get(receipt.delivery_id)
    assert row is not None
    assert (row.seq, row.verdict, row.event_id) == (receipt.seq, Verdict.VERIFIED, "evt_7")
    assert (row.arrived_at, row.attempt) == (arrival.arrived_at, 1)
    assert row.body_bytes == len(arrival.body)
    assert store.deliveries.get("dlv_unknown") is None
    assert store.deliveries.body("dlv_unknown") is None


def test_an_answer_and_its_event_lead_to_one_state(store: Store, make: Any) -> None:
    store.record(make.observation(1, source=Source.ANSWER))
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert (row.status, row.final_seen_at, row.event_id) == ("created", None, None)
    store.record(make.arrival(1))
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert (row.status, row.event_id, row.missing_event) == ("succeeded", "evt_1", False)
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert (state.status, state.observations) == ("succeeded", 2)


def test_a_final_state_without_an_event_is_a_missing_event(store: Store, make: Any) -> None:
    store.record(make.observation(1, source=Source.POLL))
    row = store.collections.get("col_1", Mode.TEST)
    assert row is not None
    assert row.missing_event
    store.record(make.observation(2, source=Source.ANSWER))
    store.record(make.arrival(3))
    assert {one["id"]: one["unwell"] for one in kept(store, collection)} == {
        "col_1": 1,  # a final state that no event told of
        "col_2": 0,
        "col_3": 0,
    }


def test_which_attempt_a_delivery_is_follows_from_its_times_where_it_has_them(
    store: Store, make: Any
) -> None:
    known = make.arrival(1)
    for number, change in enumerate(({}, {"signed_at": None}, {"event_created_at": None}), 1):
        store.record(replace(make.arrival(number), **change))
    assert known.signed_at == known.event_created_at
    assert [row["attempt"] for row in kept(store, delivery)] == [1, None, None]


def test_checking_an_event_leaves_its_mark(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    check = make.observation(1, source=Source.EVENT_CHECK)
    store.record(check)
    event = store.events.get("evt_1", Mode.TEST)
    assert event is not None
    assert event.checked_at == check.observed_at
    assert store.events.get("evt_1", Mode.LIVE) is None
    assert store.events.of_collection("col_1", Mode.TEST) == (event,)


def test_a_verified_arrival_without_its_fact_is_the_callers_mistake(
    store: Store, make: Any
) -> None:
    from msgspec.structs import replace

    with pytest.raises(ValueError, match="observation"):
        store.submit(replace(make.arrival(1), observation=None))


def test_a_transaction_that_takes_long_leaves_a_line(
    store: Store, make: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.record(make.arrival(1))
    assert not [one for one in caplog.records if one.getMessage() == "slow commit"]
    monkeypatch.setattr(journal, "_SLOW_S", 0.0)
    store.record(make.arrival(2))
    monkeypatch.undo()
    slow = [one for one in caplog.records if one.getMessage() == "slow commit"]
    assert slow
    assert {(one.name, one.levelno) for one in slow} == {("kusanya.store", logging.WARNING)}
    assert vars(slow[0])["rows"] == 1
