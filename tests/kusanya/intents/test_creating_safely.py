"""Creating safely, on both engines: one intent, one key, one byte string, one collection."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import event
from tests.kusanya.intents.orders import BODY, ORDER, NewClient, the_intent

from kusanya.client import AsyncClient
from kusanya.errors import (
    IntentError,
    OutcomeUnknown,
)
from kusanya.intents import (
    create_safely,
    create_safely_async,
    resume_async,
)
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode


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
    assert len(commits) < 2 * 32, "each alone would take two"


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
    store.audit.add(actor="test", act="written after it")
    assert the_intent(store).state is IntentState.ANSWERED
    assert store.collections.observations("col_1", Mode.TEST)


def test_an_answered_create_leaves_intent_attempt_and_fact(
    store: Store, new_client: NewClient, service: Any
) -> None:
    made = create_safely(store, new_client(), **ORDER)
    assert made.collection.id == "col_1"
    assert made.intent.state is IntentState.ANSWERED
    assert made.intent == the_intent(store)
    assert made.intent.body == BODY
    [attempt] = store.intents.attempts(made.intent.id)
    assert (attempt.number, attempt.outcome, attempt.status) == (1, "answered", 202)
    [fact] = store.collections.observations("col_1", Mode.TEST)
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
        made = await resume_async(store, client, the_intent(store).id)
        assert made.collection.id == "col_1"
        again = await create_safely_async(store, client, **ORDER)
        assert (again.intent.id, again.collection.id) == (made.intent.id, "col_1")

    asyncio.run(scenario())
    assert len(service.collections) == 1
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1
