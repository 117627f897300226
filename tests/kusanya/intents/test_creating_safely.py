"""Creating safely, on both engines: one intent, one key, one byte string, one collection."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from kusanya.client import AsyncClient
from kusanya.errors import (
    AuthenticationError,
    ConfigurationError,
    IntentError,
    InvalidRequest,
    KusanyaError,
    NotSent,
    OutcomeUnknown,
    ProtocolError,
    RateLimited,
)
from kusanya.intents import (
    create_safely,
    create_safely_async,
    decide,
    replay_left,
    resume,
    resume_async,
    settle_by_reference,
    settle_waiting,
)
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Mode

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754 000 001", "reference": "order-1"}
BODY = b'{"amount":5000,"phone":"255754000001","reference":"order-1"}'
NewClient = Any  # the conftest's maker of clients


def _only(store: Store) -> IntentRow:
    [row] = store.intents().rows
    return row


def test_a_create_is_durable_before_and_after_with_one_commit_each(
    store: Store, new_client: NewClient, service: Any
) -> None:
    commits: list[int] = []
    event.listen(store._engines.writer, "commit", lambda _: commits.append(len(service.arrived)))
    create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
    assert commits == [0, 1]


def test_many_creates_at_once_share_their_commits(
    store: Store, service: Any, clock: Any, play: Any
) -> None:
    commits: list[None] = []
    event.listen(store._engines.writer, "commit", lambda _: commits.append(None))

    async def send(request: Any, within_s: float) -> Any:
        await asyncio.sleep(0)
        return service(request, within_s)

    async def scenario() -> list[Any]:
        client = AsyncClient(play.key, base_url="http://127.0.0.1:9", clock=clock, transport=send)
        orders = [{**ORDER, "reference": f"order-{n}"} for n in range(32)]
        return await asyncio.gather(
            *(create_safely_async(store, client, **order) for order in orders)
        )

    made = asyncio.run(scenario())
    assert len({creation.collection.id for creation in made}) == 32
    assert all(creation.intent.state is IntentState.ANSWERED for creation in made)
    assert len(commits) <= 32


def test_who_is_cancelled_while_an_answer_is_kept_leaves_it_kept(
    store: Store, service: Any, clock: Any, play: Any
) -> None:
    async def scenario() -> None:
        async def send(request: Any, within_s: float) -> Any:
            answer = service(request, within_s)
            asyncio.get_running_loop().call_soon(creating.cancel)
            return answer

        client = AsyncClient(play.key, base_url="http://127.0.0.1:9", clock=clock, transport=send)
        creating = asyncio.ensure_future(create_safely_async(store, client, **ORDER))
        with pytest.raises(asyncio.CancelledError):
            await creating

    asyncio.run(scenario())
    store.add_note("col_1", "written after it", author="test", mode=Mode.TEST)
    assert _only(store).state is IntentState.ANSWERED
    assert store.observations("col_1")


def test_an_answered_create_leaves_intent_attempt_and_fact(
    store: Store, new_client: NewClient, service: Any
) -> None:
    made = create_safely(store, new_client(), **ORDER)
    assert made.collection.id == "col_1"
    assert made.intent.state is IntentState.ANSWERED
    assert made.intent == _only(store)
    assert made.intent.body == BODY
    [attempt] = store.attempts(made.intent.id)
    assert (attempt.number, attempt.outcome, attempt.status) == (1, "answered", 202)
    [fact] = store.observations("col_1")
    assert (fact.source, fact.source_id) == (Source.ANSWER, made.intent.idempotency_key)
    assert fact.collection.raw == made.collection.raw
    assert [sent.body for sent in service.arrived] == [BODY]


@pytest.mark.spec("post-1")
def test_the_callers_key_ties_a_repeated_job_to_one_intent(
    store: Store, new_client: NewClient, service: Any
) -> None:
    first = create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
    service.pay("col_1")
    again = create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
    assert again.intent.id == first.intent.id
    assert again.collection.status == "succeeded"
    assert len(service.arrived) == 1
    assert service.arrived[0].key == "job-7"


@pytest.mark.spec("post-2")
def test_the_callers_key_with_other_contents_is_refused_before_the_wire(
    store: Store, new_client: NewClient, service: Any
) -> None:
    create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
    other = {**ORDER, "amount": 6000}
    with pytest.raises(IntentError, match="another body"):
        create_safely(store, new_client(), **other, idempotency_key="job-7")
    assert len(service.arrived) == 1


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
    [row] = store.audit().rows
    assert (row.act, row.detail) == ("repeat reference", "second instalment")


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
    standing = _only(store)
    assert standing.state is state
    sent = len(service.arrived)
    for order in (ORDER, again):
        with pytest.raises(IntentError, match=f"{standing.id}.*resume that one first") as caught:
            create_safely(store, new_client(), **order, idempotency_key=key)
        assert caught.value.intent_id == standing.id
        assert "--again" not in str(caught.value)
    assert len(service.arrived) == sent
    assert store.audit().rows == ()
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

    # Between this call's look and its own row, another process forces a repeat and hears nothing.
    class Racing:
        def __getattr__(self, name: str) -> Any:
            if name == "begin_intent" and len(service.arrived) == 1:
                service.faults = [play.Fault.LOST_ANSWER]
                with pytest.raises(OutcomeUnknown):
                    create_safely(
                        store,
                        new_client(max_attempts=1),
                        **ORDER,
                        idempotency_key="theirs",
                        force_repeat_reason="second instalment",
                    )
            return getattr(store, name)

    with pytest.raises(IntentError, match="resume that one first"):
        create_safely(
            Racing(),  # type: ignore[arg-type]  # the store with a race inside
            new_client(),
            **ORDER,
            idempotency_key="ours",
            force_repeat_reason="second instalment",
        )
    assert len(service.collections) == 2
    assert store.intent_by_key(Mode.TEST, "default", "ours") is None


def test_an_answer_ends_what_an_earlier_failure_said(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    assert _only(store).outcome == "no usable answer: no answer in time"
    made = resume(store, new_client(), _only(store))
    assert (made.intent.state, made.intent.outcome) == (IntentState.ANSWERED, None)
    assert _only(store) == made.intent


@pytest.mark.parametrize("fault", ["LOST_ANSWER", "LOST_REQUEST", "FAILED_AFTER", "FAILED_BEFORE"])
def test_a_lost_answer_is_sent_again_with_the_same_key_and_bytes(
    store: Store, new_client: NewClient, service: Any, play: Any, fault: str
) -> None:
    service.faults = [play.Fault[fault], play.Fault[fault]]
    made = create_safely(store, new_client(), **ORDER)
    assert len(service.collections) == 1
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
    assert [a.number for a in store.attempts(made.intent.id)] == [1, 2, 3]


def test_a_replayed_answer_is_followed_by_a_look_at_the_present(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    service.pay("col_1")
    made = resume(store, new_client(), _only(store))
    assert made.collection.status == "succeeded"
    facts = store.observations("col_1")
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
def test_an_intent_tells_what_is_known_and_can_be_resumed(
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
    intent = _only(store)
    assert intent.state is state
    assert any(intent.id in note for note in caught.value.__notes__)
    assert resume(store, new_client(), intent.id).collection.id == "col_1"
    assert _only(store).state is IntentState.ANSWERED
    assert len(service.collections) == 1


def test_a_refused_key_after_a_lost_answer_leaves_the_outcome_unknown(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER, play.Fault.KEY_REFUSED]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(), **ORDER)
    assert _only(store).state is IntentState.UNKNOWN


@pytest.mark.parametrize("fault", ["NO_CONNECTION", "NOT_NOW", "KEY_REFUSED", "WENT_ASTRAY"])
def test_a_resumption_that_gets_nowhere_does_not_forget_the_lost_answer(
    store: Store, new_client: NewClient, service: Any, play: Any, fault: str
) -> None:
    service.faults = [play.Fault.LOST_ANSWER, play.Fault[fault]]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    with pytest.raises(OutcomeUnknown):
        resume(store, new_client(max_attempts=1), _only(store))
    assert _only(store).state is IntentState.UNKNOWN
    new_client.clock.pass_by(timedelta(days=2))
    settle_waiting(store, now=new_client.clock.now())
    assert _only(store).state is IntentState.UNKNOWN


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
    assert _only(store).state is IntentState.UNKNOWN
    [attempt] = store.attempts(_only(store).id)
    assert attempt.outcome == "lost"
    with pytest.raises(IntentError, match="used before"):
        creates()
    # A later word of the service's own says nothing of what came before it.
    service.faults = [play.Fault.WENT_ASTRAY]
    with pytest.raises(OutcomeUnknown):
        resume(store, new_client(max_attempts=1), _only(store))
    assert _only(store).state is IntentState.UNKNOWN
    assert resume(store, new_client(), _only(store)).collection.id == "col_1"
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
    refused = _only(store)
    assert refused.state is IntentState.REFUSED
    with pytest.raises(IntentError, match="refused"):
        resume(store, new_client(), refused)
    assert create_safely(store, new_client(), **ORDER).collection.id == "col_1"
    assert len(service.arrived) == 2


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
    store: Store, new_client: NewClient, play: Any, later: timedelta, sent_again: bool
) -> None:
    service, clock = new_client.service, new_client.clock
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.pass_by(later)
    intent = _only(store)
    if sent_again:
        assert replay_left(intent, now=clock.now()) == timedelta(seconds=1)
        assert resume(store, new_client(), intent).collection.id == "col_1"
    else:
        assert not replay_left(intent, now=clock.now())
        with pytest.raises(IntentError, match="23 hours"):
            resume(store, new_client(), intent)
        assert _only(store).state is IntentState.UNKNOWN
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
        resume(store, new_client(random=lambda: 1.0), _only(store))
    assert len(service.arrived) == 2


def test_a_clock_that_went_back_sends_nothing(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.at -= timedelta(hours=2)
    with pytest.raises(IntentError, match="clock"):
        resume(store, new_client(), _only(store))
    assert len(service.arrived) == 1


def test_an_event_with_the_reference_settles_what_can_no_longer_be_sent(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.pass_by(timedelta(days=2))
    seen = service.event("col_1")
    store.record(seen)
    settled = settle_by_reference(store, seen.collection, now=clock.now())
    assert settled is not None
    assert (settled.state, settled.collection_id) == (IntentState.SETTLED, "col_1")
    assert settle_by_reference(store, seen.collection, now=clock.now()) is None
    assert resume(store, new_client(), settled).collection.status == "succeeded"
    assert len(service.arrived) == 1


@pytest.mark.parametrize(
    "changed",
    [{"amount": 5001}, {"phone": "255754000002"}, {"created_at": "2026-03-02T11:00:00Z"}],
    ids=str,
)
def test_a_collection_that_may_be_anothers_settles_nothing(
    store: Store, new_client: NewClient, service: Any, play: Any, changed: dict[str, Any]
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    service.collections["col_1"].update(changed)
    store.record(service.event("col_1"))
    assert settle_waiting(store, now=service.clock.now()) == 0
    assert _only(store).state is IntentState.UNKNOWN


def test_a_person_decides_only_after_the_window_or_for_a_collection_that_was_seen(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    service.create_elsewhere("col_9", reference="another")
    store.record(service.event("col_9"))
    intent = _only(store)
    clock.pass_by(timedelta(minutes=13))
    for named in (None, "col_unseen", "col_9"):
        with pytest.raises(IntentError, match="window is open for 22 h 47 min more"):
            decide(store, intent.id, actor="a", why="b", collection_id=named, now=clock.now())
    assert _only(store).state is IntentState.UNKNOWN
    assert store.audit().rows == ()
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
    [row] = store.audit().rows
    assert (row.actor, row.subject) == ("asha", intent.id)
    assert row.detail == "nothing was created: not in the statement"


def test_a_sweep_that_looked_before_the_answer_does_not_undo_it(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    store.record(service.event("col_1"))
    answered: list[IntentRow] = []

    class Racing:
        """The sweep's store: between its look and its word the intent is answered."""

        def __getattr__(self, name: str) -> Any:
            if name == "settle_intent" and not answered:
                begun = store.begin_attempt(_only(store).id, at=clock.now())
                answered.append(
                    store.finish_attempt(
                        begun.intent_id,
                        begun.number,
                        at=clock.now(),
                        outcome="answered",
                        status=202,
                        request_id=None,
                        took_us=1,
                        state=IntentState.ANSWERED,
                        collection_id="col_1",
                    ).result()
                )
            return getattr(store, name)

    assert settle_waiting(Racing(), now=clock.now()) == 0  # type: ignore[arg-type]  # the store with a race inside
    assert _only(store) == answered[0]


