"""The same call made many times at once is one creation, and all of them learn of it."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.intents import begin_intent, end_attempt
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import BODY, ORDER, NewClient, the_intent

from kusanya.errors import IntentError, IntentReason
from kusanya.intents import create_safely, resume
from kusanya.intents.leases import new_holder
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode
from kusanya_service.options import Options
from kusanya_service.testing import running_service

KEYED = {**ORDER, "idempotency_key": "job-1"}


@pytest.mark.merge
@pytest.mark.scale(1, 10, 50)
@pytest.mark.timeout(600)
def test_a_hundred_same_calls_in_threads_and_processes_return_the_same_collection(
    store_url: str, tmp_path: Path, rounds: int
) -> None:
    processes, threads = (2, 50) if rounds == 1 else (4, 25)
    program = str(Path(__file__).with_name("same_call.py"))
    for number in range(rounds):
        with running_service(Options(data=tmp_path / f"service-{number}", seed=number)) as service:
            url = store_url if rounds == 1 else f"sqlite:///{tmp_path / f'{number}.db'}"
            Store.open(url).close()
            said: list[str] = [program, url, service.base_url, service.test_key, str(threads)]
            started = [
                subprocess.Popen(
                    [sys.executable, *said],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for _ in range(processes)
            ]
            for process in started:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
            for process in started:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            answered = [one for process in started for one in json.loads(process.communicate()[0])]
        with Store.open(url) as store:
            intent = the_intent(store)
            assert answered == [intent.collection_id] * (processes * threads)
            assert len(store.intents.attempts(intent.id)) == 1


def _held(store: Store, clock: Any) -> str:
    """Let another call of a living process hold the intent; return who it is."""
    holder = new_holder()
    begin_intent(store,
        idempotency_key="job-1", body=BODY, mode=Mode.TEST, profile="main",
        reference="order-1", amount=5000, phone="255754000001", at=clock.now(), by=holder,
        until=clock.now() + timedelta(seconds=60), target="http://127.0.0.1:9",
    ).result()  # fmt: skip
    return holder


def test_the_wait_for_the_first_call_ends_with_the_clients_timeout(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    _held(store, clock)
    with pytest.raises(IntentError, match="another call") as caught:
        create_safely(store, new_client(timeout=20.0), **KEYED)
    assert (caught.value.reason, caught.value.retryable) == (IntentReason.BEING_SENT, True)
    assert clock.elapsed_s == 20
    assert service.arrived == []


def test_a_resume_does_not_wait(store: Store, new_client: NewClient, clock: Any) -> None:
    _held(store, clock)
    with pytest.raises(IntentError, match="another call"):
        resume(store, new_client(), the_intent(store))
    assert clock.elapsed_s == 0


class Meanwhile:
    """A clock in whose first pause something happens."""

    def __init__(self, clock: Any, act: Callable[[], None]) -> None:
        self._clock = clock
        self._acts = [act]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)

    def sleep(self, seconds: float) -> None:
        """Let the pause pass."""
        for act in self._acts:
            act()
        self._acts.clear()
        self._clock.sleep(seconds)


def test_whoever_waited_takes_over_where_the_first_gave_up(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    holder = _held(store, clock)
    client = new_client()
    client.core.clock = client._clock = Meanwhile(
        clock, lambda: store.intents.release_lease(the_intent(store).id, by=holder)
    )
    made = create_safely(store, client, **KEYED)
    assert (made.intent.id, made.collection.id) == (the_intent(store).id, "col_1")
    assert [one.key for one in service.arrived] == ["job-1"]


def test_whoever_waited_gets_what_became_of_the_first(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    holder = _held(store, clock)

    def answered() -> None:
        intent = the_intent(store)
        service._create("job-1", intent.body)
        end_attempt(store,
            intent.id, 1, at=clock.now(), outcome="answered", status=202, request_id=None,
            took_us=1, state=IntentState.ANSWERED, collection_id="col_1", by=holder,
        )  # fmt: skip

    client = new_client()
    client.core.clock = client._clock = Meanwhile(clock, answered)
    assert create_safely(store, client, **KEYED).collection.id == "col_1"
    assert service.arrived == []


def test_a_call_that_sees_its_own_key_a_moment_late_does_not_take_it_for_another_order(
    store: Store, new_client: NewClient
) -> None:
    first = create_safely(store, new_client(), **KEYED)

    class LateStore(Interposed):
        """Knows no key at the first look, as if it had been written right after it."""

        looks = 0

        def method(self, path: str, found: Any) -> Any:
            if path != "intents.by_key":
                return found
            self.looks += 1
            return (lambda *_: None) if self.looks == 1 else found

    late: Any = LateStore(store)
    assert create_safely(late, new_client(), **KEYED).collection.id == first.collection.id
