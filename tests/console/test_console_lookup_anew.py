"""A new search begins at its first match, and says in one sentence what was looked for."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import shown
from textual.pilot import Pilot

from kusanya.clock import ManualClock
from kusanya.lookup import LookupResult, Match, MatchKind
from kusanya.store.records import CollectionRow
from kusanya.wire import Mode
from kusanya.wording import Language
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.lookup.words import hint
from kusanya_console.ui import language

Opened = Callable[..., Any]
Settled = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.mark.anyio
async def test_a_new_search_puts_cursor_and_lines_at_its_first_match(
    opened: Opened, seed: Any, settled: Settled, clock: ManualClock
) -> None:
    for n in range(40):
        at = clock.now() - timedelta(minutes=n)
        seed.life(n, at=at, phone="255754000003", amount=5_000)
    async with opened("3", size=(120, 30)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for("INV-482030")
        await settled(pilot)
        assert screen.table.row is not None
        assert screen.table.row.reference == "INV-482030"
        screen.look_for("0754000003")
        await settled(pilot)
        rows = screen.table.window.rows
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
    found = LookupResult(text="5000", matches=matches, looked_at="5,000, today")
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
