"""The change feed misses nothing and repeats nothing, also while others write."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kusanya.errors import PlaceAhead
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import BreakSubject, Change, ChangeKind, Note
from kusanya.wire import Mode


def test_the_feed_of_an_empty_store_is_empty(store: Store) -> None:
    assert store.feed.head() == 0
    assert store.feed.changes(0) == ()


def test_a_place_ahead_of_the_feed_is_refused_and_not_read_as_nothing_new(
    store: Store, make: Any
) -> None:
    """As after a restore: what the store calls that place later is another change."""
    store.record(make.arrival(1))
    head = store.feed.head()
    assert store.feed.changes(head) == ()
    with pytest.raises(PlaceAhead, match=f"ends at {head}, and {head + 1} lies ahead"):
        store.feed.changes(head + 1)


def test_the_feed_goes_through_every_kind_in_order(store: Store, make: Any) -> None:
    store.record(make.arrival(1))
    store.record(make.observation(1, source=Source.POLL))
    store.notes.add("col_1", Note("seen"), author="asha", mode=Mode.TEST)
    store.audit.add(actor="asha", act="look")
    store.receipts.record("col_1", Mode.TEST, "SJ31HG4K2", source="mpesa.csv", actor="asha")
    subject = BreakSubject(break_id="0123456789abcdef", leg="books", code="missing_in_ledger")
    store.breaks.record(subject, Mode.TEST, actor="asha", note="asked the shop")
    changes = store.feed.changes(0)
    assert (
        [change.seq for change in changes]
        == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        == list(range(1, store.feed.head() + 1))
    )
    assert [change.kind for change in changes] == [
        ChangeKind.DELIVERY,
        ChangeKind.OBSERVATION,
        ChangeKind.OBSERVATION,
        ChangeKind.NOTE,
        ChangeKind.AUDIT,
        ChangeKind.AUDIT,
        ChangeKind.RECEIPT,
        ChangeKind.AUDIT,
        ChangeKind.BREAK,
    ]
    assert {change.collection_id for change in changes} == {"col_1", None}
    assert store.feed.changes(3, limit=1) == changes[3:4]


@pytest.mark.scale(40, 400, 4000)
def test_a_follower_of_many_writers_sees_every_change_once(
    open_store: Callable[..., Store], make: Any, rounds: int
) -> None:
    # Each store has its own journal, as each process has.
    writers = [open_store(batch_rows=7) for _ in range(4)]
    reader = open_store()
    done = threading.Event()
    seen: list[Change] = []

    def follow() -> None:
        after = 0
        while True:
            last_look = done.is_set()
            step = reader.feed.changes(after, limit=13)
            assert [change.seq for change in step] == sorted({change.seq for change in step})
            seen.extend(step)
            after = step[-1].seq if step else after
            if last_look and not step:
                return

    def write(which: int) -> None:
        waiting = [
            # Every second event goes to two writers at once.
            writers[which].submit(make.arrival(n if n % 2 else n + 10_000 * which))
            for n in range(rounds)
        ]
        for future in waiting:
            future.result()

    follower = threading.Thread(target=follow)
    follower.start()
    threads = [threading.Thread(target=write, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    follower.join()
    assert [change.seq for change in seen] == list(range(1, reader.feed.head() + 1))
    events = {n if n % 2 else n + 10_000 * which for n in range(rounds) for which in range(4)}
    kinds = [change.kind for change in seen]
    assert kinds.count(ChangeKind.DELIVERY) == 4 * rounds
    assert kinds.count(ChangeKind.OBSERVATION) == len(events)
    assert reader.maintenance.check() == ()
