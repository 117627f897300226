"""The console in Swahili has no English of ours: on no screen, in no dialog, in no sentence.

Every word on the terminal is one of the catalogue's Swahili ones, or stands below as no text of
ours. So a sentence that nobody thought of translating is met too, entry or none.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.console.dashboards import USUAL, answering
from tests.console.looking import lines, press
from tests.console.test_console_catalogue import LIBRARY, texts
from textual.pilot import Pilot

from kusanya import say
from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.queries import ServiceQueries
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.application.past import PastApp, PastClock
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.service_admin import ServiceAdmin
from kusanya_console.screens.base import ConsoleScreen
from kusanya_console.ui import language

_WORD = re.compile(r"\b[a-z]{4,}\b(?!…)")
"""A whole word; one that is cut is met where there is room."""
TO_CUSTOMERS = ("wording.py", "domain/status.py", "domain/failure_codes.py", "domain/channels.py")
"""Sentences that are said in both languages, whatever the console's is, and names of networks."""
OUTSIDE = {
    # the service's words, as they came: statuses, types, headers, names of endpoints
    "balance", "billing", "connection", "created", "example", "full", "hold", "hooks", "live",
    "poll", "read", "refused", "shop", "signature", "succeeded", "test", "webhooks",
    # names of people, of keys, of settings and of the profile
    "asha", "kusanya", "pgdn", "pgup", "space", "main", "dark", "light", "night", "toml", "config",
    # what a test has typed, and where it keeps files
    "nowhere", "soon",
}  # fmt: skip
"""Words on a screen that are no texts of ours, or stand for what a person types."""
_PART, _HELP, _BACK = "right_square_bracket", ("question_mark",), ("escape",)
Step = Sequence[str]
MONEY: tuple[tuple[str, tuple[Step, ...]], ...] = (
    ("live", ((), (_PART,), (_PART,), ("space",), ("A",), _BACK, ("Y",), _BACK, ("e",), _BACK)),
    ("live", (("escape", "P"), ("P",), ("o",), ("o",), ("exclamation_mark",), _BACK, _HELP)),
    ("live", (("A", "x", "enter"), _BACK, ("e",), _BACK, ("c",), _BACK, ("v",), _BACK)),
    ("live", (("m",), ("m",), ("A", "x", "enter"), _BACK, ("Y",), _BACK, ("c",), _BACK, ("e",))),
    ("live", (("slash", *"amount>x"), _BACK, ("slash", *"@zzz"), _BACK)),
    ("live", (("slash", *"failed", "enter"), ("S",), (*"my-view", "enter"), _BACK, _BACK)),
    ("deliveries", ((), (_PART,), (_PART,), (_PART,), (_PART,), ("j",), ("j",), _HELP)),
    ("deliveries", (("R",), _BACK, ("e",), _BACK, ("y",), _BACK, ("J",), _BACK)),
    ("lookup", ((*"INV-482003", "enter"), (_PART,), ("A",), _BACK, ("s",), _BACK, _HELP)),
    ("lookup", (("escape", "slash", *"0754000555", "enter"), ("escape", "slash", *"zzz", "enter"))),
    ("health", ((), ("A",), _BACK, ("minus",), _BACK, ("plus",), ("y",), _BACK, _HELP)),
    ("intents", ((), (_PART,), ("D",), (*"other", "enter"), _BACK, ("j",), ("R",), _HELP)),
    ("intents", (("D",), (*"nothing", "enter", "enter"), (*"seen", "enter"), ("escape", "D"))),
    ("intents", (("D", *"col_77", "enter", *"seen", "enter"), _BACK, ("m", "m", "R"), _BACK)),
    ("audit", ((), ("j",), _HELP)),
    ("handover", ((), ("plus",), _BACK, ("y",), _BACK, _HELP)),
)
SERVICE: tuple[Step, ...] = (
    (), ("R",), _BACK, ("X",), _BACK, ("E",), _BACK, ("j",), ("j",), ("E",), ("tab", "enter"),
    _BACK, ("A",), ("s", "enter"), ("escape", "A"), (*"http://shop/", "enter"), _BACK,
    (_PART,), ("j",), ("enter",), ("tab", "enter"), _BACK,
    (_PART,), ("enter",), ("escape", "j"), ("enter",), (*"soon", "enter"), _BACK, ("F",), _BACK,
    (_PART,), ("A",), _BACK, ("X",), ("escape", "j"), ("X",), _BACK,
    ("C",), (*"soon", "enter"), ("escape", "C"), (*"5 min", "enter"), ("tab", "enter"), _BACK,
    _HELP,
)  # fmt: skip
SENDER: tuple[Step, ...] = (
    ("R",), ("tab", "enter"), _BACK, ("m", "m", "R"), ("escape", "escape"),
    (_PART,) * 4, ("j",), ("j", "j"), _HELP,
)  # fmt: skip
PALETTE: tuple[Step, ...] = (
    ("ctrl+p",), ("escape", "ctrl+p", *"INV-482003"), ("escape", "ctrl+p", *"safu", "enter"),
    _BACK, ("ctrl+p", *"rangi", "enter"), ("t",), ("q",), ("ctrl+p", *"Wasifu"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def swahili() -> Iterator[None]:
    language.use(Language.SWAHILI)
    yield
    language.use(Language.ENGLISH)


@cache
def words_in_swahili() -> frozenset[str]:
    said = [*say.swahili().values(), *language.NAMES.values()]
    for name in TO_CUSTOMERS:
        said += texts(LIBRARY / name)
    return frozenset(_WORD.findall(" ".join(said).casefold()))


def in_view(app: ConsoleApp) -> list[str]:
    """Return the lines of the screen, or of the dialog that lies over it."""
    if isinstance(app.screen, ConsoleScreen):
        return lines(app)
    region = next(iter(app.screen.children)).region
    return [line[region.x : region.right] for line in lines(app)[region.y : region.bottom]]


def english(app: ConsoleApp) -> dict[str, str]:
    """Return every word in view that is no Swahili one of ours, with its line."""
    found = {}
    for line in in_view(app):
        for word in set(_WORD.findall(line.casefold())) - words_in_swahili() - OUTSIDE:
            found[word] = line.strip()
    return found


async def walked(app: ConsoleApp, pilot: Pilot[Any], at_rest: Any, steps: Sequence[Step]) -> Any:
    """Take steps, leave the dialog at the end, and return the English that was met."""
    left: dict[str, str] = {}
    for keys in steps:
        await pilot.press(*keys)
        await at_rest(pilot)
        left |= english(app)
    while not isinstance(app.screen, ConsoleScreen):
        await press(pilot, at_rest, "escape")
    return left


Build = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]


@pytest.fixture
def build(opened: Any, store: Store, clock: ManualClock) -> Build:
    """Return what opens a console that may ask, act and administer; nobody answers it."""

    @asynccontextmanager
    async def building(mode: Mode = Mode.LIVE) -> AsyncIterator[tuple[ConsoleApp, Pilot[Any]]]:
        key = f"svc_{mode.value}_sk_4242"
        with (
            Client(key, base_url="http://127.0.0.1:1", clock=clock) as client,
            answering(dict(USUAL)) as dashboard,
        ):
            who: dict[str, Any] = {"actor": "asha", "profile": "main", "client": client}
            on_test = {} if mode is Mode.LIVE else {
                "service": ServiceReader(dashboard),
                "service_admin": ServiceAdmin(store, dashboard, draw=lambda: "5eed", **who),
            }  # fmt: skip
            async with opened(
                size=(160, 50), mode=mode, folder=Path("/nowhere"), notifications=True,
                actions=StoreActions(store, clock=clock, **who), profiles=("main", "kiosk"),
                queries=ServiceQueries(store, client, clock=clock), **on_test,
            ) as (app, pilot):  # fmt: skip
                yield app, pilot

    return building


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("way", range(len(MONEY)), ids=lambda place: f"{MONEY[place][0]}-{place}")
async def test_no_screen_and_no_dialog_shows_english_of_ours(
    way: int, build: Build, seed: Any, at_rest: Any
) -> None:
    seed.busy(40)
    seed.intents()
    screen, steps = MONEY[way]
    async with build() as (app, pilot):
        await app.action_go(screen)
        await at_rest(pilot)
        assert await walked(app, pilot, at_rest, steps) == {}


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_service_screen_and_its_dialogs_show_none(build: Build, at_rest: Any) -> None:
    async with build(Mode.TEST) as (app, pilot):
        await app.action_go("service")
        await at_rest(pilot)
        assert await walked(app, pilot, at_rest, SERVICE) == {}


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_senders_log_and_a_resend_show_none(
    build: Build, seed: Any, at_rest: Any, clock: ManualClock
) -> None:
    for n in range(6):
        seed.life(n, at=clock.now() - timedelta(minutes=9 - n), mode=Mode.TEST)
    async with build(Mode.TEST) as (app, pilot):
        await app.action_go("deliveries")
        await at_rest(pilot)
        assert await walked(app, pilot, at_rest, SENDER) == {}


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_palette_and_what_it_changes_show_none(
    build: Build, seed: Any, at_rest: Any
) -> None:
    seed.busy(8)
    async with build() as (app, pilot):
        assert await walked(app, pilot, at_rest, PALETTE) == {}


@pytest.mark.anyio
@pytest.mark.parametrize("speed", [1, 60])
async def test_the_past_is_announced_in_swahili(
    speed: int, store: Store, seed: Any, clock: ManualClock, at_rest: Any
) -> None:
    seed.busy(8)
    now = clock.now()
    past = PastClock(now, now, speed=speed)
    advance = None if speed == 1 else (lambda _at: None)
    context = AppContext(store=store, mode=Mode.LIVE, clock=past)
    app = PastApp(context, past, advance=advance, tick_s=None)
    async with app.run_test(size=(160, 50)) as pilot:
        await at_rest(pilot)
        assert ("HADI▐ 04 Mac 2026" if speed == 1 else "MARUDIO") in lines(app)[0]
        assert await walked(app, pilot, at_rest, [(), ("p",), ("c",), ("R",)]) == {}
