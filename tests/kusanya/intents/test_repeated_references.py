"""A reference that was used before: a reason repeats it, and never one whose outcome is open."""

import json
from typing import Any

import pytest
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client.observations import poll_observation
from kusanya.client.requests import CreateRequest
from kusanya.errors import (
    IntentError,
    IntentReason,
    KusanyaError,
    OutcomeUnknown,
)
from kusanya.intents import (
    create_safely,
    resume,
)
from kusanya.intents.creating import create
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode, decode_collection


def end(store: Store, service: Any, collection_id: str, status: str) -> None:
    """Let a collection come to its end, and the store know."""
    at = service.clock.now().isoformat()
    fields = {"status": status, "completed_at": None if status == "created" else at}
    found = decode_collection(json.dumps({**service.collections[collection_id], **fields}).encode())
    service.collections[collection_id] |= fields
    store.record(poll_observation(found, at=service.clock.now(), observed_in=Mode.TEST))


SAME = (None, "job-8")
"""No key, and another one than that of the call before."""


@pytest.mark.parametrize("status", ["failed", "expired"])
@pytest.mark.parametrize("key", SAME)
def test_an_order_that_brought_no_money_is_asked_for_again_with_a_reason(
    store: Store, new_client: NewClient, service: Any, key: str | None, status: str
) -> None:
    first = create_safely(store, new_client(), **ORDER)
    end(store, service, "col_1", status)
    other = {**ORDER, "amount": 4000}
    with pytest.raises(IntentError, match="--again") as caught:
        create_safely(store, new_client(), **other, idempotency_key=key)
    assert caught.value.intent_id == first.intent.id
    with pytest.raises(ValueError, match="with a reason"):
        create_safely(store, new_client(), **ORDER, force_repeat_reason=" ")
    forced = create_safely(
        store, new_client(), **ORDER, idempotency_key=key, force_repeat_reason="PIN was wrong"
    )
    assert forced.collection.id == "col_2"
    assert forced.intent.idempotency_key != first.intent.idempotency_key
    [row] = store.audit.page().rows
    assert (row.act, row.subject) == ("repeat reference", first.intent.id)
    assert row.detail.startswith("PIN was wrong (as "), "the process says which one it was"


@pytest.mark.parametrize("status", ["created", "succeeded", "failed"])
def test_the_same_call_without_a_key_returns_the_same_collection(
    store: Store, new_client: NewClient, service: Any, status: str
) -> None:
    first = create_safely(store, new_client(), **ORDER)
    if status != "created":
        end(store, service, "col_1", status)
    again = create_safely(store, new_client(), **{**ORDER, "phone": "+255 754 000 001"})
    assert (again.intent.id, again.collection.status) == (first.intent.id, status)
    for other in ({"amount": 5001}, {"phone": "0754 000 002"}, {"metadata": {"a": "b"}}):
        with pytest.raises(IntentError, match="used before"):
            create_safely(store, new_client(), **{**ORDER, **other})
    with pytest.raises(IntentError, match="used before"):
        create_safely(store, new_client(), **ORDER, profile="other")
    assert list(service.collections) == ["col_1"]
    assert len(service.arrived) == 1


@pytest.mark.parametrize(
    ("status", "reason"),
    [("created", IntentReason.REFERENCE_OPEN), ("succeeded", IntentReason.REFERENCE_USED)],
)
@pytest.mark.parametrize("ours", [True, False], ids=["made here", "made elsewhere"])
def test_no_reason_asks_again_for_what_is_open_or_paid(
    store: Store, new_client: NewClient, *, status: str, reason: str, ours: bool
) -> None:
    service = new_client.service
    if ours:
        create_safely(store, new_client(), **ORDER)
    else:
        service.create_elsewhere("col_1", reference="order-1")
    end(store, service, "col_1", status)
    for key in SAME:
        with pytest.raises(IntentError, match="used before, by col_1") as caught:
            create_safely(
                store, new_client(), **{**ORDER, "amount": 4000}, idempotency_key=key,
                force_repeat_reason="second instalment",
            )  # fmt: skip
        assert caught.value.reason is reason
    assert list(service.collections) == ["col_1"]
    assert store.audit.page().rows == ()


