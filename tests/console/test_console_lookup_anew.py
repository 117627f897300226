"""A new search begins at its first match, and says in one sentence what was looked for."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.domain.business_day import EAT
from kusanya.lookup import LookupResult, Match, MatchKind
from kusanya.say import Language, joined
from kusanya.store.records import CollectionRow
from kusanya.wire import Mode
from kusanya_console.lookup.matches import LookupRecord
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.lookup.words import hint
from kusanya_console.ui import language


@pytest.mark.anyio
async def test_a_new_search_puts_cursor_and_lines_at_its_first_match(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    for n in range(40):
        at = clock.now() - timedelta(minutes=n)
        seed.life(n, at=at, phone="255754000003", amount=5_000)
    async with opened("3", size=(120, 30)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for("INV-482030")
        await at_rest(pilot)
        assert screen.table.row is not None
        assert screen.table.row.reference == "INV-482030"
        screen.look_for("0754000003")
        await at_rest(pilot)
        rows = screen.table.excerpt.rows
        assert (len(rows), screen.table.first, screen.table.cursor) == (40, 0, rows[0].id)
        assert rows[0].reference == "INV-482000"
        assert "40 collections in LIVE MODE, best match first; j k choose" in shown(app)


@pytest.fixture
def two(seed: Any, clock: ManualClock) -> tuple[CollectionRow, ...]:
    for n in (1, 3):
        seed.life(n, at=clock.now(), amount=5_000)
    rows: tuple[CollectionRow, ...] = tuple(seed.store.collections.page(Mode.LIVE, limit=2).rows)
    return rows


def said(rows: tuple[CollectionRow, ...]) -> str:
    matches = tuple(Match(row, MatchKind.AMOUNT) for row in rows)
    found = LookupResult(text="5000", matches=matches, looked_at=joined(", ", ("5,000", "today")))
    return "".join(text for text, _ in hint(found, Mode.TEST))


def test_the_hint_names_what_was_looked_for(
    two: tuple[CollectionRow, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = said(two[:1])
    assert said(two) == (
        "2 collections in TEST MODE for 5,000, today; best match first; j k choose"
    )
    assert one == "1 collection in TEST MODE, found by amount: 5,000, today"
    monkeypatch.setattr(language, "_chosen", Language.SWAHILI)
    assert "katika TEST MODE kwa 5,000, leo; linalofaa zaidi kwanza; j k kuchagua" in said(two)


def flat(app: Any) -> str:
    return " ".join(shown(app).split())


def states(rows: Iterable[LookupRecord]) -> list[str]:
    return [row.status for row in rows if isinstance(row, CollectionRow)]


def opens(seed: Any, n: int, at: datetime) -> Callable[[], None]:
    """Record an open payment; what is returned records that it succeeded."""
    seed.answered(seed.collection(n, at=at, phone="255754000003"))
    done = {"status": "succeeded", "completed_at": at + timedelta(seconds=17)}
    final = seed.collection(n, at=at, phone="255754000003", **done)
    return lambda: seed.polled(final, at=at + timedelta(seconds=20))


@pytest.mark.anyio
async def test_list_and_story_follow_a_payment_together(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    finish = [opens(seed, n, clock.now() - timedelta(minutes=n)) for n in (1, 2, 3)]
    async with opened("3", size=(120, 36)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for("0754000003")
        await at_rest(pilot)
        await pilot.press("j", "space")
        await at_rest(pilot)
        before = screen.table.cursor, set(screen.table.marked)
        assert states(screen.table.excerpt.rows) == ["created"] * 3
        for succeed in finish:
            succeed()
        app.tick()
        await at_rest(pilot)
        assert states(screen.table.excerpt.rows) == ["succeeded"] * 3
        assert "○ created" not in shown(app).split("story")[0], "list and card say the same"
        assert (screen.table.cursor, set(screen.table.marked)) == before, "place and marks stay"
        assert states(screen.table.marked.values()) == ["succeeded"]
        screen.look_for("0754000003 ")
        await at_rest(pilot)
        assert (screen.table.cursor, set(screen.table.marked)) == before


@pytest.mark.anyio
async def test_the_sentence_of_a_message_follows_its_payment(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    at = clock.now().astimezone(EAT) - timedelta(minutes=5)
    message = (
        "UC42ABCD35 Confirmed. Tsh12,200.00 sent to DUKA for account INV-482004 "
        f"on {at:%d/%m/%y} at {at:%H:%M}. New balance is Tsh1,000.00."
    )
    born = {"at": at, "channel": "MPESA_TZ", "amount": 12_200}
    seed.answered(seed.collection(4, **born))
    async with opened("3", size=(120, 36)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for(message)
        await at_rest(pilot)
        assert "we know it as created" in flat(app)
        final = {"status": "expired", "completed_at": clock.now()}
        seed.polled(seed.collection(4, **born, **final), at=clock.now())
        app.tick()
        await at_rest(pilot)
        assert "we know it as expired" in flat(app)
        assert "known as created" not in flat(app)


@pytest.mark.anyio
async def test_a_story_that_was_left_is_read_again_on_the_way_back(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    succeed = opens(seed, 1, clock.now() - timedelta(minutes=1))
    async with opened("3", size=(120, 36)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for("INV-482001")
        await at_rest(pilot)
        assert "○ created" in flat(app).split("say to the customer")[0]
        await pilot.press("escape", "1")
        await at_rest(pilot)
        assert app.screen is not screen
        succeed()
        app.tick()
        await at_rest(pilot)
        seed.life(2, at=clock.now())  # the newest reading speaks of another payment alone
        app.tick()
        await at_rest(pilot)
        await pilot.press("3")
        await at_rest(pilot)
        assert "● succeeded" in flat(app).split("say to the customer")[0]
