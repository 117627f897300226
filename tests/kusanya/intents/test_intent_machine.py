"""Any order of creating, dying, losing answers, replaying, waiting and late webhooks.

The network and the service behind it are played; store, intents and client are real. After every
step: at most one collection per key (S1), one key and one byte string per intent and nothing past
23 hours (S4), durable before the first byte (S5, checked by the service on every arrival).
"""

import contextlib
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from kusanya.client import Client
from kusanya.client.requests import CreateRequest
from kusanya.errors import IntentError, KusanyaError, OutcomeUnknown
from kusanya.intents import create_safely, resolve_by_reference, resolve_waiting, resume
from kusanya.intents.creating import create, proceed
from kusanya.store import Store
from kusanya.store.records import IntentState

REFERENCES = st.sampled_from(["a", "b", "c"])
OVER = {IntentState.ANSWERED, IntentState.SETTLED, IntentState.REFUSED}


class CreationMachine(RuleBasedStateMachine):
    """One merchant, whose processes die, on a network that loses."""

    play: Any
    store_url: str | None = None
    """An engine's fresh database; None for SQLite in a folder of this run."""

    @initialize()
    def start(self) -> None:
        """Begin with an empty merchant."""
        # Processes die here, machines do not: memory spares thousands of waits for a disk.
        memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.clock = self.play.TickingClock()
        url = self.store_url or f"sqlite:///{Path(self.folder.name) / 'store.db'}"
        self.store = Store.open(url, clock=self.clock)
        self.before = {row.id for row in self.store.intents.page(limit=10_000).rows}
        self.service = self.play.FakeService(self.clock)
        self.service.witness = self.store
        self.forced = 0

    def _client(self) -> Client:
        return Client(
            self.play.key,
            base_url="http://127.0.0.1:9",
            clock=self.clock,
            random=lambda: 0.0,
            max_attempts=2,
            transport=self.service,
        )

    def _faults(self) -> st.SearchStrategy[Any]:
        return st.lists(st.sampled_from(list(self.play.Fault)), max_size=2)

    @rule(data=st.data(), reference=REFERENCES, keyed=st.booleans(), forced=st.booleans())
    def creates(self, data: Any, reference: str, keyed: bool, forced: bool) -> None:
        """Create, as a job does."""
        self.service.faults = data.draw(self._faults())
        self.forced += forced
        with contextlib.suppress(KusanyaError):
            create_safely(
                self.store,
                self._client(),
                amount=5000,
                phone="0754000001",
                reference=self._mine(reference),
                idempotency_key=self._mine(f"job-{reference}") if keyed else None,
                force_repeat_reason="again" if forced else None,
            )

    @rule(data=st.data(), reference=REFERENCES, after=st.integers(0, 7), done=st.booleans())
    def dies_creating(self, data: Any, reference: str, after: int, done: bool) -> None:
        """Die at some step of a create."""
        self.service.faults = data.draw(self._faults())
        client = self._client()
        order = CreateRequest(amount=5000, phone="0754000001", reference=self._mine(reference))
        steps = create(self.store, client.core, order)
        with contextlib.suppress(self.play.Killed, KusanyaError):
            self.play.run_killed(client, steps, after=after, done=done)

    @rule(data=st.data(), after=st.integers(0, 7), done=st.booleans())
    def dies_resuming(self, data: Any, after: int, done: bool) -> None:
        """Die at some step of a resumption."""
        intents = self._intents()
        if not intents:
            return
        self.service.faults = data.draw(self._faults())
        client = self._client()
        steps = proceed(self.store, client.core, data.draw(st.sampled_from(intents)))
        with contextlib.suppress(self.play.Killed, KusanyaError):
            self.play.run_killed(client, steps, after=after, done=done)

    @rule(data=st.data())
    def resumes(self, data: Any) -> None:
        """Resume some intent, whatever its state."""
        intents = self._intents()
        if not intents:
            return
        self.service.faults = data.draw(self._faults())
        with contextlib.suppress(KusanyaError):
            resume(self.store, self._client(), data.draw(st.sampled_from(intents)).id)

    @rule(minutes=st.sampled_from([1, 2, 60, 22 * 60, 23 * 60, 24 * 60 + 1]))
    def time_passes(self, minutes: int) -> None:
        """Let time pass."""
        self.clock.pass_by(timedelta(minutes=minutes))

    @rule(data=st.data(), resolves=st.booleans())
    def an_event_arrives(self, data: Any, resolves: bool) -> None:
        """Let an event arrive, however late."""
        if not self.service.collections:
            return
        seen = self.service.event(data.draw(st.sampled_from(sorted(self.service.collections))))
        self.store.record(seen)
        if resolves:
            resolve_by_reference(self.store, seen.collection, now=self.clock.now())

    @rule()
    def is_reviewed(self) -> None:
        """Review what is open."""
        resolve_waiting(self.store, now=self.clock.now())

    def _mine(self, text: str) -> str:
        # On one database for all runs, every run has references and keys of its own.
        return f"{text}-{len(self.before)}-{id(self.store)}" if self.before else text

    def _intents(self) -> list[Any]:
        rows = self.store.intents.page(limit=10_000).rows
        return [row for row in rows if row.id not in self.before]

    @invariant()
    def one_key_one_body_one_collection(self) -> None:
        """Look at everything that ever left."""
        body_of = {row.idempotency_key: row.body for row in self._intents()}
        first: dict[str, Any] = {}
        for arrived in self.service.arrived:
            assert arrived.body == body_of[arrived.key], "other bytes than were kept"
            began = first.setdefault(arrived.key, arrived.at)
            assert arrived.at - began < timedelta(hours=23), "sent after its window"
        made_by = list(self.service.made_by.values())
        assert len(made_by) == len(set(made_by)), "a key made two collections"

    @invariant()
    def every_end_is_true(self) -> None:
        """Hold what each intent says of itself against what the service did."""
        for row in self._intents():
            if row.state in (IntentState.ANSWERED, IntentState.SETTLED):
                assert self.service.made_by[row.collection_id] == row.idempotency_key
            if row.state is IntentState.REFUSED:
                assert row.idempotency_key not in self.service.made_by.values()

    def teardown(self) -> None:
        """Heal the network: every intent comes to an end or is listed for a person."""
        if not hasattr(self, "store"):
            return
        self.clock.pass_by(timedelta(minutes=2))
        resolve_waiting(self.store, now=self.clock.now())
        for row in self._intents():
            self.service.faults = []
            if row.state in OVER:
                continue
            try:
                resume(self.store, self._client(), row.id)
            except (IntentError, OutcomeUnknown):
                found = self.store.intents.get(row.id)
                assert found is not None
                assert found.state in (IntentState.UNKNOWN, IntentState.REFUSED)
        self.one_key_one_body_one_collection()
        self.every_end_is_true()
        if not self.forced:
            references = [made["reference"] for made in self.service.collections.values()]
            assert len(references) == len(set(references)), "a reference was charged twice"
        self.store.close()
        self.folder.cleanup()


@pytest.mark.timeout(3600)
@pytest.mark.scale(25, 500, 5000)
def test_no_order_of_events_charges_twice(play: Any, rounds: int) -> None:
    _run(play, rounds, None)


@pytest.mark.postgres
@pytest.mark.timeout(3600)
@pytest.mark.scale(8, 200, 2000)
def test_no_order_of_events_charges_twice_on_postgresql(
    play: Any, rounds: int, postgres_url: str
) -> None:
    _run(play, rounds, postgres_url)


def _run(play: Any, rounds: int, url: str | None) -> None:
    machine = type("Machine", (CreationMachine,), {"play": play, "store_url": url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=rounds,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
