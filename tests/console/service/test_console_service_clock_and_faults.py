"""The Service screen: its clock and its faults, against the real embedded service."""

from pathlib import Path

import pytest
from tests.console.looking import AtRest, press, shown
from tests.console.service.helpers import (
    SIZE,
    Build,
    audited,
)
from textual.widgets import Input

from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.service_admin import ServiceAdmin
from kusanya_console.screens.confirm import ConfirmScreen
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service

pytestmark = pytest.mark.anyio


async def test_the_clock_is_advanced_and_what_was_due_has_happened(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    service.create({"amount": 1000, "phone": "255754000001", "reference": "r-1"})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "C", *"soon", "enter")
        assert "write a length of time as 90 s, 5 min" in shown(app)
        app.screen.query_one("#note", Input).value = "2 h 30 min"
        await press(pilot, at_rest, "enter")
        assert "Wed 04 Mar 2026 17:30:00" in shown(app)
        await press(pilot, at_rest, "tab", "enter")
        assert "the clock moved by 2 h 30 min" in shown(app)
        assert "17:30:00   virtual" in shown(app)
    assert len(service.deliveries) == 1
    assert audited(store) == [("advance clock", "clock", "done")]


async def test_a_clock_that_runs_by_itself_is_not_moved(
    console: Build, store: Store, at_rest: AtRest, tmp_path: Path
) -> None:
    with (
        running_service(Options(data=tmp_path / "service", clock="60x", seed=1)) as running,
        DashboardClient(running.dashboard_url, Secret(running.dashboard_token)) as dashboard,
    ):
        admin = ServiceAdmin(store, dashboard, actor="asha", profile="main")
        app = console(mode=Mode.TEST, service=ServiceReader(dashboard), service_admin=admin)
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await press(pilot, at_rest, "6")
            assert "60 times as fast" in shown(app)
            await press(pilot, at_rest, "C")
            assert "off: this clock is scaled, it runs by itself" in shown(app)
    assert audited(store) == []


async def test_a_fault_is_put_in_force_and_taken_out_again(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "right_square_bracket", "right_square_bracket", "j")
        await press(pilot, at_rest, "enter", *"twice", "enter")
        assert "write always, or any of: 20%" in shown(app)
        app.screen.query_one("#note", Input).value = "50% 2 times"
        await press(pilot, at_rest, "enter", "tab", "enter")
        assert "fail_before_commit is in force, 50 %, 2 of 2 times left" in shown(app)
        [rule] = service.dashboard("GET", "faults")["rules"]
        assert (rule["kind"], rule["rate"], rule["times"]) == ("fail_before_commit", 0.5, 2)
        await press(pilot, at_rest, "enter", "tab", "enter")
        assert "ended: fail_before_commit" in shown(app)
        assert service.dashboard("GET", "faults")["rules"] == []
        await press(pilot, at_rest, "escape", "F")
        assert "off: no fault is in force" in shown(app)
    assert [act for act, _, _ in audited(store)] == ["end faults", "begin fault"]


async def test_all_faults_end_once_their_number_is_typed_and_a_rule_keeps_what_it_has_left(
    context: Build, store: Store, service: PaymentService, at_rest: AtRest
) -> None:
    rules = [{"kind": "fail_before_commit", "times": 2}, {"kind": "lose_answer"}]
    service.dashboard("PUT", "faults", {"rules": rules})
    service.create({"amount": 1000, "phone": "255754000001", "reference": "r-1"})
    app = context()
    async with app.run_test(size=SIZE) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, "6", "right_square_bracket", "right_square_bracket")
        await press(pilot, at_rest, "enter", "tab", "enter")
        [left] = service.dashboard("GET", "faults")["rules"]
        assert (left["kind"], left["times"]) == ("fail_before_commit", 1)
        service.dashboard("PUT", "faults", {"rules": rules})
        app.screen._fetch()  # type: ignore[attr-defined] # the Service screen
        await at_rest(pilot)
        await press(pilot, at_rest, "F", "3", "enter")
        assert isinstance(app.screen, ConfirmScreen)
        await press(pilot, at_rest, "backspace", "2", "enter")
        assert "ended: fail_before_commit, lose_answer" in shown(app)
    assert service.dashboard("GET", "faults")["rules"] == []
