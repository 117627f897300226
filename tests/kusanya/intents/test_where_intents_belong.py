"""An intent is sent where it was sent first and under its own profile, or not at all."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text
from tests.kusanya.intents.orders import BODY, ORDER, NewClient

from kusanya.client import AsyncClient
from kusanya.client.effects import Response
from kusanya.errors import AuthenticationError, IntentError, NotSent, OutcomeUnknown
from kusanya.intents import create_safely, open_intents, resume, resume_async
from kusanya.intents.send_target import same_target
from kusanya.store import Store
from kusanya.store.maintenance import migrations
from kusanya.store.records import IntentRow, IntentState
from kusanya.store.tables.engine import engines
from kusanya.store.tables.sqlite_file import create_file
from kusanya.wire import Mode

ADDRESS = "http://127.0.0.1:9"
ELSEWHERE = ["http://127.0.0.1:10", "http://127.0.0.1:9/other", "http://localhost:9"]


@pytest.fixture
def lost(store: Store, new_client: NewClient, play: Any) -> IntentRow:
    """Return an intent of profile "main" whose answer was lost after the service acted."""
    new_client.service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    [row] = store.intents.page().rows
    return row


class Merchant:
    """One merchant's live service: it knows its own keys only."""

    def __init__(self, service: Any, merchant_id: str) -> None:
        self.service = service
        self.merchant_id = merchant_id
        self.posts = 0

    def __call__(self, request: Any, within_s: float) -> Any:
        """Carry one request."""
        if request.path == "/v1/whoami":
            principal = {"key_id": "key_1", "merchant_id": self.merchant_id, "mode": "live"}
            return Response(status=200, headers=(), body=json.dumps(principal).encode())
        self.posts += request.method == "POST"
        reply = self.service(request, within_s)
        if not isinstance(reply, Response):
            return reply
        body = reply.body.replace(b'"mode": "test"', b'"mode": "live"')
        return Response(status=reply.status, headers=reply.headers, body=body)


def test_a_new_intent_keeps_where_it_was_sent(store: Store, new_client: NewClient) -> None:
    client = new_client(base_url="http://127.0.0.1:9/")
    made = create_safely(store, client, **ORDER)
    assert made.intent.target == client.origin == ADDRESS
    assert store.intents.get(made.intent.id) == made.intent


@pytest.mark.parametrize("profile", [None, "main"])
@pytest.mark.parametrize("base_url", ELSEWHERE)
def test_an_intent_that_may_have_charged_is_sent_to_no_other_address(
    store: Store, new_client: NewClient, lost: IntentRow, base_url: str, profile: str | None
) -> None:
    service = new_client.service
    with pytest.raises(IntentError, match=f"first sent to '{ADDRESS}'.*'main'") as caught:
        resume(store, new_client(base_url=base_url), lost, profile=profile)
    assert caught.value.intent_id == lost.id
    assert store.intents.get(lost.id) == lost
    assert len(service.arrived) == 1
    assert resume(store, new_client(), lost, profile=profile).collection.id == "col_1"
    assert len({(sent.key, sent.body) for sent in service.arrived}) == 1


def test_the_callers_key_leads_to_no_other_address_either(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(max_attempts=1), **ORDER, idempotency_key="job-7")
    with pytest.raises(IntentError, match="second charge"):
        create_safely(store, new_client(base_url=ELSEWHERE[0]), **ORDER, idempotency_key="job-7")
    assert len(service.arrived) == 1


def test_an_intent_of_another_profile_is_refused_in_every_state(
    store: Store, new_client: NewClient, lost: IntentRow
) -> None:
    service = new_client.service
    with pytest.raises(IntentError, match="belongs to profile 'main'"):
        resume(store, new_client(), lost, profile="shop-b")
    assert store.intents.get(lost.id) == lost
    assert len(service.arrived) == 1
    answered = resume(store, new_client(), lost, profile="main").intent
    with pytest.raises(IntentError, match="belongs to profile 'main'"):
        resume(store, new_client(), answered, profile="shop-b")


def test_the_asynchronous_form_refuses_the_same(
    store: Store, new_client: NewClient, lost: IntentRow, play: Any
) -> None:
    service = new_client.service

    async def send(request: Any, within_s: float) -> Any:
        return service(request, within_s)

    async def resumes(base_url: str, profile: str | None) -> Any:
        client = AsyncClient(play.key, base_url=base_url, clock=new_client.clock, transport=send)
        assert client.origin == base_url
        return await resume_async(store, client, lost, profile=profile)

    for base_url, profile in ((ELSEWHERE[0], None), (ADDRESS, "shop-b")):
        with pytest.raises(IntentError):
            asyncio.run(resumes(base_url, profile))
    assert len(service.arrived) == 1
    assert asyncio.run(resumes(ADDRESS, "main")).collection.id == "col_1"


def test_a_live_intent_is_not_sent_with_another_merchants_key(
    store: Store, new_client: NewClient, play: Any
) -> None:
    service = new_client.service
    service.witness = None  # it looks for test mode
    first, second = Merchant(service, "mer_1"), Merchant(service, "mer_2")

    def client(merchant: Merchant) -> Any:
        return new_client(api_key="svc_live_sk_4242", transport=merchant, max_attempts=1)

    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        create_safely(store, client(first), **ORDER)
    [row] = store.intents.page(Mode.LIVE).rows
    assert row.target == f"{ADDRESS}#mer_1"
    for profile in (None, "main"):
        with pytest.raises(IntentError, match="mer_1"):
            resume(store, client(second), row, profile=profile)
    assert second.posts == 0
    kept = store.intents.get(row.id)
    assert kept is not None
    assert (kept.state, kept.attempts, kept.claimed_by) == (IntentState.UNKNOWN, 1, None)
    assert resume(store, client(first), row).collection.id == "col_1"


