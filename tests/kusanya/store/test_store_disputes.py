"""Test and live never mix, and one event id with two bodies is an anomaly: evidence, no effect."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from kusanya.lookup import find
from kusanya.state.anomalies import AnomalyKind, anomalies
from kusanya.state.observation import Dispute, Source
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, DeliveryFilter, Note, Verdict
from kusanya.wire import Mode

TEST, LIVE = Mode.TEST, Mode.LIVE


def kinds(store: Store, mode: Mode, name: str = "col_1") -> list[str]:
    """Return what is odd about a collection, as the console and `show` say it."""
    state = store.collections.state(name, mode)
    assert state is not None
    return [
        one.kind.value
        for one in anomalies(state, store.collections.observations(name, mode))
        if one.urgent
    ]


def sound(store: Store) -> None:
    """Hold that the store agrees with itself, and that its sums are those of its rows."""
    assert store.maintenance.check() == ()
    rebuilt = store.maintenance.rebuild()
    assert (rebuilt.collections, rebuilt.rollups) == (0, 0)


def said(make: Any) -> dict[str, Any]:
    """Return the live payment's own facts, and one that a test secret signed."""
    return {
        "answer": make.observation(1, source=Source.ANSWER, mode="live"),
        "poll": make.observation(1, source=Source.POLL, mode="live", status="created"),
        "forged": make.arrival(1, event_id="evt_9", mode="test", amount=77, reference="OTHER-1"),
    }


@pytest.mark.parametrize("order", list(permutations(["answer", "poll", "forged"])))
def test_a_test_signature_never_ends_a_live_collection(
    store: Store, make: Any, order: tuple[str, ...]
) -> None:
    for name in order:
        store.record(said(make)[name])
    row = store.collections.get("col_1", LIVE)
    assert row is not None
    assert (row.mode, row.status, row.amount, row.final_seen_at) == (LIVE, "created", 5000, None)
    assert row.contradictions == 1
    assert kinds(store, LIVE) == [AnomalyKind.MODE_MISMATCH]
    assert [one.id for one in store.collections.still_open(LIVE).rows] == ["col_1"]
    until = store._clock.now() + timedelta(minutes=1)
    assert [one.id for one in store.poll_leases.take(LIVE, by="a", until=until)] == ["col_1"]
    unwell = store.collections.page(LIVE, where=CollectionFilter(unwell=True)).rows
    assert [one.id for one in unwell] == ["col_1"]
    assert {fact.observed_in for fact in store.collections.observations("col_1", LIVE)} == {LIVE}
    span = {"since": make.noon, "until": make.noon + timedelta(days=1)}
    [counted] = store.rollups.collections(LIVE, **span)
    assert (counted.status, counted.count, counted.amount) == ("created", 1, 5000)
    [counted] = store.rollups.collections(TEST, **span)
    assert (counted.status, counted.count, counted.amount) == ("succeeded", 1, 77)
    sound(store)


def test_each_mode_keeps_its_own_collection_events_notes_and_leases(
    store: Store, make: Any
) -> None:
    store.record(make.arrival(1, mode="live"))
    store.record(make.arrival(1, event_id="evt_9", mode="test", amount=77))
    rows = [store.collections.get("col_1", mode) for mode in (LIVE, TEST)]
    assert [row and (row.mode, row.amount) for row in rows] == [(LIVE, 5000), (TEST, 77)]
    assert [one.id for one in store.events.of_collection("col_1", LIVE)] == ["evt_1"]
    assert [one.id for one in store.events.of_collection("col_1", TEST)] == ["evt_9"]
    assert kinds(store, LIVE) == kinds(store, TEST) == [AnomalyKind.MODE_MISMATCH]
    for mode, name in ((LIVE, "evt_1"), (TEST, "evt_9")):
        arrived = store.deliveries.page(mode, where=DeliveryFilter(collection_id="col_1")).rows
        assert [one.event_id for one in arrived] == [name]
    store.notes.add("col_1", Note("on the test one"), author="asha", mode=TEST)
    assert store.notes.of("col_1", LIVE) == ()
    sound(store)


def test_open_collections_of_both_modes_with_one_id_are_leased_apart(
    store: Store, make: Any
) -> None:
    for mode in ("live", "test"):
        store.record(make.observation(1, source=Source.ANSWER, mode=mode))
    until = store._clock.now() + timedelta(minutes=1)
    assert [one.id for one in store.poll_leases.take(LIVE, by="a", until=until)] == ["col_1"]
    assert [one.id for one in store.poll_leases.take(TEST, by="b", until=until)] == ["col_1"]
    store.poll_leases.release(LIVE, ["col_1"], by="b")
    assert store.poll_leases.take(LIVE, by="c", until=until) == ()
    store.poll_leases.release(LIVE, ["col_1"], by="a")
    assert [one.id for one in store.poll_leases.take(LIVE, by="c", until=until)] == ["col_1"]
    assert store.poll_leases.take(TEST, by="c", until=until) == ()


