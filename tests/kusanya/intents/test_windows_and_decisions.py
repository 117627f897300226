"""When an intent may no longer be sent, what resolves it then, and when a person decides."""

from datetime import timedelta
from typing import Any

import pytest
from tests.kit.intents import end_attempt, prepare_intent
from tests.kit.interposed import Interposed
from tests.kusanya.intents.orders import BODY, ORDER, NewClient, the_intent

from kusanya.errors import (
    ConfigurationError,
    IntentError,
    IntentReason,
    NotSent,
    OutcomeUnknown,
)
from kusanya.intents import (
    create_safely,
    decide,
    replay_left,
    resolve_by_reference,
    resolve_waiting,
    resume,
)
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Mode


@pytest.mark.spec("limits-key-retention")
@pytest.mark.parametrize(
    ("later", "sent_again"),
    [
        (timedelta(hours=22, minutes=59, seconds=59), True),
        (timedelta(hours=23), False),
        (timedelta(hours=24, seconds=1), False),
        (timedelta(days=30), False),
    ],
    ids=str,
)
def test_nothing_is_sent_from_23_hours_after_the_first_sending_on(
    store: Store, new_client: NewClient, later: timedelta, sent_again: bool, lose_the_answer: Any
) -> None:
    service, clock = new_client.service, new_client.clock
    lose_the_answer()
    clock.pass_by(later)
    intent = the_intent(store)
    if sent_again:
        assert replay_left(intent, now=clock.now()) == timedelta(seconds=1)
        assert resume(store, new_client(), intent).collection.id == "col_1"
    else:
        assert not replay_left(intent, now=clock.now())
        with pytest.raises(IntentError, match="23 hours"):
            resume(store, new_client(), intent)
        assert the_intent(store).state is IntentState.UNKNOWN
    assert len(service.arrived) == 1 + sent_again
    assert len(service.collections) == 1


def test_the_window_also_ends_between_two_attempts_of_one_call(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.LOST_REQUEST]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.pass_by(timedelta(hours=22, minutes=59, seconds=59, milliseconds=900))
    service.faults = [play.Fault.LOST_REQUEST]
    with pytest.raises(IntentError, match="23 hours"):
        resume(store, new_client(random=lambda: 1.0), the_intent(store))
    assert len(service.arrived) == 2