@pytest.mark.role("decide")
def test_a_person_overrules_that_an_order_is_paid_and_never_that_a_prompt_is_open(
    store: Store, new_client: NewClient, service: Any
) -> None:
    create_safely(store, new_client(), **ORDER)
    sale = CreateRequest(**ORDER, although_paid="the till sold it twice")
    client = new_client()
    for status in ("created", "succeeded"):
        end(store, service, "col_1", status)
        if status == "created":
            # The same wish is under way: nothing new is sent.
            assert client.run(create(store, client.core, sale)).collection.id == "col_1"
    assert client.run(create(store, client.core, sale)).collection.id == "col_2"
    [row] = store.audit.page().rows
    assert row.detail.startswith("although paid: the till sold it twice (as ")


@pytest.mark.parametrize(
    "case",
    [
        ("NO_CONNECTION", IntentState.PREPARED),
        ("LOST_ANSWER", IntentState.UNKNOWN),
        ("FAILED_AFTER", IntentState.UNKNOWN),
    ],
)
@pytest.mark.parametrize("key", [None, "job-8"])
def test_no_reason_repeats_a_reference_whose_outcome_is_not_known(
    store: Store, new_client: NewClient, play: Any, case: tuple[str, IntentState], key: str | None
) -> None:
    fault, state = case
    service, again = new_client.service, {**ORDER, "force_repeat_reason": "second instalment"}
    service.faults = [play.Fault[fault]]
    with pytest.raises(KusanyaError):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    standing = the_intent(store)
    assert standing.state is state
    sent = len(service.arrived)
    for order in (ORDER, again):
        with pytest.raises(IntentError, match=f"{standing.id}.*resume that one first") as caught:
            create_safely(store, new_client(), **{**order, "amount": 4000}, idempotency_key=key)
        assert caught.value.intent_id == standing.id
        assert "--again" not in str(caught.value)
    assert len(service.arrived) == sent
    assert store.audit.page().rows == ()
    assert resume(store, new_client(), standing).collection.id == "col_1"
    end(store, service, "col_1", "failed")
    with pytest.raises(IntentError, match="--again"):
        create_safely(store, new_client(), **{**ORDER, "amount": 4000}, idempotency_key=key)
    assert create_safely(store, new_client(), **again, idempotency_key=key).collection.id == "col_2"


def test_a_reference_being_sent_is_not_repeated_for_any_reason(
    store: Store, new_client: NewClient, service: Any
) -> None:
    refused: list[IntentError] = []

    def meanwhile(request: Any, within_s: float) -> Any:
        with pytest.raises(IntentError, match=r"\(sent\)") as caught:
            create_safely(
                store, new_client(), **ORDER, idempotency_key="other", force_repeat_reason="again"
            )
        refused.append(caught.value)
        return service(request, within_s)

    made = create_safely(store, new_client(transport=meanwhile), **ORDER)
    assert [error.intent_id for error in refused] == [made.intent.id]
    assert len(service.arrived) == 1


def test_two_repeats_forced_at_the_same_moment_become_one_collection_more(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    create_safely(store, new_client(), **ORDER)
    end(store, service, "col_1", "failed")

    # Between this call's look and its own row, another process forces a repeat and learns nothing.
    class RacingStore(Interposed):
        def method(self, path: str, found: Any) -> Any:
            if path == "intents.begin" and len(service.arrived) == 1:
                service.faults = [play.Fault.LOST_ANSWER]
                with pytest.raises(OutcomeUnknown):
                    create_safely(
                        store,
                        new_client(max_attempts=1),
                        **ORDER,
                        idempotency_key="theirs",
                        force_repeat_reason="second instalment",
                    )
            return found

    with pytest.raises(IntentError, match="resume that one first"):
        create_safely(
            RacingStore(store),  # type: ignore[arg-type]  # the store with a race inside
            new_client(),
            **ORDER,
            idempotency_key="ours",
            force_repeat_reason="second instalment",
        )
    assert len(service.collections) == 2
    assert store.intents.by_key(Mode.TEST, "main", "ours") is None


def test_a_reference_taken_under_another_key_at_the_same_moment_is_given_up(
    store: Store, new_client: NewClient, service: Any
) -> None:
    # Between this call's look and its own row, another process takes the same reference.
    class RacingStore(Interposed):
        raced = False

        def method(self, path: str, found: Any) -> Any:
            if path == "intents.begin" and not self.raced:
                self.raced = True
                create_safely(store, new_client(), **ORDER, idempotency_key="theirs")
            return found

    with pytest.raises(IntentError, match="used before"):
        create_safely(RacingStore(store), new_client(), **ORDER, idempotency_key="ours")  # type: ignore[arg-type]  # the store with a race inside
    assert [sent.key for sent in service.arrived] == ["theirs"]
    assert store.intents.by_key(Mode.TEST, "main", "ours") is None
