"""The console in Swahili: what is translated, what never is, and how it fits."""

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from rich.cells import cell_len
from tests.console.looking import shown
from textual.pilot import Pilot

from kusanya import wording
from kusanya.errors import ConfigurationError
from kusanya.profiles import interface_language
from kusanya.wire import Status
from kusanya.wording import Language
from kusanya_console.app import ConsoleApp
from kusanya_console.commands import COMMANDS
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.live.screen import COLLECTION_LIST
from kusanya_console.ui import language, vocabulary

CODE = Path(language.__file__).parents[1]
Opened = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]
Settled = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture
def swahili() -> Iterator[None]:
    language.use(Language.SWAHILI)
    yield
    language.use(Language.ENGLISH)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_command_and_every_column_of_the_lists_has_its_swahili_word() -> None:
    said = language.swahili()
    named = {text for one in COMMANDS for text in (one.label, one.sentence)}
    for definition in (COLLECTION_LIST, DELIVERY_LIST):
        named |= {column.title for column in definition.columns}
    assert sorted(named - said.keys()) == []


def test_no_entry_is_dead_and_every_placeholder_is_kept() -> None:
    ours = {text for one in COMMANDS for text in (one.label, one.sentence)} | set(Status)
    names = ("failure_codes.py", "lookup/new_request.py", "wording.py")
    library = [Path(wording.__file__).parent / name for name in names]
    sources = [path.read_text("utf-8") for path in (*CODE.rglob("*.py"), *library)]
    code = " ".join(re.sub(r'"\s*\n\s*"', "", source) for source in sources)
    for english, said in language.swahili().items():
        known = english.removeprefix("no new request: ")
        assert english in ours or known in code, "nothing says this any more"
        assert fields(english) == fields(said), english
        assert said == said.strip()


@pytest.mark.usefixtures("swahili")
def test_words_of_a_column_fit_and_unknown_ones_stay_as_they_came() -> None:
    for status in Status:
        assert cell_len(vocabulary.status(status.value)[0]) <= 15
    assert vocabulary.status("today")[0] == "? today", "a state from outside is no word of ours"
    assert vocabulary.status("succeeded")[0] == "● imelipwa"


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [({}, "en"), ({"KUSANYA_LANG": "sw"}, "sw"), ({"KUSANYA_LANG": "sw_TZ.UTF-8"}, "sw")],
)
def test_the_language_comes_from_the_environment(environ: dict[str, str], wanted: str) -> None:
    assert interface_language(environ={"KUSANYA_CONFIG": "/dev/null", **environ}) == wanted


def test_the_file_names_it_too_and_another_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('language = "sw"\n', encoding="utf-8")
    assert interface_language(environ={"KUSANYA_CONFIG": str(file)}) is Language.SWAHILI
    with pytest.raises(ConfigurationError, match="KUSANYA_LANG is en or sw, not 'fr'"):
        interface_language(environ={"KUSANYA_CONFIG": str(file), "KUSANYA_LANG": "fr"})


@pytest.mark.anyio
@pytest.mark.usefixtures("swahili")
async def test_the_palette_goes_to_english_and_back_on_every_screen(
    opened: Opened, seed: Any, settled: Settled
) -> None:
    seed.busy(8)
    async with opened(size=(120, 36)) as (app, pilot):
        assert "LIVE MODE▐  Mubashara" in shown(app)
        assert "● imelipwa" in shown(app)
        assert "kumbukumbu" in shown(app)
        await pilot.press("2")
        await settled(pilot)
        assert "LIVE MODE▐  Taarifa" in shown(app)
        app.action_next_language()
        await settled(pilot)
        assert "LIVE MODE▐  Deliveries" in shown(app)
        assert "1 Live" in shown(app)
        await pilot.press("1")
        await settled(pilot)
        assert "● succeeded" in shown(app), "what was drawn before is drawn again"
        assert "imelipwa" not in shown(app)
        assert "reference" in shown(app)


@pytest.mark.usefixtures("swahili")
@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 50)])
@pytest.mark.parametrize("pressed", [(), ("question_mark",), ("3", *"INV-482003", "enter")])
def test_screens_in_swahili(
    seed: Any, picture: Any, size: tuple[int, int], pressed: tuple[str, ...]
) -> None:
    seed.busy(30)
    assert picture(size, *pressed)