@pytest.mark.parametrize("fault", ["NO_CONNECTION", "KEY_REFUSED"])
def test_an_intent_of_which_nothing_came_may_move_within_its_profile(
    store: Store, new_client: NewClient, play: Any, fault: str
) -> None:
    service = new_client.service
    service.faults = [play.Fault[fault], play.Fault.LOST_ANSWER]
    wrong, right = (new_client(base_url=url, max_attempts=1) for url in ELSEWHERE[:2])
    with pytest.raises((NotSent, AuthenticationError)):
        create_safely(store, wrong, **ORDER)
    [row] = store.intents.page().rows
    assert (row.state, row.target) == (IntentState.PREPARED, ELSEWHERE[0])
    with pytest.raises(IntentError, match="name its profile, 'main'"):
        resume(store, right, row)
    with pytest.raises(OutcomeUnknown):
        resume(store, right, row, profile="main")
    [row] = store.intents.page().rows
    assert (row.state, row.target) == (IntentState.UNKNOWN, ELSEWHERE[1])
    with pytest.raises(IntentError, match="second charge"):
        resume(store, wrong, row, profile="main")
    assert resume(store, right, row).collection.id == "col_1"


def test_one_process_that_moved_meanwhile_is_seen_under_the_lease(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.faults = [play.Fault.NO_CONNECTION]
    with pytest.raises(NotSent):
        create_safely(store, new_client(max_attempts=1), **ORDER)
    [stale] = store.intents.page().rows
    service.faults = [play.Fault.LOST_ANSWER]
    with pytest.raises(OutcomeUnknown):
        resume(store, new_client(max_attempts=1), stale)
    # The caller still holds the row of an intent that was never sent.
    with pytest.raises(IntentError, match="second charge"):
        resume(store, new_client(base_url=ELSEWHERE[0]), stale, profile="main")
    assert len(service.arrived) == 1


def test_open_intents_are_distinguished_by_profile(
    store: Store, new_client: NewClient, service: Any, play: Any
) -> None:
    service.witness = None  # it looks for one profile
    for profile in ("shop-a", "shop-b"):
        service.faults = [play.Fault.LOST_ANSWER]
        order = {**ORDER, "reference": f"order of {profile}"}
        with pytest.raises(OutcomeUnknown):
            create_safely(store, new_client(max_attempts=1), **order, profile=profile)
    assert [row.profile for row in open_intents(store, Mode.TEST, "shop-a")] == ["shop-a"]
    assert [row.profile for row in open_intents(store, profile="shop-b")] == ["shop-b"]
    assert list(open_intents(store, profile="shop-c")) == []
    assert len(list(open_intents(store))) == 2


@pytest.fixture
def untargeted(store_url: str, clock: Any) -> Iterator[Store]:
    """Return a store with an intent of which nobody noted where it was sent."""
    found = engines(store_url)
    sent_us = int(clock.now().timestamp()) * 1_000_000
    if found.path is not None:
        create_file(found.path)
    with found.writer.begin() as connection:
        if connection.dialect.name == "postgresql":
            # The database is a copy of an empty store.
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
        assert migrations.upgrade(connection)
        connection.execute(
            text(
                "INSERT INTO intent (id, seq, idempotency_key, body, mode, profile, reference, "
                "amount, phone, state, prepared_at, first_sent_at, outcome, attempts) "
                "VALUES ('int_1', 0, 'k', :body, 'test', 'main', 'order-1', 5000, "
                "'255754000001', 'unknown', :at, :at, 'no answer', 1)"
            ),
            {"body": BODY, "at": sent_us},
        )
        connection.execute(
            text(
                "INSERT INTO intent_attempt (intent_id, number, sent_at, ended_at, outcome) "
                "VALUES ('int_1', 1, :at, :at, 'lost')"
            ),
            {"at": sent_us},
        )
    found.dispose()
    with Store.open(store_url, clock=clock, migrate=True) as opened:
        yield opened


@pytest.mark.role("")
def test_an_intent_without_a_target_is_known_by_its_profile_alone(
    untargeted: Store, new_client: NewClient, service: Any
) -> None:
    service.witness = untargeted
    row = untargeted.intents.get("int_1")
    assert row is not None
    assert (row.target, row.body, row.outcome, row.attempts) == (None, BODY, "no answer", 1)
    with pytest.raises(IntentError, match="name its profile, 'main'"):
        resume(untargeted, new_client(), row)
    with pytest.raises(IntentError, match="belongs to profile 'main'"):
        resume(untargeted, new_client(), row, profile="shop-b")
    assert service.arrived == []
    made = resume(untargeted, new_client(), row, profile="main")
    assert (made.intent.state, made.intent.target) == (IntentState.ANSWERED, ADDRESS)
    assert [(sent.key, sent.body) for sent in service.arrived] == [("k", BODY)]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("https://a", True),
        ("https://a#mer_1", True),
        ("https://a#mer_2", False),
        ("https://b#mer_1", False),
        ("https://a/v2#mer_1", False),
    ],
)
def test_targets_are_compared_as_far_as_both_are_known(other: str, same: bool) -> None:
    assert same_target("https://a#mer_1", other) is same
    assert same_target(other, "https://a#mer_1") is same
