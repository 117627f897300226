"""Health as a place to work from: rows behind a figure, windows, oddities, who looks after what."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown, ticked
from textual.pilot import Pilot

from kusanya.clock import ManualClock
from kusanya.filters import describe
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.health.screen import HealthScreen
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lookup.screen import LookupScreen

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]
SIZE = (120, 50)


@pytest.fixture
def actions(store: Store, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main")


def health(app: ConsoleApp) -> HealthScreen:
    """Return the screen of health."""
    screen = app.console_screen
    assert isinstance(screen, HealthScreen)
    return screen


async def test_prompts_stuck_on_one_phone_are_a_customer_and_on_many_an_outage(
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=5)
    for n in (1, 2, 3):
        seed.answered(seed.collection(n, at=at, channel="MPESA_TZ", phone="255754000010"))
        seed.answered(seed.collection(10 + n, at=at, channel="TIGO_TZ"))
    seed.watched()
    async with opened("4", size=SIZE) as (app, _pilot):
        text = " ".join(shown(app).split())
        assert "3 prompts of M-Pesa wait over 2 min on one phone: a customer, no outage." in text
        assert "3 prompts of Mixx by Yas wait over 2 min on 3 phones: ask the service" in text
        assert "Nothing has arrived yet: is the receiver running?" in text


async def pointed(pilot: Pilot[Any], at_rest: AtRest, key: str) -> None:
    """Move the cursor to the line with this key."""
    assert isinstance(pilot.app, ConsoleApp)
    for _ in range(60):
        if health(pilot.app).cursor == key:
            return
        await pilot.press("j")
        await at_rest(pilot)
    pytest.fail(f"the cursor never stood on {key}")


def silenced(seed: Any, clock: ManualClock) -> None:
    """Let polling learn three final states that no event reports."""
    for n in range(3):
        at = clock.now() - timedelta(seconds=5 - n)
        done = seed.collection(7000 + n, at=at, status="succeeded", completed_at=at)
        seed.polled(done, at=at)


@pytest.mark.parametrize(
    ("key", "screen", "narrowed"),
    [
        ("cause:insufficient_funds", "live", "code:insufficient_funds age<=1h"),
        ("cause:(expired)", "live", "status:expired age<=1h"),
        ("open:MPESA_TZ", "live", "channel:MPESA_TZ status:created"),
        ("endpoint:billing", "deliveries", "! endpoint:billing"),
        ("endpoint:shop", "deliveries", "endpoint:shop"),
        ("failing:billing", "deliveries", "! endpoint:billing"),
    ],
)
async def test_enter_on_a_line_of_health_opens_the_rows_behind_it(  # noqa: PLR0917 - fixtures
    key: str, screen: str, narrowed: str, opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened("4", size=SIZE) as (app, pilot):
        await pointed(pilot, at_rest, key)
        await pilot.press("enter")
        await at_rest(pilot)
        found = app.console_screen
        assert isinstance(found, ListScreen)
        assert screen == found.NAME
        assert describe(found.filter) == narrowed
        assert found.table.excerpt.rows
        assert f"filter {narrowed}" in shown(app)


@pytest.mark.merge
async def test_a_figure_counts_exactly_the_rows_that_enter_opens(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(60)
    async with opened("4", size=SIZE) as (app, pilot):
        await pointed(pilot, at_rest, "cause:user_cancelled")
        line = next(line for line in shown(app).splitlines() if "user_cancelled" in line)
        count = int(line.split()[-3])
        await pilot.press("enter")
        await at_rest(pilot)
        screen = app.console_screen
        assert isinstance(screen, ListScreen)
        assert len(screen.table.excerpt.rows) == count


@pytest.mark.merge
async def test_enter_on_an_odd_payment_opens_its_story(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE) as (app, pilot):
        assert "two finals 1, completed at changed 1, unknown status 1" in shown(app)
        await pointed(pilot, at_rest, f"odd:two_finals:col_{901:016}")
        await pilot.press("enter")
        await at_rest(pilot)
        assert isinstance(app.console_screen, LookupScreen)
        assert "INV-482901   col_" in shown(app)


async def test_an_event_that_does_not_come_becomes_odd_as_time_passes(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    silenced(seed, clock)
    async with opened("4", size=SIZE) as (app, pilot):
        assert "missing event" not in shown(app)
        await clock.advance(90)
        app.tick()
        await at_rest(pilot)
        assert "missing event 3" in shown(app)


async def test_the_window_grows_from_an_hour_to_a_week_and_says_where_it_ends(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n, ago in ((2, timedelta(minutes=5)), (12, timedelta(hours=8)), (22, timedelta(days=3))):
        seed.life(n, at=clock.now() - ago)
    async with opened("4", size=SIZE) as (app, pilot):
        seen = []
        for key in ("minus", "plus", "plus", "plus", "minus", "minus"):
            seen.append(shown(app).partition("failures, ")[2].split(",")[0])
            line = next(one for one in shown(app).splitlines() if "insufficient_funds" in one)
            seen.append(line.split()[-3])
            await pilot.press(key)
            await at_rest(pilot)
        hour, day, week = ("last 60 minutes", "1"), ("today", "2"), ("last 7 days", "3")
        assert seen == [*hour, *hour, *day, *week, *week, *day]
        assert "last 60 minutes is the shortest window" not in shown(app)
        await pilot.press("minus")
        assert "last 60 minutes is the shortest window" in shown(app)


async def test_while_the_silence_stands_no_endpoint_is_called_healthy(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE) as (app, pilot):
        assert "● healthy" in shown(app)
        silenced(seed, clock)
        await clock.advance(6)
        app.tick()
        await at_rest(pilot)
        assert "◐ silent: is the receiver running?" in shown(app)
        assert "healthy" not in shown(app)


async def test_the_report_says_who_can_help_with_a_failure_and_how_long_prompts_take(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    seed.busy(30)
    done_at = clock.now() - timedelta(minutes=1)
    seed.answered(
        seed.collection(
            800, at=clock.now() - timedelta(minutes=2), status="failed", channel="TTCL_TZ",
            failure_code="sim_swap_hold", completed_at=done_at,
        )
    )  # fmt: skip
    async with opened("4", size=SIZE) as (app, _pilot):
        lines = shown(app).splitlines()
        groups = [
            line.strip() for line in lines if "put it right:" in line or "ask the prov" in line
        ]
        assert groups[1] == "ask the provider: 1", "a code that nobody knows yet"
        ttcl = next(line for line in lines if line.strip().startswith("T-Pesa"))
        assert ttcl.split()[-4:] == ["1", "min", "0", "s"] or "1 min 0 s" in ttcl
        mpesa = next(line for line in lines if line.strip().startswith("M-Pesa"))
        assert mpesa.rstrip().endswith("17 s       17 s")


async def test_a_channel_of_which_no_prompt_is_open_keeps_its_column(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=5)
    failed = seed.collection(1, at=at, channel="MPESA_TZ", status="failed", failure_code="declined")
    paid = seed.collection(2, at=at, channel="HALOPESA_TZ", status="succeeded", completed_at=at)
    for one in (failed, paid):
        seed.polled(one, at=at)
    async with opened("4", size=SIZE) as (app, _pilot):
        heads = next(line for line in shown(app).splitlines() if " code " in line)
        assert "HaloPesa" in heads
        assert "M-Pesa" in heads


@pytest.mark.merge
async def test_an_alarm_is_muted_for_as_long_as_one_writes_and_stays_on_the_screen(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    async def write(pilot: Pilot[Any], words: str) -> None:
        await pilot.press("M", *("space" if sign == " " else sign for sign in words), "enter")
        await at_rest(pilot)

    seed.busy(10)
    async with opened("4", size=SIZE, actions=actions) as (app, pilot):
        assert health(app).cursor == "failing:billing"
        for refused in ("until it is repaired", "2h", "2h ", "0h why", "2x why"):
            await write(pilot, refused)
            assert "begin with how long" in shown(app), refused
        await write(pilot, "8d too long")
        assert "an alarm is muted for 7 days at most" in shown(app)
        await write(pilot, "2h rotated it")
        text = " ".join(shown(app).split())
        assert "✕ failing: billing refused 3" in text
        assert f"muted by {store.audit.actor} until 17:24:07: rotated it (as asha)" in text
        row = store.audit.page().rows[0]
        assert (row.subject, row.outcome) == ("failing:live:billing", "done")


async def test_an_acknowledged_alarm_stays_and_names_who_looks_after_it(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    seed: Any,
    actions: StoreActions,
    clock: ManualClock,
    at_rest: AtRest,
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE, actions=actions) as (app, pilot):
        assert health(app).cursor == "failing:billing"
        await pilot.press("A", *"rotated", "space", *"it", "enter")
        await at_rest(pilot)
        row = store.audit.page().rows[0]
        assert (row.actor, row.act, row.outcome) == (store.audit.actor, "acknowledge", "done")
        assert row.subject is not None
        assert row.subject.startswith("failing:live:billing:2026-03-04T12:17")
        text = shown(app)
        assert "✕ failing: billing refused 3" in text
        assert f"looked after by {store.audit.actor} since 15:24:07: rotated it (as asha)" in text
        late = seed.collection(950, at=clock.now(), status="succeeded")
        seed.delivered(seed.event(late, at=clock.now()), at=clock.now(), endpoint="billing")
        await clock.advance(10)
        seed.delivered(
            seed.event(late, at=clock.now(), id="evt_again"), at=clock.now(),
            verdict=Verdict.REJECTED, reason="no_match", answer=400, endpoint="billing",
        )  # fmt: skip
        app.tick()
        await at_rest(pilot)
        assert "✕ failing: billing refused 1" in shown(app)
        assert "looked after by" not in shown(app), "another outbreak is another alarm"


async def test_an_acknowledged_oddity_leaves_the_inbox_and_is_counted(
    opened: OpenConsole, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE, actions=actions) as (app, pilot):
        await pointed(pilot, at_rest, f"odd:two_finals:col_{901:016}")
        await pilot.press("A", *"asked", "enter")
        await at_rest(pilot)
        assert "two finals 1" not in shown(app)
        assert "1 acknowledged" in shown(app)


@pytest.mark.merge
async def test_what_is_no_alarm_cannot_be_acknowledged_and_looking_acknowledges_nothing(
    console: Build, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(10)
    for acting, said in ((actions, "the cursor stands on no alarm"), (None, "off: read-only")):
        app = console(actions=acting)
        async with app.run_test(size=SIZE) as pilot:
            await at_rest(pilot)
            await pilot.press("4")
            await at_rest(pilot)
            await pointed(pilot, at_rest, "endpoint:shop")
            await pilot.press("A")
            await at_rest(pilot)
            assert said in shown(app)
    assert store.audit.page().rows == ()


async def test_zoom_shows_the_part_under_the_cursor_alone(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE) as (app, pilot):
        await pointed(pilot, at_rest, "cause:(expired)")
        await pilot.press("z")
        await at_rest(pilot)
        assert "insufficient_funds" in shown(app)
        assert "open prompts" not in shown(app)
        assert "✕ failing" not in shown(app).partition("\n")[2]
        await pilot.press("escape")
        await at_rest(pilot)
        assert "open prompts" in shown(app)


@pytest.mark.merge
async def test_the_cursor_stays_in_view_and_a_double_click_opens(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(20)
    async with opened("4", size=(80, 24)) as (app, pilot):
        for key in "jjjjjjjjjjjjjkkkk":
            await pilot.press(key)
            await at_rest(pilot)
            assert any(line.startswith(">") for line in shown(app).splitlines())
        for _ in range(13):
            await pilot.press("k")
        await at_rest(pilot)
        assert "✕ failing: billing" in shown(app)
        row = next(n for n, one in enumerate(shown(app).splitlines()) if "  (expired)" in one)
        await pilot.click(offset=(5, row), times=2)
        await at_rest(pilot)
        assert isinstance(app.console_screen, ListScreen)
        assert "status:expired" in shown(app)


async def test_the_report_is_kept_in_a_file(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(10)
    async with opened("4", size=SIZE, folder=tmp_path) as (app, pilot):
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        path = tmp_path / "kusanya-card-health-live-20260304T122407Z.txt"
        assert "✕ failing: billing" in path.read_text()
        assert path.read_text() == app.clipboard


@pytest.mark.merge
async def test_the_other_mode_begins_with_empty_windows_and_asks_nothing(
    opened: OpenConsole,
    seed: Any,
    clock: ManualClock,
    at_rest: AtRest,
    slow_fingers: Callable[[], float],
) -> None:
    seed.busy(10)
    seed.life(600, at=clock.now() - timedelta(minutes=3), mode=Mode.TEST)
    async with opened(size=SIZE, monotonic=slow_fingers) as (app, pilot):
        await pilot.press("slash", *"failed", "enter")
        for key in ("2", "4", "5", "3"):
            await pilot.press(key)
            await at_rest(pilot)
        await pilot.press(*"INV-482901", "enter")
        await at_rest(pilot)
        assert "INV-482901   col_" in shown(app)
        await pilot.press("ctrl+p", *"other", "space", *"mode", "enter")
        await at_rest(pilot)
        assert "▌TEST MODE▐  Lookup" in shown(app)
        assert "INV-482901" not in shown(app)
        for key in ("escape", "1", "2", "4", "5"):
            await pilot.press(key)
            await at_rest(pilot)
            text = shown(app)
            assert "▌TEST MODE▐" in text
            assert "LIVE MODE" not in text
            assert not any(f"INV-482{n:03}" in text for n in (*range(10), 900, 901, 902, 903))
        await pilot.press("1")
        await at_rest(pilot)
        assert "INV-482600" in shown(app)
        assert "filter none" in shown(app)
        await pilot.press("ctrl+p", *"other", "space", *"mode", "enter")
        await at_rest(pilot)
        assert "▌LIVE MODE▐  Live" in shown(app)
        assert "INV-482901" in shown(app)
        assert "INV-482600" not in shown(app)


async def test_in_the_other_mode_the_service_is_not_asked_with_the_wrong_key(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    class Nobody:
        """Asks nobody: a call would be an error."""

    seed.life(600, at=clock.now() - timedelta(minutes=3), mode=Mode.TEST)
    async with opened(size=SIZE, queries=Nobody()) as (app, pilot):
        await app.run_action("app.other_mode")
        await at_rest(pilot)
        await pilot.press("c")
        await at_rest(pilot)
        assert "off: the profile's key is of LIVE MODE" in shown(app)
        await pilot.press("4", "c")
        await at_rest(pilot)
        assert "off: the profile's key is of LIVE MODE" in shown(app)


async def test_the_help_names_every_command_of_its_screen(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened("question_mark", size=(120, 120)) as (app, pilot):
        text = shown(app)
        for said in (
            "Keys of Live", "this screen ──", "o       order", "the other mode",
            "channel:airtel,mixx", "off: read-only; start with --allow-writes",
        ):  # fmt: skip
            assert said in text, said
        await pilot.press("escape", "4", "question_mark")
        await at_rest(pilot)
        assert "Keys of Health" in shown(app)
        assert "wider" in shown(app)
        assert "channel:airtel,mixx" not in shown(app), "Health has no filter"
        assert "follow" not in shown(app), "nor does it follow anything"


async def test_deliveries_without_effect_are_alarms_that_say_what_to_do(
    opened: OpenConsole, store: Store, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=5)
    for n, mode, verdict, answer in (
        (1, Mode.TEST, Verdict.WRONG_MODE, 400),
        (2, Mode.LIVE, Verdict.UNPARSEABLE, 200),
    ):
        done = seed.collection(n, at=at, status="succeeded", completed_at=at, mode=mode.value)
        event = seed.event(done, at=at)
        seed.delivered(event, at=at, verdict=verdict, answer=answer, endpoint=f"till{n}")
    async with opened("4", size=SIZE) as (app, _pilot):
        text = " ".join(shown(app).split())
        assert "wrong mode: till1 receives test events and refused 1 of live mode" in text
        assert "kusanya catch-up in live mode learns" in text
        assert "unread: till2 took 1 within 24 h that are genuine and no event we can read" in text
        assert "✕ 1 failing ≠ wrong mode" in text


async def test_what_was_counted_before_somebody_left_is_not_shown_beside_a_newer_snapshot(
    opened: OpenConsole,
    seed: Any,
    clock: ManualClock,
    at_rest: AtRest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = clock.now() - timedelta(minutes=5)
    seed.life(1, at=at, status="failed", failure_code="user_cancelled")
    async with opened("4", size=SIZE) as (app, pilot):
        assert "user_cancelled" in shown(app)
        await press(pilot, at_rest, "1")
        await clock.advance(2 * 3_600)
        await ticked(pilot, at_rest)
        # As while a long count is under way.
        monkeypatch.setattr(HealthScreen, "_count", lambda _screen: None)
        await press(pilot, at_rest, "4")
        assert "updated 0 s ago" in shown(app)
        assert "user_cancelled" not in shown(app)
        assert "no failure and no expiry" in shown(app)
