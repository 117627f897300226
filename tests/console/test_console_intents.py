"""Creations without an answer: the shortest window first, and only what is safe is offered."""

from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, table

from kusanya.clock import ManualClock
from kusanya.store.records import IntentState

pytestmark = pytest.mark.anyio


async def test_unknown_outcomes_come_first_and_the_shortest_window_leads(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened(size=(160, 50)) as (app, pilot):
        assert "? 3 unknown" in lines(app)[0]
        await pilot.press("5")
        await at_rest(pilot)
        listed = [row.reference for row in table(app).excerpt.rows]
        assert listed[:3] == ["INV-431001", "INV-431002", "INV-431003"]
        assert "unknown 3   next window closes in 1 h 36 min   window closed 1" in lines(app)[2]


async def test_the_card_offers_a_replay_inside_the_window_and_a_decision_after_it(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.intents()
    async with opened("5", size=(160, 50)) as (app, pilot):
        closed = "\n".join(lines(app))
        assert "the window is over" in closed
        assert "decide" in closed
        await pilot.press("j")
        await at_rest(pilot)
        open_ = "\n".join(lines(app))
        assert "same key, same bytes, until 17:00:07" in open_
        assert "a new key for this intent: that could" in open_
        assert f"7a1d{2:028}c9" not in open_, "the key is shown by its ends alone"


async def test_the_closed_windows_counted_are_those_that_the_rows_call_closed(
    opened: OpenConsole, seed: Any
) -> None:
    seed.intent(1, sent_ago=timedelta(hours=26), state=None)
    seed.intent(2, sent_ago=timedelta(hours=25), state=IntentState.UNKNOWN)
    seed.intent(3, sent_ago=timedelta(minutes=1), state=IntentState.UNKNOWN)
    async with opened("5", size=(160, 50)) as (app, _):
        assert sum("closed: decide" in line for line in lines(app)) == 2
        assert "window closed 2" in lines(app)[2]


async def test_the_window_moves_on_with_the_clock_and_a_new_intent_appears(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.intent(2, sent_ago=timedelta(hours=21, minutes=24), state=IntentState.UNKNOWN)
    async with opened("5", size=(160, 50)) as (app, pilot):
        assert any("1 h 36 min left" in line for line in lines(app))
        await clock.advance(3_600)
        seed.intent(8, sent_ago=timedelta(seconds=1), state=None)
        app.tick()
        await at_rest(pilot)
        assert any("36 min 0 s left" in line for line in lines(app))
        assert any("INV-431008" in line for line in lines(app))


@pytest.mark.merge
async def test_what_nobody_works_on_stands_behind_the_unknown_and_in_every_header(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    lost = {"outcome": "not_sent", "took_us": 900, "sentence": "no answer in time"}
    for n in range(20, 60):
        seed.intent(n, sent_ago=timedelta(minutes=4), state=IntentState.PREPARED, **lost)
    seed.intent(61, sent_ago=timedelta(minutes=9), state=None)
    seed.intents()
    for n in range(100, 220):
        seed.intent(n, sent_ago=timedelta(seconds=20), state=IntentState.PREPARED, **lost)
    async with opened(size=(160, 50)) as (app, pilot):
        assert "◌ 41 stalled" in lines(app)[0], "those of seconds ago are under way and hide none"
        await pilot.press("4")
        await at_rest(pilot)
        shown = " ".join(" ".join(lines(app)).split())
        assert "40 creations were not taken by the service, so no customer was asked" in shown
        assert "1 left and nobody waits for its answer" in shown
        await pilot.press("5")
        await at_rest(pilot)
        listed = [row.reference for row in table(app).excerpt.rows]
        assert listed[2:5] == ["INV-431003", "INV-431061", "INV-431059"]
        assert "unknown 3   stalled 41" in lines(app)[2]
        await pilot.press("j", "j", "j", "j")
        await at_rest(pilot)
        card = " ".join(" ".join(lines(app)).split())
        assert "so far nothing has happened" in card
        assert "outcome no answer in time" not in card


async def test_what_the_service_never_took_is_not_offered_for_sending_after_its_window(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.intent(1, sent_ago=timedelta(hours=24), state=IntentState.PREPARED, outcome="not_sent")
    async with opened("5") as (app, pilot):
        await at_rest(pilot)
        card = " ".join(" ".join(lines(app)).split())
        assert "no customer was asked" in card
        assert "its window is over" in card
        assert "same key" not in card


async def test_a_list_that_was_scrolled_says_how_much_is_above_and_g_goes_there(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    for n in range(60):
        seed.intent(n, sent_ago=timedelta(seconds=5), state=IntentState.ANSWERED)
    async with opened("5") as (app, pilot):
        await pilot.press("pagedown", "pagedown")
        await at_rest(pilot)
        assert "above, g goes to the top" in lines(app)[-2]
        seed.intent(70, sent_ago=timedelta(seconds=1), state=IntentState.UNKNOWN)
        app.tick()
        await at_rest(pilot)
        assert not any("INV-431070" in line for line in lines(app))
        await pilot.press("g")
        await at_rest(pilot)
        assert "INV-431070" in next(line for line in lines(app) if line.startswith(">"))
        assert "61 in all" in lines(app)[-2]
        assert "at the top" in lines(app)[-2]
