"""Any number of pollers on one store, on both engines: nothing is asked twice, and they go on."""

import logging
import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from kusanya.alarms.inputs import load
from kusanya.alarms.rules import raised
from kusanya.client import Client
from kusanya.client.effects import Reply, Request, Response
from kusanya.clock import ManualClock
from kusanya.errors import AuthenticationError, StoreDamaged, StoreTooNew, StoreUnavailable
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.watch import PollResult, PollSettings, poll_once, poll_open
from kusanya.wire import Mode

Opener = Callable[..., Store]
HOUR = timedelta(hours=1)


class Service:
    """The service behind any number of clients: it counts questions and never ends a collection."""

    def __init__(self, make: Any, clock: ManualClock) -> None:
        self.asked: Counter[str] = Counter()
        self.status = 200
        self.make = make
        self._clock = clock

    def client(self) -> Client:
        """Return a client whose wire ends here."""
        return Client(
            "svc_test_sk_4242",
            base_url="http://127.0.0.1:9",
            clock=self._clock,
            transport=self._answer,
            max_attempts=1,
        )

    def _answer(self, request: Request, _within_s: float) -> Reply:
        name = request.path.rsplit("/", 1)[-1]
        if name == "whoami":  # the watcher compares its clock with the answer's date
            return Response(status=200, headers=(), body=b'{"key_id": "key_1", "mode": "test"}')
        self.asked[name] += 1
        number = int(name.removeprefix("col_"))
        body = self.make.event(number, status="created").data.raw
        if self.status != 200:
            body = b'{"error": {"code": "unauthorized", "message": "unknown key"}}'
        return Response(status=self.status, headers=(), body=body)


@pytest.fixture
def service(make: Any, clock: ManualClock) -> Service:
    return Service(make, clock)


def fill(store: Store, make: Any, count: int) -> None:
    for number in range(count):
        store.record(make.observation(number, source=Source.ANSWER))


def poll(service: Service, store: Store, by: str, **settings: Any) -> PollResult:
    with service.client() as client:
        steps = poll_once(store, client.core, by=by, settings=PollSettings(apart_s=0, **settings))
        made: PollResult = client.run(steps)
    return made


def test_two_pollers_ask_about_each_collection_once_per_look(
    open_store: Opener, make: Any, clock: ManualClock, service: Service
) -> None:
    one, other = open_store(), open_store()
    fill(one, make, 9)
    clock.sleep(60)
    for _ in range(6):
        poll(service, one, "one", budget=2)
        poll(service, other, "other", budget=2)
    assert service.asked == {f"col_{n}": 1 for n in range(9)}
    clock.sleep(20 * 60)
    for _ in range(6):
        poll(service, other, "other", budget=3)
        poll(service, one, "one", budget=3)
    assert service.asked == {f"col_{n}": 2 for n in range(9)}


@pytest.mark.merge
def test_the_rhythm_of_a_collection_goes_on_whichever_poller_asks(
    open_store: Opener, make: Any, clock: ManualClock, service: Service
) -> None:
    store = open_store()
    fill(store, make, 1)
    for minute in range(6 * 60):
        poll(service, store, f"poller {minute}")
        clock.sleep(60)
    assert 9 <= service.asked["col_0"] <= 13  # five or six within the first hour, then hourly


def test_every_open_collection_is_reached_however_many_there_are(
    open_store: Opener, make: Any, clock: ManualClock, service: Service
) -> None:
    store = open_store()
    fill(store, make, 60)
    clock.sleep(HOUR.total_seconds())
    while poll(service, store, "one", budget=7).asked:
        pass
    assert service.asked == {f"col_{n}": 1 for n in range(60)}


def test_the_work_of_a_poller_that_died_is_taken_over(
    open_store: Opener, make: Any, clock: ManualClock, service: Service
) -> None:
    dead, alive = open_store(), open_store()
    fill(dead, make, 3)
    clock.sleep(60)
    dead.poll_leases.take(Mode.TEST, by="dead", until=clock.now() + timedelta(minutes=2))
    assert poll(service, alive, "alive").asked == 0
    clock.sleep(120)
    assert poll(service, alive, "alive").asked == 3


