"""What happens between two steps of a create, and to whoever asks for what is not there."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import ORDER, the_intent

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.client.requests import CreateRequest
from kusanya.errors import (
    ConfigurationError,
    IdempotencyKeyReused,
    IntentError,
    KusanyaError,
    StoreUnavailable,
)
from kusanya.intents import create_safely, decide, resume
from kusanya.intents.creating import create, proceed
from kusanya.intents.leases import Lease, this_process
from kusanya.intents.recorded_attempts import RecordedAttempts
from kusanya.intents.resolving import open_intents
from kusanya.intents.send_target import SendTarget
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState


class Meanwhile(Interposed):
    """A store in which somebody else is quicker, once, before one of its calls."""

    def __init__(self, store: Store, before: str, act: Callable[[], object]) -> None:
        super().__init__(store)
        self._before = before
        self._act: Callable[[], object] | None = act

    def method(self, path: str, found: Any) -> Any:
        """Let somebody else act first, once."""
        if path == self._before and self._act is not None:
            act, self._act = self._act, None
            act()
        return found


def _unknown(store: Store, new_client: Any, service: Any, play: Any) -> IntentRow:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(KusanyaError):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    return the_intent(store)


def test_an_intent_that_is_not_there_is_said_to_be_so(
    store: Store, new_client: Any, clock: Any
) -> None:
    with pytest.raises(IntentError, match="no such intent"):
        resume(store, new_client(), "int_nowhere")
    decision: dict[str, Any] = {"why": "told", "collection_id": None, "now": clock.now()}
    with pytest.raises(IntentError, match="no such intent"):
        decide(store, "int_nowhere", actor="asha", **decision)
    with pytest.raises(ValueError, match="a person and a reason"):
        decide(store, "int_nowhere", actor=" ", **decision)


def test_a_key_of_unknown_mode_creates_nothing(store: Store, service: Any, clock: Any) -> None:
    client = Client(
        "another_form_4242", base_url="http://127.0.0.1:9", clock=clock, transport=service
    )
    with pytest.raises(ConfigurationError, match="mode"):
        create_safely(store, client, **ORDER)
    assert store.intents.page().rows == ()


def test_an_order_shows_nothing_of_the_customer() -> None:
    assert repr(CreateRequest(**ORDER)) == "CreateRequest(reference='order-1', amount=5000)"


def test_there_is_no_intent_to_name_before_there_is_one(store: Store, clock: Any) -> None:
    recorded = RecordedAttempts(
        Lease.new(store, clock, ""),
        send_target=SendTarget(target=lambda: "", profile="shop"),
        opening=None,
    )
    with pytest.raises(IntentError, match="no such intent yet"):
        _ = recorded.intent


@pytest.mark.merge
def test_every_open_intent_is_listed_however_many_there_are(
    store: Store, new_client: Any, service: Any, play: Any
) -> None:
    for number in range(201):
        service.faults = [play.Fault.NO_CONNECTION]
        with pytest.raises(KusanyaError):
            create_safely(
                store, new_client(max_attempts=1), **{**ORDER, "reference": f"order-{number}"}
            )
    listed = [row.reference for row in open_intents(store)]
    assert len(listed) == len(set(listed)) == 201


def test_whoever_finds_the_key_taken_meanwhile_goes_on_with_that_intent(
    store: Store, new_client: Any, service: Any
) -> None:
    client = new_client()
    steps = create(store, client.core, CreateRequest(**ORDER, idempotency_key="job-7"))
    looked: Any = next(steps)
    found = looked.function()
    first = create_safely(store, client, **ORDER, idempotency_key="job-7")

    def rest() -> Any:
        effect = steps.send(found)
        while True:
            try:
                outcome = yield effect
            except KusanyaError as error:
                effect = steps.throw(error)
                continue
            try:
                effect = steps.send(outcome)
            except StopIteration as stop:
                return stop.value

    second = client.run(rest())
    assert second.intent.id == first.intent.id
    assert second.collection.id == first.collection.id
    assert len(service.arrived) == 1


def test_a_store_that_fails_under_a_lease_leaves_the_intent_to_others(
    store: Store, new_client: Any, service: Any, play: Any
) -> None:
    intent = _unknown(store, new_client, service, play)
    client = new_client()
    steps = proceed(store, client.core, intent)
    claimed: Any = next(steps)
    claimed.function()
    steps.send(None)
    released: Any = steps.throw(StoreUnavailable("the disk is away"))
    released.function()
    with pytest.raises(StoreUnavailable, match="the disk is away"):
        steps.send(None)
    assert the_intent(store).claimed_by is None
    assert resume(store, client, intent).intent.state is IntentState.ANSWERED


def test_a_collection_that_only_a_person_knew_is_asked_for(
    store: Store, new_client: Any, service: Any, play: Any, clock: Any
) -> None:
    intent = _unknown(store, new_client, service, play)
    clock.pass_by(timedelta(hours=23, minutes=1))
    service.create_elsewhere("col_77", reference="order-1")
    decide(
        store, intent.id, actor="asha", why="told", collection_id="col_77", now=clock.now(),
        unseen=True,
    )  # fmt: skip
    assert resume(store, new_client(), intent.id).collection.id == "col_77"


def test_without_an_answer_what_is_known_stays_true(
    store: Store, new_client: Any, clock: Any, play: Any
) -> None:
    made = create_safely(store, new_client(), **ORDER)
    dead = Client(
        play.key,
        base_url="http://127.0.0.1:9",
        clock=clock,
        max_attempts=1,
        transport=lambda _request, _within_s: Failure(left=True, why="no answer in time"),
    )
    found = resume(store, dead, made.intent)
    assert (found.collection.id, found.collection.status) == (made.collection.id, "created")


def test_a_key_that_the_service_knows_with_another_body_is_refused_for_good(
    store: Store, new_client: Any, service: Any
) -> None:
    service._create("job-7", b'{"amount":1,"phone":"255754000001","reference":"other"}')
    with pytest.raises(IdempotencyKeyReused):
        create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
    assert the_intent(store).state is IntentState.REFUSED
    assert len(service.arrived) == 1


def test_a_lease_that_another_process_took_over_first_is_theirs(
    store: Store, new_client: Any, service: Any, play: Any, clock: Any
) -> None:
    intent = _unknown(store, new_client, service, play)
    until = clock.now() + timedelta(minutes=1)
    # Of this machine, with a number above any that a process can have.
    gone = f"host:4194999@{this_process().partition('@')[2]}:1"
    assert store.intents.take_lease(intent.id, by=gone, until=until)

    def taken_over() -> None:
        store.intents.release_lease(intent.id, by=gone)
        assert store.intents.take_lease(intent.id, by="another-machine:1", until=until)

    quick: Any = Meanwhile(store, "intents.release_lease", taken_over)
    with pytest.raises(IntentError, match="another call"):
        Lease.new(quick, clock, intent.id).take()
    assert the_intent(store).claimed_by == "another-machine:1"


def test_a_person_who_decides_too_late_reads_what_became_of_it(
    store: Store, new_client: Any, service: Any, play: Any, clock: Any
) -> None:
    intent = _unknown(store, new_client, service, play)

    def answered() -> None:
        resume(store, new_client(), intent.id)

    later = clock.now() + timedelta(hours=24)
    quick: Any = Meanwhile(store, "intents.resolve", answered)
    with pytest.raises(IntentError, match="answered already"):
        decide(quick, intent.id, actor="asha", why="told", collection_id=None, now=later)
    assert the_intent(store).state is IntentState.ANSWERED
