"""A store that goes away while people look: nothing is blanked, and it comes back by itself."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.console.looking import AtRest, console_on, lines, press, ticked

from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.queries.base import StorePart
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.ui.theme import DARK

pytestmark = pytest.mark.anyio


class Lossy(Store):
    """A store whose file is out of reach while `lost` is set; everything else is the real one."""

    lost = False


@pytest.fixture
def lossy(
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, empty_store: Path
) -> Iterator[Lossy]:
    """Return a store that can be lost."""
    reading = StorePart._reading
    with Lossy.open(copy(empty_store, tmp_path / "lossy.db"), clock=clock) as store:

        def read(part: StorePart, doing: str) -> Any:
            if store.lost:
                raise StoreUnavailable("the disk is gone")
            return reading(part, doing)

        monkeypatch.setattr(StorePart, "_reading", read)
        yield store


On = Callable[[Store], ConsoleApp]


def colours(app: ConsoleApp) -> set[str]:
    """Return the colours of what was read of the store, without the foot and its rules."""
    strips = app.screen._compositor.render_strips()[2:-3]
    pieces = [
        piece for strip in strips for piece in strip if piece.style and piece.text.strip(" ─│┃█")
    ]
    return {piece.style.color.name for piece in pieces if piece.style and piece.style.color}


@pytest.fixture
def on(clock: ManualClock) -> On:
    """Return what makes a console on a store that ticks when it is told, without jitter."""
    return lambda store: console_on(store, mode=Mode.LIVE, clock=clock, tick_s=None)


async def test_a_lost_store_blanks_nothing_and_comes_back_by_itself(
    lossy: Lossy, on: On, clock: ManualClock, at_rest: AtRest, make_seed: Any
) -> None:
    make_seed(lossy).busy(5)
    app = on(lossy)
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        before = lines(app)[6:12]
        lossy.lost = True
        await ticked(pilot, at_rest)
        await pilot.press("j", "n")
        await at_rest(pilot)
        assert "store lost 15:24:07, last known shown" in lines(app)[0]
        assert [line[2:40] for line in lines(app)[6:12]] == [line[2:40] for line in before]
        lossy.lost = False
        await ticked(pilot, at_rest)
        assert "store lost" in lines(app)[0], "one second has to pass before the next try"
        await clock.advance(2)
        await ticked(pilot, at_rest)
        assert "updated 0 s ago" in lines(app)[0]


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 50)])
@pytest.mark.parametrize("key", ["1", "2", "4", "5", "7", "8"])
async def test_what_was_read_of_a_lost_store_is_in_one_quiet_colour_until_it_is_back(
    *,
    key: str,
    size: tuple[int, int],
    lossy: Lossy,
    on: On,
    clock: ManualClock,
    at_rest: AtRest,
    make_seed: Any,
) -> None:
    make_seed(lossy).busy(5)
    make_seed(lossy).intents()
    app = on(lossy)
    async with app.run_test(size=size) as pilot:
        await at_rest(pilot)
        await press(pilot, at_rest, key)
        bright = colours(app)
        lossy.lost = True
        await clock.advance(3)
        await ticked(pilot, at_rest)
        assert "store lost 15:24:10" in lines(app)[0]
        assert colours(app) == {DARK.variables["k-muted"]}
        if key in {"1", "2", "7"}:
            assert "as of 15:24:07, the store is lost" in lines(app)[-2]
        lossy.lost = False
        await clock.advance(2)
        await ticked(pilot, at_rest)
        assert colours(app) == bright
        assert not any("the store is lost" in line for line in lines(app))


async def test_a_look_up_that_the_store_cannot_answer_says_so_and_is_answered_later(
    lossy: Lossy, on: On, clock: ManualClock, at_rest: AtRest, make_seed: Any
) -> None:
    make_seed(lossy).busy(5)
    app = on(lossy)
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        lossy.lost = True
        await pilot.press("3", *"INV-482901")
        await at_rest(pilot)
        assert any("nothing was looked up for “INV-482901”" in line for line in lines(app))
        lossy.lost = False
        await clock.advance(2)
        await ticked(pilot, at_rest)
        assert any("1 collection in LIVE MODE" in line for line in lines(app))


async def test_the_store_is_tried_at_growing_intervals(
    lossy: Lossy, on: On, clock: ManualClock, at_rest: AtRest
) -> None:
    tried: list[float] = []
    lossy.lost = True
    app = on(lossy)
    async with app.run_test(size=(80, 24)) as pilot:
        await at_rest(pilot)
        for _ in range(16):
            await clock.advance(1)
            failures = app._failures
            await ticked(pilot, at_rest)
            if app._failures > failures:
                tried.append(clock.monotonic())
    assert tried == [1, 3, 7, 15]


@pytest.mark.parametrize(
    ("key", "says"), [("1", "INV-482900"), ("3", "INV-482900"), ("5", "INV-431003")]
)
async def test_a_store_that_is_lost_at_the_start_is_shown_once_it_is_back(
    *,
    key: str,
    says: str,
    lossy: Lossy,
    on: On,
    clock: ManualClock,
    at_rest: AtRest,
    make_seed: Any,
) -> None:
    make_seed(lossy).busy(5)
    make_seed(lossy).intents()
    lossy.lost = True
    app = on(lossy)
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        assert "store unreadable since 15:24:07" in lines(app)[0]
        await pilot.press(key)
        if key == "3":
            await pilot.press(*"INV-482900")
        await at_rest(pilot)
        lossy.lost = False
        await clock.advance(2)
        await ticked(pilot, at_rest)
        assert sum(says in line for line in lines(app)) >= 1 + (key == "3")


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_nothing_that_was_never_read_is_a_zero_on_any_screen(
    *,
    lossy: Lossy,
    on: On,
    clock: ManualClock,
    at_rest: AtRest,
    make_seed: Any,
    size: tuple[int, int],
) -> None:
    make_seed(lossy).busy(5)
    make_seed(lossy).intents()
    lossy.lost = True
    app = on(lossy)
    async with app.run_test(size=size) as pilot:
        await at_rest(pilot)
        for key in ("1", "2", "4", "5", "7", "8", "3"):
            await press(pilot, at_rest, key)
            await clock.advance(2)
            await ticked(pilot, at_rest)
            said = "\n".join(lines(app)[1:-1])
            assert not re.search(r"(?<![0-9:])0(?![0-9:])|—", said), (key, said)
            for calm in ("nothing", "nobody", "No ", "no ", "healthy", "well"):
                assert calm not in said.replace("! not well", ""), (key, calm, said)
            if key in {"4", "5", "8"}:
                assert "not read: the store cannot be read" in said, key


@pytest.mark.merge
@pytest.mark.parametrize("key", ["1", "2", "5"])
async def test_what_stands_beside_a_row_is_not_told_before_it_is_read(
    *, key: str, lossy: Lossy, on: On, clock: ManualClock, at_rest: AtRest, make_seed: Any
) -> None:
    make_seed(lossy).busy(5)
    make_seed(lossy).intents()
    app = on(lossy)
    async with app.run_test(size=(160, 50)) as pilot:
        await press(pilot, at_rest, key)
        for _ in range(4):
            lossy.lost = True
            await press(pilot, at_rest, "j")
            await clock.advance(2)
            await ticked(pilot, at_rest)
            unread = beside(app)
            lossy.lost = False
            await clock.advance(9)
            await ticked(pilot, at_rest)
            await clock.advance(9)
            await ticked(pilot, at_rest)
            taken_back = [line for line in unread if line not in beside(app)]
            assert all("read" in line or re.search(r"\d", line) for line in taken_back), taken_back


def beside(app: ConsoleApp) -> list[str]:
    """Return the lines of the card beside the list."""
    return [re.split("[│┃]", line)[-1].strip() for line in lines(app) if re.search("[│┃]", line)]
