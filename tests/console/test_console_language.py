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
from kusanya.wording import Language
from kusanya_console.ui import language, vocabulary

SILENT = (
    "◐ silent: is the receiver running? Polling learned 3 final states and no event came; "
    "last arrival Wed 14:02. If it runs, the endpoint is disabled or unreachable: look in "
    "the dashboard, then run kusanya catch-up. asha looks after it."
)
KIMYA = (
    "◐ kimya: je, mpokeaji anafanya kazi? Kwa kuuliza tulijua hali 3 za mwisho na hakuna tukio "
    "lililokuja; ya mwisho ilifika J5 14:02. Kama anafanya kazi, kituo kimezimwa au hakifikiki: "
    "angalia dashibodi, kisha endesha kusanya catch-up. asha anashughulikia."
)
CONTRADICTING = (
    "contradiction: 1 payment has facts that cannot all be true (fee changed, two finals)."
)
MGONGANO = (
    "mgongano: malipo 1 yana taarifa ambazo zote haziwezi kuwa kweli (ada ilibadilika, hali mbili "
    "za mwisho)."
)
STUCK = (
    "yamekwama: maombi 7 ya M-Pesa yanasubiri zaidi ya 2 min kwenye simu moja: ni mteja, si "
    "hitilafu ya mtandao."
)


@pytest.fixture
def swahili() -> Iterator[None]:
    language.use(Language.SWAHILI)
    yield
    language.use(Language.ENGLISH)


@pytest.mark.usefixtures("swahili")
@pytest.mark.parametrize(
    ("english", "said"),
    [
        (SILENT, KIMYA),
        (
            "stuck: 7 prompts of M-Pesa wait over 2 min on one phone: a customer, no outage.",
            STUCK,
        ),
        (CONTRADICTING, MGONGANO),
        ("noted on {name}, by today", "imeandikwa kwenye {name}, na today"),
        ("≠ The fee is negative: -3.", "≠ Ada iko chini ya sifuri: -3."),
        ("nobody wrote this sentence. Nor this.", "nobody wrote this sentence. Nor this."),
    ],
)
def test_a_filled_sentence_is_recognised_by_its_form_and_keeps_what_came_from_outside(
    english: str, said: str
) -> None:
    assert language.translate_filled(english) == said
    language.use(Language.ENGLISH)
    assert language.translate_filled(english) == english


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
