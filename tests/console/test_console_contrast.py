"""Every letter can be read: its contrast with its ground is 4.5 at least, also if it is muted."""

from collections.abc import Iterator
from typing import Any

import pytest
from rich.color import Color
from rich.segment import Segment
from tests.console.looking import AtRest, OpenConsole, console_on, press, ticked
from tests.console.test_console_lost_store import Lossy, lossy  # noqa: F401 - a fixture
from textual.geometry import Region

from kusanya.clock import ManualClock
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.ui.theme import DARK, LIGHT

pytestmark = [pytest.mark.anyio, pytest.mark.ci]
LEAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA, for text of any size."""
_LINES = set(" ─│┃▎▌▐█▁▂▃▄▅▆▇╭╮╰╯")
"""What is drawn and not read; bars say what stands beside them as a figure."""


def _luminance(colour: Color) -> float:
    parts = [part / 255 for part in colour.get_truecolor()]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(piece: Segment) -> float:
    """Return the contrast of a piece of text with its ground, as WCAG defines it."""
    style = piece.style
    assert style is not None
    assert style.color is not None
    assert style.bgcolor is not None
    one, other = style.color, style.bgcolor
    if style.reverse:
        one, other = other, one
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def read(app: ConsoleApp, region: Region | None = None) -> Iterator[Segment]:
    """Yield every piece of text that stands on the terminal, or in a part of it."""
    strips = app.screen._compositor.render_strips()
    for y, strip in enumerate(strips):
        if region is not None and not region.y <= y < region.bottom:
            continue
        part = strip if region is None else strip.crop(region.x, region.right)
        yield from (piece for piece in part if set(piece.text) - _LINES)


def unreadable(app: ConsoleApp, region: Region | None = None) -> set[tuple[str, float]]:
    """Return what has too little contrast, each with how much it has."""
    found = {(piece.text.strip(), round(contrast(piece), 2)) for piece in read(app, region)}
    return {one for one in found if one[1] < LEAST}


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda one: one.name)
async def test_every_screen_can_be_read_also_while_its_store_is_lost(
    lossy: Lossy,  # noqa: F811 - the fixture
    clock: ManualClock,
    at_rest: AtRest,
    make_seed: Any,
    theme: Any,
) -> None:
    make_seed(lossy).busy(12)
    make_seed(lossy).intents()
    app = console_on(lossy, mode=Mode.LIVE, clock=clock, tick_s=None)
    app.use_theme(theme.name)
    async with app.run_test(size=(160, 50)) as pilot:
        await at_rest(pilot)
        for lost in (False, True):
            lossy.lost = lost
            await clock.advance(3)
            await ticked(pilot, at_rest)
            for key in ("1", "2", "3", "4", "5", "7", "8"):
                await press(pilot, at_rest, "escape", "escape", key)
                assert not unreadable(app), (key, lost)
                if key in {"1", "2", "4", "5", "7"}:
                    await press(pilot, at_rest, "j", "j")
                    assert not unreadable(app), (key, lost)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("keys", "part"),
    [
        (("1", "slash"), "#filter"), (("3",), "#box"), (("1", "C"), ".dialog"),
        (("1", "question_mark"), "VerticalScroll"), (("1", "ctrl+p"), "Vertical"),
        (("1", "Y"), ".dialog"),
    ],
    ids=["filter", "look-up", "columns", "help", "palette", "save"],
)  # fmt: skip
async def test_what_is_typed_into_and_every_dialog_can_be_read(
    *,
    opened: OpenConsole,
    seed: Any,
    at_rest: AtRest,
    theme: Any,
    keys: tuple[str, ...],
    part: str,
) -> None:
    seed.busy(5)
    async with opened(size=(120, 36)) as (app, pilot):
        app.use_theme(theme.name)
        await press(pilot, at_rest, *keys)
        shown = app.screen.query(part).first()
        assert not unreadable(app, shown.region), keys
