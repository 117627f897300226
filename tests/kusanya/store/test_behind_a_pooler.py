"""Behind PgBouncer in transaction mode a transaction has any session of the server's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url
from tests.kit.intents import begin_intent
from tests.kit.pgbouncer import pooled

from kusanya.clock import ManualClock
from kusanya.errors import StoreError, StoreUnavailable
from kusanya.privacy.secret_url import SecretUrl
from kusanya.store import Store
from kusanya.store.maintenance.moving import move_store
from kusanya.store.maintenance.verifying import verify_backup
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres
_ROUNDS = 15


@pytest.fixture
def address(postgres_url: str) -> Iterator[str]:
    """Return the address of a store behind a pooler that has three sessions for all."""
    with pooled(postgres_url, sessions=3) as found:
        yield found


def _tried(refused: list[str], act: Callable[[], object]) -> None:
    try:
        act()
    except StoreError as error:
        refused.append(str(error))


def test_programs_behind_a_pooler_create_receive_poll_and_look(
    address: str, postgres_url: str, make: Any, clock: ManualClock
) -> None:
    refused: list[str] = []
    until = make.noon + timedelta(hours=1)

    def create(store: Store, number: int) -> None:
        name = f"INV-{number:06d}"
        begun = begin_intent(store,
            idempotency_key=name, body=b"{}", mode=Mode.TEST, profile="shop", reference=name,
            amount=5000, phone="255754000001", at=make.noon, by="me", until=until,
        ).result()  # fmt: skip
        assert begun is not None

    def poll(store: Store, number: int) -> None:
        store.poll_leases.take(Mode.TEST, by="me", until=until, limit=1)
        store.poll_leases.record_poll(Mode.TEST, by="me")
        store.poll_leases.prolong(Mode.TEST, {f"col_{number}": until}, by="me")
        store.record(make.observation(number, source_id=f"answer-{number}"))

    def look(store: Store) -> None:
        with store.one_moment():
            store.collections.page(Mode.TEST)
            store.deliveries.page(Mode.TEST)
        store.intents.page()
        store.feed.changes(after=0)

    def work(store: Store, first: int) -> None:
        for number in range(first, first + _ROUNDS):
            _tried(refused, lambda: create(store, number))  # noqa: B023 - called at once
            _tried(refused, lambda: store.record(make.arrival(number)))  # noqa: B023
            _tried(refused, lambda: poll(store, number))  # noqa: B023
            _tried(refused, lambda: look(store))

    programs = [Store.open(address, clock=clock) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        at_work = [
            threads.submit(work, store, 1_000 * (2 * place + again))
            for place, store in enumerate(programs)
            for again in (0, 1)
        ]
        for done in at_work:
            done.result()
    for store in programs:
        store.close()
    assert (len(refused), refused[:3]) == (0, [])
    with Store.open(postgres_url, clock=clock) as store:
        assert len(store.deliveries.page(Mode.TEST, limit=1_000).rows) == 8 * _ROUNDS
        assert len(store.intents.page(limit=1_000).rows) == 8 * _ROUNDS
        assert store.maintenance.check() == ()


def test_statements_stay_prepared_where_a_session_is_ours_alone(
    address: str, postgres_url: str, clock: ManualClock
) -> None:
    """Without a pooler the server need not plan the same question anew each time."""
    for url, prepares in ((address, False), (postgres_url, True)):
        with Store.open(url, clock=clock) as store:
            for engine in (store._engines.reader, store._engines.writer):
                with engine.connect() as connection:
                    raw: Any = connection.connection.driver_connection
                    assert (raw.prepare_threshold is not None) is prepares


def test_a_store_is_moved_into_the_server_itself(
    databases: Any, tmp_path: Path, clock: ManualClock
) -> None:
    """What keeps a second move out is held by one session from the beginning to the end."""
    path = tmp_path / "store.db"
    Store.open(path, clock=clock).close()
    with (
        databases.fresh(prepared=False) as empty,
        pooled(empty, sessions=3) as address,
        pytest.raises(StoreUnavailable, match="a move of a store takes the server itself"),
    ):
        move_store(path, address, clock=clock)
    Store.open(path, clock=clock, create=False).close()


def test_a_backup_and_its_proof_leave_no_session_of_a_pooler_otherwise_than_it_was(
    address: str, postgres_url: str, tmp_path: Path, clock: ManualClock
) -> None:
    said = "takes the server itself, not a pooler: give the server's own address"
    with Store.open(address, clock=clock) as store, pytest.raises(StoreUnavailable, match=said):
        store.maintenance.backup(tmp_path / "one.dump")
    assert not list(tmp_path.iterdir())
    (tmp_path / "one.dump").write_bytes(b"PGDMP")
    name = f"{make_url(postgres_url).database}_scratch"
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(f'CREATE DATABASE "{name}"'.encode())
        scratch = make_url(address).set(database=name).render_as_string(hide_password=False)
        with pytest.raises(StoreUnavailable, match=said):
            verify_backup(tmp_path / "one.dump", clock=clock, scratch=SecretUrl(scratch))
        owner.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def test_a_store_knows_whether_it_is_behind_a_pooler(address: str, postgres_url: str) -> None:
    for url, behind in ((address, True), (postgres_url, False)):
        with Store.open(url) as store:
            assert store.is_behind_a_pooler is behind
