"""A call that is cancelled or interrupted: the next one for its order begins at once."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client import AsyncClient
from kusanya.client.effects import Reply, Request
from kusanya.errors import OutcomeUnknown, StoreUnavailable
from kusanya.intents import create_safely, create_safely_async
from kusanya.store import Store
from kusanya.store.records import IntentState

KEYED = {**ORDER, "idempotency_key": "job-7"}


class Silent:
    """A network that says when a request has left, and never answers."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.sent = 0

    async def __call__(self, _request: Request, _within_s: float) -> Reply:
        """Carry nothing."""
        self.sent += 1
        self.left.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


def _client(clock: Any, transport: Any) -> AsyncClient:
    return AsyncClient(
        "svc_test_sk_4242",
        base_url="http://127.0.0.1:9",
        clock=clock,
        random=lambda: 0.5,
        transport=transport,
    )


async def _cancelled(task: "asyncio.Task[Any]", *, times: int = 1) -> None:
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("times", [1, 5])
def test_a_call_cancelled_while_it_waits_for_its_answer_gives_its_lease_up(
    store: Store, new_client: NewClient, service: Any, clock: Any, times: int
) -> None:
    async def cancel() -> None:
        network = Silent()
        task = asyncio.create_task(create_safely_async(store, _client(clock, network), **KEYED))
        await network.left.wait()
        await _cancelled(task, times=times)

    asyncio.run(cancel())
    intent = the_intent(store)
    # It may have left: nobody knows what became of it.
    assert (intent.state, intent.claimed_by) == (IntentState.UNKNOWN, None)
    assert intent.outcome == "the call was cut short before an answer came"
    [attempt] = store.intents.attempts(intent.id)
    assert attempt.outcome == "lost"
    made = create_safely(store, new_client(), **KEYED)
    assert made.intent.id == intent.id
    assert clock.elapsed_s == 0
    assert [(one.key, one.body) for one in service.arrived] == [("job-7", intent.body)]


class StallingStore(Interposed):
    """Lets a test into the midst of one of the store's acts: it is done, and nobody knows yet."""

    def __init__(self, store: Store, path: str) -> None:
        self.reached = threading.Event()
        self.go_on = threading.Event()
        super().__init__(store)
        self._path = path

    def method(self, path: str, found: Any) -> Any:
        """Stop the act that the test waits for, and hand every other one on."""
        return partial(self._stall, found) if path == self._path else found

    def _stall(self, act: Callable[..., Any], *args: Any, **said: Any) -> Any:
        result = act(*args, **said)
        if isinstance(result, Future):
            late: Future[Any] = Future()
            threading.Thread(target=self._pass_on, args=(result, late)).start()
            return late
        self._wait()
        return result

    def _pass_on(self, result: "Future[Any]", late: "Future[Any]") -> None:
        found = result.result()
        self._wait()
        late.set_result(found)

    def _wait(self) -> None:
        self.reached.set()
        assert self.go_on.wait(60)


async def _cancel_inside(stalled: Any, clock: Any, transport: Any) -> None:
    """Cancel a call in the midst of an act; it comes back when the act has ended."""
    client = _client(clock, transport)
    task = asyncio.create_task(create_safely_async(stalled, client, **KEYED))
    await asyncio.to_thread(stalled.reached.wait)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    stalled.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("act", "state", "ended"),
    [
        ("intents.begin", IntentState.PREPARED, ["not_sent"]),
        ("intents.finish_attempt", IntentState.ANSWERED, ["answered"]),
        ("intents.take_lease", IntentState.UNKNOWN, ["lost"]),
        ("intents.begin_attempt", IntentState.UNKNOWN, ["lost", "not_sent"]),
    ],
)
def test_a_call_cancelled_while_the_store_acts_ends_after_it_and_holds_nothing(
    store: Store, new_client: NewClient, service: Any, clock: Any, play: Any,
    *, act: str, state: IntentState, ended: list[str],
) -> None:  # fmt: skip
    if act in {"intents.take_lease", "intents.begin_attempt"}:
        service.faults = [play.Fault.LOST_ANSWER]
        with pytest.raises(OutcomeUnknown):
            create_safely(store, new_client(max_attempts=1), **KEYED)

    async def transport(request: Request, within_s: float) -> Reply:
        reply: Reply = service(request, within_s)
        return reply

    asyncio.run(_cancel_inside(StallingStore(store, act), clock, transport))
    intent = the_intent(store)
    assert (intent.state, intent.claimed_by) == (state, None)
    assert [attempt.outcome for attempt in store.intents.attempts(intent.id)] == ended
    made = create_safely(store, new_client(), **KEYED)
    assert made.intent.id == intent.id
    assert (len(service.collections), clock.elapsed_s) == (1, 0)


def test_an_interrupted_call_gives_its_lease_up(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    def interrupted(_request: Request, _within_s: float) -> Reply:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        create_safely(store, new_client(transport=interrupted), **KEYED)
    intent = the_intent(store)
    assert (intent.state, intent.claimed_by) == (IntentState.UNKNOWN, None)
    assert create_safely(store, new_client(), **KEYED).intent.id == intent.id
    assert clock.elapsed_s == 0
    assert {one.key for one in service.arrived} == {"job-7"}


def test_the_error_of_a_call_is_not_replaced_where_its_lease_cannot_be_released(
    store: Store, new_client: NewClient
) -> None:
    class FailingStore(Interposed):
        def method(self, path: str, found: Any) -> Any:
            if path in {"intents.finish_attempt", "intents.release_lease"}:
                raise StoreUnavailable("the store is gone")
            return found

    def interrupted(_request: Request, _within_s: float) -> Reply:
        raise KeyboardInterrupt

    lost: Any = FailingStore(store)
    with pytest.raises(KeyboardInterrupt):
        create_safely(lost, new_client(transport=interrupted), **KEYED)
