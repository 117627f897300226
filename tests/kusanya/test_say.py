"""A text of ours: English wherever a str is wanted, the reader's language at the edge."""

import copy
import pickle
from datetime import UTC, datetime
from importlib.resources import files

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.say import Language, Said, dated, in_language, in_values, joined, keep, kept, swahili

SW = Language.SWAHILI
SILENT = Said(
    "silent: is the receiver running? Polling learned {our_states} and no event came; {our_last}."
).of(
    our_states=Said("{count} final states").of(count=3),
    our_last=Said("last arrival {at}").of(
        at=dated(datetime(2026, 3, 4, 14, 2, tzinfo=UTC), "%a %H:%M")
    ),
)
values = st.recursive(
    st.text()
    | st.integers()
    | st.builds(lambda text: Said("a fee of {text}").of(text=text), st.text()),
    lambda inner: st.builds(
        lambda a, b: Said("{one} or {our_other}").of(one=a, our_other=b), inner, inner
    ),
    max_leaves=6,
)


def test_a_sentence_is_english_as_a_str_and_each_part_of_it_is_in_the_catalogue() -> None:
    assert SILENT == (
        "silent: is the receiver running? Polling learned 3 final states and no event came; "
        "last arrival Wed 14:02."
    )
    assert in_language(SILENT, SW) == (
        "kimya: je, mpokeaji anafanya kazi? Kwa kuuliza tulijua hali 3 za mwisho na hakuna tukio "
        "lililokuja; ya mwisho ilifika J5 14:02."
    )
    assert type(in_language(SILENT, Language.ENGLISH)) is str


@pytest.mark.parametrize("outside", ["today", "succeeded", "{who}", "{", "last arrival {at}"])
def test_what_came_from_outside_is_never_looked_up(outside: str) -> None:
    noted = Said("noted on {reference}, by {who}").of(reference=outside, who="asha")
    assert noted == f"noted on {outside}, by asha"
    assert in_language(noted, SW) == f"imeandikwa kwenye {outside}, na asha"
    assert in_language(joined(": ", (Said("today"), Said("{name}").of(name=outside))), SW) == (
        f"leo: {outside}"
    )


def test_a_text_without_an_entry_stays_english() -> None:
    assert in_language("nobody wrote this sentence", SW) == "nobody wrote this sentence"
    assert in_language(Said("nobody wrote {this}").of(this="that"), SW) == "nobody wrote that"


def test_texts_one_behind_the_other_are_looked_up_each_and_empty_ones_left_out() -> None:
    negative = Said("The fee is negative: {fee}.").of(fee=-3)
    assert in_language(joined(" ", ("≠", "", negative)), SW) == "≠ Ada iko chini ya sifuri: -3."


def test_what_an_error_says_and_copies_stay_texts_of_ours() -> None:
    said = Said("there is no collection {id}").of(id="col_1")
    for other in (str(ValueError(said)), copy.deepcopy(said), pickle.loads(pickle.dumps(said))):  # noqa: S301
        assert other == said
        assert in_language(other, SW) == "hakuna malipo col_1"


@given(values)
def test_what_the_store_keeps_is_read_back_as_it_was_said(value: str | int) -> None:
    said = value if isinstance(value, str) else f"{value}"
    shown = said.encode(errors="replace").decode()
    again = kept(keep(said)) if isinstance(said, Said) else kept(keep(shown))
    assert again == shown
    assert isinstance(again, Said) or not isinstance(said, Said)
    assert in_language(again, SW).encode(errors="replace") == in_language(said, SW).encode(
        errors="replace"
    )


def test_a_text_from_outside_cannot_pass_for_one_that_the_store_keeps() -> None:
    forged = keep(Said("today").of(by="nobody"))
    assert kept(keep(forged)) == forged


def test_what_is_masked_or_erased_is_changed_in_the_values_of_a_kept_text() -> None:
    said = Said("decided by {who}: {why}").of(who="asha", why='she called "0754 000 111"')
    changed = in_values(keep(said), lambda text: text.replace('"0754 000 111"', "(phone)"))
    assert kept(changed) == "decided by asha: she called (phone)"
    assert in_language(kept(changed), SW) == "imeamuliwa na asha: she called (phone)"
    assert in_values("0754 000 111", lambda _text: "(phone)") == "(phone)"


def test_the_catalogue_is_read_as_any_editor_of_catalogues_reads_it() -> None:
    entries = polib.pofile((files("kusanya.say") / "sw.po").read_text("utf-8"))
    assert swahili() == {entry.msgid: entry.msgstr for entry in entries}
