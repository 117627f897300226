"""The Service screen: its lists, who may act, and what it shows when the service is away."""

import contextlib
from pathlib import Path

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown
from tests.console.service.helpers import (
    NOON,
    SIZE,
    Build,
    audited,
)

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.service_admin import ServiceAdmin
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service

pytestmark = pytest.mark.anyio


async def test_without_a_dashboard_the_key_says_why_and_the_bar_does_not_name_it(
    opened: OpenConsole, at_rest: AtRest
) -> None:
    async with opened(size=SIZE) as (app, pilot):
        assert "6 Service" not in shown(app)
        await press(pilot, at_rest, "6")
        assert "only the embedded service has this" in shown(app)
        assert "KUSANYA_DASHBOARD_URL" in shown(app)
        await press(pilot, at_rest, "question_mark")
        assert app.screen.query("#keys")


async def test_the_screen_shows_clock_endpoints_phones_faults_and_keys(
    context: Build, service: PaymentService, at_rest: AtRest
) -> None:
    service.dashboard("PUT", "faults", {"rules": [{"kind": "lose_answer", "times": 3}]})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        assert "6 Service" in shown(app)
        await press(pilot, at_rest, "6")
        said = shown(app)
        assert "15:00:00   virtual: it stands still until C moves it" in said
        assert "▸endpoints 1" in said
        assert "phones 15" in said
        assert "faults 1 in force" in said
        assert "keys 2" in said
        assert service.endpoint.url in said
        assert "not lit" in said
        await press(pilot, at_rest, "right_square_bracket")
        said = shown(app)
        assert "▸phones" in said
        assert "+255•••••001  succeeded" in said
        assert "+255•••••002  insufficient_funds" in said
        assert "255754000002" not in said
        await press(pilot, at_rest, "right_square_bracket")
        said = shown(app)
        assert "lose_answer         ● in force  always, 3 of 3 times left" in said
        assert "clock_skew          · off" in said
        await press(pilot, at_rest, "right_square_bracket")
        assert shown(app).count("● works") == 2
        await press(pilot, at_rest, "left_square_bracket")
        assert "▸faults" in shown(app)


async def test_read_only_every_act_is_off_with_its_reason_and_nothing_is_changed(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context(writes=False)
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6")
        for key in ("enter", "A", "E", "R", "X", "C", "F"):
            await press(pilot, at_rest, key)
            assert "off: read-only; start with --allow-writes" in shown(app)
            assert type(app.screen).__name__ == "ServiceScreen"
            await press(pilot, at_rest, "escape")
    assert audited(store) == []
    assert len(service.dashboard("GET", "endpoints")["data"]) == 1


async def test_enter_on_a_scripted_phone_creates_crash_safely_and_shows_what_became_of_it(
    context: Build, store: Store, service: PaymentService, client: Client, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "right_square_bracket", "j", "enter")
        assert isinstance(app.screen, ConfirmScreen)
        for said in ("TEST MODE", "TRY-02-5eed5eed", "TZS 1,000", "+255•••••002"):
            assert said in shown(app)
        await press(pilot, at_rest, "enter")
        assert audited(store) == [], "enter on Cancel leaves"
        await press(pilot, at_rest, "enter", "tab", "enter")
        assert "TRY-02-5eed5eed (col_" in shown(app)
        assert "is created on +255•••••002; the script says: the balance is too low" in shown(app)
        assert audited(store) == [("try phone", "TRY-02-5eed5eed", "done")]
        [intent] = store.intents.by_reference(Mode.TEST, "TRY-02-5eed5eed")
        assert (intent.state, intent.profile) == (IntentState.ANSWERED, "main")
        assert "to come insufficient_funds    ○ created" in shown(app)
        service.advance(30)
        from kusanya_console.actions.queries import ServiceQueries

        ServiceQueries(store, client, clock=ManualClock(NOON)).ask_collection(
            intent.collection_id or ""
        )
        app.tick()
        await at_rest(pilot)
        assert "✕ failed insufficient_funds" in shown(app)


@pytest.mark.merge
async def test_an_answer_that_is_lost_leaves_an_intent_that_was_resolved_by_its_replay(
    context: Build, store: Store, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "right_square_bracket", *"j" * 13, "enter", "tab", "enter")
        [intent] = store.intents.by_reference(Mode.TEST, "TRY-14-5eed5eed")
        assert intent.state is IntentState.ANSWERED
        assert intent.attempts == 2, "the second attempt had the same key and bytes"
        assert "+255•••••014; the script says: the 202 is lost on its way" in shown(app)


@pytest.mark.merge
async def test_a_live_key_or_none_creates_nothing_on_a_scripted_phone(  # noqa: PLR0917 - fixtures
    context: Build, store: Store, service: PaymentService, dashboard: DashboardClient,
    clock: ManualClock, at_rest: AtRest,
) -> None:  # fmt: skip
    with Client(service.live_key, base_url=service.base_url, clock=clock) as live:
        for given, why in ((live, "phones are scripted in TEST MODE only"), (None, "no API key")):
            admin = ServiceAdmin(store, dashboard, actor="asha", profile="main", client=given)
            app = context(service_admin=admin)
            async with app.run_test(size=SIZE) as pilot:
                await at_rest(pilot)
                await press(pilot, at_rest, "6", "right_square_bracket", "enter")
                assert why in shown(app)
                assert not isinstance(app.screen, ConfirmScreen)
    assert service.dashboard("GET", "collections?mode=live")["data"] == []


async def test_a_service_that_stops_answering_blanks_nothing(
    console: Build, at_rest: AtRest, tmp_path: Path
) -> None:
    time = ManualClock()
    with contextlib.ExitStack() as stack:
        options = Options(data=tmp_path / "service", clock="virtual", seed=1, starts_at=NOON)
        running = stack.enter_context(running_service(options))
        dashboard = DashboardClient(running.dashboard_url, Secret(running.dashboard_token))
        app = console(mode=Mode.TEST, service=ServiceReader(dashboard), monotonic=time.monotonic)
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await press(pilot, at_rest, "6", "left_square_bracket")
            assert shown(app).count("● works") == 2
            stack.close()
            await time.advance(2)
            app._show_status()
            await at_rest(pilot)
            said = shown(app)
            assert "since 15:24:07 the dashboard does not answer" in said
            assert "last known shown" in said
            assert said.count("● works") == 2
        dashboard.close()


async def test_what_is_copied_is_what_the_cursor_points_at(
    context: Build, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "y")
        assert app.clipboard == service.endpoint.url
        await press(pilot, at_rest, "right_square_bracket", "j", "y")
        assert app.clipboard == "255754000002"
        await press(pilot, at_rest, "right_square_bracket", "y")
        assert app.clipboard == "lose_answer"
        await press(pilot, at_rest, "right_square_bracket", "y")
        assert app.clipboard.startswith("key_")


async def test_the_acts_of_another_hand_are_seen_within_two_seconds(
    context: Build, service: PaymentService, at_rest: AtRest
) -> None:
    time = ManualClock()
    app = context(monotonic=time.monotonic)
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6")
        service.dashboard("POST", "keys", {"mode": "live"})
        app._show_status()
        await at_rest(pilot)
        assert "keys 2" in shown(app)
        await time.advance(2)
        app._show_status()
        await at_rest(pilot)
        assert "keys 3" in shown(app)
