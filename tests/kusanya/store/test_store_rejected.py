"""Forged deliveries are counted exactly and kept within bounds."""

from collections.abc import Callable
from typing import Any

import pytest

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode

Opener = Callable[..., Store]


def kept(store: Store, reason: str = "wrong_digest") -> list[int]:
    """Return the numbers of the rejected deliveries whose rows are kept, newest first."""
    rows = store.deliveries(Mode.TEST, limit=1000).rows
    return [row.arrived_at.microsecond // 1000 for row in rows if row.reason == reason]


def counted(store: Store, make: Any) -> dict[str | None, int]:
    rows = store.delivery_rollups(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13))
    return {row.reason: row.count for row in rows if row.verdict is Verdict.REJECTED}


@pytest.mark.spec("signature-4")
def test_a_rejected_delivery_is_kept_and_changes_no_collection(store: Store, make: Any) -> None:
    receipt = store.record(make.rejected(1))
    row = store.delivery(receipt.delivery_id)
    assert row is not None
    assert (row.verdict, row.reason, row.attempt) == (Verdict.REJECTED, "wrong_digest", None)
    assert store.collections(Mode.TEST).rows == ()
    assert store.rollups(Mode.TEST, since=make.noon, until=make.noon.replace(hour=13)) == ()


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
    assert store.check() == ()


def test_each_reason_has_its_own_room(open_store: Opener, make: Any) -> None:
    store = open_store(rejected_rows=3)
    for n in range(20):
        store.record(make.rejected(n))
    store.record(make.rejected(50, reason="stale"))
    store.record(make.arrival(1))
    assert kept(store, "stale") == [50]
    assert counted(store, make) == {"wrong_digest": 20, "stale": 1}
    assert store.collection("col_1") is not None


def test_bodies_beyond_the_bound_go_oldest_first(open_store: Opener, make: Any) -> None:
    store = open_store(rejected_body_bytes=2_500)
    ids = [store.record(make.rejected(n, size=1_000)).delivery_id for n in range(5)]
    bodies = [store.delivery_body(delivery_id) for delivery_id in ids]
    assert [body is not None and body.body is not None for body in bodies] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert [row.body_bytes for row in store.deliveries(Mode.TEST).rows] == [1_000] * 5


def test_claims_of_any_size_and_spelling_are_survived(store: Store, make: Any) -> None:
    from msgspec.structs import replace

    forged = replace(
        make.rejected(1),
        amount=2**80,
        reference="r\0" * 200_000,
        event_id="\udc80" * 5_000,
        collection_id="c" * 100_000,
        event_type="☃" * 5_000,
    )
    row = store.delivery(store.record(forged).delivery_id)
    assert row is not None
    assert row.amount is None
    assert row.reference is not None
    assert len(row.reference) == 256
    assert row.reference.endswith("␀r…")