def test_a_clock_that_went_back_sends_nothing(
    store: Store, new_client: NewClient, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    clock.at -= timedelta(hours=2)
    with pytest.raises(IntentError, match="clock"):
        resume(store, new_client(), the_intent(store))
    assert len(service.arrived) == 1


def test_an_event_with_the_reference_resolves_what_can_no_longer_be_sent(
    store: Store, new_client: NewClient, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    clock.pass_by(timedelta(days=2))
    seen = service.event("col_1")
    store.record(seen)
    resolved = resolve_by_reference(store, seen.collection, now=clock.now())
    assert resolved is not None
    assert (resolved.state, resolved.collection_id) == (IntentState.SETTLED, "col_1")
    assert resolve_by_reference(store, seen.collection, now=clock.now()) is None
    assert resume(store, new_client(), resolved).collection.status == "succeeded"
    assert len(service.arrived) == 1


def test_a_creation_is_found_among_however_many_payments_of_its_reference(
    store: Store, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    seen = service.event("col_1")
    store.record(seen)
    for number in range(2, 62):
        clock.pass_by(timedelta(seconds=1))
        service.create_elsewhere(f"col_{number}", reference="order-1")
        service.collections[f"col_{number}"]["amount"] = 5_000 + number
        store.record(service.event(f"col_{number}"))
    clock.pass_by(timedelta(days=2))
    with pytest.raises(IntentError, match="something was created: the store knows col_1"):
        decide(
            store,
            the_intent(store).id,
            actor="asha",
            why="not in the statement",
            collection_id=None,
            now=clock.now(),
        )
    assert resolve_waiting(store, now=clock.now()) == 1
    assert the_intent(store).collection_id == "col_1"


@pytest.mark.parametrize(
    "changed",
    [{"amount": 5001}, {"phone": "255754000002"}, {"created_at": "2026-03-02T11:00:00Z"}],
    ids=str,
)
def test_a_collection_that_may_be_anothers_resolves_nothing(
    store: Store, service: Any, changed: dict[str, Any], lose_the_answer: Any
) -> None:
    lose_the_answer()
    service.collections["col_1"].update(changed)
    store.record(service.event("col_1"))
    assert resolve_waiting(store, now=service.clock.now()) == 0
    assert the_intent(store).state is IntentState.UNKNOWN


def test_a_person_decides_only_after_the_window_or_for_a_collection_that_was_seen(
    store: Store, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    service.create_elsewhere("col_9", reference="another")
    store.record(service.event("col_9"))
    intent = the_intent(store)
    clock.pass_by(timedelta(minutes=13))
    for named in (None, "col_unseen", "col_9"):
        with pytest.raises(IntentError, match="window is open for 22 h 47 min more"):
            decide(store, intent.id, actor="a", why="b", collection_id=named, now=clock.now())
    assert the_intent(store).state is IntentState.UNKNOWN
    assert store.audit.page().rows == ()
    clock.pass_by(timedelta(hours=22, minutes=47))
    decided = decide(
        store,
        intent.id,
        actor="asha",
        why="not in the statement",
        collection_id=None,
        now=clock.now(),
    )
    assert (decided.state, decided.collection_id) == (IntentState.SETTLED, None)
    [row] = store.audit.page().rows
    assert (row.actor, row.subject) == (store.audit.actor, intent.id)
    assert row.detail == "nothing was created: not in the statement (as asha)"


def test_a_sweep_that_looked_before_the_answer_does_not_undo_it(
    store: Store, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    store.record(service.event("col_1"))
    answered: list[IntentRow] = []

    class RacingStore(Interposed):
        """The sweep's store: between its look and its word the intent is answered."""

        def method(self, path: str, found: Any) -> Any:
            if path == "intents.resolve" and not answered:
                begun = store.intents.begin_attempt(the_intent(store).id, at=clock.now())
                answered.append(
                    end_attempt(
                        store,
                        begun.intent_id,
                        begun.number,
                        at=clock.now(),
                        outcome="answered",
                        status=202,
                        request_id=None,
                        took_us=1,
                        state=IntentState.ANSWERED,
                        collection_id="col_1",
                    )
                )
            return found

    assert resolve_waiting(RacingStore(store), now=clock.now()) == 0  # type: ignore[arg-type]  # the store with a race inside
    assert the_intent(store) == answered[0]


def test_two_unanswered_intents_of_one_reference_are_left_to_a_person(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    # No create leaves two; a store that was written before that was refused may hold them.
    for key in ("first", "second"):
        kept = prepare_intent(
            store,
            idempotency_key=key,
            body=BODY,
            mode=Mode.TEST,
            profile="main",
            reference="order-1",
            amount=5000,
            phone="255754000001",
            prepared_at=clock.now(),
        )
        service.faults = [play.Fault.LOST_ANSWER]
        with pytest.raises(OutcomeUnknown):
            resume(store, new_client(max_attempts=1), kept, profile="main")
        clock.pass_by(timedelta(seconds=1))
    store.record(service.event("col_1"))
    assert resolve_waiting(store, now=clock.now()) == 0
    first = store.intents.page().rows[1]
    decided = decide(
        store, first.id, actor="asha", why="receipt seen", collection_id="col_1", now=clock.now()
    )
    assert (decided.state, decided.collection_id) == (IntentState.SETTLED, "col_1")
    assert store.audit.page().rows[0].act == "decide intent"
    store.record(service.event("col_2"))
    assert resolve_waiting(store, now=clock.now()) == 1
    with pytest.raises(IntentError, match="settled already"):
        decide(store, first.id, actor="asha", why="again", collection_id=None, now=clock.now())


def test_a_webhook_that_came_first_spares_the_sending(
    store: Store, new_client: NewClient, service: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    store.record(service.event("col_1"))
    made = resume(store, new_client(), the_intent(store))
    assert made.intent.state is IntentState.SETTLED
    assert len(service.arrived) == 1


def test_an_intent_that_is_being_sent_is_not_sent_by_another(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    refusals: list[IntentError] = []

    def meanwhile(request: Any, within_s: float) -> Any:
        if request.method == "POST":
            with pytest.raises(IntentError) as caught:
                create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
            refusals.append(caught.value)
            intent = the_intent(store)
            with pytest.raises(IntentError, match="being sent now"):
                decide(store, intent.id, actor="a", why="b", collection_id=None, now=clock.now())
        return service(request, within_s)

    create_safely(store, new_client(transport=meanwhile), **ORDER, idempotency_key="job-7")
    [refusal] = refusals
    assert (refusal.reason, refusal.retryable) == (IntentReason.BEING_SENT, True)
    assert len(service.arrived) == 1


def test_a_lease_that_another_took_over_sends_nothing_more(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    # The pause before the second attempt outlives the lease, and another process resumes.
    def slow(request: Any, within_s: float) -> Any:
        reply = service(request, within_s)
        if len(service.arrived) == 1 and request.method == "POST":
            clock.at += timedelta(seconds=90)
            assert resume(store, new_client(), the_intent(store)).collection.id == "col_1"
        return reply

    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(IntentError):
        create_safely(store, new_client(transport=slow), **ORDER)
    assert len(service.arrived) == 2
    assert len(service.collections) == 1
    # What the slow one did not learn does not undo what the other one did.
    intent = the_intent(store)
    assert (intent.state, intent.collection_id) == (IntentState.ANSWERED, "col_1")
    assert intent.claimed_by is None


def test_an_intent_that_was_never_sent_is_closed_after_a_day(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.NO_CONNECTION]
    with pytest.raises(NotSent):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.pass_by(timedelta(hours=23))
    resolve_waiting(store, now=clock.now())
    closed = the_intent(store)
    assert closed.state is IntentState.REFUSED
    assert closed.outcome == "the service never took it; nothing happened"
    assert create_safely(store, new_client(), **ORDER).collection.id == "col_1"


def test_an_intent_of_the_other_mode_is_not_sent(
    store: Store, new_client: NewClient, service: Any
) -> None:
    live = prepare_intent(
        store,
        idempotency_key="k",
        body=BODY,
        mode=Mode.LIVE,
        profile="main",
        reference="order-1",
        amount=5000,
        phone="255754000001",
    )
    with pytest.raises(ConfigurationError):
        resume(store, new_client(), live)
    assert service.arrived == []


@pytest.mark.parametrize("named", [None, "col_1"])
@pytest.mark.parametrize("state", [IntentState.ANSWERED, IntentState.UNKNOWN, IntentState.REFUSED])
def test_a_late_answer_leaves_what_a_person_decided(
    store: Store,
    service: Any,
    clock: Any,
    lose_the_answer: Any,
    *,
    state: IntentState,
    named: str | None,
) -> None:
    """Whatever a slow process comes to, the decision and its sentence stand."""
    lose_the_answer()
    intent = the_intent(store)
    begun = store.intents.begin_attempt(intent.id, at=clock.now())
    clock.pass_by(timedelta(hours=23))
    if named is not None:
        store.record(service.event(named))
    decided = decide(
        store, intent.id, actor="asha", why="seen", collection_id=named, now=clock.now()
    )
    late = end_attempt(store,
        intent.id, begun.number, at=clock.now(), outcome="answered", status=202, request_id=None,
        took_us=1, state=state, collection_id="col_2", sentence="it was answered",
    )  # fmt: skip
    assert (late.state, late.outcome) == (IntentState.SETTLED, decided.outcome)
    assert late.collection_id == (named or "col_2"), "another payment is never put in its place"
