"""A snapshot is one moment of the store, on both engines, and its tables name each thing once."""

from datetime import timedelta
from typing import Any

import pytest

from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.queries.bulk import fee_sources
from kusanya.wire import Mode


def test_what_commits_during_a_snapshot_is_not_seen_by_any_of_its_queries(
    store: Store, make: Any
) -> None:
    store.record(make.observation(1))
    days = {"since": make.noon - timedelta(days=1), "until": make.noon + timedelta(days=1)}
    head = store.feed.head()
    with store.bulk_read.snapshot() as found:
        store.record(make.observation(2))
        store.record(make.observation(1, source=Source.POLL, amount=7_000))
        seen = found.collections(Mode.TEST, **days, as_of=found.head, fees_apart=True)
        assert found.head == head
        assert seen["id"].to_pylist() == ["col_1"]
        assert seen["contradictions"].to_pylist() == [0]
        assert found.keys(Mode.TEST, **days, as_of=found.head)["reference"].to_pylist() == [
            "INV-000001"
        ]
        rollups = found.rollups(Mode.TEST, **days, as_of=found.head)
        assert rollups is not None
        assert sum(row.count for row in rollups) == 1
        assert found.rollups(Mode.TEST, **days, as_of=found.head - 1) is None
    with store.bulk_read.snapshot() as later:
        now = later.collections(Mode.TEST, **days, as_of=later.head)
        assert sorted(
            zip(*now.select(["id", "contradictions"]).to_pydict().values(), strict=True)
        ) == [
            ("col_1", 1),
            ("col_2", 0),
        ]


def test_all_parts_of_the_store_can_be_read_as_of_one_moment(store: Store, make: Any) -> None:
    store.record(make.observation(1))

    def known() -> tuple[int, list[str]]:
        page = store.collections.page(Mode.TEST, limit=9)
        return store.feed.head(), [row.id for row in page.rows]

    with store.one_moment():
        before = known()
        store.record(make.observation(2))
        assert known() == before
        with store.bulk_read.snapshot() as found:
            assert found.head == before[0]
    assert [len(known()[1]), known()[0] > before[0]] == [2, True]


def test_a_collection_named_by_its_id_and_by_its_reference_comes_once(
    store: Store, make: Any
) -> None:
    for number in (1, 2, 3):
        store.record(make.observation(number))
    later = {"since": make.noon + timedelta(days=1), "until": make.noon + timedelta(days=2)}
    with store.bulk_read.snapshot() as found:
        named = found.collections_named(
            Mode.TEST,
            ids=["col_2", "col_9"],
            references=["INV-000002", "INV-000003"],
            **later,
            as_of=found.head,
        )
        assert named["id"].to_pylist() == ["col_2", "col_3"]
        none = found.collections_named(Mode.TEST, ids=[], references=[], **later, as_of=found.head)
        assert (none.num_rows, none.schema) == (0, named.schema)


def test_collections_are_named_before_a_span_and_after_it_but_not_within(
    store: Store, make: Any
) -> None:
    for number in (1, 2, 3):
        store.record(make.observation(number))
    every = {"ids": [], "references": [f"INV-00000{number}" for number in (1, 2, 3)]}
    with store.bulk_read.snapshot() as found:
        days = {"since": make.noon - timedelta(days=1), "until": make.noon + timedelta(days=1)}
        table = found.collections(Mode.TEST, **days, as_of=found.head)
        first, second, third = table["created_at"].to_pylist()
        assert first < second < third
        named = found.collections_named(
            Mode.TEST, **every, since=second, until=third, as_of=found.head
        )
        assert named["id"].to_pylist() == ["col_1", "col_3"]


def test_a_month_can_be_read_again_as_of_any_place(store: Store, make: Any) -> None:
    days = {"since": make.noon - timedelta(days=1), "until": make.noon + timedelta(days=1)}
    store.record(make.observation(1, source=Source.ANSWER))
    before = store.feed.head()
    store.record(make.observation(1))
    with store.bulk_read.snapshot() as found:
        then = found.collections(Mode.TEST, **days, as_of=before, fees_apart=True)
        now = found.collections(Mode.TEST, **days, as_of=found.head, fees_apart=True)
    said = ["status", "fee_202", "fee_event", "fee_get"]
    assert then.select(said).to_pylist() == [
        {"status": "created", "fee_202": 50, "fee_event": None, "fee_get": None}
    ]
    assert now.select(said).to_pylist() == [
        {"status": "succeeded", "fee_202": 50, "fee_event": 50, "fee_get": None}
    ]


def test_what_was_heard_since_a_place_is_read_as_it_was_and_as_it_is(
    store: Store, make: Any
) -> None:
    for number in (1, 2, 3):
        store.record(make.observation(number, status="created"))
    place = store.feed.head()
    store.record(make.observation(1, source=Source.POLL, status="succeeded"))
    store.record(make.observation(4, status="succeeded"))
    store.record(make.observation(3, source=Source.POLL, status="failed", mode=Mode.LIVE))
    end = make.noon + timedelta(days=1)
    with store.bulk_read.snapshot() as found:
        ids = found.changed_after(Mode.TEST, place, created_before=end)
        assert ids == ["col_1", "col_4"]
        named: dict[str, Any] = {"ids": ids, "references": (), "since": end, "until": end}
        sides = [
            dict(zip(*side.select(["id", "status"]).to_pydict().values(), strict=True))
            for at in (place, found.head)
            for side in [found.collections_named(Mode.TEST, **named, as_of=at)]
        ]
        assert sides == [{"col_1": "created"}, {"col_1": "succeeded", "col_4": "succeeded"}]
        early = make.noon - timedelta(days=1)
        assert found.changed_after(Mode.TEST, place, created_before=early) == []


def test_sources_of_fees_are_looked_up_or_read_through_and_are_the_same(
    store: Store, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {"since": make.noon - timedelta(days=1), "until": make.noon + timedelta(days=1)}
    for number, source in enumerate([Source.ANSWER, Source.EVENT, Source.POLL] * 3):
        store.record(make.observation(number % 4 + 1, source=source))
    with store.bulk_read.snapshot() as found:
        through = found.collections(Mode.TEST, **days, as_of=found.head, fees_apart=True)
        monkeypatch.setattr(fee_sources, "_SCANNED", 0)
        monkeypatch.setattr(fee_sources, "_NAMED", 3)
        looked_up = found.collections(Mode.TEST, **days, as_of=found.head, fees_apart=True)
    fees = through.select(["fee_202", "fee_event", "fee_get"]).to_pylist()
    assert sum(fee is not None for row in fees for fee in row.values()) == 9
    assert looked_up.equals(through)
