"""Open collections are shared out: no two pollers ask about one at the same time."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from kusanya.clock import ManualClock
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.wire import Mode

Opener = Callable[..., Store]


def fill(store: Store, make: Any, count: int) -> None:
    for future in [store.submit(make.observation(n, source=Source.ANSWER)) for n in range(count)]:
        future.result()


def test_leased_work_is_not_given_out_again_until_it_ends(
    store: Store, make: Any, clock: ManualClock
) -> None:
    fill(store, make, 5)
    until = make.noon + timedelta(seconds=30)
    first = store.poll_leases.take(Mode.TEST, by="a", until=until, limit=3)
    rest = store.poll_leases.take(Mode.TEST, by="b", until=until)
    assert [row.id for row in first] == ["col_0", "col_1", "col_2"]
    assert [row.id for row in rest] == ["col_3", "col_4"]
    assert store.poll_leases.take(Mode.TEST, by="c", until=until) == ()
    store.poll_leases.release(Mode.TEST, ["col_0", "col_3"], by="a")
    assert [row.id for row in store.poll_leases.take(Mode.TEST, by="c", until=until)] == ["col_0"]
    clock.sleep(30)
    later = store.poll_leases.take(Mode.TEST, by="c", until=until + timedelta(minutes=1))
    assert len(later) == 5


def test_only_open_collections_of_the_mode_and_age_are_given_out(store: Store, make: Any) -> None:
    fill(store, make, 4)
    store.record(make.arrival(1))
    store.record(make.observation(9, source=Source.ANSWER, mode="live"))
    until = make.noon + timedelta(minutes=1)
    soon = make.noon + timedelta(seconds=3)
    given = store.poll_leases.take(Mode.TEST, by="a", until=until, created_before=soon)
    assert [row.id for row in given] == ["col_0", "col_2"]


def test_pollers_that_lease_at_once_share_without_overlap(open_store: Opener, make: Any) -> None:
    stores = [open_store() for _ in range(4)]
    fill(stores[0], make, 120)
    until = make.noon + timedelta(minutes=1)
    claimed: list[str] = []

    def work(which: int) -> None:
        for _ in range(10):
            rows = stores[which].poll_leases.take(
                Mode.TEST, by=f"poller {which}", until=until, limit=7
            )
            claimed.extend(row.id for row in rows)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == len(set(claimed))
    leftover = stores[0].poll_leases.take(Mode.TEST, by="last", until=until, limit=200)
    assert sorted([*claimed, *(row.id for row in leftover)]) == sorted(
        f"col_{n}" for n in range(120)
    )
