"""The console in Swahili: what is translated, what never is, and how it fits."""

import ast
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
from kusanya.state.anomalies import AnomalyKind
from kusanya.state.observation import Source
from kusanya.wire import Status
from kusanya.wording import Language
from kusanya_console.application.app import ConsoleApp
from kusanya_console.commands import COMMANDS
from kusanya_console.deliveries.list import DELIVERY_LIST
from kusanya_console.live.screen import COLLECTION_LIST
from kusanya_console.ui import language, vocabulary

CODE = Path(language.__file__).parents[1]
LIBRARY = Path(wording.__file__).parent
SAID_TO_SUPPORT = (
    "alarms/delivery_rules.py",
    "alarms/operation_rules.py",
    "alarms/payment_rules.py",
    "lookup/entries.py",
    "lookup/new_request.py",
    "lookup/claims.py",
    "lookup/by_message.py",
    "state/anomalies.py",
    "handover.py",
    "lookup/words.py",
    "lookup/message_lines.py",
    "collections/cards.py",
    "collections/creation_cards.py",
    "actions/queries.py",
    "actions/operator.py",
    "cli/lookup_words.py",
)
"""What the desk reads of the library and of the console."""
JOINED = {
    "202, fee fixed at {}; {}": ("202, fee fixed at {}", "{}; {}"),
    "{} verified; {}": ("{} verified", "{}; {}"),
    "POST /v1/collections, attempt {}: {}": ("POST /v1/collections, attempt {}", ": {}"),
    "{} collections were created: {}": ("{} collections were created", ": {}"),
    "{} deliveries arrived, of them {}": ("{} deliveries arrived", ", of them {}"),
    "asked: {}; this settles its intent": ("asked: {}", "; this settles its intent"),
    "{} sent to the terminal's clipboard and saved to {}": ("{} and saved to {}",),
    "nothing was resent for {}: the sender has no delivery of it; {}": ("{}; {}",),
    "Said: {}.": ("{} Said: {}.",),
    "the service has no resend; {}": ("the service has no resend", "{}; {}"),
}
"""Sentences that the code puts together, with their parts."""
NOT_TRANSLATED = {
    "GET /v1/events/{}", "GET /v1/collections/{}", "no new request: {}",
    # words of the status line, which the alarms' paragraphs in the README name
    "! {} failure rate",
    # what fills a placeholder
    "answer to the create", "event fetched again", "an amount with cents", "at least",
    ", of them {}",
    # what the audit keeps
    "shown in the console for 30 s", "message of {}", "{} (taken over from {})", "decide intent",
    "save view", "delete view",
    # names and figures alone
    "{}  {}  TZS {}  {}  {}  {}",
}  # fmt: skip
"""What stays as it is, or is a part of something that is in the catalogue."""
Opened = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]
Settled = Callable[[Pilot[Any]], Awaitable[None]]


SILENT = (
    "◐ silent: is the receiver running? Polling learned 3 final states and no event came; "
    "last arrival Wed 14:02. If it runs, the endpoint is disabled or unreachable: look in "
    "the dashboard, then run kusanya catch-up. asha looks after it."
)
KIMYA = (
    "◐ kimya: je, mpokeaji anafanya kazi? Kwa kuuliza tulijua hali 3 za mwisho na hakuna tukio "
    "lililokuja; ya mwisho ilifika Wed 14:02. Kama anafanya kazi, kituo kimezimwa au hakifikiki: "
    "angalia dashibodi, kisha endesha kusanya catch-up. asha anashughulikia."
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


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_command_and_every_column_of_the_lists_has_its_swahili_word() -> None:
    said = language.swahili()
    named = {text for one in COMMANDS for text in (one.label, one.sentence)}
    for definition in (COLLECTION_LIST, DELIVERY_LIST):
        named |= {column.title for column in definition.columns}
    assert sorted(named - said.keys()) == []


def form(text: str) -> str:
    """Return a text of ours with nothing in its placeholders; two side by side are one."""
    return re.sub(r"(\{\})+", "{}", re.sub(r"\{[^{}]*\}", "{}", text)).strip()


def texts(path: Path) -> Iterator[str]:
    """Yield every text that a module builds, its placeholders empty; no docstring."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for value in node.values for part in (value, getattr(value, "format_spec", None))
    }  # fmt: skip
    parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    # The condition of an alarm is for whoever reads the rules, not for the desk.
    parts |= {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "condition"
    }
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            said = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
            yield form("".join(map(str, said)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield form(node.value)


def test_no_entry_is_dead_and_every_placeholder_is_kept() -> None:
    ours = {text for one in COMMANDS for text in (one.label, one.sentence)} | set(Status)
    sources = (*CODE.rglob("*.py"), *LIBRARY.rglob("*.py"))
    said_somewhere = {text for path in sources for text in texts(path)}
    assert {part for parts in JOINED.values() for part in parts} <= said_somewhere
    said_somewhere |= JOINED.keys()
    ours |= {one.value.replace("_", " ") for one in (*Source, *AnomalyKind)}
    for english, said in language.swahili().items():
        known = form(english.removeprefix("no new request: "))
        marked = {known, *(f"{mark} {known}" for mark in "✕≠!∅?●○◐◌◷↺▪▫✉")}
        assert english in ours or marked & said_somewhere, f"nothing says this any more: {english}"
        assert fields(english) == fields(said), english
        assert said.strip() == said or english.strip() != english


@pytest.mark.parametrize("module", SAID_TO_SUPPORT)
def test_every_sentence_that_support_reads_is_in_the_catalogue(module: str) -> None:
    path = next(one for one in (CODE / module, LIBRARY / module) if one.exists())
    known = {form(english) for english in language.swahili()}
    known |= {text.removeprefix("no new request: ") for text in known}
    missing = {
        text for text in texts(path)
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and " " in text
        and known.isdisjoint({text, text.removeprefix("✕ "), text.removeprefix("? ")})
    }  # fmt: skip
    assert missing - NOT_TRANSLATED == set()


@pytest.mark.usefixtures("swahili")
@pytest.mark.parametrize(
    ("english", "said"),
    [
        (SILENT, KIMYA),
        (
            "stuck: 7 prompts of M-Pesa wait over 2 min on one phone: a customer, no outage.",
            STUCK,
        ),
        ("noted on {name}, by today", "imeandikwa kwenye {name}, na today"),
        ("≠ The fee is negative: -3.", "≠ Ada iko chini ya sifuri: -3."),
        ("nobody wrote this sentence. Nor this.", "nobody wrote this sentence. Nor this."),
    ],
)
def test_a_filled_sentence_is_told_by_its_form_and_keeps_what_came_from_outside(
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
