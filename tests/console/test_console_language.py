"""The console in Swahili: what is translated, what never is, and how it fits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.domain.status import Status
from kusanya.errors import ConfigurationError
from kusanya.profiles import interface_language
from kusanya.say import Language
from kusanya_console.ui import language, vocabulary


@pytest.fixture
def swahili() -> Iterator[None]:
    language.use(Language.SWAHILI)
    yield
    language.use(Language.ENGLISH)


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
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(8)
    async with opened(size=(120, 36)) as (app, pilot):
        assert "LIVE MODE▐  Mubashara" in shown(app)
        assert "● imelipwa" in shown(app)
        assert "kumbukumbu" in shown(app)
        await pilot.press("2")
        await at_rest(pilot)
        assert "LIVE MODE▐  Taarifa" in shown(app)
        app.action_next_language()
        await at_rest(pilot)
        assert "LIVE MODE▐  Deliveries" in shown(app)
        assert "1 Live" in shown(app)
        await pilot.press("1")
        await at_rest(pilot)
        assert "● succeeded" in shown(app), "what was drawn before is drawn again"
        assert "imelipwa" not in shown(app)
        assert "reference" in shown(app)