def test_a_late_poller_does_not_take_back_what_another_has_taken_over(
    open_store: Opener, make: Any, clock: ManualClock
) -> None:
    store = open_store()
    fill(store, make, 1)
    soon = clock.now() + timedelta(seconds=30)
    store.poll_leases.take(Mode.TEST, by="late", until=soon)
    clock.sleep(31)
    assert len(store.poll_leases.take(Mode.TEST, by="other", until=clock.now() + HOUR)) == 1
    store.poll_leases.prolong(Mode.TEST, {"col_0": clock.now() - HOUR}, by="late")
    store.poll_leases.release(Mode.TEST, ["col_0"], by="late")
    assert store.poll_leases.take(Mode.TEST, by="third", until=clock.now() + HOUR) == ()


def run_rounds(service: Service, store: Store, count: int) -> list[PollResult]:
    results: list[PollResult] = []
    turns = iter(range(count))
    with service.client() as client:
        steps = poll_open(
            store,
            client.core,
            stop=lambda: next(turns, None) is None,
            settings=PollSettings(every=timedelta(seconds=1)),
            on_result=results.append,
        )
        client.run(steps)
    return results


def failing(method: Any, errors: list[Exception]) -> Any:
    """Return a method of the store that raises each of `errors` first."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        if errors:
            raise errors.pop(0)
        return method(*arguments, **keywords)

    return call


@pytest.mark.merge
def test_a_store_that_is_away_is_waited_for_and_said_once(
    store: Store,
    clock: ManualClock,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fill(store, service.make, 1)
    clock.sleep(60)
    away: list[Exception] = [StoreUnavailable("cannot lease work: gone") for _ in range(8)]
    monkeypatch.setattr(store.poll_leases, "take", failing(store.poll_leases.take, away))
    before = clock.monotonic()
    with caplog.at_level(logging.INFO, "kusanya.watch"):
        results = run_rounds(service, store, 2_000)
    assert service.asked["col_0"] >= 1
    assert [made.trouble for made in results if made.trouble] == ["cannot lease work: gone"]
    said = [(record.levelname, record.message) for record in caplog.records]
    assert said.count(("WARNING", "the store cannot be used")) == 1
    assert said.count(("INFO", "the store can be used again")) == 1
    # 1, 2, 4, … 60 and 60 seconds: patient, and never for longer than a minute.
    assert clock.monotonic() - before >= 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60


@pytest.mark.parametrize("error", [StoreTooNew("newer"), StoreDamaged("damaged")], ids=repr)
def test_what_waiting_does_not_help_ends_the_poller(
    store: Store, service: Service, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(store.poll_leases, "take", failing(store.poll_leases.take, [error]))
    with pytest.raises(type(error)):
        run_rounds(service, store, 5)


def test_a_key_that_is_refused_ends_the_poller_and_leaves_the_work_to_others(
    store: Store, make: Any, clock: ManualClock, service: Service
) -> None:
    fill(store, make, 3)
    clock.sleep(60)
    service.status = 401
    with pytest.raises(AuthenticationError):
        run_rounds(service, store, 5)
    service.status = 200
    assert poll(service, store, "another").asked == 3


def test_a_poller_says_in_the_store_that_it_runs(
    store: Store, clock: ManualClock, service: Service
) -> None:
    run_rounds(service, store, 3)
    [poller] = store.poll_leases.pollers(Mode.TEST)
    assert f":{os.getpid()}:" in poller.name
    assert store.poll_leases.pollers(Mode.LIVE) == ()
    began = poller.polled_at
    run_rounds(service, store, 100)
    newest, oldest = store.poll_leases.pollers(Mode.TEST)
    assert newest.polled_at > oldest.polled_at == began
    clock.sleep(8 * 24 * 3600)
    run_rounds(service, store, 1)
    assert len(store.poll_leases.pollers(Mode.TEST)) == 1


def test_a_poller_that_stopped_is_an_alarm_while_something_is_open(
    store: Store, make: Any, clock: ManualClock, service: Service
) -> None:
    def alarm() -> str | None:
        found = raised(load(store, Mode.TEST, now=clock.now()), format_time=datetime.isoformat)
        return next((one.text for one in found if one.code == "unwatched"), None)

    assert alarm() is None  # nothing is open
    fill(store, make, 1)
    clock.sleep(4 * 60)
    assert alarm() is None  # not for long enough
    clock.sleep(6 * 60)
    since = clock.now() - timedelta(minutes=10)
    assert alarm() == (
        "◐ unwatched: no poller has run for 10 minutes, and collections are open since "
        f"{since.isoformat()}. To do: start kusanya watch."
    )
    run_rounds(service, store, 1)
    assert alarm() is None
    clock.sleep(7 * 60)
    assert "no poller has run for 7 minutes" in (alarm() or "")
