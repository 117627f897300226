"""Forged deliveries are counted exactly and kept within bounds."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event

from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import Arrival, RebuildResult, Verdict
from kusanya.wire import Mode

Opener = Callable[..., Store]


def kept(store: Store, reason: str = "wrong_digest") -> list[int]:
    """Return the numbers of the rejected deliveries whose rows are kept, newest first."""
    rows = store.deliveries.page(Mode.TEST, limit=1000).rows
    return [row.arrived_at.microsecond // 1000 for row in rows if row.reason == reason]


def counted(store: Store, make: Any) -> dict[str | None, int]:
    rows = store.rollups.deliveries(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13))
    return {row.reason: row.count for row in rows if row.verdict is Verdict.REJECTED}


@pytest.mark.spec("signature-4")
def test_a_rejected_delivery_is_kept_and_changes_no_collection(store: Store, make: Any) -> None:
    receipt = store.record(make.rejected(1))
    row = store.deliveries.get(receipt.delivery_id)
    assert row is not None
    assert (row.verdict, row.reason, row.attempt) == (Verdict.REJECTED, "wrong_digest", None)
    assert store.collections.page(Mode.TEST).rows == ()
    assert (
        store.rollups.collections(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13))
        == ()
    )


def test_a_flood_is_counted_exactly_and_sampled(
    open_store: Opener, make: Any, clock: ManualClock
) -> None:
    store = open_store(rejected_rows=10)
    receipts = [store.submit(make.rejected(n)) for n in range(200)]
    dropped = [future.result().delivery_id for future in receipts].count("")
    assert dropped >= 189
    assert len(kept(store)) == 10
    assert counted(store, make) == {"wrong_digest": 200}
    store.record(make.rejected(299))  # may be this second's sample
    assert store.record(make.rejected(300)).delivery_id == ""
    clock.sleep(1.5)
    assert store.record(make.rejected(301)).delivery_id != ""
    assert store.record(make.rejected(302)).delivery_id == ""
    assert kept(store)[0] == 301
    assert len(kept(store)) == 10
    assert counted(store, make) == {"wrong_digest": 204}
    assert store.maintenance.check() == ()


def test_each_reason_has_its_own_room(open_store: Opener, make: Any) -> None:
    store = open_store(rejected_rows=3)
    for n in range(20):
        store.record(make.rejected(n))
    store.record(make.rejected(50, reason="stale"))
    store.record(make.arrival(1))
    assert kept(store, "stale") == [50]
    assert counted(store, make) == {"wrong_digest": 20, "stale": 1}
    assert store.collections.get("col_1", Mode.TEST) is not None


def test_bodies_beyond_the_bound_go_oldest_first(open_store: Opener, make: Any) -> None:
    store = open_store(rejected_body_bytes=2_500)
    ids = [store.record(make.rejected(n, size=1_000)).delivery_id for n in range(5)]
    bodies = [store.deliveries.body(delivery_id) for delivery_id in ids]
    assert [body is not None and body.body is not None for body in bodies] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert [row.body_bytes for row in store.deliveries.page(Mode.TEST).rows] == [1_000] * 5


def test_claims_of_any_size_and_spelling_are_survived(store: Store, make: Any) -> None:
    forged = replace(
        make.rejected(1),
        amount=2**80,
        reference="r\0" * 200_000,
        event_id="\udc80" * 5_000,
        collection_id="c" * 100_000,
        event_type="☃" * 5_000,
    )
    row = store.deliveries.get(store.record(forged).delivery_id)
    assert row is not None
    assert row.amount is None
    assert row.reference is not None
    assert len(row.reference) == 256
    assert row.reference.endswith("␀r…")


def test_all_endpoints_and_reasons_together_have_a_bound_too(open_store: Opener, make: Any) -> None:
    store = open_store(rejected_rows=3, rejected_body_bytes=2_500)
    for n in range(20):
        endpoint = f"till{n % 4}"
        forged = replace(make.rejected(n, reason=f"why{n}", size=1_000), endpoint=endpoint)
        assert store.record(forged).delivery_id != ""
    rows = store.deliveries.page(Mode.TEST, limit=1000).rows
    assert [row.reason for row in rows] == [f"why{n}" for n in range(19, 7, -1)]
    bodies = [store.deliveries.body(row.id) for row in rows]
    held = [len(body.body) for body in bodies if body is not None and body.body is not None]
    assert held == [1_000] * 5
    assert counted(store, make) == {f"why{n}": 1 for n in range(20)}
    assert store.maintenance.check() == ()
    assert store.maintenance.rebuild() == RebuildResult(collections=0, rollups=0)


def test_an_event_that_is_repeated_without_end_is_counted_and_kept_twenty_times(
    open_store: Opener, make: Any
) -> None:
    store = open_store()
    genuine = make.arrival(1)
    receipts = [store.submit(genuine) for _ in range(50)]
    verdicts = [future.result().verdict for future in receipts]
    assert (verdicts.count(Verdict.VERIFIED), verdicts.count(Verdict.REPEAT)) == (1, 49)
    store.close()
    # What is known of an event outlives the process.
    store = open_store()
    assert store.record(genuine).delivery_id == ""
    assert store.record(make.arrival(2)).delivery_id != ""
    found = store.events.get("evt_1")
    assert found is not None
    assert found.arrivals == 51
    rows = store.deliveries.page(Mode.TEST, limit=1000).rows
    assert [row.verdict for row in rows if row.event_id == "evt_1"].count(Verdict.REPEAT) == 19
    rollups = store.rollups.deliveries(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13))
    assert {row.verdict: row.count for row in rollups} == {
        Verdict.VERIFIED: 2,
        Verdict.REPEAT: 50,
    }
    assert store.maintenance.check() == ()
    assert store.maintenance.rebuild() == RebuildResult(collections=0, rollups=0)


def without_effect(make: Any, verdict: Verdict, number: int) -> Arrival:
    """Return an authentic delivery that has no effect."""
    if verdict is Verdict.CONFLICT:
        other: Arrival = make.arrival(1, fee=60 + number)
        return other
    forged: Arrival = make.rejected(number)
    return replace(forged, verdict=verdict, reason="said", endpoint="till")


@pytest.mark.parametrize("verdict", [Verdict.UNPARSEABLE, Verdict.WRONG_MODE, Verdict.CONFLICT])
def test_of_what_has_no_effect_each_body_is_kept_and_its_repeats_twenty_times(
    store: Store, make: Any, verdict: Verdict
) -> None:
    store.record(make.arrival(1))
    for number in (1, 2):
        futures = [store.submit(without_effect(make, verdict, number)) for _ in range(30)]
        assert {future.result().verdict for future in futures} == {verdict}
    assert not store.record(without_effect(make, verdict, 2)).delivery_id, "counted, not kept"
    kept_ones = [row for row in store.deliveries.page(Mode.TEST).rows if row.verdict is verdict]
    bodies = Counter(
        body.body for row in kept_ones if (body := store.deliveries.body(row.id)) is not None
    )
    assert sorted(bodies.values()) == [20, 20]
    rollups = store.rollups.deliveries(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13))
    assert {row.count for row in rollups if row.verdict is verdict} == {61}
    assert store.maintenance.check() == ()


def test_a_body_whose_commit_failed_is_not_taken_for_kept(store: Store, make: Any) -> None:
    unread = without_effect(make, Verdict.UNPARSEABLE, 1)
    faults = [OSError(28, "no space left")] * 25

    def fail(_connection: Any) -> None:
        if faults:
            raise faults.pop()

    event.listen(store._engines.writer, "commit", fail)
    for _ in range(25):
        with pytest.raises(StoreUnavailable):
            store.record(unread)
    receipt = store.record(unread)
    found = store.deliveries.body(receipt.delivery_id)
    assert found is not None
    assert found.body == unread.body
