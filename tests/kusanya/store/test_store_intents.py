"""Intents: one per key, one lease at a time, attempts that are durable before they are sent."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event
from tests.kit.intents import begin_intent, end_attempt, prepare_intent
from tests.kusanya.store.customer import end

from kusanya.clock import ManualClock
from kusanya.errors import IntentError, IntentReason, StoreUnavailable
from kusanya.say import Language, Said, in_language, keep
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import AttemptStart, ChangeKind, Decision, IntentRow, IntentState, Repeat
from kusanya.wire import Mode


def prepare(store: Store, key: str = "key-1", **said: Any) -> IntentRow:
    fields: dict[str, Any] = {
        "idempotency_key": key,
        "body": b'{"amount":5000}',
        "mode": Mode.TEST,
        "profile": "shop",
        "reference": "INV-1",
        "amount": 5000,
        "phone": "255754000001",
    }
    return prepare_intent(store, **{**fields, **said})


@pytest.mark.spec("post-1")
def test_the_same_key_and_body_is_the_same_intent(store: Store) -> None:
    first = prepare(store)
    assert prepare(store) == first
    assert store.intents.page().rows == (first,)
    assert first.state is IntentState.PREPARED
    assert store.intents.by_key(Mode.TEST, "shop", "key-1") == first
    assert store.intents.by_key(Mode.LIVE, "shop", "key-1") is None


@pytest.mark.spec("post-2")
def test_the_same_key_with_another_body_is_refused(store: Store) -> None:
    first = prepare(store)
    with pytest.raises(IntentError, match="another body") as caught:
        prepare(store, body=b'{"amount":6000}')
    assert caught.value.intent_id == first.id
    assert store.intents.page().rows == (first,)


def test_a_key_belongs_to_its_mode_and_profile(store: Store) -> None:
    made = {prepare(store).id, prepare(store, mode=Mode.LIVE).id, prepare(store, profile="b").id}
    assert len(made) == 3


def test_an_attempt_is_numbered_and_the_first_sending_is_kept(store: Store, make: Any) -> None:
    intent = prepare(store)
    first = store.intents.begin_attempt(intent.id, at=make.noon)
    sent = end_attempt(
        store,
        intent.id,
        first.number,
        at=make.noon + timedelta(seconds=2),
        outcome="lost",
        status=None,
        request_id=None,
        took_us=2_000_000,
        state=IntentState.UNKNOWN,
        sentence="no answer",
    )
    assert (sent.state, sent.outcome) == (IntentState.UNKNOWN, "no answer")
    second = store.intents.begin_attempt(intent.id, at=make.noon + timedelta(minutes=1))
    row = store.intents.get(intent.id)
    assert row is not None
    assert (row.attempts, row.first_sent_at, row.state) == (2, make.noon, IntentState.SENT)
    assert [(a.number, a.outcome) for a in store.intents.attempts(intent.id)] == [
        (1, "lost"),
        (2, None),
    ]
    answered = end_attempt(
        store,
        intent.id,
        second.number,
        at=make.noon + timedelta(minutes=1, seconds=1),
        outcome="answered",
        status=202,
        request_id="req_1",
        took_us=80_000,
        state=IntentState.ANSWERED,
        collection_id="col_1",
    )
    assert (answered.state, answered.collection_id) == (IntentState.ANSWERED, "col_1")
    with pytest.raises(IntentError, match="answered"):
        store.intents.begin_attempt(intent.id, at=make.noon)


def test_ending_an_attempt_that_was_never_begun_is_refused(store: Store, make: Any) -> None:
    intent = prepare(store)
    with pytest.raises(IntentError, match="never begun"):
        end_attempt(
            store,
            intent.id,
            1,
            at=make.noon,
            outcome="lost",
            status=None,
            request_id=None,
            took_us=None,
            state=IntentState.UNKNOWN,
        )
    with pytest.raises(IntentError, match="no such intent"):
        store.intents.begin_attempt("int_unknown", at=make.noon)


def test_a_late_answer_does_not_undo_a_resolution(store: Store, make: Any) -> None:
    intent = prepare(store)
    number = store.intents.begin_attempt(intent.id, at=make.noon).number
    store.intents.resolve(intent.id, collection_id="col_1", sentence="the event evt_1 says so")
    late = end_attempt(
        store,
        intent.id,
        number,
        at=make.noon,
        outcome="lost",
        status=None,
        request_id=None,
        took_us=1,
        state=IntentState.UNKNOWN,
        sentence="no answer",
    )
    assert (late.state, late.collection_id) == (IntentState.SETTLED, "col_1")
    assert late.outcome == "the event evt_1 says so"


def begin(store: Store, make: Any, key: str = "key-1", **said: Any) -> AttemptStart:
    fields: dict[str, Any] = {
        "idempotency_key": key,
        "body": b'{"amount":5000}',
        "mode": Mode.TEST,
        "profile": "shop",
        "reference": "INV-1",
        "amount": 5000,
        "phone": "255754000001",
        "at": make.noon,
        "by": "a",
        "until": make.noon + timedelta(minutes=1),
    }
    return begin_intent(store, **{**fields, **said}).result()


def test_a_new_intent_is_kept_with_its_lease_and_its_first_attempt(store: Store, make: Any) -> None:
    begun = begin(store, make)
    assert begun.new
    row = store.intents.get(begun.intent.id)
    assert row == begun.intent
    assert row is not None
    assert (row.state, row.attempts, row.first_sent_at) == (IntentState.SENT, 1, make.noon)
    assert (row.claimed_by, row.claimed_until) == ("a", make.noon + timedelta(minutes=1))
    [attempt] = store.intents.attempts(row.id)
    assert (attempt.number, attempt.sent_at, attempt.outcome) == (1, make.noon, None)
    assert not store.intents.take_lease(row.id, by="b", until=make.noon + timedelta(minutes=2))


def test_a_known_key_begins_nothing_and_leaves_the_intent_as_it_is(store: Store, make: Any) -> None:
    first = begin(store, make)
    head = store.feed.head()
    again = begin(store, make, by="b", at=make.noon + timedelta(hours=1))
    assert again == AttemptStart(intent=first.intent, new=False)
    assert store.feed.head() == head
    with pytest.raises(IntentError, match="another body"):
        begin(store, make, body=b"{}")


def test_a_reference_is_taken_once_unless_somebody_says_why(store: Store, make: Any) -> None:
    first = begin(store, make)
    with pytest.raises(IntentError, match="used before") as caught:
        begin(store, make, "key-2")
    assert caught.value.intent_id == first.intent.id
    assert store.intents.page().rows == (first.intent,)
    other_mode = begin(store, make, "key-2", mode=Mode.LIVE)
    assert other_mode.new
    why = Repeat(actor="asha", reason="second instalment")
    with pytest.raises(IntentError, match="may still be charged"):
        begin(store, make, "key-3", repeat=why)
    assert store.audit.page().rows == ()
    end_attempt(
        store,
        first.intent.id,
        1,
        at=make.noon,
        outcome="answered",
        status=202,
        request_id=None,
        took_us=1,
        state=IntentState.ANSWERED,
        collection_id="col_1",
    )
    store.record(make.observation(1, source=Source.POLL, status="created", reference="INV-1"))
    with pytest.raises(IntentError, match="prompt may still be open"):
        begin(store, make, "key-3", repeat=why)
    store.record(make.observation(1, source=Source.POLL, status="failed", reference="INV-1"))
    with pytest.raises(IntentError, match="brought no money"):
        begin(store, make, "key-3")
    assert begin(store, make, "key-3", repeat=why).new
    [row] = store.audit.page().rows
    assert (row.actor, row.subject) == (store.audit.actor, first.intent.id)
    assert row.detail == "second instalment (as asha)"


def test_a_reference_of_which_nothing_came_is_free_again(store: Store, make: Any) -> None:
    first = begin(store, make)
    store.intents.resolve(first.intent.id, collection_id=None, sentence="nothing was created")
    audited = store.audit.page().rows
    why = Repeat(actor="asha", reason="to be sure")
    assert begin(store, make, "key-2", repeat=why).new
    assert store.audit.page().rows == audited, "nothing was repeated"


def test_a_person_decides_for_a_collection_of_the_order_or_for_one_that_is_not_known(
    store: Store, make: Any
) -> None:
    store.record(make.observation(7, source=Source.POLL, reference="INV-7"))
    intent = begin(store, make).intent
    decision = Decision(actor="asha", detail="by the statement")
    with pytest.raises(IntentError, match="its reference is INV-7, not INV-1") as refused:
        store.intents.resolve(
            intent.id, collection_id="col_7", sentence="by asha", decided=decision
        )
    assert refused.value.reason is IntentReason.OTHER_COLLECTION
    assert store.intents.get(intent.id) == intent
    settled = store.intents.resolve(
        intent.id, collection_id="col_8", sentence="by asha", decided=decision
    )
    assert (settled.state, settled.collection_id) == (IntentState.SETTLED, "col_8")


def test_a_refusal_names_what_used_the_reference_and_the_creation_that_made_it(
    store: Store, make: Any
) -> None:
    for number in (1, 2):
        why = Repeat(actor="asha", reason="again") if number > 1 else None
        first = begin(store, make, f"key-{number}", repeat=why)
        end(store, make, first.intent.id, f"col_{number}")
        status = ("failed", "succeeded")[number - 1]
        said = {"status": status, "reference": "INV-1"}
        store.record(make.observation(number, source=Source.POLL, **said))
        with pytest.raises(IntentError) as refused:
            begin(store, make, "key-9")
        assert f"used before, by col_{number} ({status})" in str(refused.value)
        assert refused.value.intent_id == first.intent.id
    overruled = Repeat(actor="asha", reason="sold twice", although_paid=True)
    last = begin(store, make, "key-3", repeat=overruled)
    end(store, make, last.intent.id, "col_3")
    store.record(make.observation(3, source=Source.POLL, status="failed", reference="INV-1"))
    with pytest.raises(IntentError, match=r"used before, by col_2 \(succeeded\)") as refused:
        begin(store, make, "key-9")
    assert refused.value.intent_id == first.intent.id, "the one that was paid, not the newest"
    unseen = begin(store, make, "key-4", reference="INV-4")
    end(store, make, unseen.intent.id, "col_4")
    with pytest.raises(
        IntentError, match=f"used before, by {unseen.intent.id}: the store"
    ) as refused:
        begin(store, make, "key-9", reference="INV-4")
    assert refused.value.intent_id == unseen.intent.id
    store.record(make.observation(5, source=Source.POLL, status="succeeded", reference="INV-5"))
    with pytest.raises(IntentError, match=r"used before, by col_5 \(succeeded\)") as refused:
        begin(store, make, "key-9", reference="INV-5")
    assert refused.value.intent_id is None


def test_threads_that_take_one_reference_at_once_leave_one_intent(store: Store, make: Any) -> None:
    results = [
        begin_intent(
            store,
            idempotency_key=f"key-{n}",
            body=b"{}",
            mode=Mode.TEST,
            profile="shop",
            reference="INV-1",
            amount=1,
            phone="255754000001",
            at=make.noon,
            by=f"p{n}",
            until=make.noon,
        )
        for n in range(16)
    ]
    failed = [result.exception() for result in results]
    assert [type(error) for error in failed if error is not None] == [IntentError] * 15
    assert len(store.intents.page().rows) == 1


def answer(store: Store, make: Any, begun: AttemptStart, fact: Observation) -> IntentRow:
    return end_attempt(
        store,
        begun.intent.id,
        1,
        at=make.noon,
        outcome="answered",
        status=202,
        request_id=None,
        took_us=5,
        state=IntentState.ANSWERED,
        collection_id="col_1",
        observation=fact,
        by="a",
    )


def test_an_answer_its_fact_and_the_end_of_the_lease_are_one_transaction(
    store: Store, make: Any
) -> None:
    begun = begin(store, make)
    answered = make.observation(1, source=Source.ANSWER)
    commits: list[None] = []
    event.listen(store._engines.writer, "commit", lambda _: commits.append(None))
    row = answer(store, make, begun, answered)
    assert commits == [None]
    assert row == store.intents.get(begun.intent.id)
    assert (row.state, row.collection_id, row.claimed_by) == (IntentState.ANSWERED, "col_1", None)
    assert store.collections.observations("col_1", Mode.TEST) == (answered,)
    [fact, change] = store.feed.changes(begun.intent.seq)
    assert (fact.kind, change.kind) == (ChangeKind.OBSERVATION, ChangeKind.INTENT)
    assert store.maintenance.check() == ()


def test_an_answer_whose_fact_cannot_be_kept_ends_nothing(store: Store, make: Any) -> None:
    begun = begin(store, make)
    answered = make.observation(1, source=Source.ANSWER)
    absurd = replace(answered, collection=replace(answered.collection, amount=2**70))
    with pytest.raises(StoreUnavailable, match="cannot be kept"):
        answer(store, make, begun, absurd)
    assert store.intents.get(begun.intent.id) == begun.intent
    [attempt] = store.intents.attempts(begun.intent.id)
    assert attempt.ended_at is None


@pytest.mark.parametrize("late", [IntentState.UNKNOWN, IntentState.REFUSED, IntentState.PREPARED])
def test_only_an_answer_changes_an_intent_that_is_over(
    store: Store, make: Any, late: IntentState
) -> None:
    begun = begin(store, make)
    store.intents.begin_attempt(begun.intent.id, at=make.noon)
    ended: dict[str, Any] = {"at": make.noon, "status": None, "request_id": None, "took_us": 1}
    end_attempt(
        store,
        begun.intent.id,
        2,
        outcome="answered",
        state=IntentState.ANSWERED,
        collection_id="col_1",
        **ended,
    )
    row = end_attempt(store, begun.intent.id, 1, outcome="lost", state=late, **ended)
    assert (row.state, row.collection_id) == (IntentState.ANSWERED, "col_1")
    assert [a.outcome for a in store.intents.attempts(begun.intent.id)] == ["lost", "answered"]


def test_a_resolution_from_other_states_only_leaves_the_intent(store: Store, make: Any) -> None:
    begun = begin(store, make)
    row = store.intents.resolve(
        begun.intent.id,
        collection_id=None,
        sentence="late",
        only_from=(IntentState.PREPARED, IntentState.UNKNOWN),
    )
    assert row == begun.intent == store.intents.get(begun.intent.id)


def test_what_became_of_an_intent_is_kept_as_a_text_of_ours_in_every_language(store: Store) -> None:
    said = Said("decided by {who}: {why}").of(who="asha", why='by "statement" \0 \ud800')
    intent = prepare(store)
    decided = store.intents.resolve(intent.id, collection_id=None, sentence=said)
    (read,) = store.intents.page().rows
    assert decided == read == store.intents.get(intent.id)
    assert read.outcome is not None
    assert in_language(read.outcome, Language.SWAHILI).startswith("imeamuliwa na asha: by ")
    forged = prepare(store, "key-2", reference="INV-2")
    kept = store.intents.resolve(forged.id, collection_id=None, sentence=keep(said))
    assert kept.outcome == keep(said), "a text from outside is no text of ours"


def test_one_process_at_a_time_holds_a_lease(store: Store, clock: ManualClock, make: Any) -> None:
    intent = prepare(store)
    until = make.noon + timedelta(seconds=30)
    assert store.intents.take_lease(intent.id, by="a", until=until)
    assert not store.intents.take_lease(intent.id, by="b", until=until)
    assert store.intents.take_lease(intent.id, by="a", until=until)
    store.intents.release_lease(intent.id, by="b")
    assert not store.intents.take_lease(intent.id, by="b", until=until)
    clock.sleep(30 - 1e-6)
    assert not store.intents.take_lease(intent.id, by="b", until=until)
    clock.sleep(1e-6)
    assert clock.now() == until
    assert store.intents.take_lease(intent.id, by="b", until=until + timedelta(seconds=60))
    store.intents.release_lease(intent.id, by="b")
    row = store.intents.get(intent.id)
    assert row is not None
    assert row.claimed_by is None


def test_intents_are_listed_by_state_mode_and_page(store: Store, make: Any) -> None:
    made = [
        prepare(store, f"key-{n}", prepared_at=make.noon + timedelta(seconds=n)) for n in range(5)
    ]
    live = prepare(store, "key-live", mode=Mode.LIVE, reference="INV-9")
    store.intents.resolve(made[0].id, collection_id=None, sentence="given up by a person")
    page = store.intents.page(Mode.TEST, limit=2)
    assert [row.id for row in page.rows] == [made[4].id, made[3].id]
    assert page.more
    rest = store.intents.page(Mode.TEST, older_than=page.rows[-1].key)
    assert [row.id for row in rest.rows] == [made[2].id, made[1].id, made[0].id]
    assert not rest.more
    resolved = store.intents.page(states=(IntentState.SETTLED,)).rows
    assert [row.id for row in resolved] == [made[0].id]
    assert store.intents.by_reference(Mode.LIVE, "INV-9") == (live,)


def test_every_change_of_an_intent_is_in_the_feed(store: Store, make: Any) -> None:
    intent = prepare(store)
    store.intents.begin_attempt(intent.id, at=make.noon)
    store.intents.resolve(intent.id, collection_id="col_1", sentence="seen")
    changes = store.feed.changes(0)
    assert [change.kind for change in changes] == [ChangeKind.INTENT] * 3
    assert [change.seq for change in changes] == [1, 2, 3]
    assert {change.id for change in changes} == {intent.id}
    assert changes[-1].collection_id == "col_1"


def test_an_intent_shows_no_phone_in_its_repr(store: Store) -> None:
    assert "255754000001" not in repr(prepare(store))
