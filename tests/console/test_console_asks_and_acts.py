"""Asking the service and acting: over loopback against the embedded service, seen on the screen."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from tests.console.looking import AtRest, OpenConsole, shown
from tests.kit.intents import end_attempt, prepare_intent

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.client.observations import answer_observation, poll_observation
from kusanya.client.requests import CreateRequest
from kusanya.clock import ManualClock
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, IntentState, Verdict
from kusanya.wire import Collection, Mode
from kusanya_console.actions.queries import ServiceQueries
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.commands import CommandKind, commands_of
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.screens.confirm import ConfirmScreen, NoteScreen
from kusanya_console.widgets.sheet import Sheet
from kusanya_service.testing import payment_service  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]
SIZE = (120, 36)


@pytest.fixture
def client(payment_service: Any, clock: ManualClock) -> Iterator[Client]:  # noqa: F811
    url = payment_service.base_url
    with Client(payment_service.test_key, base_url=url, clock=clock) as made:
        yield made


@pytest.fixture
def queries(store: Store, client: Client, clock: ManualClock) -> ServiceQueries:
    return ServiceQueries(store, client, clock=clock)


@pytest.fixture
def actions(store: Store, client: Client, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main", client=client)


@pytest.fixture
def paid(client: Client, store: Store, clock: ManualClock) -> Collection:
    """Create a collection that the store knows as created."""
    made = client.create_collection(
        amount=5000, phone="0754 000 001", reference="order-1", idempotency_key="job-1"
    )
    store.record(answer_observation(made, key="job-1", at=clock.now()))
    return made


def audited(store: Store) -> list[tuple[str, str, str | None]]:
    """Return who did what and how it ended, newest first."""
    return [(row.actor, row.act, row.outcome) for row in store.audit.page().rows]


def unknown(store: Store, clock: ManualClock, *, ago: timedelta, profile: str = "main") -> str:
    """Keep an intent whose answer was lost so long ago; return its id."""
    at = clock.now() - ago
    row = prepare_intent(
        store,
        idempotency_key="job-7777-7777", mode=Mode.TEST, profile=profile, reference="order-7",
        body=CreateRequest(amount=7000, phone="255754000001", reference="order-7").body(),
        amount=7000, phone="255754000001", prepared_at=at, intent_id="int_7",
    )  # fmt: skip
    store.intents.begin_attempt(row.id, at=at)
    end_attempt(store,
        row.id, 1, at=at + timedelta(seconds=10), state=IntentState.UNKNOWN, outcome="lost",
        status=None, request_id=None, took_us=10_000_000,
    )  # fmt: skip
    return row.id


async def test_asking_keeps_the_answer_and_says_what_it_was(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    queries: ServiceQueries,
    paid: Collection,
    payment_service: Any,  # noqa: F811
    at_rest: AtRest,
) -> None:
    payment_service.advance(30)
    async with opened("c", size=SIZE, mode=Mode.TEST, queries=queries) as (app, pilot):
        assert f"asked: order-1 ({paid.id}) is succeeded" in shown(app)
        row = store.collections.get(paid.id, Mode.TEST)
        assert row is not None
        assert row.status == "succeeded"
        assert "● succeeded" in shown(app), "what the answer changed is shown at once"
        await pilot.press("j", "2")
        await at_rest(pilot)
        assert "asked: order-1" in shown(app), "it stands until somebody dismisses it"
        await pilot.press("escape")
        await at_rest(pilot)
        assert "asked: order-1" not in shown(app)


async def test_an_id_the_service_cannot_know_is_answered_with_its_reason(
    opened: OpenConsole, seed: Any, queries: ServiceQueries, clock: ManualClock, at_rest: AtRest
) -> None:
    event = seed.event(seed.collection(1, at=clock.now(), mode=Mode.TEST), at=clock.now())
    claimed = structs.replace(event, id="evt_../../v1 \n")
    seed.delivered(claimed, at=clock.now(), verdict=Verdict.REJECTED, reason="no_match", answer=400)
    async with opened("2", size=SIZE, mode=Mode.TEST, queries=queries) as (app, pilot):
        await pilot.press("c")
        await at_rest(pilot)
        assert "asking failed" in shown(app)
        assert app.return_code is None


async def test_without_a_key_asking_is_off_and_says_why(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("c")
        assert "off: no API key in the profile; set KUSANYA_API_KEY" in shown(app)
        await pilot.press("A")
        assert "off: read-only; start with --allow-writes" in shown(app)
        await pilot.press("question_mark")
        await at_rest(pilot)
        help_ = "\n".join(
            "".join(piece for piece, _ in line)
            for line in app.screen.query_one("#keys", Sheet)._lines(100)
        )
        assert "ask the service" in help_
        acts = [one for one in commands_of("live") if one.kind is CommandKind.ACT]
        assert help_.count("off: read-only; start with --allow-writes") == len(acts) > 1


async def test_a_catch_up_reports_what_was_learned(
    opened: OpenConsole,
    queries: ServiceQueries,
    paid: Collection,
    payment_service: Any,  # noqa: F811
    at_rest: AtRest,
) -> None:
    payment_service.advance(30)
    async with opened(size=SIZE, mode=Mode.TEST, queries=queries) as (app, pilot):
        await pilot.press("4", "c")
        await at_rest(pilot)
        assert "caught up: 1 collections asked, 1 became final, 1 without an event" in shown(app)


async def test_a_catch_up_that_nobody_answers_says_so_and_what_to_do(
    console: Build, store: Store, paid: Collection, clock: ManualClock, at_rest: AtRest
) -> None:
    nobody = Client(
        "svc_test_sk_0000", base_url="http://127.0.0.1:9", mode=Mode.TEST, clock=clock,
        transport=lambda _request, _within_s: Failure(left=False, why="Connection refused"),
    )  # fmt: skip
    with nobody:
        app = console(mode=Mode.TEST, queries=ServiceQueries(store, nobody, clock=clock))
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await pilot.press("4", "c")
            await at_rest(pilot)
            text = " ".join(shown(app).split())
            assert "not caught up: 1 question had no answer" in text
            assert "the service cannot be reached (Connection refused)" in text
            assert " caught up:" not in text.replace("not caught up:", "")


async def test_a_note_is_kept_under_its_author_and_audited(
    opened: OpenConsole, store: Store, actions: StoreActions, paid: Collection, at_rest: AtRest
) -> None:
    async with opened(size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        assert "WRITES ON" in shown(app)
        await pilot.press("A")
        await at_rest(pilot)
        assert isinstance(app.screen, NoteScreen)
        await pilot.press(*"SMS7", "enter")
        await at_rest(pilot)
        assert [(row.author, row.text) for row in store.notes.of(paid.id, Mode.TEST)] == [
            ("asha", "SMS7")
        ]
        assert audited(store) == [(store.audit.actor, "note", "done")]
        assert "noted on order-1, by asha" in shown(app)
        await pilot.press("A", "x", "escape")
        await at_rest(pilot)
        assert len(store.notes.of(paid.id, Mode.TEST)) == 1


async def test_the_services_answer_rules_on_a_contradiction_and_a_refusal_is_audited(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    actions: StoreActions,
    client: Client,
    paid: Collection,
    payment_service: Any,  # noqa: F811
    at_rest: AtRest,
) -> None:
    async def rule(pilot: Any) -> None:
        await pilot.app.run_action("screen.rule")
        await at_rest(pilot)
        assert isinstance(pilot.app.screen, NoteScreen)
        assert "every fact stays" in shown(pilot.app)
        await pilot.press(*"seen", "enter")
        await at_rest(pilot)

    payment_service.advance(30)
    succeeded = client.get_collection(paid.id)
    async with opened(size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await rule(pilot)
        assert f"no two final states of {paid.id}" in shown(app)
        at = store.clock.now()
        for status in ("expired", "succeeded"):
            fact = poll_observation(structs.replace(succeeded, status=status), at=at)
            store.record(structs.replace(fact, source_id=f"poll-{status}"))
        await rule(pilot)
        assert "ruled order-1: it is succeeded, as the service says" in shown(app)
    state = store.collections.state(paid.id, Mode.TEST)
    assert state is not None
    assert (state.status, state.is_ruled) == ("succeeded", True)
    done, refused = audited(store)
    assert done == (store.audit.actor, "rule payment", "done")
    assert refused[1] == "rule payment"
    assert str(refused[2]).startswith("failed: no two final states")


async def test_what_a_consumer_parked_is_tried_again_or_skipped_from_the_payment(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    actions: StoreActions,
    client: Client,
    paid: Collection,
    payment_service: Any,  # noqa: F811
    at_rest: AtRest,
) -> None:
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")
    payment_service.advance(30)
    succeeded = client.get_collection(paid.id)
    store.record(poll_observation(succeeded, at=store.clock.now(), observed_in=Mode.TEST))
    store.outcomes.tell()
    until = store.clock.now() + timedelta(minutes=2)

    def park() -> None:
        [work] = store.outcomes.take("shipping", mode=Mode.TEST, by="a", until=until, limit=9)
        store.outcomes.park("shipping", work.outcome.id, mode=Mode.TEST, why="no stock")

    def left() -> list[bool]:
        return [one.parked for one in store.outcomes.work("shipping")]

    park()
    async with opened(size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.app.run_action("screen.retry_outcomes")
        await at_rest(pilot)
        assert "1 outcome of order-1 is tried again at once" in shown(app)
        assert left() == [False]
        await pilot.app.run_action("screen.skip_outcomes")
        await at_rest(pilot)
        await pilot.press(*"returned", "enter")
        await at_rest(pilot)
        assert "0 parked outcomes of order-1 are skipped" in shown(app)
        assert left() == [False], "what is not parked is not given up"
        park()
        await pilot.app.run_action("screen.skip_outcomes")
        await at_rest(pilot)
        await pilot.press(*"returned", "enter")
        await at_rest(pilot)
        assert "1 parked outcome of order-1 is skipped: nothing is done" in shown(app)
    assert left() == []
    acts = [(row.act, row.detail) for row in store.audit.page().rows]
    assert ("skip outcome", "consumer shipping: returned (as asha)") in acts
    assert ("retry outcome", "consumer shipping (as asha)") in acts


async def test_a_revealed_phone_is_audited_and_masked_again_after_half_a_minute(
    opened: OpenConsole, store: Store, actions: StoreActions, paid: Collection, at_rest: AtRest
) -> None:
    time = ManualClock()
    async with opened(
        "v", size=SIZE, mode=Mode.TEST, actions=actions, monotonic=time.monotonic
    ) as (
        app,
        pilot,
    ):
        assert "phone of order-1: 255754000001, for 30 s, audited" in shown(app)
        assert audited(store) == [(store.audit.actor, "reveal_phone", "revealed")]
        await time.advance(29)
        app._show_status()
        await at_rest(pilot)
        assert "255754000001" in shown(app)
        await time.advance(1)
        app._show_status()
        await at_rest(pilot)
        assert "255754000001" not in shown(app)
        assert "the phone of order-1 is masked again" in shown(app)
        await pilot.press("v")
        await at_rest(pilot)
        assert "255754000001" in shown(app)
        await pilot.press("3")
        await at_rest(pilot)
        assert "255754000001" not in shown(app), "leaving the screen masks it"


@pytest.mark.merge
@pytest.mark.spec("post-1")
async def test_a_replay_sends_the_same_key_and_bytes_once_it_is_confirmed(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    actions: StoreActions,
    client: Client,
    clock: ManualClock,
    at_rest: AtRest,
) -> None:
    first = client.create_collection(
        amount=7000, phone="255754000001", reference="order-7", idempotency_key="job-7777-7777"
    )
    intent_id = unknown(store, clock, ago=timedelta(minutes=5))
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("R")
        await at_rest(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        dialog = shown(app)
        for said in ("TEST MODE", "order-7", "TZS 7,000", "+255•••••001", "job-…77", "main"):
            assert said in dialog
        assert "job-7777-7777" not in dialog
        await pilot.press("enter")
        await at_rest(pilot)
        assert not isinstance(app.screen, ConfirmScreen), "enter on Cancel leaves"
        assert audited(store) == []
        await pilot.press("R", "tab", "enter")
        await at_rest(pilot)
        assert f"replayed order-7, same key and bytes: {first.id} is created" in shown(app)
        assert audited(store) == [(store.audit.actor, "replay", "done")]
        row = store.intents.get(intent_id)
        assert row is not None
        assert (row.state, row.collection_id) == (IntentState.ANSWERED, first.id)


async def test_creations_that_reached_no_customer_are_sent_together_once_their_number_is_typed(
    opened: OpenConsole, store: Store, actions: StoreActions, clock: ManualClock, at_rest: AtRest
) -> None:
    at = clock.now() - timedelta(minutes=5)
    for number in (1, 2, 3):
        reference, phone = f"order-{number}", f"25575400000{number}"
        request = CreateRequest(amount=1000, phone=phone, reference=reference)
        prepare_intent(
            store, idempotency_key=f"job-7777-000{number}", mode=Mode.TEST, profile="main",
            reference=reference, body=request.body(), amount=1000, phone=phone, prepared_at=at,
            intent_id=f"int_{number}",
        )  # fmt: skip
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("asterisk", "R")
        await at_rest(pilot)
        dialog = shown(app)
        for said in ("Send these creations", "TZS 3,000", "no customer was asked", "type 3"):
            assert said in dialog
        await pilot.press("2", "enter")
        await at_rest(pilot)
        assert audited(store) == [], "the number is typed, and not another one"
        await pilot.press("backspace", "3", "enter")
        await at_rest(pilot)
        assert "replayed 3 of 3" in shown(app)
    made = [store.intents.get(f"int_{number}") for number in (1, 2, 3)]
    assert [None if row is None else row.state for row in made] == [IntentState.ANSWERED] * 3
    assert len(audited(store)) == 3, "each of them is audited"


async def test_one_that_may_have_reached_a_customer_is_confirmed_by_itself(
    opened: OpenConsole, store: Store, actions: StoreActions, clock: ManualClock, at_rest: AtRest
) -> None:
    unknown(store, clock, ago=timedelta(minutes=5))
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("asterisk", "R")
        await at_rest(pilot)
        assert "each is confirmed by itself" in shown(app)
        assert not isinstance(app.screen, ConfirmScreen)


async def test_in_live_mode_the_word_is_typed_before_anything_can_be_sent(
    console: Build, store: Store, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.intents()
    with Client(
        "svc_live_sk_4242", base_url="http://127.0.0.1:1", max_attempts=1, clock=clock
    ) as nobody:
        actions = StoreActions(store, actor="asha", clock=clock, profile="main", client=nobody)
        app = console(actions=actions)
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await pilot.press("5", "j")
            await at_rest(pilot)
            await pilot.press("R", "tab", "tab", "enter")
            await at_rest(pilot)
            assert audited(store) == []
            while isinstance(app.screen, ConfirmScreen):
                await pilot.press("escape")
            await pilot.press("R", *"liv", "enter")
            await at_rest(pilot)
            assert isinstance(app.screen, ConfirmScreen)
            assert "LIVE MODE" in shown(app)
            await pilot.press("e", "enter")
            await at_rest(pilot)
            assert "replaying failed" in shown(app)
            [(actor, act, outcome)] = audited(store)
            assert (actor, act) == (store.audit.actor, "replay")
            assert outcome is not None
            assert outcome.startswith("failed: ")


async def test_after_23_hours_a_replay_is_refused_with_the_reason(
    opened: OpenConsole,
    store: Store,
    actions: StoreActions,
    clock: ManualClock,
    at_rest: AtRest,
) -> None:
    unknown(store, clock, ago=timedelta(hours=23))
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("R")
        await at_rest(pilot)
        assert not isinstance(app.screen, ConfirmScreen)
        assert "the window of 23 h is over and the service may charge again" in shown(app)


async def test_a_window_that_closes_while_the_dialog_is_open_sends_nothing(
    opened: OpenConsole,
    store: Store,
    actions: StoreActions,
    clock: ManualClock,
    at_rest: AtRest,
) -> None:
    intent_id = unknown(store, clock, ago=timedelta(hours=22, minutes=59))
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("R")
        await clock.advance(60)
        await pilot.press("tab", "enter")
        await at_rest(pilot)
        assert "nothing was sent" in shown(app)
        assert len(store.intents.attempts(intent_id)) == 1


async def test_an_intent_of_another_profile_is_not_replayed(
    opened: OpenConsole, store: Store, actions: StoreActions, clock: ManualClock
) -> None:
    unknown(store, clock, ago=timedelta(minutes=1), profile="other")
    async with opened("5", size=SIZE, mode=Mode.TEST, actions=actions) as (app, pilot):
        await pilot.press("R")
        assert "made under profile other; start the console with it" in shown(app)


async def test_without_a_dashboard_there_is_no_resend_and_the_next_attempt_is_named(
    opened: OpenConsole, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(20)
    async with opened(size=(160, 50), actions=actions) as (app, pilot):
        await pilot.press("2", "exclamation_mark")
        await at_rest(pilot)
        await pilot.press("R")
        await at_rest(pilot)
        assert "the service has no resend for merchants" in shown(app)
        assert "its next attempt: " in shown(app)


async def test_the_embedded_service_delivers_an_event_again(  # noqa: PLR0917 - fixtures
    console: Build,
    store: Store,
    client: Client,
    clock: ManualClock,
    seed: Any,
    paid: Collection,
    payment_service: Any,  # noqa: F811
    at_rest: AtRest,
) -> None:
    payment_service.advance(30)
    event = client.get_event(payment_service.deliveries[0].event["id"])
    seed.delivered(event, at=clock.now())
    url, token = payment_service.dashboard_url, Secret(payment_service.dashboard_token)
    with DashboardClient(url, token) as dashboard:
        actions = StoreActions(
            store, actor="asha", clock=clock, profile="main", dashboard=dashboard
        )
        app = console(mode=Mode.TEST, actions=actions)
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await pilot.press("2")
            await at_rest(pilot)
            assert store.deliveries.page(Mode.TEST, where=DeliveryFilter(event_id=event.id)).rows
            await pilot.press("R", "tab", "enter")
            await at_rest(pilot)
            assert f"resent {event.id}: attempt 2 answered 200" in shown(app)
    assert [one.event["id"] for one in payment_service.deliveries] == [event.id, event.id]
    assert audited(store) == [(store.audit.actor, "resend", "done")]
