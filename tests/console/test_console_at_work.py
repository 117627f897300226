"""The console followed through a working day: cursor, following, pausing, losing the store."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, reference, shown, table, ticked

from kusanya.clock import ManualClock
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.widgets.sheet import Sheet

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]


def card(app: ConsoleApp) -> str:
    """Return the text of the pane beside the list."""
    return str(app.screen.query_one("#card", Sheet).render())


async def test_the_cursor_stays_on_its_record_while_the_list_moves(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened() as (app, pilot):
        await pilot.press("j", "j", "j")
        pointed = table(app).cursor
        assert pointed is not None
        for n in range(2000, 2040):
            seed.answered(seed.collection(n, at=clock.now()))
        await ticked(pilot, at_rest)
        assert table(app).cursor == pointed
        assert not table(app).follow
        assert "+40 new above, f follows" in lines(app)[-2]
        await pilot.press("f")
        await at_rest(pilot)
        assert table(app).follow
        assert table(app).excerpt.rows[0].reference == "INV-484039"


async def test_an_untouched_list_shows_the_card_of_the_newest(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now())
    async with opened(size=(120, 36)) as (app, pilot):
        for number in (2001, 2002):
            await clock.advance(1)
            seed.life(number, at=clock.now())
            await ticked(pilot, at_rest)
            assert reference(app) == f"INV-48{number + 2000}"
            assert f"INV-48{number + 2000}" in card(app)
        assert "following the newest" in lines(app)[-2]


@pytest.mark.parametrize(
    "hand", [("j",), ("]",), ("z",), ("s",), ("Y", "escape"), ("space", "escape")], ids="+".join
)
async def test_a_list_that_a_hand_has_touched_stays_on_its_record(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest, hand: tuple[str, ...]
) -> None:
    seed.busy(5)
    async with opened(*hand, size=(120, 36)) as (app, pilot):
        held = reference(app)
        seed.life(2001, at=clock.now())
        await ticked(pilot, at_rest)
        assert reference(app) == held
        assert held in card(app)
        await pilot.press("f")
        await at_rest(pilot)
        assert reference(app) == "INV-484001"


async def test_a_followed_list_shows_the_newest_with_a_mark_for_one_tick(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        seed.life(2001, at=clock.now() - timedelta(seconds=1))
        seed.life(2002, at=clock.now())
        await ticked(pilot, at_rest)
        assert any(line.startswith(">") and "INV-484002" in line for line in lines(app))
        assert any(line.startswith("▎") and "INV-484001" in line for line in lines(app))
        await ticked(pilot, at_rest)
        assert not any(line.startswith("▎") for line in lines(app))


async def test_a_paused_list_stands_still_while_counts_go_on(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        await pilot.press("P")
        seed.life(2001, at=clock.now(), status="succeeded")
        await clock.advance(40)
        await ticked(pilot, at_rest)
        assert "paused 40 s, 1 change waits" in lines(app)[0]
        assert not any("INV-484001" in line for line in lines(app))
        await pilot.press("P")
        await at_rest(pilot)
        assert any("INV-484001" in line for line in lines(app))


async def test_a_changed_record_is_drawn_anew_in_its_place(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    born = seed.collection(7, at=clock.now() - timedelta(seconds=30))
    seed.answered(born)
    seed.life(8, at=clock.now() - timedelta(seconds=60))
    async with opened() as (app, pilot):
        await pilot.press("j")
        assert any("INV-482007" in line and "created" in line for line in lines(app))
        done = seed.collection(
            7,
            at=born.created_at,
            status="failed",
            completed_at=clock.now(),
            failure_code="declined",
        )
        seed.polled(done, at=clock.now())
        await ticked(pilot, at_rest)
        assert any("INV-482007" in line and "✕ failed" in line for line in lines(app))
        assert table(app).cursor == f"col_{8:016}"


@pytest.mark.merge
async def test_the_keys_reach_both_ends_of_a_long_list_and_come_back(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(450):
        seed.store.submit(
            seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
        )
    seed.answered(seed.collection(450, at=clock.now() - timedelta(seconds=450)))
    async with opened("G", size=(80, 50)) as (app, pilot):
        assert reference(app) == "INV-482450"
        for _ in range(12):
            await pilot.press("pageup")
            await at_rest(pilot)
        assert reference(app) == "INV-482000"
        await pilot.press("down")
        assert reference(app) == "INV-482001"
        await pilot.press("g")
        await at_rest(pilot)
        assert table(app).follow


@pytest.mark.merge
async def test_paging_down_shows_every_record_once_and_in_order(
    console: Build, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(1300):
        seed.store.submit(
            seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
        )
    seed.answered(seed.collection(5000, at=clock.now() - timedelta(days=1)))
    app = console()
    seen: list[str] = []
    async with app.run_test(size=(80, 50)) as pilot:
        await at_rest(pilot)
        for step in range(1300):
            seen.append(reference(app))
            table(app).move(1)
            if step % 40 == 0:
                await at_rest(pilot)
        assert len(table(app).excerpt.rows) <= 1000
    assert seen == [f"INV-{482_000 + n}" for n in range(1300)]


async def test_a_record_that_belongs_between_two_others_appears_there(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in (1, 3):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
    async with opened(size=(80, 24)) as (app, pilot):
        await pilot.press("j")
        seed.answered(seed.collection(2, at=clock.now() - timedelta(seconds=2)))
        await ticked(pilot, at_rest)
        listed = [row.reference for row in table(app).excerpt.rows]
        assert listed == ["INV-482001", "INV-482002", "INV-482003"]
        assert reference(app) == "INV-482003"


async def test_what_is_not_well_is_found_however_far_away(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(0, 900, 3):  # fates 0, 3, 6, 9 repeat; the expired and the failed are left out
        if n % 10 not in {2, 4, 6, 8}:
            seed.life(n, at=clock.now() - timedelta(seconds=n))
    seed.life(8, at=clock.now() - timedelta(hours=3), reference="INV-FAR")
    async with opened("n") as (app, pilot):
        assert reference(app) == "INV-FAR"
        await pilot.press("exclamation_mark")
        await at_rest(pilot)
        assert [row.reference for row in table(app).excerpt.rows] == ["INV-FAR"]
        assert reference(app) == "INV-FAR"


async def test_the_two_modes_never_mix(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now(), mode=Mode.LIVE)
    seed.life(2, at=clock.now(), mode=Mode.TEST)
    async with opened(mode=Mode.TEST) as (app, pilot):
        assert "TEST MODE" in lines(app)[0]
        assert [row.mode for row in table(app).excerpt.rows] == [Mode.TEST]
        await pilot.press("3", *"INV-482001")
        await at_rest(pilot)
        assert "nothing in TEST MODE, 1 match in LIVE MODE" in "\n".join(lines(app))


async def test_a_list_takes_in_news_at_once_and_more_of_it_a_second_later(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    async with opened() as (app, pilot):

        async def tick() -> bool:
            app._on_tick()
            await at_rest(pilot)
            return "INV-482002" in shown(app)

        seed.life(1, at=clock.now())
        await tick()
        assert "INV-482001" in shown(app)
        seed.life(2, at=clock.now())
        # Ticks come every quarter of a second; a slow line has to carry what each of them draws.
        assert [await tick() for _ in range(4)] == [False, False, False, True]