def test_two_unanswered_intents_of_one_reference_are_left_to_a_person(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    # No create leaves two; a store that was written before that was refused may hold them.
    for key in ("first", "second"):
        kept = store.prepare_intent(
            idempotency_key=key,
            body=BODY,
            mode=Mode.TEST,
            profile="default",
            reference="order-1",
            amount=5000,
            phone="255754000001",
            prepared_at=clock.now(),
        )
        service.faults = [play.Fault.LOST_ANSWER]
        with pytest.raises(OutcomeUnknown):
            resume(store, new_client(max_attempts=1), kept, profile="default")
        clock.pass_by(timedelta(seconds=1))
    store.record(service.event("col_1"))
    assert settle_waiting(store, now=clock.now()) == 0
    first = store.intents().rows[1]
    decided = decide(
        store, first.id, actor="asha", why="receipt seen", collection_id="col_1", now=clock.now()
    )
    assert (decided.state, decided.collection_id) == (IntentState.SETTLED, "col_1")
    assert store.audit().rows[0].act == "decide intent"
    store.record(service.event("col_2"))
    assert settle_waiting(store, now=clock.now()) == 1
    with pytest.raises(IntentError, match="settled already"):
        decide(store, first.id, actor="asha", why="again", collection_id=None, now=clock.now())


def test_a_webhook_that_came_first_spares_the_sending(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    store.record(service.event("col_1"))
    made = resume(store, new_client(), _only(store))
    assert made.intent.state is IntentState.SETTLED
    assert len(service.arrived) == 1


def test_an_intent_that_is_being_sent_is_not_sent_by_another(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    refusals: list[str] = []

    def meanwhile(request: Any, within_s: float) -> Any:
        if request.method == "POST":
            with pytest.raises(IntentError) as caught:
                create_safely(store, new_client(), **ORDER, idempotency_key="job-7")
            refusals.append(str(caught.value))
            intent = _only(store)
            with pytest.raises(IntentError, match="being sent now"):
                decide(store, intent.id, actor="a", why="b", collection_id=None, now=clock.now())
        return service(request, within_s)

    create_safely(store, new_client(transport=meanwhile), **ORDER, idempotency_key="job-7")
    assert len(refusals) == 1
    assert "another process" in refusals[0]
    assert len(service.arrived) == 1


def test_a_claim_that_another_took_over_sends_nothing_more(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    # The pause before the second attempt outlives the lease, and another process resumes.
    def slow(request: Any, within_s: float) -> Any:
        reply = service(request, within_s)
        if len(service.arrived) == 1 and request.method == "POST":
            clock.at += timedelta(seconds=90)
            assert resume(store, new_client(), _only(store)).collection.id == "col_1"
        return reply

    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(IntentError):
        create_safely(store, new_client(transport=slow), **ORDER)
    assert len(service.arrived) == 2
    assert len(service.collections) == 1
    # What the slow one did not hear does not undo what the other one did.
    intent = _only(store)
    assert (intent.state, intent.collection_id) == (IntentState.ANSWERED, "col_1")
    assert intent.claimed_by is None


def test_a_reference_taken_under_another_key_at_the_same_moment_is_given_up(
    store: Store, new_client: NewClient, service: Any
) -> None:
    # Between this call's look and its own row, another process takes the same reference.
    class Racing:
        def __init__(self) -> None:
            self.raced = False

        def __getattr__(self, name: str) -> Any:
            if name == "begin_intent" and not self.raced:
                self.raced = True
                create_safely(store, new_client(), **ORDER, idempotency_key="theirs")
            return getattr(store, name)

    with pytest.raises(IntentError, match="used before"):
        create_safely(Racing(), new_client(), **ORDER, idempotency_key="ours")  # type: ignore[arg-type]  # the store with a race inside
    assert [sent.key for sent in service.arrived] == ["theirs"]
    assert store.intent_by_key(Mode.TEST, "default", "ours") is None


def test_an_intent_that_was_never_sent_is_closed_after_a_day(
    store: Store, new_client: NewClient, service: Any, play: Any, clock: Any
) -> None:
    service.faults = [play.Fault.NO_CONNECTION]
    with pytest.raises(NotSent):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    clock.pass_by(timedelta(hours=23))
    settle_waiting(store, now=clock.now())
    closed = _only(store)
    assert closed.state is IntentState.REFUSED
    assert closed.outcome == "the service never took it; nothing happened"
    assert create_safely(store, new_client(), **ORDER).collection.id == "col_1"


def test_an_intent_of_the_other_mode_is_not_sent(
    store: Store, new_client: NewClient, service: Any
) -> None:
    live = store.prepare_intent(
        idempotency_key="k",
        body=BODY,
        mode=Mode.LIVE,
        profile="default",
        reference="order-1",
        amount=5000,
        phone="255754000001",
    )
    with pytest.raises(ConfigurationError):
        resume(store, new_client(), live)
    assert service.arrived == []


def test_the_asynchronous_form_does_the_same(
    store: Store, service: Any, clock: Any, play: Any
) -> None:
    async def send(request: Any, within_s: float) -> Any:
        await asyncio.sleep(0)
        return service(request, within_s)

    async def scenario() -> None:
        client = AsyncClient(
            play.key, base_url="http://127.0.0.1:9", clock=clock, transport=send, max_attempts=1
        )
        service.faults = [play.Fault.LOST_ANSWER]
        with pytest.raises(OutcomeUnknown):
            await create_safely_async(store, client, **ORDER)
        made = await resume_async(store, client, _only(store).id)
        assert made.collection.id == "col_1"
        with pytest.raises(IntentError):
            await create_safely_async(store, client, **ORDER)

    asyncio.run(scenario())
    assert len(service.collections) == 1
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
