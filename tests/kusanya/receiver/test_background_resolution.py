"""Intents whose answer was lost, resolved by the event that arrives for them."""

import gc
import logging
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from weakref import proxy

import pytest
from tests.kusanya.receiver.lost_answers import unanswered
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.receiver import background_resolution
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import Endpoints
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, IntentRow, IntentState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]


class Rests:
    """The pauses between looks: the test waits for one and ends it."""

    def __init__(self) -> None:
        self._begun: queue.Queue[None] = queue.Queue()
        self._over: queue.Queue[bool] = queue.Queue()

    def __call__(self, stopping: threading.Event, _seconds: float) -> bool:
        """Pause until the test says so."""
        self._begun.put(None)
        return self._over.get(timeout=10) or stopping.is_set()

    def after_a_look(self) -> None:
        """Wait until a look is over."""
        self._begun.get(timeout=10)

    def go_on(self) -> None:
        """Let the next look come."""
        self._over.put(False)

    def end(self) -> None:
        """Let the pause end because the receiver stops."""
        self._over.put(True)


@pytest.fixture
def delivered(
    store: Store, body: Body, sign_headers: SignHeaders
) -> Callable[[int], tuple[Arrival, DeliveryCommit]]:
    """Return a maker of acknowledged deliveries."""

    def make(number: int) -> tuple[Arrival, DeliveryCommit]:
        payload = body(number)
        arrival = classify(
            payload,
            sign_headers(payload),
            arrived_at=NOON,
            endpoints=Endpoints.of(SECRET, mode="test"),
        )
        return arrival, store.record(arrival)

    return make


Delivered = Callable[[int], tuple[Arrival, DeliveryCommit]]


def state_of(store: Store, intent: IntentRow) -> IntentState:
    found = store.intents.get(intent.id)
    assert found is not None
    return found.state


def test_an_event_with_its_reference_resolves_an_intent_without_an_answer(
    store: Store, clock: Clock, delivered: Delivered
) -> None:
    mine, other, rests = unanswered(store), unanswered(store, 2, amount=7), Rests()
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        assert (state_of(store, mine), resolver.resolved) == (IntentState.UNKNOWN, 0)
        resolver.offer(*delivered(1))
        resolver.offer(*delivered(2))
        rests.go_on()
        rests.after_a_look()
        rests.end()
    assert (state_of(store, mine), resolver.resolved) == (IntentState.SETTLED, 1)
    # Its amount differs: a person decides that one.
    assert state_of(store, other) is IntentState.UNKNOWN


def test_what_arrived_before_a_stop_is_resolved_by_the_next_start(
    store: Store, clock: Clock, delivered: Delivered
) -> None:
    mine, rests = unanswered(store), Rests()
    delivered(1)
    with IntentResolver(store, clock=clock, rest=rests):
        rests.after_a_look()
        rests.end()
    assert state_of(store, mine) is IntentState.SETTLED


def test_a_repeat_is_no_reason_to_look_again(
    store: Store, clock: Clock, delivered: Delivered
) -> None:
    rests = Rests()
    delivered(1)
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        resolver.offer(*delivered(1))
        assert not resolver._wanted
        rests.end()


def test_a_store_that_fails_is_looked_at_again(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, rests = unanswered(store), Rests()
    working, faults = store.intents.page, [StoreUnavailable("the disk is gone")]

    def failing(*args: object, **kwargs: object) -> object:
        if faults:
            raise faults.pop()
        return working(*args, **kwargs)  # type: ignore[arg-type] # handed on as given

    monkeypatch.setattr(store.intents, "page", failing)
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        assert resolver.failed == 1
        rests.go_on()
        rests.after_a_look()
        assert resolver.failed == 1
        rests.end()
    assert state_of(store, mine) is IntentState.UNKNOWN


def test_a_mistake_in_one_look_is_logged_and_ends_no_later_one(
    store: Store,
    clock: Clock,
    delivered: Delivered,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "kusanya.receiver")
    mine, rests = unanswered(store), Rests()
    delivered(1)
    working, faults = store.intents.page, [ZeroDivisionError("ours")]

    def failing(*args: object, **kwargs: object) -> object:
        if faults:
            raise faults.pop()
        return working(*args, **kwargs)  # type: ignore[arg-type] # handed on as given

    monkeypatch.setattr(store.intents, "page", failing)
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        rests.go_on()
        rests.after_a_look()
        rests.end()
    assert (resolver.failed, resolver.resolved) == (1, 1)
    assert state_of(store, mine) is IntentState.SETTLED
    assert [line.message for line in caplog.records] == [
        "looking at the open intents failed",
        "intents resolved by events",
    ]


def test_a_store_that_was_closed_ends_the_looks_without_a_word(
    store: Store, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    rests = Rests()
    unanswered(store)
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        thread = resolver._thread
        assert thread is not None
        store.close()
        resolver.start()
        rests.go_on()
        rests.after_a_look()
        rests.go_on()
        thread.join(10)
        assert not thread.is_alive()
    assert (resolver.failed, caplog.records) == (0, [])


@pytest.mark.merge
def test_a_store_that_is_let_go_in_a_look_that_fails_ends_the_looks_without_a_word(
    tmp_path: Path,
    empty_store: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    held = [Store.open(shutil.copy(empty_store, tmp_path / "s.db"))]
    rests = Rests()

    def failing(*_args: object, **_kwargs: object) -> int:
        held.pop().close()
        gc.collect()
        raise StoreUnavailable("the file is gone")

    monkeypatch.setattr(background_resolution, "resolve_waiting", failing)
    resolver = IntentResolver(proxy(held[0]), clock=clock, rest=rests)
    resolver.start()
    rests.after_a_look()
    rests.end()
    resolver.close()
    assert (resolver.failed, caplog.records) == (0, [])


def test_there_is_no_thread_while_there_is_nothing_to_look_at(store: Store, clock: Clock) -> None:
    rests = Rests()
    with IntentResolver(store, clock=clock, rest=rests) as resolver:
        rests.after_a_look()
        thread = resolver._thread
        assert thread is not None
        rests.go_on()
        thread.join(10)
        assert not thread.is_alive()
        resolver.start()
        rests.after_a_look()
        rests.end()


@pytest.mark.merge
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_resolves_with_a_thread_of_its_own(
    tmp_path: Path, empty_store: Path
) -> None:
    command = [sys.executable, "-c", FORKED, str(shutil.copy(empty_store, tmp_path / "s.db"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("1 look in the child\n", 0), done.stderr


FORKED = """
import os, sys, threading
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.store import Store

looked = threading.Event()
def rest(stopping, seconds):
    looked.set()
    return stopping.wait(30)

with Store.open(sys.argv[1]) as store:
    resolver = IntentResolver(store, rest=rest)
    resolver.start()
    assert looked.wait(30)
    looked.clear()
    # The worst instant: the parent's thread is about to end and holds the lock.
    resolver._lock.acquire()
    child = os.fork()
    if child == 0:
        resolver.start()
        print("1 look in the child" if looked.wait(30) else "none", flush=True)
        resolver.close()
        os._exit(0)
    resolver._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    resolver.close()
"""
