"""Text from outside, made safe to show."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.text import safe, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("", ""),
        ("Kahawa – Zañzibar", "Kahawa – Zañzibar"),
        ("\x1b[2J", "␛[2J"),
        ("\x1b]52;c;eA==\x07", "␛]52;c;eA==␇"),
        ("a\nb\tc\rd", "a⏎b→c␍d"),
        ("\x9b2J", "⟨009B⟩2J"),
        ("\x00\x7f", "⟨0000⟩␡"),
        ("a\u202eb", "a⟨202E⟩b"),
        ("\u200b\u2066", "⟨200B⟩⟨2066⟩"),
        ("\u2028", "⟨2028⟩"),
        ("\ud800", "⟨D800⟩"),
        ("\ue000", "⟨E000⟩"),
        ("\U000e0041", "⟨E0041⟩"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301"),
        ("[@click=app.pay]x[/]", "[@click=app.pay]x[/]"),
    ],
    ids=ascii,
)
def test_what_is_invisible_or_active_becomes_a_mark(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_long_text_is_cut_with_a_mark() -> None:
    assert safe("a" * 256) == "a" * 256
    assert safe("a" * 257) == "a" * 255 + "…"
    assert safe("é" * 20, 10) == "é" * 9 + "…"
    assert len(safe("\x00" * 50, 10)) == 10
    assert len(safe("x" * 1_000_000, 5)) == 5


@given(st.text(max_size=400), st.integers(1, 300))
def test_the_result_is_one_short_line_without_anything_a_terminal_acts_on(
    text: str, limit: int
) -> None:
    shown = safe(text, limit)
    assert len(shown) <= limit
    assert not {unicodedata.category(character) for character in shown} & {
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
        "Zl",
        "Zp",
    }
    assert not {one for one in shown if one.isspace()} - {" "}
    assert len(shown.splitlines()) <= 1
    assert safe(shown, limit) == shown


@pytest.mark.parametrize(
    ("limit", "shown"),
    [(12, "ledger.csv"), (10, "ledger.csv"), (9, "ledg….csv"), (8, "ledg…csv"), (1, "…")],
)
def test_a_long_name_keeps_its_begin_and_its_end(limit: int, shown: str) -> None:
    assert shorten("ledger.csv", limit) == shown


_NOTHING_DRAWN = ("VARIATION SELECTOR", "VOWEL INHERENT", "GRAPHEME JOINER", "NULL NOTEHEAD")


def _draws_nothing(character: str) -> bool:
    """Tell by Unicode's own names, where `safe` goes by code points."""
    name = unicodedata.name(character, "")
    filler = name.endswith("FILLER") and unicodedata.category(character)[0] in "LM"
    blank = name.endswith("PATTERN BLANK")
    return filler or blank or any(part in name for part in _NOTHING_DRAWN)


def test_no_character_of_unicode_that_is_blank_or_draws_nothing_is_left() -> None:
    every = map(chr, range(0x110000))
    left = [
        f"{ord(one):04X}"
        for one in every
        if (not one.isprintable() or _draws_nothing(one)) and safe(f"a{one}b") == f"a{one}b"
    ]
    assert not left


def test_every_other_character_is_left_as_it_is() -> None:
    every = map(chr, range(0x110000))
    changed = [one for one in every if one.isprintable() and safe(one) != one]
    assert changed
    assert all(_draws_nothing(one) for one in changed)
