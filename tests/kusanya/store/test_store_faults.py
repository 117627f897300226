"""What the journal does when a row is bad, the queue is full or the store fails."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event, text

from kusanya.errors import StoreBusy, StoreError, StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.wire import Mode

Opener = Callable[..., Store]


class HeldLock:
    """The journal's lock, held by someone else."""

    def __init__(self, store: Store) -> None:
        self._connection = store._engines.writer.connect()
        self._connection.execute(text("UPDATE feed_head SET one = one"))

    def let_go(self) -> None:
        """Give the lock back, nothing changed."""
        self._connection.rollback()
        self._connection.close()


def unholdable(arrival: Arrival) -> Arrival:
    return replace(arrival, answer=2**70)


def test_a_bad_row_fails_alone_and_its_neighbours_are_kept(open_store: Opener, make: Any) -> None:
    store, other = open_store(), open_store()
    held = HeldLock(other)
    # The first waits for the lock; the rest queue up behind it and become one batch.
    waiting = [store.submit(make.arrival(0))]
    waiting += [store.submit(make.arrival(n)) for n in range(1, 6)]
    bad = store.submit(unholdable(make.arrival(6)))
    waiting += [store.submit(make.arrival(n)) for n in range(7, 12)]
    held.let_go()
    assert [future.result().verdict for future in waiting] == [Verdict.VERIFIED] * 11
    with pytest.raises(StoreUnavailable, match="this item cannot be kept"):
        bad.result()
    assert store.collections.get("col_6", Mode.TEST) is None
    assert len(store.deliveries.page(Mode.TEST).rows) == 11
    assert store.maintenance.check() == ()


def test_a_fact_that_no_wire_could_carry_fails_alone(store: Store, make: Any) -> None:
    fact = make.observation(1)
    impossible = replace(fact, collection=replace(fact.collection, amount=2**70))
    with pytest.raises(StoreUnavailable, match="cannot be kept"):
        store.record(impossible)
    assert store.record(fact) == 1


def test_a_full_queue_refuses_at_once_and_loses_nothing(open_store: Opener, make: Any) -> None:
    store, other = open_store(queue_rows=3, batch_rows=1), open_store()
    held = HeldLock(other)
    accepted = [store.submit(make.arrival(0))]
    while store.queue_depth > 0:  # until the writer has taken the first and waits for the lock
        time.sleep(0.001)
    accepted += [store.submit(make.arrival(n)) for n in range(1, 4)]
    with pytest.raises(StoreBusy):
        store.submit(make.arrival(4))
    held.let_go()
    assert all(future.result().verdict is Verdict.VERIFIED for future in accepted)
    assert store.record(make.arrival(4)).verdict is Verdict.VERIFIED


def test_a_store_that_fails_fails_its_futures_and_recovers_by_itself(
    store: Store, make: Any
) -> None:
    store.record(make.arrival(1))
    with store._engines.writer.begin() as connection:
        connection.execute(text("ALTER TABLE feed_head RENAME TO away"))
    with pytest.raises(StoreUnavailable):
        store.record(make.arrival(2))
    with store._engines.writer.begin() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO feed_head"))
    assert store.record(make.arrival(2)).verdict is Verdict.VERIFIED
    assert store.maintenance.check() == ()


@pytest.mark.postgres
def test_connections_cut_by_the_server_cost_one_answer_at_most(
    postgres_url: str, make: Any
) -> None:
    with Store.open(postgres_url) as store:
        store.record(make.arrival(1))
        with store._engines.writer.connect() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        for attempt in range(2):
            try:
                commit = store.record(make.arrival(2))
            except StoreUnavailable:
                assert attempt == 0
            else:
                assert commit.verdict is Verdict.VERIFIED
                break
        assert store.collections.get("col_2", Mode.TEST) is not None


def test_errors_name_no_value(store: Store, make: Any) -> None:
    arrival = unholdable(make.arrival(1))
    with pytest.raises(StoreError) as caught:
        store.record(arrival)
    error: BaseException | None = caught.value
    while error is not None:
        assert "25575" not in str(error)
        assert "INV-" not in str(error)
        error = error.__cause__ or error.__context__


def test_what_was_queued_before_closing_is_written(open_store: Opener, make: Any) -> None:
    store = open_store()
    waiting = [store.submit(make.arrival(n)) for n in range(50)]
    store.close()
    assert all(future.done() for future in waiting)
    assert len(open_store().deliveries.page(Mode.TEST).rows) == 50
    with pytest.raises(StoreUnavailable, match="closed"):
        store.submit(make.arrival(51))


def test_many_threads_share_one_writer(store: Store, make: Any) -> None:
    commits: list[DeliveryCommit] = []

    def work(which: int) -> None:
        commits.extend(store.record(make.arrival(100 * which + n)) for n in range(10))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({commit.seq for commit in commits}) == 80
    assert {commit.verdict for commit in commits} == {Verdict.VERIFIED}
    assert store.maintenance.check() == ()


def test_a_full_disk_acknowledges_nothing_and_is_recovered_from(tmp_path: Path, make: Any) -> None:
    full = False

    def limit(connection: Any, _record: object) -> None:
        if full:
            # SQLite itself then reports SQLITE_FULL in the middle of a transaction.
            connection.execute("PRAGMA max_page_count = 1")

    with Store.open(str(tmp_path / "store.db")) as store:
        event.listen(store._engines.writer, "connect", limit)
        store.record(make.arrival(1))
        full = True
        store._engines.writer.dispose()
        refused: list[str] = []
        for number in range(2, 40):
            try:
                store.record(make.arrival(number, description="x" * 5_000))
            except StoreUnavailable as error:
                refused.append(str(error))
                assert store.collections.get(f"col_{number}", Mode.TEST) is None
            else:
                assert store.collections.get(f"col_{number}", Mode.TEST) is not None
        assert len(refused) > 20
        assert all("full" in sentence for sentence in refused)
        full = False
        store._engines.writer.dispose()
        assert store.record(make.arrival(99)).verdict is Verdict.VERIFIED
        assert store.maintenance.check() == ()