def test_a_search_finds_in_a_mode_what_that_mode_said(store: Store, make: Any) -> None:
    for fact in said(make).values():
        store.record(fact)
    day = make.noon - timedelta(hours=12)

    def ask(text: str, mode: Mode) -> list[tuple[str, str]]:
        found = find(store, text, mode=mode, now=make.noon, day=lambda _: day)
        return [(match.row.id, match.row.status) for match in found.matches]

    for text in ("col_1", "INV-000001", "V-00000", "INV"):
        assert ask(text, LIVE) == [("col_1", "created")], text
    for text in ("col_1", "evt_9", "OTHER-1", "HER-1"):
        assert ask(text, TEST) == [("col_1", "succeeded")], text
    for text in ("evt_9", "OTHER-1", "HER-1"):
        assert ask(text, LIVE) == [], text


@pytest.mark.parametrize("known_first", [True, False])
def test_a_delivery_of_the_wrong_mode_is_an_anomaly_of_the_collection_that_it_names(
    store: Store, make: Any, known_first: bool
) -> None:
    wrong = make.disputed(make.arrival(1, event_id="evt_9"), observed_in=LIVE)
    own = make.observation(1, source=Source.ANSWER, mode="live")
    for fact in (own, wrong, wrong) if known_first else (wrong, wrong, own):
        store.record(fact)
    row = store.collections.get("col_1", LIVE)
    assert row is not None
    assert (row.status, row.final_seen_at, row.contradictions) == ("created", None, 1)
    assert kinds(store, LIVE) == [AnomalyKind.MODE_MISMATCH]
    assert store.collections.get("col_1", TEST) is None
    assert store.events.get("evt_9") is None
    for where in (DeliveryFilter(unwell=True), DeliveryFilter(collection_id="col_1")):
        arrived = store.deliveries.page(LIVE, where=where).rows
        assert [one.verdict for one in arrived] == [Verdict.WRONG_MODE] * 2
    sound(store)


def test_a_delivery_of_the_wrong_mode_about_nothing_known_makes_no_collection(
    store: Store, make: Any
) -> None:
    store.record(make.disputed(make.arrival(1), observed_in=LIVE))
    assert [store.collections.get("col_1", mode) for mode in Mode] == [None, None]
    span = {"since": make.noon, "until": make.noon + timedelta(days=1)}
    assert [store.rollups.collections(mode, **span) for mode in Mode] == [(), ()]
    assert store.collections.observations("col_1", LIVE) == ()
    assert store.collections.state("col_1", LIVE) is None
    sound(store)


@pytest.mark.parametrize("same_batch", [False, True])
@pytest.mark.parametrize(
    ("other", "fields", "status"),
    [
        ({"amount": 9000}, {"amount", "event"}, "succeeded"),
        ({"status": "failed"}, {"status", "event"}, "contradiction"),
        ({"spaces": True}, {"event"}, "succeeded"),
    ],
)
def test_one_event_id_with_two_bodies_is_an_anomaly_of_the_payment(  # noqa: PLR0917 - fixtures
    store: Store, make: Any, other: dict[str, Any], fields: set[str], status: str, same_batch: bool
) -> None:
    first, second = make.arrival(1), make.arrival(1, **other)
    kept = [store.submit(first)]
    if not same_batch:
        kept[0].result()
    kept += [store.submit(second), store.submit(second)]
    assert [one.result().verdict for one in kept] == [
        Verdict.VERIFIED,
        Verdict.CONFLICT,
        Verdict.CONFLICT,
    ]
    row, state = store.collections.get("col_1", TEST), store.collections.state("col_1", TEST)
    assert row is not None
    assert state is not None
    assert (row.status, row.amount, row.contradictions) == (status, 5000, len(state.contradictions))
    assert {doubt.field for doubt in state.contradictions} == fields
    assert AnomalyKind.EVENT_CHANGED in kinds(store, TEST)
    unwell = store.collections.page(TEST, where=CollectionFilter(unwell=True)).rows
    assert [one.id for one in unwell] == ["col_1"]
    event = store.events.get("evt_1", TEST)
    assert event is not None
    assert event.arrivals == 1
    sound(store)


@pytest.mark.parametrize("known_first", [True, False])
def test_an_event_id_that_comes_again_with_another_collection_marks_both_and_ends_neither(
    store: Store, make: Any, known_first: bool
) -> None:
    store.record(make.arrival(1))
    open_one = make.observation(2, source=Source.ANSWER)
    again = make.arrival(2, event_id="evt_1")
    for fact in (open_one, again) if known_first else (again, open_one):
        store.record(fact)
    first, second = (store.collections.get(f"col_{n}", TEST) for n in (1, 2))
    assert first is not None
    assert second is not None
    assert (first.status, first.contradictions) == ("succeeded", 1)
    assert (second.status, second.final_seen_at, second.contradictions) == ("created", None, 1)
    assert kinds(store, TEST) == kinds(store, TEST, "col_2") == [AnomalyKind.EVENT_CHANGED]
    sound(store)


def test_what_is_disputed_comes_back_as_it_was_kept(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    store.record(make.arrival(1, amount=9000))
    facts = store.collections._facts("col_1")
    assert [fact.disputed for fact in facts] == [None, Dispute.OTHER_BODY]
    assert store.collections.observations("col_1", TEST) == facts[:1]
