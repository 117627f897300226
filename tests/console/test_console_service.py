"""The Service screen: every list, key and act, against the real embedded service on loopback."""

import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import press, shown
from textual.pilot import Pilot
from textual.widgets import Input

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.secret import Secret
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode
from kusanya_console.actions.service_admin import ServiceAdmin
from kusanya_console.application.app import ConsoleApp
from kusanya_console.dashboard.client import DashboardClient
from kusanya_console.dashboard.reader import ServiceReader
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_console.service.dialogs import AskScreen, SecretScreen
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint, Reply

pytestmark = pytest.mark.anyio
Opened = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]
Settled = Callable[[Pilot[Any]], Awaitable[None]]
Build = Callable[..., ConsoleApp]
SIZE = (120, 36)
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def service() -> Iterator[PaymentService]:
    """Run the service on a virtual clock that begins at noon, with an endpoint that captures."""
    endpoint = CapturingEndpoint()
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            data=Path(folder), clock="virtual", seed=1, starts_at=NOON,
            allow_local=(endpoint.place,),
        )  # fmt: skip
        try:
            with running_service(options, endpoint=endpoint) as running:
                yield running
        finally:
            endpoint.close()


@pytest.fixture
def client(service: PaymentService, clock: ManualClock) -> Iterator[Client]:
    with Client(service.test_key, base_url=service.base_url, clock=clock) as made:
        yield made


@pytest.fixture
def dashboard(service: PaymentService) -> Iterator[DashboardClient]:
    with DashboardClient(service.dashboard_url, Secret(service.dashboard_token)) as made:
        yield made


@pytest.fixture
def context(console: Build, store: Store, client: Client, dashboard: DashboardClient) -> Build:
    """Build a console that may change the service; nothing else about it is unusual."""

    def build(*, writes: bool = True, **options: Any) -> ConsoleApp:
        service_admin = ServiceAdmin(
            store, dashboard, actor="asha", profile="main", client=client, draw=lambda: "5eed5eed"
        )
        told: dict[str, Any] = {"mode": Mode.TEST, "service": ServiceReader(dashboard)}
        return console(**told | {"service_admin": service_admin if writes else None} | options)

    return build


def audited(store: Store) -> list[tuple[str, str, str]]:
    """Return what was done to what and how it ended, newest first."""
    return [(row.act, row.subject or "", row.outcome) for row in store.audit.page().rows]


async def registering(pilot: Pilot[Any], settled: Settled, url: str) -> None:
    """Ask for an endpoint at an address, and say yes."""
    await settled(pilot)
    await press(pilot, settled, "6", "A")
    pilot.app.screen.query_one("#note", Input).value = url
    await press(pilot, settled, "enter", "tab", "enter")


def everything_kept(store: Store) -> str:
    """Return all that the audit says, for looking for what it must not say."""
    return repr(store.audit.page().rows)


async def test_without_a_dashboard_the_key_says_why_and_the_bar_does_not_name_it(
    opened: Opened, settled: Settled
) -> None:
    async with opened(size=SIZE) as (app, pilot):
        assert "6 Service" not in shown(app)
        await press(pilot, settled, "6")
        assert "only the embedded service has this" in shown(app)
        assert "KUSANYA_DASHBOARD_URL" in shown(app)
        await press(pilot, settled, "question_mark")
        assert app.screen.query("#keys")


async def test_the_screen_shows_clock_endpoints_phones_faults_and_keys(
    context: Build, service: PaymentService, settled: Settled
) -> None:
    service.dashboard("PUT", "faults", {"rules": [{"kind": "lose_answer", "times": 3}]})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert "6 Service" in shown(app)
        await press(pilot, settled, "6")
        said = shown(app)
        assert "15:00:00   virtual: it stands still until C moves it" in said
        assert "▸endpoints 1" in said
        assert "phones 15" in said
        assert "faults 1 in force" in said
        assert "keys 2" in said
        assert service.endpoint.url in said
        assert "not lit" in said
        await press(pilot, settled, "right_square_bracket")
        said = shown(app)
        assert "▸phones" in said
        assert "+255•••••001  succeeded" in said
        assert "+255•••••002  insufficient_funds" in said
        assert "255754000002" not in said
        await press(pilot, settled, "right_square_bracket")
        said = shown(app)
        assert "lose_answer         ● in force  always, 3 of 3 times left" in said
        assert "clock_skew          · off" in said
        await press(pilot, settled, "right_square_bracket")
        assert shown(app).count("● works") == 2
        await press(pilot, settled, "left_square_bracket")
        assert "▸faults" in shown(app)


