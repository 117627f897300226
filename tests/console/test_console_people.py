"""What people decide, note and look up: audited, found again, and no phone where none belongs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown
from tests.console.seeding import NOW
from textual.pilot import Pilot
from textual.widgets import Button

from kusanya.clock import ManualClock
from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.store.records import IntentState, Note
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.commands import COMMANDS, wrong_keys
from kusanya_console.intents.decide import DecideScreen
from kusanya_console.screens.confirm import ConfirmScreen

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]
SIZE = (120, 36)


@pytest.fixture
def actions(store: Store, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main")


class UrgentNote(Note, frozen=True):
    """A note with one thing more to tell than its text."""

    @property
    def words(self) -> str:
        """Return the text, marked."""
        return f"urgent: {self.text}"


def test_an_acknowledgement_keeps_all_that_a_reader_is_told_of_its_note(
    store: Store, actions: StoreActions
) -> None:
    actions.acknowledge("silent:shop", UrgentNote("the link is down"), name="endpoint shop")
    [row] = store.audit.page().rows
    assert row.detail.startswith("urgent: the link is down")


async def typed(pilot: Pilot[Any], at_rest: AtRest, text: str) -> None:
    """Type a text, spaces included."""
    for letter in text:
        await pilot.press("space" if letter == " " else letter)
    await at_rest(pilot)


@pytest.mark.merge
async def test_a_person_decides_a_closed_intent_with_a_reason_and_it_is_audited(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("D")
        await at_rest(pilot)
        assert isinstance(app.screen, DecideScreen)
        assert "INV-431001" in shown(app)
        assert "over since 14:24:07" in shown(app)
        await typed(pilot, at_rest, "nothing")
        await pilot.press("enter")
        await typed(pilot, at_rest, "not in the statement")
        await pilot.press("enter")
        await at_rest(pilot)
        assert isinstance(app.screen, ConfirmScreen), "enter in the last box commits nothing"
        assert "INV-431001" in shown(app)
        assert "nothing: no collection was created" in shown(app)
        assert app.screen.query_one("#do", Button).disabled, "LIVE MODE waits for its word"
        assert store.audit.page().rows == ()
        await typed(pilot, at_rest, "live")
        await pilot.press("enter")
        await at_rest(pilot)
        assert "decided INV-431001: nothing was created, by asha" in shown(app)
        row = store.intents.get("int_00000001")
        assert row is not None
        assert row.state is IntentState.SETTLED
        assert row.outcome == f"decided by {store.audit.actor} (as asha): not in the statement"
        acts = [(one.actor, one.act, one.subject, one.outcome) for one in store.audit.page().rows]
        assert acts == [(store.audit.actor, "decide intent", "int_00000001", "done")]
        assert "? 2 unknown" in shown(app)


@pytest.mark.merge
async def test_a_decision_names_the_collection_that_it_became(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    became = seed.collection(
        1, at=NOW - timedelta(hours=24), reference="INV-431001", amount=25_001,
        phone="255754000001", id="col_77",
    )  # fmt: skip
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("D")
        await at_rest(pilot)
        assert "It became: the id col_…, or the word nothing" in shown(app)
        assert "How you know: what you saw, and where" in shown(app)
        await typed(pilot, at_rest, "maybe")
        await pilot.press("enter")
        await at_rest(pilot)
        assert "maybe is neither an id that begins with col_ nor the word nothing" in shown(app)
        await pilot.press(*["backspace"] * 5, *"col_77", "enter", "enter")
        await at_rest(pilot)
        assert "say how you know: it is kept under your name" in shown(app)
        seed.answered(became)
        await typed(pilot, at_rest, "statement of 4 March")
        await pilot.press("enter")
        await at_rest(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        said = " ".join(shown(app).split())
        assert "same reference, amount and phone, by the store" in said
        assert said.count("INV-431001") >= 2
        await typed(pilot, at_rest, "live")
        await pilot.press("enter")
        await at_rest(pilot)
        row = store.intents.get("int_00000001")
        assert row is not None
        assert (row.state, row.collection_id) == (IntentState.SETTLED, "col_77")


async def test_a_collection_of_another_order_is_refused_with_what_differs(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    seed.answered(seed.collection(7, at=NOW, id="col_77"))
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("D", *"col_77", "enter", *"told", "enter")
        await at_rest(pilot)
        said = " ".join(shown(app).split())
        assert "deciding failed: col_77 is not what became of this creation" in said
        assert "its reference is INV-482007, not INV-431001" in said
        row = store.intents.get("int_00000001")
        assert row is not None
        assert row.state is IntentState.UNKNOWN
        assert store.audit.page().rows[0].outcome.startswith("failed: col_77 is not what became")


@pytest.mark.merge
async def test_a_collection_that_nobody_could_look_at_takes_a_word_of_its_own(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("D", *"col_77", "enter", *"statement", "enter")
        await at_rest(pilot)
        said = " ".join(shown(app).split())
        assert "Nobody could look at this collection" in said
        assert "with nothing: there is no API key to ask the service with" in said
        await typed(pilot, at_rest, "unseen")
        await pilot.press("enter")
        await at_rest(pilot)
        row = store.intents.get("int_00000001")
        assert row is not None
        assert (row.state, row.collection_id) == (IntentState.SETTLED, "col_77")
        assert "seen by nobody" in store.audit.page().rows[0].detail


async def test_an_open_window_is_no_matter_for_a_person(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened(size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("5")
        await at_rest(pilot)
        await pilot.press("j")
        await at_rest(pilot)
        await pilot.press("D")
        await at_rest(pilot)
        assert "off: its window is open for 1 h 36 min more; R replays it" in shown(app)
        assert store.audit.page().rows == ()


@pytest.mark.merge
async def test_an_intent_that_was_resolved_meanwhile_is_not_decided_and_the_attempt_is_audited(
    opened: OpenConsole, store: Store, seed: Any, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("D", *"nothing", "enter", *"gone", "enter")
        await at_rest(pilot)
        await pilot.press(*"live")
        store.intents.resolve("int_00000001", collection_id="col_1", sentence="by an event")
        await pilot.press("enter")
        await at_rest(pilot)
        assert "deciding failed: this intent is settled already" in shown(app)
        (row,) = store.audit.page().rows
        assert row.outcome == "failed: this intent is settled already"


@pytest.mark.merge
async def test_a_note_on_an_intent_stands_on_its_card_and_finds_its_payment_later(  # noqa: PLR0917 - fixtures
    opened: OpenConsole,
    store: Store,
    seed: Any,
    actions: StoreActions,
    clock: ManualClock,
    at_rest: AtRest,
) -> None:
    seed.intents()
    async with opened("5", size=SIZE, actions=actions) as (app, pilot):
        await pilot.press("A", *"SMS", "space", *"9XK77", "enter")
        await at_rest(pilot)
        assert "noted on INV-431001, by asha" in shown(app)
        assert "notes ──" in shown(app)
        assert "SMS 9XK77" in shown(app)
        became = seed.collection(31, at=clock.now(), reference="INV-431001")
        seed.answered(became)
        store.intents.resolve("int_00000001", collection_id=became.id, sentence="by an event")
        await pilot.press("3", *"9xk77", "enter")
        await at_rest(pilot)
        assert "1 collection in LIVE MODE, found by note" in shown(app)
        assert "INV-431001   col_" in shown(app)
        assert "SMS 9XK77" in shown(app), "it is part of the story"


@pytest.mark.merge
async def test_the_card_of_an_intent_without_a_collection_is_kept_too(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Any
) -> None:
    seed.intents()
    async with opened("5", size=SIZE, folder=tmp_path) as (app, pilot):
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        text = (tmp_path / "kusanya-card-live-INV-431001.txt").read_text()
        assert "? unknown" in text
        assert f"7a1d{1:028}c9" not in text, "the key is written by its ends alone"
        await pilot.press("J")
        await at_rest(pilot)
        assert app.clipboard == '{"amount":1}'


@pytest.mark.merge
@pytest.mark.parametrize(
    "said", ["0799 123 456", "+255799123456", "255 799-123-456", "0799123456789"]
)
async def test_an_unknown_phone_is_echoed_nowhere_but_in_the_box(
    said: str, opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("3")
        await typed(pilot, at_rest, said)
        lines = shown(app).splitlines()
        box = next(n for n, line in enumerate(lines) if "│" in line)
        rest = "\n".join(lines[:box] + lines[box + 1 :])
        digits = "".join(letter for letter in said if letter.isdigit())
        assert "No collection in LIVE MODE was asked of this phone." in rest
        for whole in (said, digits, digits[-9:], digits[-6:]):
            assert whole not in rest
        assert "beginning of the reference" not in rest, "no hint about references for a phone"


@pytest.mark.merge
async def test_a_pasted_phone_is_not_repeated_by_the_palette(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("ctrl+p", *"0754000902")
        await at_rest(pilot)
        lines = [line for line in shown(app).splitlines() if "Look up" in line]
        assert lines
        assert not any("0754000902" in line for line in lines)


@pytest.mark.merge
async def test_a_match_in_the_other_mode_is_counted_and_the_way_there_is_named(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(600, at=clock.now() - timedelta(minutes=3), mode=Mode.TEST)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("3", *"INV-482600")
        await at_rest(pilot)
        assert "nothing in LIVE MODE, 1 match in TEST MODE" in shown(app)
        assert "the other mode" in shown(app)


@pytest.mark.merge
async def test_other_payments_of_the_customer_stand_below_the_story(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    phone = "255754000042"
    for n in (2, 3, 4):
        seed.life(n, at=clock.now() - timedelta(hours=n), phone=phone)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("3", *"INV-482002")
        await at_rest(pilot)
        below = shown(app).partition("also on this phone")[2]
        assert "INV-482003" in below
        assert "INV-482004" in below


@pytest.mark.merge
async def test_a_remapped_key_works_and_is_the_one_that_is_shown(
    console: Build, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    app = console()
    app.set_keymap({"list.pause": "p", "list.filter": "ctrl+f"})
    async with app.run_test(size=(120, 60)) as pilot:
        await at_rest(pilot)
        assert "^f filter" in shown(app)
        await pilot.press("p")
        await at_rest(pilot)
        assert "paused, p goes on" in shown(app)
        await pilot.press("question_mark")
        await at_rest(pilot)
        assert "p       pause" in shown(app)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"list.paws": "p"}, "no command has the id list.paws"),
        ({"list.pause": "n"}, "the key n would be both"),
        ({"health.open": "A"}, "the key A would be both"),
    ],
)
def test_a_remapping_that_cannot_be_is_refused_with_its_reason(
    keys: dict[str, str], said: str, console: Build
) -> None:
    assert said in wrong_keys(keys)
    with pytest.raises(ConfigurationError, match=said):
        console().set_keymap(keys)


def test_a_remapping_of_every_command_to_its_own_keys_changes_nothing() -> None:
    assert wrong_keys({one.id: ",".join(one.keys) for one in COMMANDS if one.keys}) == ""
