"""The Service screen: endpoints, signing secrets and keys, against the real embedded service."""

import pytest
from tests.console.looking import AtRest, press, shown
from tests.console.service.helpers import (
    SIZE,
    Build,
    audited,
    everything_kept,
    registering,
)
from textual.widgets import Input

from kusanya.store import Store
from kusanya_console.application.app import ConsoleApp
from kusanya_console.sandbox.screen.dialogs import AskScreen, SecretScreen
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import Reply

pytestmark = pytest.mark.anyio


async def test_a_new_endpoint_shows_its_secret_once_and_no_audit_row_holds_it(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    url = f"{service.endpoint.url}two?token=hush"
    sent: list[str] = []

    def send(text: str) -> None:
        sent.append(text)
        ConsoleApp.copy_to_clipboard(app, text)

    async with app.run_test(size=SIZE) as pilot:
        app.copy_to_clipboard = send  # type: ignore[method-assign] # the terminal listens
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "A")
        assert isinstance(app.screen, AskScreen)
        await press(pilot, at_rest, *"ftp", "enter")
        assert "an address begins with https:// or http://" in shown(app)
        app.screen.query_one("#note", Input).value = url
        await press(pilot, at_rest, "enter")
        assert isinstance(app.screen, ConfirmScreen)
        assert url in shown(app)
        await press(pilot, at_rest, "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        secret = text[text.index("whsec_") :].split()[0]
        await press(pilot, at_rest, "y")
        assert sent == [secret]
        assert app.clipboard == "", "nothing here keeps it to be pasted"
        await press(pilot, at_rest, "escape")
        assert not isinstance(app.screen, SecretScreen)
        assert secret not in shown(app)
        assert "is registered; its secret was shown once" in shown(app)
        assert "▸endpoints 2" in shown(app)
    assert audited(store) == [("add endpoint", url.replace("token=hush", "(secret)"), "done")]
    assert "hush" not in everything_kept(store)
    assert "whsec_" not in everything_kept(store)


async def test_an_address_that_the_service_refuses_is_reported_with_its_reason_and_audited(
    context: Build, store: Store, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await registering(pilot, at_rest, "http://127.0.0.1:1/")
        assert "registering failed: the dashboard refused with 422" in shown(app)
        [(act, subject, outcome)] = audited(store)
        assert (act, subject) == ("add endpoint", "http://127.0.0.1:1/")
        assert outcome.startswith("failed: the dashboard refused with 422")


async def test_a_password_in_an_address_is_not_kept_although_the_service_refuses_it(
    context: Build, store: Store, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await registering(pilot, at_rest, "https://asha:hunter2@shop.example/in")
    [(_, subject, outcome)] = audited(store)
    assert subject == "https://(secret)@shop.example/in"
    assert outcome.startswith("failed: ")
    assert "hunter2" not in everything_kept(store)


async def test_a_rotated_secret_is_shown_once_and_signs_what_is_sent_from_now_on(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "R")
        assert "Both sign for 24 h" in shown(app)
        await press(pilot, at_rest, "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        secret = text[text.index("whsec_") :].split()[0]
        assert secret != service.signing_secret
        await press(pilot, at_rest, "escape")
        assert "the old one signs beside it for 24 h" in shown(app)
    assert [row[0] for row in audited(store)] == ["rotate secret"]
    assert "whsec_" not in everything_kept(store)
    assert secret not in repr(app.context)


async def test_a_disabled_endpoint_shows_its_blown_fuse_and_is_enabled_again(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    service.endpoint.reply = lambda _captured: Reply(status=500)
    for n in range(5):
        service.create({"amount": 1000, "phone": "255754000001", "reference": f"r-{n}"})
        service.advance(86_400)
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6")
        assert "▸endpoints 1 ✕ 1 disabled" in shown(app)
        assert "blown" in shown(app)
        assert "resume when it is enabled" in shown(app)
        await press(pilot, at_rest, "E", "tab", "enter")
        assert "is enabled with a new fuse; what it held goes on" in shown(app)
        assert "● enabled" in shown(app) or "✕ failing" in shown(app)
        await press(pilot, at_rest, "escape", "E")
    assert [(act, outcome) for act, _, outcome in audited(store)] == [("enable endpoint", "done")]


async def test_an_endpoint_is_deleted_only_after_the_word_is_typed(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "X", "tab", "tab", "enter")
        assert len(service.dashboard("GET", "endpoints")["data"]) == 1
        while isinstance(app.screen, ConfirmScreen):
            await press(pilot, at_rest, "escape")
        await press(pilot, at_rest, "X", *"delete", "enter")
        assert "is deleted; what waited for it is given up" in shown(app)
        assert "No endpoint is registered: events go nowhere." in shown(app)
    assert service.dashboard("GET", "endpoints")["data"] == []
    assert [(act, outcome) for act, _, outcome in audited(store)] == [("delete endpoint", "done")]


async def test_an_endpoint_that_went_while_the_dialog_was_open_is_not_touched(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    [known] = service.dashboard("GET", "endpoints")["data"]
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "R")
        service.dashboard("DELETE", f"endpoints/{known['id']}")
        await press(pilot, at_rest, "tab", "enter")
        assert "this is not the endpoint of the dialog any more: nothing was changed" in shown(app)
    [(act, subject, outcome)] = audited(store)
    assert (act, subject) == ("rotate secret", known["id"])
    assert outcome.startswith("failed: ")


@pytest.mark.merge
async def test_a_key_is_made_shown_once_and_revoked_after_its_word(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "left_square_bracket", "A", "tab", "enter")
        assert isinstance(app.screen, SecretScreen)
        text = shown(app)
        key = text[text.index("_test_sk_") - 3 :].split()[0]
        assert service.get("whoami", key=key).status == 200
        await press(pilot, at_rest, "escape", "escape")
        assert key not in shown(app)
        keys = service.dashboard("GET", "keys")["data"]
        mine = next(row["id"] for row in keys if key.endswith(row["hint"].removeprefix("…")))
        for _ in keys:
            if mine in shown(app).split("acts")[0]:
                break
            await press(pilot, at_rest, "j")
        while app.screen.thing.id != mine:  # type: ignore[attr-defined] # the Service screen
            await press(pilot, at_rest, "j")
        await press(pilot, at_rest, "X", *"revoke", "enter")
        assert "is revoked: requests with it are refused from now on" in shown(app)
        assert service.get("whoami", key=key).status == 401
        await press(pilot, at_rest, "escape")
        assert "✕ revoked" in shown(app)
    assert [act for act, _, _ in audited(store)] == ["revoke key", "create key"]
    assert "_sk_" not in everything_kept(store)
