"""A reference that was used before: a reason repeats it, and never one whose outcome is open."""

from typing import Any

import pytest
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.errors import (
    IntentError,
    KusanyaError,
    OutcomeUnknown,
)
from kusanya.intents import (
    create_safely,
    resume,
)
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode


@pytest.mark.parametrize("key", [None, "job-8"])
def test_a_repeated_reference_takes_a_reason(
    store: Store, new_client: NewClient, service: Any, key: str | None
) -> None:
    first = create_safely(store, new_client(), **ORDER)
    with pytest.raises(IntentError, match="used before") as caught:
        create_safely(store, new_client(), **ORDER, idempotency_key=key)
    assert caught.value.intent_id == first.intent.id
    with pytest.raises(ValueError, match="with a reason"):
        create_safely(store, new_client(), **ORDER, force_repeat_reason=" ")
    forced = create_safely(
        store, new_client(), **ORDER, idempotency_key=key, force_repeat_reason="second instalment"
    )
    assert forced.collection.id == "col_2"
    assert forced.intent.idempotency_key != first.intent.idempotency_key
    [row] = store.audit.page().rows
    assert row.act == "repeat reference"
    assert row.detail.startswith("second instalment (as "), "the process says which one it was"


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
            create_safely(store, new_client(), **order, idempotency_key=key)
        assert caught.value.intent_id == standing.id
        assert "--again" not in str(caught.value)
    assert len(service.arrived) == sent
    assert store.audit.page().rows == ()
    assert resume(store, new_client(), standing).collection.id == "col_1"
    with pytest.raises(IntentError, match="--again"):
        create_safely(store, new_client(), **ORDER, idempotency_key=key)
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
