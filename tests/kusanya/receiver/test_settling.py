"""Intents whose answer was lost, settled by the event that arrives for them."""

import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.ingest import judge
from kusanya.receiver.settling import Settling
from kusanya.store import Store
from kusanya.store.records import Arrival, IntentRow, IntentState, Receipt
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Headers = list[tuple[bytes, bytes]]
Signed = Callable[..., Headers]


class Rests:
    """The pauses between looks: the test waits for one and ends it."""

    def __init__(self) -> None:
        self._begun: queue.Queue[None] = queue.Queue()
        self._over: queue.Queue[bool] = queue.Queue()

    def __call__(self, stopping: threading.Event) -> bool:
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


def unanswered(store: Store, number: int = 1, *, amount: int = 5000) -> IntentRow:
    begun = store.begin_intent(
        idempotency_key=f"key-{number}",
        body=b"{}",
        mode=Mode.TEST,
        profile="shop",
        reference=f"order-{number}",
        amount=amount,
        phone="255754000001",
        at=NOON - timedelta(minutes=1),
        by="till",
        until=NOON - timedelta(seconds=30),
    ).result()
    return store.finish_attempt(
        begun.intent.id,
        1,
        at=NOON - timedelta(seconds=50),
        outcome="no_answer",
        status=None,
        request_id=None,
        took_us=None,
        state=IntentState.UNKNOWN,
    ).result()


@pytest.fixture
def heard(store: Store, body: Body, signed: Signed) -> Callable[[int], tuple[Arrival, Receipt]]:
    """Return a maker of acknowledged deliveries."""

    def make(number: int) -> tuple[Arrival, Receipt]:
        payload = body(number)
        arrival = judge(
            payload, signed(payload), arrived_at=NOON, endpoints=Endpoints.of(SECRET, mode="test")
        )
        return arrival, store.record(arrival)

    return make


Heard = Callable[[int], tuple[Arrival, Receipt]]


def state_of(store: Store, intent: IntentRow) -> IntentState:
    found = store.intent(intent.id)
    assert found is not None
    return found.state


def test_an_event_with_its_reference_settles_an_intent_without_an_answer(
    store: Store, clock: Clock, heard: Heard
) -> None:
    mine, other, rests = unanswered(store), unanswered(store, 2, amount=7), Rests()
    with Settling(store, mode=Mode.TEST, clock=clock, rest=rests) as settling:
        rests.after_a_look()
        assert (state_of(store, mine), settling.settled) == (IntentState.UNKNOWN, 0)
        settling.offer(*heard(1))
        settling.offer(*heard(2))
        rests.go_on()
        rests.after_a_look()
        rests.end()
    assert (state_of(store, mine), settling.settled) == (IntentState.SETTLED, 1)
    # Its amount differs: a person decides that one.
    assert state_of(store, other) is IntentState.UNKNOWN


def test_what_was_heard_before_a_stop_is_settled_by_the_next_start(
    store: Store, clock: Clock, heard: Heard
) -> None:
    mine, rests = unanswered(store), Rests()
    heard(1)
    with Settling(store, mode=Mode.TEST, clock=clock, rest=rests):
        rests.after_a_look()
        rests.end()
    assert state_of(store, mine) is IntentState.SETTLED


def test_a_repeat_is_no_reason_to_look_again(store: Store, clock: Clock, heard: Heard) -> None:
    rests = Rests()
    heard(1)
    with Settling(store, mode=Mode.TEST, clock=clock, rest=rests) as settling:
        rests.after_a_look()
        settling.offer(*heard(1))
        assert not settling._heard.is_set()
        rests.end()


def test_a_store_that_fails_is_looked_at_again(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, rests = unanswered(store), Rests()
    working, faults = store.intents, [StoreUnavailable("the disk is gone")]

    def failing(*args: object, **kwargs: object) -> object:
        if faults:
            raise faults.pop()
        return working(*args, **kwargs)  # type: ignore[arg-type] # handed on as given

    monkeypatch.setattr(store, "intents", failing)
    with Settling(store, mode=Mode.TEST, clock=clock, rest=rests) as settling:
        rests.after_a_look()
        assert settling.failed == 1
        rests.go_on()
        rests.after_a_look()
        assert settling.failed == 1
        rests.end()
    assert state_of(store, mine) is IntentState.UNKNOWN
