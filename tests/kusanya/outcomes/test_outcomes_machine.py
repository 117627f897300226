"""Any order of facts, workers that die, shops put back from backups: each effect happens once.

Network, service and clock are played; store, orders, consumers and the shop's database are real. At
the end every outcome that the store told was done once, those of one reference in their order.
"""

import contextlib
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from tests.kusanya.outcomes.shop import Facts

from kusanya.client import Client
from kusanya.errors import KusanyaError
from kusanya.outcomes import Consumer, Kind, Later, Outcome, ddl
from kusanya.store import Store
from kusanya.wire import Mode

REFERENCES = st.sampled_from(["a", "b", "c"])
STATUSES = st.sampled_from(["succeeded", "failed", "expired"])


class Killed(BaseException):
    """The process ended here."""


class OutcomeMachine(RuleBasedStateMachine):
    """Three orders of a shop, whose workers die, and whose database is put back now and then."""

    play: Any

    @initialize(elsewhere=st.booleans())
    def start(self, elsewhere: bool) -> None:
        """Begin with nothing sold."""
        memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.clock = self.play.TickingClock()
        self.path = Path(self.folder.name)
        self.store = Store.open(f"sqlite:///{self.path / 'store.db'}", clock=self.clock)
        service = self.play.FakeService(self.clock)
        self.facts = Facts(self.store, _Clients(service, self.play.key), self.play.Fault)
        self.store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")
        self.elsewhere = elsewhere
        self.began = self.clock.now()
        self.was_put_back = False
        self.steps = 0
        with self.connect() as tx:
            tx.execute("CREATE TABLE effect (outcome_id, reference, seq)")
            tx.execute(ddl("sqlite"))

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction of the shop's database, and die where it is time."""
        self._step()
        with closing(sqlite3.connect(self.path / "shop.db")) as connection, connection:
            yield connection
        self._step()

    def _step(self) -> None:
        self.steps -= 1
        if self.steps == 0:
            raise Killed

    def _consumer(self, failing: str | None = None) -> Consumer:
        consumer = Consumer(
            self.store, "shipping", mode=Mode.TEST, clock=self.clock, random=Random(1),  # noqa: S311 - spreads tries
            unexpected="paid" if self.elsewhere else "person",
        )  # fmt: skip

        @consumer.on(*Kind)
        def act(outcome: Outcome, tx: Any) -> None:
            self._step()
            if outcome.reference == failing:
                raise Later(30)
            tx.execute(
                "INSERT INTO effect VALUES (?, ?, ?)", (outcome.id, outcome.reference, outcome.seq)
            )
            self._step()

        return consumer

    @rule(reference=REFERENCES)
    def pays(self, reference: str) -> None:
        """Say that an order is to be paid."""
        with contextlib.suppress(KusanyaError):
            self.facts.pay(reference)

    @rule(reference=REFERENCES, number=st.integers(50, 53))
    def is_made_elsewhere(self, reference: str, number: int) -> None:
        """Let another program ask for an order."""
        if f"col_{number}" not in self.facts.service.collections:
            self.facts.elsewhere(number, reference)

    @rule(data=st.data(), status=STATUSES)
    def ends(self, data: Any, status: str) -> None:
        """Let the store hear of an end, also of a second one that contradicts the first."""
        known = sorted(self.facts.service.collections)
        if known:
            self.facts.ends(int(data.draw(st.sampled_from(known))[4:]), status)

    @rule(dies_at=st.integers(0, 8), failing=st.one_of(st.none(), REFERENCES))
    def consumes(self, dies_at: int, failing: str | None) -> None:
        """Do what is due, and die at some step of it."""
        self.steps = dies_at or -1
        with contextlib.suppress(Killed):
            self._consumer(failing).drain(self.connect)
        self.steps = -1

    @rule(minutes=st.sampled_from([1, 3, 60]))
    def time_passes(self, minutes: int) -> None:
        """Let leases and pauses run out."""
        self.clock.pass_by(timedelta(minutes=minutes))

    @rule()
    def shop_is_put_back(self) -> None:
        """Put the shop's database back to what it was at its last backup."""
        backup, path = self.path / "backup.db", self.path / "shop.db"
        if backup.exists():
            shutil.copy(backup, path)
            self.was_put_back = True
            self.store.outcomes.replay("shipping", since=self.began, actor="asha")
        shutil.copy(path, backup)

    @rule()
    def store_is_restored_and_rebuilt(self) -> None:
        """Mark the store as restored; the consumer rejoins once a person has looked."""
        self.store.restores.mark(actor="asha")
        for mode in Mode:
            self.store.restores.resolve(mode, actor="asha", why="all is there")
        self.store.outcomes.rejoin("shipping", actor="asha")
        self.store.maintenance.rebuild()

    def teardown(self) -> None:
        """At the end every outcome was done once."""
        if not hasattr(self, "store"):
            return
        self.steps = -1
        for _ in range(3):
            self.clock.pass_by(timedelta(hours=1))
            self._consumer().drain(self.connect)
        told = self.store.outcomes.page(Mode.TEST, limit=10_000)
        with self.connect() as tx:
            done = tx.execute("SELECT outcome_id, reference, seq FROM effect ORDER BY rowid")
            effects = done.fetchall()
        assert Counter(effect[0] for effect in effects) == Counter(one.id for one in told)
        for reference in "abc":
            places = [effect[2] for effect in effects if effect[1] == reference]
            assert self.was_put_back or places == sorted(places)
        assert sum(one.kind is Kind.PAID for one in told if one.reference == "a") <= 1
        assert self.store.maintenance.check() == ()
        self.store.close()
        self.folder.cleanup()


class _Clients:
    """Makes clients in front of the played service."""

    def __init__(self, service: Any, key: str) -> None:
        self.service, self._key = service, key

    def __call__(self, **options: Any) -> Client:
        return Client(
            self._key,
            base_url="http://127.0.0.1:9",
            clock=self.service.clock,
            random=lambda: 0.0,
            transport=self.service,
            **options,
        )


@pytest.mark.scale(15, 300, 10_000)
@pytest.mark.timeout(3_600)
def test_each_outcome_is_done_once_whoever_dies_and_whatever_is_put_back(
    play: Any, rounds: int
) -> None:
    machine = type("OutcomeMachine", (OutcomeMachine,), {"play": play})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=rounds,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
