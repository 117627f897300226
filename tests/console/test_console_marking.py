"""Several marked records: copied, noted, asked about, exported and resent together."""

import asyncio
import re
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown

from kusanya.clock import ManualClock
from kusanya.errors import KusanyaError
from kusanya.store import Store
from kusanya.store.records import DeliveryRow, MissingEventRow
from kusanya.wire import Mode
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.actions.together import run_together
from kusanya_console.application.app import ConsoleApp
from kusanya_console.intents.screen import IntentsScreen
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.screens.confirm import ConfirmScreen


class _FailingService:
    """Stands for the service: answers every question but one."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def ask_collection(self, collection_id: str) -> ActionResult:
        self.ids.append(collection_id)
        if collection_id.endswith("901"):
            raise KusanyaError("the service did not answer in 10 s")
        return ActionResult("asked")

    ask_event = ask_collection


@pytest.fixture
def actions(store: Store, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main")


def listed_ids(app: ConsoleApp) -> list[str]:
    assert isinstance(app.console_screen, ListScreen)
    return [row.id for row in app.console_screen.table.excerpt.rows]


def marked(app: ConsoleApp) -> list[str]:
    assert isinstance(app.console_screen, ListScreen)
    return list(app.console_screen.table.marked)


@pytest.mark.anyio
async def test_marks_that_a_filter_hides_are_said(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(20)
    async with opened("space", "space", "space") as (app, pilot):
        await press(pilot, at_rest, "slash", *"status:expired", "enter")
        hidden = 3 - sum(row in marked(app) for row in listed_ids(app))
        assert hidden
        assert f"3 marked, {hidden} of them not in this list, esc unmarks" in shown(app)


@pytest.mark.anyio
async def test_space_marks_the_foot_counts_and_escape_unmarks(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened("space", "space", "space") as (app, pilot):
        assert "3 marked, esc unmarks" in shown(app)
        assert sum(line[1] == "•" for line in lines(app) if "INV-" in line[:40]) == 3
        await press(pilot, at_rest, "k", "space")
        assert len(marked(app)) == 2
        await press(pilot, at_rest, "slash", *"failed", "enter")
        assert "2 marked" in shown(app), "marks outlive a filter"
        await press(pilot, at_rest, "escape")
        assert marked(app) == []
        assert "filter status:failed" in shown(app), "one step back at a time"
        await press(pilot, at_rest, "asterisk")
        assert len(marked(app)) == len(app.console_screen.table.excerpt.rows)  # type: ignore[union-attr]


@pytest.mark.anyio
async def test_marked_references_are_copied_a_line_each(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened("space", "space", "y") as (app, _):
        assert app.clipboard.split("\n") == ["INV-482900", "INV-482005"]
        assert "2 references sent to the terminal's clipboard" in shown(app)


@pytest.mark.anyio
async def test_one_note_is_kept_on_every_marked_payment_each_audited(
    opened: OpenConsole, seed: Any, store: Store, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened("space", "space", "A", actions=actions) as (app, pilot):
        assert "Note on 2 payments" in shown(app)
        await press(pilot, at_rest, *"outage", "enter")
        assert "noted 2 of 2" in shown(app)
        ids = marked(app)
    assert [store.notes.of(one, Mode.LIVE)[0].text for one in ids] == ["outage", "outage"]
    assert {row.subject for row in store.audit.page().rows} == set(ids)


@pytest.mark.anyio
async def test_marked_payments_are_asked_about_and_what_failed_is_named(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    service: Any = _FailingService()
    async with opened("slash", *"INV-4829", "enter", queries=service) as (app, pilot):
        await press(pilot, at_rest, "asterisk", "c")
        assert len(service.ids) == 4
        assert "asked 3 of 4, 1 failed: INV-482901: the service did not answer in 10 s" in shown(
            app
        )


@pytest.mark.anyio
async def test_asking_about_many_is_confirmed_and_escape_stops_it_with_what_was_done(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(40)
    service: Any = _FailingService()
    held, reached = Event(), Event()
    answer = service.ask_collection

    def ask(collection_id: str) -> ActionResult:
        if len(service.ids) == 2:
            reached.set()
            held.wait(60)
        result: ActionResult = answer(collection_id)
        return result

    service.ask_collection = service.ask_event = ask
    async with opened("1", "asterisk", queries=service) as (app, pilot):
        count = len(marked(app))
        assert count > 20
        try:
            await press(pilot, at_rest, "c")
            assert "The service is asked once for each" in shown(app)
            assert service.ids == []
            await pilot.press(*str(count), "enter")
            await asyncio.to_thread(reached.wait, 60)
            await pilot.pause()
            assert "esc stops it" in shown(app)
            await pilot.press("escape")
            assert "stopping after this one" in shown(app)
        finally:
            held.set()
        await at_rest(pilot)
        assert f"asked 3 of {count}, {count - 3} were left when it was stopped" in shown(app)
        assert len(service.ids) == 3
        assert len(marked(app)) == count


def written(folder: Path) -> list[str]:
    [path] = folder.glob("*.csv")
    return path.read_text("utf-8-sig").splitlines()


@pytest.mark.anyio
async def test_an_export_takes_the_marked_rows_alone(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(6)
    async with opened("space", "j", "space", "ctrl+s", folder=tmp_path) as (app, pilot):
        assert "Export the 2 marked collections" in shown(app)
        await press(pilot, at_rest, "enter")
        assert "2 rows written" in shown(app)
    assert len(written(tmp_path)) == 3


class _ResendList(StoreActions):
    """Resends into a list."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.sent: list[str] = []

    def resend_disabled_reason(self) -> str:
        return ""

    def resend(self, row: DeliveryRow | MissingEventRow) -> ActionResult:
        self.sent.append(row.event_id or row.collection_id or "")
        return ActionResult("resent")


