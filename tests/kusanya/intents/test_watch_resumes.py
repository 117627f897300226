"""`kusanya watch --resume` brings what has no answer to its end, and asks nobody twice."""

from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client.requests import CreateRequest
from kusanya.errors import NotSent, OutcomeUnknown, ServiceUnavailable
from kusanya.intents import create_safely
from kusanya.intents.creating import create
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.watch.poller import PollResult, PollSettings, poll_once
from kusanya.wire import Mode

RESUMES = PollSettings(resumes="main")


class Watcher:
    """A watcher that makes one round when it is told to."""

    def __init__(self, store: Store, new_client: NewClient) -> None:
        self._store, self._new_client = store, new_client

    def __call__(self, settings: PollSettings = RESUMES) -> PollResult:
        """Make a round."""
        client = self._new_client(max_attempts=1)
        found: PollResult = client.run(
            poll_once(self._store, client.core, by="watch", settings=settings)
        )
        return found


@pytest.fixture
def watch(store: Store, new_client: NewClient) -> Watcher:
    return Watcher(store, new_client)


def lose_answer(store: Store, new_client: NewClient, reference: str) -> None:
    """Create an order whose answer never comes: the service plays a fault."""
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **{**ORDER, "reference": reference})


@pytest.mark.parametrize("fault", ["LOST_ANSWER", "LOST_REQUEST", "FAILED_AFTER"])
def test_what_has_no_answer_is_sent_again_after_a_minute_with_its_own_key(
    store: Store, new_client: NewClient, watch: Watcher, play: Any, fault: str
) -> None:
    service = new_client.service
    service.faults = [play.Fault[fault]]
    with pytest.raises((OutcomeUnknown, ServiceUnavailable)):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    service.clock.pass_by(timedelta(seconds=59))
    assert watch().resumed == 0
    service.clock.pass_by(timedelta(seconds=1))
    assert watch(PollSettings()).resumed == 0, "nobody said so"
    assert watch().resumed == 1
    assert the_intent(store).state is IntentState.ANSWERED
    assert list(service.collections) == ["col_1"]
    assert len({(one.key, one.body) for one in service.arrived}) == 1
    service.clock.pass_by(timedelta(hours=1))
    assert watch().resumed == 0


def test_a_client_that_tried_some_times_at_once_is_gone_on_with_as_soon(
    store: Store, new_client: NewClient, watch: Watcher, play: Any
) -> None:
    service = new_client.service
    service.faults = [play.Fault.FAILED_AFTER] * 5
    with pytest.raises((OutcomeUnknown, ServiceUnavailable)):
        create_safely(store, new_client(max_attempts=5), **ORDER)
    assert len(service.arrived) == 5
    service.clock.pass_by(timedelta(minutes=1))
    assert watch().resumed == 1


@pytest.mark.merge
def test_a_service_that_answers_nobody_is_asked_less_and_less_often(
    store: Store, new_client: NewClient, watch: Watcher, play: Any
) -> None:
    service = new_client.service
    service.faults = [play.Fault.LOST_REQUEST] * 1_000
    lose_answer(store, new_client, "order-1")
    for _ in range(60 * 6):
        service.clock.pass_by(timedelta(seconds=10))
        watch()
    assert 6 <= len(service.arrived) <= 9, "1, 2, 4, 8 and 15 minutes apart"
    service.faults = []
    service.clock.pass_by(timedelta(minutes=15))
    assert watch().resumed == 1


@pytest.mark.merge
def test_the_oldest_is_sent_again_first_however_many_newer_ones_wait(
    store: Store, new_client: NewClient, watch: Watcher, play: Any
) -> None:
    service = new_client.service
    service.faults = [play.Fault.LOST_REQUEST] * 121
    for number in range(121):
        lose_answer(store, new_client, f"order-{number}")
        if number == 0:
            service.clock.pass_by(timedelta(hours=22, minutes=59))
    assert watch(PollSettings(resumes="main", budget=1)).resumed == 1
    [first] = store.intents.by_reference(Mode.TEST, "order-0")
    assert first.state is IntentState.ANSWERED
    service.clock.pass_by(timedelta(minutes=2))
    assert watch(PollSettings(resumes="main", budget=200)).resumed == 120


def test_one_that_another_process_sent_meanwhile_holds_up_no_other(
    store: Store, new_client: NewClient, watch: Watcher, play: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = new_client.service
    service.faults = [play.Fault.LOST_REQUEST] * 3
    for number in range(3):
        lose_answer(store, new_client, f"order-{number}")
    service.clock.pass_by(timedelta(minutes=2))
    [second] = store.intents.by_reference(Mode.TEST, "order-1")
    read, looks = store.intents.last_attempts, []

    def last_attempts(ids: Any) -> Any:
        looks.append(list(ids))
        if ids == [second.id] and looks.count(ids) == 1:
            store.intents.begin_attempt(second.id, at=service.clock.now())
        return read(ids)

    monkeypatch.setattr(store.intents, "last_attempts", last_attempts)
    assert watch().resumed == 2
    states = {row.reference: row.state for row in store.intents.page().rows}
    assert states["order-0"] is states["order-2"] is IntentState.ANSWERED
    assert states["order-1"] is IntentState.SENT


def test_past_its_window_nothing_is_sent(
    store: Store, new_client: NewClient, watch: Watcher, play: Any
) -> None:
    service = new_client.service
    service.faults = [play.Fault.LOST_ANSWER]
    lose_answer(store, new_client, "order-1")
    service.clock.pass_by(timedelta(hours=23))
    assert watch().resumed == 0
    assert len(service.arrived) == 1


def test_what_never_left_and_what_another_profile_made_stay(
    store: Store, new_client: NewClient, watch: Watcher, play: Any
) -> None:
    service = new_client.service
    service.witness = None  # it looks under one profile alone
    service.faults = [play.Fault.NO_CONNECTION, play.Fault.LOST_ANSWER]
    for reference, profile in (("order-1", "main"), ("order-2", "other")):
        with pytest.raises((NotSent, OutcomeUnknown)):
            create_safely(
                store, new_client(max_attempts=1), **{**ORDER, "reference": reference},
                profile=profile,
            )  # fmt: skip
    service.clock.pass_by(timedelta(hours=1))
    assert watch().resumed == 0
    assert len(service.arrived) == 1


@pytest.mark.parametrize("step", range(1, 4))
def test_a_call_that_died_in_the_midst_is_gone_on_with(
    store: Store, new_client: NewClient, watch: Watcher, play: Any, step: int
) -> None:
    client = new_client(max_attempts=1)
    steps = create(store, client.core, CreateRequest(**ORDER))
    with pytest.raises(play.Killed):
        play.run_killed(client, steps, after=step, done=True)
    new_client.service.clock.pass_by(timedelta(minutes=5))
    watch()
    made = list(new_client.service.collections)
    assert made in ([], ["col_1"])
    assert the_intent(store).state in {IntentState.ANSWERED, IntentState.PREPARED}
    assert made or not new_client.service.arrived, "what left has its answer"
