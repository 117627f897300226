"""Lookup tells the story of a creation without an answer, and no key leads to a dead end."""

from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.lookup import load_creation_timeline
from kusanya.store import Store
from kusanya.store.records import IntentState

pytestmark = pytest.mark.anyio


def flat(app: Any) -> str:
    return " ".join(shown(app).split())


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_enter_on_an_intent_opens_its_story_with_what_is_safe_and_what_to_say(
    opened: OpenConsole, seed: Any, at_rest: AtRest, size: tuple[int, int]
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    async with opened("5", "enter", size=size) as (app, pilot):
        await at_rest(pilot)
        said = flat(app)
        assert "1 unanswered creation in LIVE MODE, found by id" in said
        assert "? unknown" in said
        assert "its answer was lost: the customer may have been asked to pay" in said
        assert "EN We are checking whether your request went through." in said
        assert "SW Tunahakiki kama ombi lako limefika." in said
        assert "no new request: wait" in said
        assert "replay: safe until Thu 14:12" in said
        assert "No collection" not in said


async def test_a_phone_finds_the_creation_before_other_payments_and_both_say_wait(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    seed.life(
        6, at=clock.now() - timedelta(minutes=40), phone="255754000003", amount=25_003,
        status="expired",
    )  # fmt: skip
    async with opened("3", *"0754000003", "enter") as (app, pilot):
        await at_rest(pilot)
        assert "2 matches in LIVE MODE, 1 without a collection first" in flat(app)
        assert "INV-431003 int_00000003" in flat(app)
        await pilot.press("j")
        await at_rest(pilot)
        said = flat(app)
        assert "INV-482006 col_" in said
        assert "no new request: wait, an earlier request (INV-431003, TZS 25,003) may" in said
        assert "Please do not pay again" in said
        assert "new request?" not in said
        await pilot.press("s")
        await at_rest(pilot)
        assert "Please do not pay again" in app.clipboard


async def test_the_story_becomes_the_collections_once_it_is_known(
    opened: OpenConsole, seed: Any, store: Store, at_rest: AtRest, clock: ManualClock
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    async with opened("5", "enter") as (app, pilot):
        await at_rest(pilot)
        became = seed.collection(3, at=clock.now(), reference="INV-431003")
        seed.answered(became)
        store.intents.resolve("int_00000003", collection_id=became.id, sentence="by an event")
        app.tick()
        await at_rest(pilot)
        assert "1 collection in LIVE MODE, found by creation" in flat(app)
        assert f"INV-431003 {became.id}" in flat(app)


async def test_the_sentence_the_card_and_the_body_of_a_creation_can_be_copied(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Any
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    async with opened("5", "enter", folder=tmp_path) as (app, pilot):
        await at_rest(pilot)
        await pilot.press("s")
        await at_rest(pilot)
        assert app.clipboard.startswith("We are checking whether your request went through.")
        await pilot.press("J")
        await at_rest(pilot)
        assert app.clipboard == '{"amount":3}'
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        (card,) = tmp_path.glob("kusanya-card-live-INV-431003*.txt")
        assert "no new request: wait" in card.read_text()


REACHED = (
    "attempts 1-2 may have reached the service; attempt 5: the service cannot be reached "
    "(no connection): nothing was sent"
)


@pytest.mark.parametrize("keys", ["5", "5 enter"])
async def test_nothing_was_sent_is_said_of_the_attempt_that_never_left_and_not_of_the_creation(
    opened: OpenConsole, seed: Any, at_rest: AtRest, keys: str
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    seed.then_out_of_reach(3, lost=1, unreached=3)
    async with opened(*keys.split(), size=(200, 60)) as (app, pilot):
        await at_rest(pilot)
        said = flat(app)
        assert "outcome attempts 1-2 may have reached" in said
        assert said.count("not sent") == 3
        assert "attempt 3: not sent" not in said


def test_a_creation_whose_lost_attempt_came_last_has_the_sentence_of_that_attempt(
    seed: Any, store: Store, clock: ManualClock
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    seed.then_out_of_reach(3, lost=1, unreached=0)
    timeline = load_creation_timeline(store, "int_00000003", now=clock.now())
    assert timeline is not None
    assert timeline.outcome == "no answer in time"


def test_an_attempt_that_is_under_way_may_have_reached_the_service(
    seed: Any, store: Store, clock: ManualClock
) -> None:
    seed.intent(3, sent_ago=timedelta(minutes=12), state=IntentState.UNKNOWN)
    seed.then_out_of_reach(3, lost=1, unreached=3)
    store.intents.begin_attempt("int_00000003", at=clock.now())
    timeline = load_creation_timeline(store, "int_00000003", now=clock.now())
    assert timeline is not None
    assert timeline.outcome == REACHED.replace("attempts 1-2", "attempts 1-2, 6")
