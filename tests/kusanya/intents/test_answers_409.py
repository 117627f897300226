"""Of all 409s only that of a reused key is an answer: any other leaves the reference taken."""

from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client.effects import Response
from kusanya.errors import Conflict, IntentError, IntentReason, OutcomeUnknown
from kusanya.intents import create_safely, resume
from kusanya.store import Store
from kusanya.store.records import IntentState


def _refused_again(store: Store, new_client: NewClient) -> IntentReason:
    """Ask for the same reference under another key, as a second charge would be."""
    with pytest.raises(IntentError) as caught:
        create_safely(store, new_client(), **ORDER, idempotency_key="another")
    return caught.value.reason


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"code": "in_progress"}}',
        b'{"error": {"code": "conflict", "message": "idempotency_key_reused"}}',
        b"idempotency_key_reused",
        b"{}",
    ],
    ids=["another code", "only its message says so", "no JSON", "no code"],
)
def test_another_conflict_refuses_nothing_and_frees_no_reference(
    store: Store, new_client: NewClient, service: Any, body: bytes
) -> None:
    def conflict(request: Any, within_s: float) -> Response:
        service.arrived.append(request)
        return Response(status=409, headers=(), body=body)

    with pytest.raises((Conflict, OutcomeUnknown)):
        create_safely(store, new_client(transport=conflict, max_attempts=2), **ORDER)
    assert the_intent(store).state in {IntentState.PREPARED, IntentState.UNKNOWN}
    assert _refused_again(store, new_client) is IntentReason.REFERENCE_OPEN
    assert len(service.arrived) == 2
    assert len({request.idempotency_key for request in service.arrived}) == 1


def test_a_conflict_that_stays_is_sent_again_with_the_same_key_and_bytes(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.BUSY] * 2
    with pytest.raises(Conflict):
        create_safely(store, new_client(max_attempts=2), **ORDER)
    assert the_intent(store).state is IntentState.PREPARED
    assert _refused_again(store, new_client) is IntentReason.REFERENCE_OPEN
    made = resume(store, new_client(), the_intent(store), profile="main")
    assert made.collection.id == "col_1"
    assert len({(one.key, one.body) for one in service.arrived}) == 1


@pytest.mark.parametrize("lost", ["LOST_ANSWER", "LOST_REQUEST", "FAILED_AFTER"])
def test_a_conflict_after_a_lost_attempt_leaves_the_outcome_unknown(
    store: Store, new_client: NewClient, service: Any, play: Any, lost: str
) -> None:
    service.faults = [play.Fault[lost], play.Fault.BUSY]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=2), **ORDER)
    assert the_intent(store).state is IntentState.UNKNOWN
    assert _refused_again(store, new_client) is IntentReason.REFERENCE_OPEN
    resume(store, new_client(), the_intent(store))
    assert len(service.collections) == 1


def test_a_conflict_when_resuming_leaves_the_outcome_unknown(
    store: Store, new_client: NewClient, service: Any, play: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    service.faults = [play.Fault.BUSY]
    with pytest.raises(OutcomeUnknown):
        resume(store, new_client(max_attempts=1), the_intent(store))
    assert the_intent(store).state is IntentState.UNKNOWN
    assert _refused_again(store, new_client) is IntentReason.REFERENCE_OPEN
