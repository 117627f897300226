"""The sessions of a store on PostgreSQL: one that stops does not stop the others."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.queries.base import StoreParts
from kusanya.store.queries.collections.indexing import index_references
from kusanya.store.records import Arrival, Verdict
from kusanya.store.tables.engine import engines
from kusanya.store.tables.sessions import SessionLimits
from kusanya.store.writer.journal import BatchSettings, Journal
from kusanya.store.writer.rejected import RejectedLimits
from kusanya.wire import Mode

Opener = Callable[..., Store]
CHILD = Path(__file__).with_name("stopped_writer.py")
SOON_S = 0.2

pytestmark = pytest.mark.postgres


@contextmanager
def stopped_writer(url: str, where: str) -> Iterator[subprocess.Popen[str]]:
    """Start a writer and wait until it has stopped with the journal's row in its hand."""
    with subprocess.Popen(
        [sys.executable, "-P", str(CHILD), url, str(SOON_S), where],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            _, status = os.waitpid(child.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            yield child
        finally:
            child.kill()


@pytest.fixture
def impatient(postgres_url: str, clock: ManualClock) -> Iterator[Store]:
    """Return a store whose sessions wait shortly."""
    found = engines(postgres_url, limits=SessionLimits(lock_s=SOON_S, writer_idle_s=SOON_S))
    journal = Journal(
        found,
        clock=clock,
        settings=BatchSettings(queue_rows=100, batch_rows=10, batch_wait_s=0.001, chore_rows=100),
        rejected=RejectedLimits(rows=10, body_bytes=1_000),
        chore=index_references,
    )
    with Store(StoreParts(found, journal, clock, "")) as store:
        yield store


def record_until_taken(store: Store, arrival: Arrival) -> Verdict:
    """Deliver again and again, as the service does."""
    for _ in range(50):
        try:
            return store.record(arrival).verdict
        except StoreUnavailable:
            continue
    pytest.fail("the others were stopped too")


@pytest.mark.merge
@pytest.mark.parametrize("where", ["idle", pytest.param("copy", marks=pytest.mark.ci)])
def test_a_stopped_writer_stops_nobody_else(
    where: str, postgres_url: str, impatient: Store, make: Any
) -> None:
    with stopped_writer(postgres_url, where) as child:
        assert record_until_taken(impatient, make.arrival(3)) is Verdict.VERIFIED
        for number in range(4, 20):
            assert impatient.record(make.arrival(number)).verdict is Verdict.VERIFIED
        assert impatient.collections.get("col_2", Mode.TEST) is None
        child.send_signal(signal.SIGCONT)
        assert child.stdout is not None
        assert child.stdout.read().split() == ["refused", "verified"]
        assert child.wait() == 0
    assert len(impatient.deliveries.page(Mode.TEST).rows) == 19
    assert impatient.maintenance.check() == ()


@pytest.mark.ci
@pytest.mark.parametrize("where", ["idle", pytest.param("copy", marks=pytest.mark.ci)])
def test_a_store_with_the_usual_limits_goes_on_beside_a_stopped_writer(
    where: str, postgres_url: str, make: Any
) -> None:
    with Store.open(postgres_url) as store, stopped_writer(postgres_url, where):
        assert record_until_taken(store, make.arrival(3)) is Verdict.VERIFIED
        assert store.maintenance.check() == ()


def test_every_transaction_is_bounded_and_nothing_outlives_it(postgres_url: str) -> None:
    named = "lock_timeout", "idle_in_transaction_session_timeout", "transaction_read_only"
    query = text(f"SELECT {', '.join(f'current_setting({name!r})' for name in named)}")
    with Store.open(postgres_url) as store:
        found = store._engines
        for connected, said in (
            (found.writing, ("5s", "5s", "off")),
            (found.reading, ("5s", "5min", "on")),
        ):
            with connected() as connection:
                assert tuple(connection.execute(query).one()) == said
                connection.rollback()
                # As the next program finds the session that a pooler lends it.
                raw: Any = connection.connection.driver_connection
                assert raw.execute("SHOW lock_timeout").fetchone() == ("0",)
                assert raw.execute("SHOW synchronous_commit").fetchone() == ("on",)
                assert raw.info.get_parameters()["tcp_user_timeout"] == "10000"
                assert raw.info.get_parameters()["keepalives_idle"] == "5"


def test_sessions_carry_a_name(postgres_url: str) -> None:
    query = text("SELECT current_setting('application_name')")
    with Store.open(postgres_url) as store:
        with store._engines.writing() as connection:
            assert connection.execute(query).scalar_one() == "kusanya/writer"
        with store._engines.reading() as connection:
            assert connection.execute(query).scalar_one() == "kusanya/reader"
    with (
        Store.open(f"{postgres_url}&application_name=till&keepalives_idle=60") as store,
        store._engines.reading() as connection,
    ):
        assert connection.execute(query).scalar_one() == "till"
        raw: Any = connection.connection.driver_connection
        assert raw.info.get_parameters()["keepalives_idle"] == "60"


def test_options_of_an_address_are_respected(postgres_url: str, make: Any) -> None:
    admin = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with admin.begin() as connection:
        connection.execute(text("CREATE SCHEMA shop"))
    with Store.open(f"{postgres_url}&options=-csearch_path%3Dshop") as store:
        store.record(make.arrival(1))
        assert store.maintenance.check() == ()
    with admin.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM shop.delivery")).scalar_one() == 1
        assert connection.execute(text("SELECT count(*) FROM public.delivery")).scalar_one() == 0
    admin.dispose()
