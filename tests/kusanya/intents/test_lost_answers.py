"""Answers that were lost or came from between: the same key and bytes again, never a second key."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client import AsyncClient
from kusanya.errors import (
    AuthenticationError,
    IntentError,
    InvalidRequest,
    NotSent,
    OutcomeUnknown,
    ProtocolError,
    RateLimited,
)
from kusanya.intents import (
    create_safely,
    create_safely_async,
    resolve_waiting,
    resume,
)
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode


def test_an_answer_ends_what_an_earlier_failure_said(
    store: Store, new_client: NewClient, lose_the_answer: Any
) -> None:
    lose_the_answer()
    assert the_intent(store).outcome == "no usable answer: no answer in time"
    made = resume(store, new_client(), the_intent(store))
    assert (made.intent.state, made.intent.outcome) == (IntentState.ANSWERED, None)
    assert the_intent(store) == made.intent


@pytest.mark.parametrize("fault", ["LOST_ANSWER", "LOST_REQUEST", "FAILED_AFTER", "FAILED_BEFORE"])
def test_a_lost_answer_is_sent_again_with_the_same_key_and_bytes(
    store: Store, new_client: NewClient, service: Any, play: Any, fault: str
) -> None:
    service.faults = [play.Fault[fault], play.Fault[fault]]
    made = create_safely(store, new_client(), **ORDER)
    assert len(service.collections) == 1
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
    assert [a.number for a in store.intents.attempts(made.intent.id)] == [1, 2, 3]


def test_a_replayed_answer_is_followed_by_a_look_at_the_present(
    store: Store, new_client: NewClient, service: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    service.pay("col_1")
    made = resume(store, new_client(), the_intent(store))
    assert made.collection.status == "succeeded"
    facts = store.collections.observations("col_1", Mode.TEST)
    assert [(fact.source, fact.collection.status) for fact in facts] == [
        (Source.ANSWER, "created"),
        (Source.POLL, "succeeded"),
    ]
    assert facts[0].replayed


@pytest.mark.parametrize(
    "case",
    [
        ("LOST_ANSWER", OutcomeUnknown, IntentState.UNKNOWN),
        ("REDIRECT", ProtocolError, IntentState.UNKNOWN),
        ("NO_CONNECTION", NotSent, IntentState.PREPARED),
        ("NOT_NOW", RateLimited, IntentState.PREPARED),
        ("KEY_REFUSED", AuthenticationError, IntentState.PREPARED),
    ],
)
def test_an_intent_shows_what_is_known_and_can_be_resumed(
    store: Store,
    new_client: NewClient,
    play: Any,
    case: tuple[str, type[Exception], IntentState],
) -> None:
    fault, error, state = case
    service = new_client.service
    service.faults = [play.Fault[fault]]
    with pytest.raises(error) as caught:
        create_safely(store, new_client(max_attempts=1), **ORDER)
    intent = the_intent(store)
    assert intent.state is state
    assert any(intent.id in note for note in caught.value.__notes__)
    assert resume(store, new_client(), intent.id).collection.id == "col_1"
    assert the_intent(store).state is IntentState.ANSWERED
    assert len(service.collections) == 1


def test_a_refused_key_after_a_lost_answer_leaves_the_outcome_unknown(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER, play.Fault.KEY_REFUSED]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(), **ORDER)
    assert the_intent(store).state is IntentState.UNKNOWN


@pytest.mark.parametrize("fault", ["NO_CONNECTION", "NOT_NOW", "KEY_REFUSED", "WENT_ASTRAY"])
def test_a_resumption_that_gets_nowhere_does_not_forget_the_lost_answer(
    store: Store, new_client: NewClient, service: Any, play: Any, fault: str
) -> None:
    service.faults = [play.Fault.LOST_ANSWER, play.Fault[fault]]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    with pytest.raises(OutcomeUnknown):
        resume(store, new_client(max_attempts=1), the_intent(store))
    assert the_intent(store).state is IntentState.UNKNOWN
    new_client.clock.pass_by(timedelta(days=2))
    resolve_waiting(store, now=new_client.clock.now())
    assert the_intent(store).state is IntentState.UNKNOWN


FROM_BETWEEN = [
    "GATEWAY_GAVE_UP",
    "TOO_EARLY",
    "GATEWAY_HUNG_UP",
    "BLOCK_PAGE",
    "BARE_REFUSAL",
    "LOGIN_PAGE",
]


@pytest.mark.parametrize("fault", FROM_BETWEEN)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["blocking", "asynchronous"])
def test_a_refusal_from_between_never_brings_a_second_key(
    store: Store, new_client: NewClient, play: Any, fault: str, asynchronous: bool
) -> None:
    service = new_client.service
    service.faults = [play.Fault[fault]]

    async def send(request: Any, within_s: float) -> Any:
        return service(request, within_s)

    def creates() -> None:
        if not asynchronous:
            create_safely(store, new_client(max_attempts=1), **ORDER)
            return
        client = AsyncClient(
            play.key,
            base_url="http://127.0.0.1:9",
            clock=new_client.clock,
            transport=send,
            max_attempts=1,
        )
        asyncio.run(create_safely_async(store, client, **ORDER))

    with pytest.raises(OutcomeUnknown):
        creates()
    assert the_intent(store).state is IntentState.UNKNOWN
    [attempt] = store.intents.attempts(the_intent(store).id)
    assert attempt.outcome == "lost"
    with pytest.raises(IntentError, match="used before"):
        create_safely(store, new_client(), **ORDER, idempotency_key="another")
    # The same call sends the same key again. A later word of the service's own says nothing of what
    # came before it.
    service.faults = [play.Fault.WENT_ASTRAY]
    with pytest.raises(OutcomeUnknown):
        creates()
    assert the_intent(store).state is IntentState.UNKNOWN
    creates()
    assert the_intent(store).collection_id == "col_1"
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
    assert len(service.collections) == 1


@pytest.mark.parametrize("fault", FROM_BETWEEN)
def test_a_refusal_from_between_is_sent_again_within_the_call(
    store: Store, new_client: NewClient, service: Any, play: Any, fault: str
) -> None:
    service.faults = [play.Fault[fault], play.Fault[fault]]
    made = create_safely(store, new_client(), **ORDER)
    assert made.collection.id == "col_1"
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
    assert len(service.arrived) == 3
    assert len(service.collections) == 1


def test_a_refused_request_is_over_and_its_reference_is_free_again(
    store: Store, new_client: NewClient, service: Any
) -> None:
    wrong = {**ORDER, "phone": "255700000422"}
    with pytest.raises(InvalidRequest):
        create_safely(store, new_client(), **wrong)
    refused = the_intent(store)
    assert refused.state is IntentState.REFUSED
    with pytest.raises(IntentError, match="refused"):
        resume(store, new_client(), refused)
    assert create_safely(store, new_client(), **ORDER).collection.id == "col_1"
    assert len(service.arrived) == 2
