"""What a filter or a search has met is underlined in the rows, where a colour could not be seen."""

from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press

from kusanya.filters import parse
from kusanya.store import Store
from kusanya.store.queries import notes_and_audit
from kusanya_console.application.app import ConsoleApp
from kusanya_console.lists.underlining import needles
from kusanya_console.ui.vocabulary import MATCH
from kusanya_console.widgets.highlighting import Needle, split


def underlined(app: ConsoleApp) -> list[str]:
    """Return the underlined pieces on the terminal."""
    return [
        piece.text
        for line in app.screen._compositor.render_strips()
        for piece in line
        if piece.style is not None and piece.style.underline
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("typed", "met"),
    [
        ("ref:8200", {"8200"}),
        ("phone:002", {"002"}),
        ("code:user_cancelled", {"user_cancelled"}),
        ("inv-482", {"INV-482"}),
    ],
)
async def test_what_a_filter_met_is_underlined(
    typed: str, met: set[str], opened: OpenConsole, seed: Any
) -> None:
    seed.busy(30)
    async with opened("slash", *typed, "enter", size=(200, 50)) as (app, _):
        assert set(underlined(app)) == met


@pytest.mark.anyio
async def test_the_underline_goes_with_the_filter_and_needs_no_colour(
    opened: OpenConsole, seed: Any, at_rest: AtRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    seed.busy(30)
    async with opened("slash", *"ref:8200", "enter") as (app, pilot):
        assert set(underlined(app)) == {"8200"}
        await press(pilot, at_rest, "escape")
        assert underlined(app) == []


@pytest.mark.anyio
async def test_lookup_underlines_what_was_asked_for(opened: OpenConsole, seed: Any) -> None:
    seed.busy(30)
    async with opened("3", *"4820", "enter") as (app, _):
        assert underlined(app)
        assert set(underlined(app)) == {"4820"}


@pytest.mark.anyio
async def test_the_audit_underlines_who_and_what(
    opened: OpenConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes_and_audit, "operating_system_user", lambda: "asha")
    store.audit.add(actor="asha", act="reveal_phone", subject="col_1", detail="", outcome="done")
    async with opened("7", "slash", *"actor:ash act:reveal", "enter") as (app, _):
        assert set(underlined(app)) == {"ash", "reveal"}


def met(shown: str, whole: str, *words: str) -> list[str]:
    pieces = split(shown, whole, "k.muted", [Needle(word) for word in words])
    assert "".join(piece for piece, _ in pieces) == shown
    assert {role for _, role in pieces} <= {"k.muted", f"k.muted {MATCH}"}
    return [piece for piece, role in pieces if role.endswith(MATCH)]


def test_a_match_keeps_its_cells_its_case_and_the_role_it_stands_in() -> None:
    assert met("INV-7 inv-7 ", "INV-7 inv-7", "inv") == ["INV", "inv"]
    assert met("plain", "plain", "x", "") == []
    assert met("a.b", "a.b", ".") == ["."], "no pattern: what was typed is looked for as it is"
    assert met("aaab", "aaab", "aa", "ab") == ["aa", "ab"], "what overlaps is met once"


def test_the_mark_of_a_cut_stands_for_what_is_cut_away() -> None:
    assert met("INV-…-0077", "INV-2026-11-0077", "2026") == ["…"]
    assert met("INV-…-0077", "INV-2026-11-0077", "0077") == ["0077"]
    assert met("INV-…-0077", "INV-2026-11-0077", "9999") == []


def test_of_a_phone_the_end_alone_is_met() -> None:
    end = Needle("255", at_end=True)
    assert split("+255•••••012", "+255•••••012", "", [end]) == [("+255•••••012", "")]
    assert split("+255•••••255 ", "+255•••••255", "", [end])[1] == ("255", MATCH)


def test_what_is_excluded_and_what_is_the_same_in_every_row_is_not_looked_for() -> None:
    assert needles(parse("failed channel:airtel -ref:77 amount:5000")) == {}
    assert needles(parse("ref:a,b ref:c"))["ref"] == (Needle("a"), Needle("b"), Needle("c"))
    assert needles(parse("phone:0754000412"))["phone"] == (Needle("412", at_end=True),)