async def test_read_only_every_act_is_off_with_its_reason_and_nothing_is_changed(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context(writes=False)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6")
        for key in ("enter", "A", "E", "R", "X", "C", "F"):
            await press(pilot, settled, key)
            assert "off: read-only; start with --allow-writes" in shown(app)
            assert type(app.screen).__name__ == "ServiceScreen"
            await press(pilot, settled, "escape")
    assert audited(store) == []
    assert len(service.dashboard("GET", "endpoints")["data"]) == 1


async def test_enter_on_a_scripted_phone_creates_crash_safely_and_shows_what_became_of_it(
    context: Build, store: Store, service: PaymentService, client: Client, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "right_square_bracket", "j", "enter")
        assert isinstance(app.screen, ConfirmScreen)
        for said in ("TEST MODE", "TRY-02-5eed5eed", "TZS 1,000", "+255•••••002"):
            assert said in shown(app)
        await press(pilot, settled, "enter")
        assert audited(store) == [], "enter on Cancel leaves"
        await press(pilot, settled, "enter", "tab", "enter")
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
        await settled(pilot)
        assert "✕ failed insufficient_funds" in shown(app)


async def test_an_answer_that_is_lost_leaves_an_intent_that_was_settled_by_its_replay(
    context: Build, store: Store, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "right_square_bracket", *"j" * 13, "enter", "tab", "enter")
        [intent] = store.intents.by_reference(Mode.TEST, "TRY-14-5eed5eed")
        assert intent.state is IntentState.ANSWERED
        assert intent.attempts == 2, "the second attempt had the same key and bytes"
        assert "+255•••••014; the script says: the 202 is lost on its way" in shown(app)


async def test_a_live_key_or_none_creates_nothing_on_a_scripted_phone(  # noqa: PLR0917 - fixtures
    context: Build, store: Store, service: PaymentService, dashboard: DashboardClient,
    clock: ManualClock, settled: Settled,
) -> None:  # fmt: skip
    with Client(service.live_key, base_url=service.base_url, clock=clock) as live:
        for given, why in ((live, "phones are scripted in TEST MODE only"), (None, "no API key")):
            operator = ServiceAdmin(store, dashboard, actor="asha", profile="main", client=given)
            app = context(service_admin=operator)
            async with app.run_test(size=SIZE) as pilot:
                await settled(pilot)
                await press(pilot, settled, "6", "right_square_bracket", "enter")
                assert why in shown(app)
                assert not isinstance(app.screen, ConfirmScreen)
    assert service.dashboard("GET", "collections?mode=live")["data"] == []


async def test_a_new_endpoint_shows_its_secret_once_and_no_audit_row_holds_it(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context()
    url = f"{service.endpoint.url}two?token=hush"
    sent: list[str] = []

    def send(text: str) -> None:
        sent.append(text)
        ConsoleApp.copy_to_clipboard(app, text)

    async with app.run_test(size=SIZE) as pilot:
        app.copy_to_clipboard = send  # type: ignore[method-assign] # the terminal listens
        await settled(pilot)
        await press(pilot, settled, "6", "A")
        assert isinstance(app.screen, AskScreen)
        await press(pilot, settled, *"ftp", "enter")
        assert "an address begins with https:// or http://" in shown(app)
        app.screen.query_one("#note", Input).value = url
        await press(pilot, settled, "enter")
        assert isinstance(app.screen, ConfirmScreen)
        assert url in shown(app)
        await press(pilot, settled, "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        secret = text[text.index("whsec_") :].split()[0]
        await press(pilot, settled, "y")
        assert sent == [secret]
        assert app.clipboard == "", "nothing here keeps it to be pasted"
        await press(pilot, settled, "escape")
        assert not isinstance(app.screen, SecretScreen)
        assert secret not in shown(app)
        assert "is registered; its secret was shown once" in shown(app)
        assert "▸endpoints 2" in shown(app)
    assert audited(store) == [("add endpoint", url.replace("token=hush", "(secret)"), "done")]
    assert "hush" not in everything_kept(store)
    assert "whsec_" not in everything_kept(store)


async def test_an_address_that_the_service_refuses_is_told_with_its_reason_and_audited(
    context: Build, store: Store, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await registering(pilot, settled, "http://127.0.0.1:1/")
        assert "registering failed: the dashboard refused with 422" in shown(app)
        [(act, subject, outcome)] = audited(store)
        assert (act, subject) == ("add endpoint", "http://127.0.0.1:1/")
        assert outcome.startswith("failed: the dashboard refused with 422")


async def test_a_password_in_an_address_is_not_kept_although_the_service_refuses_it(
    context: Build, store: Store, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await registering(pilot, settled, "https://asha:hunter2@shop.example/in")
    [(_, subject, outcome)] = audited(store)
    assert subject == "https://(secret)@shop.example/in"
    assert outcome.startswith("failed: ")
    assert "hunter2" not in everything_kept(store)


async def test_a_rotated_secret_is_shown_once_and_signs_what_is_sent_from_now_on(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "R")
        assert "Both sign for 24 h" in shown(app)
        await press(pilot, settled, "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        secret = text[text.index("whsec_") :].split()[0]
        assert secret != service.signing_secret
        await press(pilot, settled, "escape")
        assert "the old one signs beside it for 24 h" in shown(app)
    assert [row[0] for row in audited(store)] == ["rotate secret"]
    assert "whsec_" not in everything_kept(store)
    assert secret not in repr(app.context)


async def test_a_disabled_endpoint_shows_its_blown_fuse_and_is_enabled_again(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    service.endpoint.reply = lambda _captured: Reply(status=500)
    for n in range(5):
        service.create({"amount": 1000, "phone": "255754000001", "reference": f"r-{n}"})
        service.advance(86_400)
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6")
        assert "▸endpoints 1 ✕ 1 disabled" in shown(app)
        assert "blown" in shown(app)
        assert "resume when it is enabled" in shown(app)
        await press(pilot, settled, "E", "tab", "enter")
        assert "is enabled with a new fuse; what it held goes on" in shown(app)
        assert "● enabled" in shown(app) or "✕ failing" in shown(app)
        await press(pilot, settled, "escape", "E")
    assert [(act, outcome) for act, _, outcome in audited(store)] == [("enable endpoint", "done")]


async def test_an_endpoint_is_deleted_only_after_the_word_is_typed(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "X", "tab", "tab", "enter")
        assert len(service.dashboard("GET", "endpoints")["data"]) == 1
        while isinstance(app.screen, ConfirmScreen):
            await press(pilot, settled, "escape")
        await press(pilot, settled, "X", *"delete", "enter")
        assert "is deleted; what waited for it is given up" in shown(app)
        assert "No endpoint is registered: events go nowhere." in shown(app)
    assert service.dashboard("GET", "endpoints")["data"] == []
    assert [(act, outcome) for act, _, outcome in audited(store)] == [("delete endpoint", "done")]


async def test_an_endpoint_that_went_while_the_dialog_was_open_is_not_touched(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    [known] = service.dashboard("GET", "endpoints")["data"]
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "R")
        service.dashboard("DELETE", f"endpoints/{known['id']}")
        await press(pilot, settled, "tab", "enter")
        assert "this is not the endpoint of the dialog any more: nothing was changed" in shown(app)
    [(act, subject, outcome)] = audited(store)
    assert (act, subject) == ("rotate secret", known["id"])
    assert outcome.startswith("failed: ")


async def test_a_key_is_made_shown_once_and_revoked_after_its_word(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "left_square_bracket", "A", "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        key = text[text.index("_test_sk_") - 3 :].split()[0]
        assert service.get("whoami", key=key).status == 200
        await press(pilot, settled, "escape", "escape")
        assert key not in shown(app)
        keys = service.dashboard("GET", "keys")["data"]
        mine = next(row["id"] for row in keys if key.endswith(row["hint"].removeprefix("…")))
        for _ in keys:
            if mine in shown(app).split("acts")[0]:
                break
            await press(pilot, settled, "j")
        while app.screen.thing.id != mine:  # type: ignore[attr-defined] # the Service screen
            await press(pilot, settled, "j")
        await press(pilot, settled, "X", *"revoke", "enter")
        assert "is revoked: requests with it are refused from now on" in shown(app)
        assert service.get("whoami", key=key).status == 401
        await press(pilot, settled, "escape")
        assert "✕ revoked" in shown(app)
    assert [act for act, _, _ in audited(store)] == ["revoke key", "create key"]
    assert "_sk_" not in everything_kept(store)


async def test_the_clock_is_advanced_and_what_was_due_has_happened(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    service.create({"amount": 1000, "phone": "255754000001", "reference": "r-1"})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "C", *"soon", "enter")
        assert "write a length of time as 90 s, 5 min" in shown(app)
        app.screen.query_one("#note", Input).value = "2 h 30 min"
        await press(pilot, settled, "enter")
        assert "Wed 04 Mar 2026 17:30:00" in shown(app)
        await press(pilot, settled, "tab", "enter")
        assert "the clock moved by 2 h 30 min" in shown(app)
        assert "17:30:00   virtual" in shown(app)
    assert len(service.deliveries) == 1
    assert audited(store) == [("advance clock", "clock", "done")]


async def test_a_clock_that_runs_by_itself_is_not_moved(
    console: Build, store: Store, settled: Settled, tmp_path: Path
) -> None:
    with (
        running_service(Options(data=tmp_path / "service", clock="60x", seed=1)) as running,
        DashboardClient(running.dashboard_url, Secret(running.dashboard_token)) as dashboard,
    ):
        operator = ServiceAdmin(store, dashboard, actor="asha", profile="main")
        app = console(mode=Mode.TEST, service=ServiceReader(dashboard), service_admin=operator)
        async with app.run_test(size=SIZE) as pilot:
            await settled(pilot)
            await press(pilot, settled, "6")
            assert "60 times as fast" in shown(app)
            await press(pilot, settled, "C")
            assert "off: this clock is scaled, it runs by itself" in shown(app)
    assert audited(store) == []


async def test_a_fault_is_put_in_force_and_taken_out_again(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "right_square_bracket", "right_square_bracket", "j")
        await press(pilot, settled, "enter", *"twice", "enter")
        assert "write always, or any of: 20%" in shown(app)
        app.screen.query_one("#note", Input).value = "50% 2 times"
        await press(pilot, settled, "enter", "tab", "enter")
        assert "fail_before_commit is in force, 50 %, 2 of 2 times left" in shown(app)
        [rule] = service.dashboard("GET", "faults")["rules"]
        assert (rule["kind"], rule["rate"], rule["times"]) == ("fail_before_commit", 0.5, 2)
        await press(pilot, settled, "enter", "tab", "enter")
        assert "ended: fail_before_commit" in shown(app)
        assert service.dashboard("GET", "faults")["rules"] == []
        await press(pilot, settled, "escape", "F")
        assert "off: no fault is in force" in shown(app)
    assert [act for act, _, _ in audited(store)] == ["end faults", "begin fault"]


async def test_all_faults_end_once_their_number_is_typed_and_a_rule_keeps_what_it_has_left(
    context: Build, store: Store, service: PaymentService, settled: Settled
) -> None:
    rules = [{"kind": "fail_before_commit", "times": 2}, {"kind": "lose_answer"}]
    service.dashboard("PUT", "faults", {"rules": rules})
    service.create({"amount": 1000, "phone": "255754000001", "reference": "r-1"})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "right_square_bracket", "right_square_bracket")
        await press(pilot, settled, "enter", "tab", "enter")
        [left] = service.dashboard("GET", "faults")["rules"]
        assert (left["kind"], left["times"]) == ("fail_before_commit", 1)
        service.dashboard("PUT", "faults", {"rules": rules})
        app.screen._fetch()  # type: ignore[attr-defined] # the Service screen
        await settled(pilot)
        await press(pilot, settled, "F", "3", "enter")
        assert isinstance(app.screen, ConfirmScreen)
        await press(pilot, settled, "backspace", "2", "enter")
        assert "ended: fail_before_commit, lose_answer" in shown(app)
    assert service.dashboard("GET", "faults")["rules"] == []


async def test_a_service_that_stops_answering_blanks_nothing(
    console: Build, settled: Settled, tmp_path: Path
) -> None:
    time = ManualClock()
    with contextlib.ExitStack() as stack:
        options = Options(data=tmp_path / "service", clock="virtual", seed=1, starts_at=NOON)
        running = stack.enter_context(running_service(options))
        dashboard = DashboardClient(running.dashboard_url, Secret(running.dashboard_token))
        app = console(mode=Mode.TEST, service=ServiceReader(dashboard), monotonic=time.monotonic)
        async with app.run_test(size=SIZE) as pilot:
            await settled(pilot)
            await press(pilot, settled, "6", "left_square_bracket")
            assert shown(app).count("● works") == 2
            stack.close()
            await time.advance(2)
            app._show_status()
            await settled(pilot)
            said = shown(app)
            assert "since 15:24:07 the dashboard does not answer" in said
            assert "last known shown" in said
            assert said.count("● works") == 2
        dashboard.close()


async def test_what_is_copied_is_what_the_cursor_points_at(
    context: Build, service: PaymentService, settled: Settled
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6", "y")
        assert app.clipboard == service.endpoint.url
        await press(pilot, settled, "right_square_bracket", "j", "y")
        assert app.clipboard == "255754000002"
        await press(pilot, settled, "right_square_bracket", "y")
        assert app.clipboard == "lose_answer"
        await press(pilot, settled, "right_square_bracket", "y")
        assert app.clipboard.startswith("key_")


async def test_the_acts_of_another_hand_are_seen_within_two_seconds(
    context: Build, service: PaymentService, settled: Settled
) -> None:
    time = ManualClock()
    app = context(monotonic=time.monotonic)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await press(pilot, settled, "6")
        service.dashboard("POST", "keys", {"mode": "live"})
        app._show_status()
        await settled(pilot)
        assert "keys 2" in shown(app)
        await time.advance(2)
        app._show_status()
        await settled(pilot)
        assert "keys 3" in shown(app)
