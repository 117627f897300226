"""A decision is compared with what is known: no creation is resolved by another order's payment."""

from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.errors import IntentError, OutcomeUnknown
from kusanya.intents import create_safely, decide
from kusanya.store import Store
from kusanya.store.records import Decision, IntentRow, IntentState
from kusanya.wire import Mode


@pytest.fixture
def closed(store: Store, clock: Any, lose_the_answer: Any) -> IntentRow:
    """Return an intent whose answer was lost and whose window is over."""
    lose_the_answer()
    clock.pass_by(timedelta(hours=24))
    return the_intent(store)


def deciding(
    store: Store, clock: Any, collection_id: str | None, *, intent_id: str = "", **options: Any
) -> IntentRow:
    return decide(
        store, intent_id or the_intent(store).id, actor="asha", why="statement", now=clock.now(),
        collection_id=collection_id, **options,
    )  # fmt: skip


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("text", ["", "col_", "INV-1", "evt_1", "col_a b", "COL_1", "nothing"])
def test_what_is_no_id_of_a_collection_is_refused_with_words(
    store: Store, clock: Any, text: str
) -> None:
    with pytest.raises(IntentError, match="is no id of a collection"):
        deciding(store, clock, text, unseen=True)
    assert the_intent(store).state is IntentState.UNKNOWN
    assert store.audit.page().rows == ()


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"amount": 12_000}, "its amount is 12,000, not 5,000"),
        ({"phone": "255754000002"}, r"its phone is \+255•••••002, not \+255•••••001"),
        ({"reference": "order-9"}, "its reference is order-9, not order-1"),
        ({"created_at": "2026-03-02T11:00:00Z"}, "created before this creation was first sent"),
    ],
    ids=["amount", "phone", "reference", "time"],
)
def test_a_collection_that_the_store_knows_otherwise_is_refused_with_what_differs(
    store: Store, service: Any, clock: Any, changed: dict[str, Any], words: str
) -> None:
    service.collections["col_1"].update(changed)
    store.record(service.event("col_1"))
    with pytest.raises(IntentError, match=words):
        deciding(store, clock, "col_1", unseen=True)
    assert the_intent(store).state is IntentState.UNKNOWN


def test_the_store_itself_refuses_a_decision_on_another_orders_collection(
    store: Store, service: Any, closed: IntentRow
) -> None:
    service.collections["col_1"]["amount"] = 12_000
    store.record(service.event("col_1"))
    with pytest.raises(IntentError, match="its amount is 12,000, not 5,000"):
        store.intents.resolve(
            closed.id, collection_id="col_1", sentence="decided",
            decided=Decision(actor="asha", detail="col_1"),
        )  # fmt: skip
    assert the_intent(store).state is IntentState.UNKNOWN
    assert store.audit.page().rows == ()


@pytest.mark.usefixtures("closed")
def test_no_collection_is_what_became_of_two_creations(
    store: Store, new_client: NewClient, service: Any, clock: Any, play: Any
) -> None:
    service.collections["col_1"].update(status="failed", failure_code="timeout")
    first = deciding(store, clock, "col_1", client=new_client())
    ids = []
    for reference, again in (("order-1", "the first failed"), ("order-2", None)):
        service.faults = [play.Fault.LOST_REQUEST]
        asked = {**ORDER, "reference": reference, "force_repeat_reason": again}
        with pytest.raises(OutcomeUnknown):
            create_safely(store, new_client(max_attempts=1), **asked)
        ids.append(store.intents.by_reference(Mode.TEST, reference)[0].id)
    clock.pass_by(timedelta(hours=24))
    with pytest.raises(IntentError, match=f"it belongs to the creation {first.id}"):
        deciding(store, clock, "col_1", intent_id=ids[0], unseen=True)
    made = deciding(store, clock, "col_77", intent_id=ids[0], unseen=True)
    assert made.collection_id == "col_77"
    with pytest.raises(IntentError, match=f"that collection belongs to the creation {ids[0]}"):
        deciding(store, clock, "col_77", intent_id=ids[1], unseen=True)
    assert store.intents.by_reference(Mode.TEST, "order-2")[0].state is IntentState.UNKNOWN


@pytest.mark.usefixtures("closed")
def test_the_service_is_asked_before_a_decision_and_its_answer_is_kept(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    decided = deciding(store, clock, "col_1", client=new_client())
    assert (decided.state, decided.collection_id) == (IntentState.SETTLED, "col_1")
    assert [fact.source for fact in store.collections.observations("col_1", Mode.TEST)] == ["poll"]
    assert service.collections["col_1"]["reference"] == "order-1"


@pytest.mark.usefixtures("closed")
def test_a_collection_that_the_service_knows_otherwise_or_not_at_all_is_refused(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    service.create_elsewhere("col_9", reference="another")
    with pytest.raises(IntentError, match="its reference is another, not order-1"):
        deciding(store, clock, "col_9", client=new_client(), unseen=True)
    with pytest.raises(IntentError, match="the service knows no col_404 in test mode"):
        deciding(store, clock, "col_404", client=new_client(), unseen=True)
    assert the_intent(store).state is IntentState.UNKNOWN


@pytest.mark.usefixtures("closed")
def test_what_nobody_could_look_at_is_decided_only_by_saying_so(store: Store, clock: Any) -> None:
    with pytest.raises(IntentError, match="the store has never seen col_77"):
        deciding(store, clock, "col_77")
    assert deciding(store, clock, "col_77", unseen=True).collection_id == "col_77"
    assert store.audit.page().rows[0].detail == "col_77, seen by nobody: statement (as asha)"


@pytest.mark.usefixtures("closed")
def test_nothing_was_created_is_refused_where_the_collection_is_known(
    store: Store, service: Any, clock: Any
) -> None:
    store.record(service.event("col_1"))
    with pytest.raises(IntentError, match="something was created: the store knows col_1"):
        deciding(store, clock, None)
    assert deciding(store, clock, "col_1").collection_id == "col_1"


@pytest.mark.usefixtures("closed")
def test_a_check_names_a_decision_whose_collection_turns_out_to_be_another(
    store: Store, service: Any, clock: Any
) -> None:
    deciding(store, clock, "col_1", unseen=True)
    assert store.maintenance.check() == ()
    service.collections["col_1"]["amount"] = 12_000
    store.record(service.event("col_1"))
    (finding,) = store.maintenance.check()
    assert (finding.kind, finding.subject) == ("intent", the_intent(store).id)
    assert "col_1, whose mode, reference, amount or phone is another" in finding.sentence
