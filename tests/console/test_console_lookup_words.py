"""What Lookup and `kusanya find` say of a text that holds more than one name, or a half of one."""

from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.domain.business_day import day_start
from kusanya.lookup import LookupResult, find
from kusanya.say import Language, Said, joined
from kusanya.wire import Mode
from kusanya_console.cli.lookup import words as lookup_words
from kusanya_console.lists.underlining import phone_end
from kusanya_console.lookup.matches import needles_of
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.lookup.words import nothing
from kusanya_console.ui import language
from kusanya_console.widgets.highlighting import Needle

PHONE = "255674799851"


@pytest.fixture
def payments(clock: ManualClock, seed: Any) -> ManualClock:
    seed.life(1, at=clock.now() - timedelta(minutes=40), phone=PHONE, amount=150_800)
    seed.life(3, at=clock.now() - timedelta(minutes=9), phone=PHONE, amount=9_000)
    return clock


async def said(text: str, opened: OpenConsole, at_rest: AtRest) -> str:
    """Return what Lookup says under its box, in one line."""
    async with opened("3", size=(140, 40)) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, LookupScreen)
        screen.look_for(text)
        await at_rest(pilot)
        lines = shown(app).splitlines()
        box = max(n for n, line in enumerate(lines[:6]) if "│" in line)
        return " ".join(" ".join(lines[box + 2 :]).split())


@pytest.mark.anyio
@pytest.mark.usefixtures("payments")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0674799851 150800", "2 collections in LIVE MODE for 150,800 with the phone;"),
        ("0674799851 77", "2 collections in LIVE MODE for the phone, though none is of 77;"),
        ("ref INV-482001 please", "found by reference: INV-482001 in the text"),
        ("9851", "for the end of a phone today, among the newest 20,000;"),
        ("phone:9851", "for the end of a phone among the newest 20,000;"),
        ("0674799851 0754000412", "several phone numbers: look one up at a time"),
        ("0674799851 0754000412", "The text holds 2 phone numbers: none of them was looked up."),
        ("0754000412 5000", "No collection in LIVE MODE was asked of this phone."),
        (
            "87321",
            "in vain, too: 87,321, today; the end of a phone today, among the newest 20,000.",
        ),
        ("ABC-7 please", "Looked for in vain, too: each word alone: ABC-7, please."),
        ("ABC-7 please", "has “ABC-7 please” as its reference, id or receipt, nor in a note"),
    ],
)
async def test_lookup_says_how_a_text_was_read(
    text: str, sentence: str, opened: OpenConsole, at_rest: AtRest
) -> None:
    found = await said(text, opened, at_rest)
    assert sentence in found
    if "none of them" in sentence or "though" in sentence:
        assert "was asked of this phone" not in found


def test_the_end_of_the_phone_and_the_amount_are_underlined(
    payments: ManualClock, seed: Any
) -> None:
    text, now = "0674799851 150800", payments.now()
    met = needles_of(find(seed.store, text, mode=Mode.LIVE, now=now, day=day_start))
    assert met["phone"] == (phone_end("851"),)
    assert met["amount"] == (Needle("150,800"),)


def test_the_command_line_names_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    one = LookupResult(text="ABC-7 please", words=("ABC-7", "please"))
    assert lookup_words.nothing_line(Mode.LIVE, one) == (
        "nothing in live mode matches (looked for each word alone: ABC-7, please)"
    )
    beside = LookupResult(text="0674799851 5000", phones=1, words=("5000",))
    assert "(looked for the phone; each word alone: 5000)" in lookup_words.nothing_line(
        Mode.LIVE, beside
    )
    two = LookupResult(text="0674799851 0754000412", phones=2)
    assert "2 phone numbers: look one up at a time" in lookup_words.nothing_line(Mode.LIVE, two)
    monkeypatch.setattr(language, "_chosen", Language.SWAHILI)
    assert "namba 2 za simu" in lookup_words.nothing_line(Mode.LIVE, two)
    short = LookupResult(
        text="8320",
        looked_at=joined(", ", ("8,320", "today")),
        phone_end_in=Said("today, among the newest {count}").of(count=20_000),
    )
    words = " ".join(text for line in nothing(short, Mode.LIVE, 200) for text, _ in line)
    assert "mwisho wa namba ya simu leo, kati ya 20,000 mpya zaidi" in words
    assert "8,320, leo" in words
