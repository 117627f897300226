"""A process that dies at any step of a creation, before or after it, charges once."""

from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest
from tests.kit.interposed import Interposed

from kusanya.client.requests import CreateRequest
from kusanya.intents import create_safely, resolve_waiting, resume
from kusanya.intents.creating import create
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode

NewClient = Any  # the conftest's maker of clients


@pytest.mark.parametrize(
    ("done", "lost"),
    [(False, 0), (True, 0), (False, 1), (True, 1)],
    ids=["before it", "after it", "before it, first answer lost", "after it, first answer lost"],
)
def test_dying_at_any_step_leaves_one_collection_after_a_restart(
    store: Store, new_client: NewClient, play: Any, done: bool, lost: int
) -> None:
    service = new_client.service
    survived = 0
    for step in range(40):
        reference = f"order-{step}"
        service.faults = [play.Fault.LOST_ANSWER] * lost
        order = CreateRequest(amount=5000, phone="0754000001", reference=reference)
        client = new_client()
        try:
            play.run_killed(client, create(store, client.core, order), after=step, done=done)
        except play.Killed:
            survived += 1
        else:
            break
        service.clock.pass_by(timedelta(minutes=2))
        service.faults = []
        known = store.intents.by_reference(Mode.TEST, reference)
        if known:
            made = resume(store, new_client(), known[0])
        else:
            made = create_safely(
                store, new_client(), amount=5000, phone="0754000001", reference=reference
            )
        assert made.intent.state in (IntentState.ANSWERED, IntentState.SETTLED)
        assert [c["reference"] for c in service.collections.values()].count(reference) == 1
    else:
        pytest.fail("the creation has more steps than this test expects")
    # A look, the intent with its attempt, the sending, its end; after a lost answer also a pause,
    # an attempt, the sending, its end, and a look at the present with its fact.
    assert survived == (10 if lost else 4)
    by_reference: dict[str, set[tuple[str, bytes]]] = {}
    for sent in service.arrived:
        by_reference.setdefault(sent.body.decode(), set()).add((sent.key, sent.body))
    assert all(len(distinct) == 1 for distinct in by_reference.values())
    assert resolve_waiting(store, now=service.clock.now()) == 0


class DyingStore(Interposed):
    """The store of a process that dies at its n-th write, before it or after it."""

    def __init__(self, store: Store, play: Any, *, at: int, done: bool) -> None:
        super().__init__(store)
        self._play = play
        self._left = at
        self._done = done

    def method(self, path: str, found: Any) -> Any:
        """Count the writes, and die at the one that the test named."""
        writes = ("take_lease", "begin", "finish", "resolve", "close_window", "submit", "record")
        if not path.removeprefix("intents.").startswith(writes):
            return found

        def write(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left < 0 and not self._done:
                raise self._play.Killed
            result = found(*args, **kwargs)
            if self._left < 0:
                if isinstance(result, Future):
                    result.result()
                raise self._play.Killed
            return result

        return write


@pytest.mark.parametrize("done", [False, True], ids=["before it", "after it"])
def test_dying_at_any_write_leaves_one_collection_after_a_restart(
    store: Store, new_client: NewClient, play: Any, done: bool
) -> None:
    service, clock = new_client.service, new_client.clock
    deaths = 0
    for write in range(12):
        reference = f"order-{write}"
        dying: Any = DyingStore(store, play, at=write, done=done)
        job: dict[str, Any] = {
            "amount": 5000,
            "phone": "0754000001",
            "idempotency_key": f"job-{write}",
        }
        try:
            create_safely(dying, new_client(), reference=reference, **job)
        except play.Killed:
            deaths += 1
        else:
            break
        clock.pass_by(timedelta(minutes=2))
        made = create_safely(store, new_client(), reference=reference, **job)
        assert made.collection.reference == reference
        assert [c["reference"] for c in service.collections.values()].count(reference) == 1
        assert store.collections.observations(made.collection.id, Mode.TEST)
    # What is durable before the first byte, and what the answer makes durable: two commits.
    assert deaths == 2
    assert len({(sent.key, sent.body) for sent in service.arrived}) == deaths + 1