@pytest.mark.anyio
async def test_an_outage_is_resent_at_once_after_its_count_is_typed_each_event_once(
    opened: OpenConsole, seed: Any, store: Store, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(6)
    at = clock.now()
    seed.polled(seed.collection(60, at=at, status="succeeded", completed_at=at), at=at)
    sender = _ResendList(store, actor="asha", clock=clock, profile="main")
    async with opened("2", "exclamation_mark", "asterisk", "R", actions=sender) as (app, pilot):
        assert isinstance(app.screen, ConfirmScreen)
        assert "Resend these events" in shown(app)
        assert "1: the sender is asked by payment" in shown(app)
        assert "lines: retries of one event are one" in shown(app)
        assert not re.search(r"mode +live", shown(app)), "the mode stands above, in its own words"
        await press(pilot, at_rest, "1", "enter")
        assert sender.sent == [], "the count is typed, not live and not 1"
        await press(pilot, at_rest, "backspace", "3", "enter")
        assert len(sender.sent) == len(set(sender.sent)) == 3
        assert "resent 3 of 3" in shown(app)


@pytest.mark.anyio
async def test_intents_are_marked_copied_noted_and_exported(
    opened: OpenConsole, seed: Any, actions: StoreActions, at_rest: AtRest, tmp_path: Path
) -> None:
    store = seed.store
    seed.intents()
    async with opened("5", "space", "space", actions=actions, folder=tmp_path) as (app, pilot):
        assert "2 marked, esc unmarks" in shown(app)
        assert isinstance(app.console_screen, IntentsScreen)
        rows = list(app.console_screen.table.marked.values())
        await press(pilot, at_rest, "y")
        assert app.clipboard.split("\n") == [row.reference for row in rows]
        await press(pilot, at_rest, "A", *"called", "enter")
        assert "noted 2 of 2" in shown(app)
        await press(pilot, at_rest, "R")
        assert "each is confirmed by itself; esc unmarks" in shown(app)
        await press(pilot, at_rest, "ctrl+s")
        assert "Export the 2 marked intents" in shown(app)
        await press(pilot, at_rest, "enter", "escape", "escape")
        assert not app.console_screen.table.marked
        await press(pilot, at_rest, "asterisk")
        assert len(app.console_screen.table.marked) == len(app.console_screen.table.excerpt.rows)
    for row in rows:
        about = row.collection_id or row.id
        assert store.notes.of(about, Mode.LIVE)[0].text == "called"
    sheet = written(tmp_path)
    assert len(sheet) == 3
    assert [line.split(",")[2] for line in sheet[1:]] == [row.reference for row in rows]
    assert "+2557540" not in "".join(sheet), "phones are masked"


@pytest.mark.merge
@pytest.mark.anyio
async def test_matches_of_a_lookup_are_marked_until_something_else_is_looked_up(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(30)
    service: Any = _FailingService()
    async with opened("3", *"4820", "enter", folder=tmp_path, queries=service) as (app, pilot):
        await press(pilot, at_rest, "space", "space")
        assert "2 marked, esc unmarks" in shown(app)
        await press(pilot, at_rest, "y", "c")
        assert len(app.clipboard.split("\n")) == 2
        assert len(service.ids) == 2
        await press(pilot, at_rest, "ctrl+s", "enter")
        assert len(written(tmp_path)) == 3
        await press(pilot, at_rest, "slash", *"INV-482003", "enter")
        assert "marked" not in shown(app), "nobody acts on what is not seen any more"
        await press(pilot, at_rest, "space")
        assert "no several matches to mark" in shown(app)


@pytest.mark.anyio
async def test_acts_of_the_audit_are_marked_and_their_payments_asked_about_and_noted(
    opened: OpenConsole, seed: Any, store: Store, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(6)
    for n in (900, 901):
        subject = f"col_{n:016}"
        store.audit.add(actor="x", act="note", subject=subject, detail="", outcome="done")
    store.audit.add(actor="x", act="replay", subject="elsewhere", detail="", outcome="done")
    service: Any = _FailingService()
    async with opened("7", "asterisk", actions=actions, queries=service) as (app, pilot):
        assert "3 marked, esc unmarks" in shown(app)
        await press(pilot, at_rest, "y")
        assert app.clipboard.split("\n") == ["elsewhere", "INV-482901", "INV-482900"]
        await press(pilot, at_rest, "c")
        assert "asked 1 of 3, 1 had nothing to do, 1 failed: INV-482901" in shown(app)
        await press(pilot, at_rest, "A", *"seen", "enter")
        assert "noted 2 of 2" in shown(app)


def test_a_stopped_run_says_how_many_were_left() -> None:
    progress: list[str] = []
    ended = run_together(
        "asked",
        ["a", "b", "c"],
        lambda one: ActionResult(one, ActionOutcome.NOTHING_TO_DO if one == "a" else "done"),  # type: ignore[arg-type]
        name=str,
        progress=progress.append,
        stopped=lambda: len(progress) == 2,
    )
    assert progress == ["asked: 1 of 3…", "asked: 2 of 3…"]
    assert ended.sentence == ("asked 1 of 3, 1 had nothing to do, 1 were left when it was stopped")


def test_marked_rows_bear_a_dot_and_the_foot_their_number(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture((120, 36), "j", "space", "space", "space", "k", "k")
