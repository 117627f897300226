"""Every screen, at every size, empty, busy and with hostile text: looked at before accepted."""

from typing import Any

import pytest

SIZES = [(80, 24), (120, 36), (160, 50)]
SCREENS = {
    "live": (),
    "deliveries": ("2", "exclamation_mark"),
    "lookup": ("3",),
}
on_every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
on_two_sizes = pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
on_every_screen = pytest.mark.parametrize("screen", SCREENS)
MEDIUM = SIZES[1]


@on_every_size
@on_every_screen
def test_a_busy_screen(screen: str, size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy()
    typed = "INV-482902" if screen == "lookup" else ""
    assert picture(size, *SCREENS[screen], text=typed)


@on_two_sizes
@on_every_screen
def test_an_empty_screen_says_what_would_stand_there(
    screen: str, size: tuple[int, int], picture: Any
) -> None:
    assert picture(size, *SCREENS[screen][:1])


@on_two_sizes
@on_every_screen
def test_hostile_text_is_shown_as_text(
    screen: str, size: tuple[int, int], hostile: Any, picture: Any
) -> None:
    typed = "ref [MTN]" if screen == "lookup" else ""
    assert picture(size, *SCREENS[screen], text=typed)


def test_several_matches_are_listed_above_the_story(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(MEDIUM, "3", text="INV-4820")


def test_a_contradiction_names_who_said_what(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(MEDIUM, "j", "j", "j")


def test_the_pane_takes_the_lists_place_where_there_is_no_room_for_both(
    seed: Any, picture: Any
) -> None:
    seed.busy()
    assert picture((80, 24), "2", "j", "d")


def test_the_help_lists_the_keys(picture: Any) -> None:
    assert picture((100, 40), "question_mark")


def test_too_small_a_terminal_gets_one_line(seed: Any, picture: Any) -> None:
    seed.busy(3)
    assert picture((59, 15))


def test_ascii_replaces_glyphs_and_no_word(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(MEDIUM, "j", "j", ascii=True)


def test_the_light_theme(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(MEDIUM, "n", theme="kusanya-light")
