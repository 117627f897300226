"""Every screen, at every size, empty, busy and with hostile text: looked at before accepted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.acts import Acts

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SIZES = [(80, 24), (120, 36), (160, 50)]
SCREENS = {
    "live": (),
    "deliveries": ("2", "exclamation_mark"),
    "lookup": ("3",),
    "health": ("4",),
    "intents": ("5", "j"),
}
on_every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
on_two_sizes = pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
on_every_screen = pytest.mark.parametrize("screen", SCREENS)
MEDIUM = SIZES[1]


@on_every_size
@on_every_screen
def test_a_busy_screen(screen: str, size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy()
    seed.intents()
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


def test_an_endpoint_that_nothing_reaches_raises_the_alarm_on_every_screen(
    seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.busy(20)
    for n in range(3):
        at = clock.now() - timedelta(seconds=5 - n)
        done = seed.collection(7000 + n, at=at, status="succeeded", completed_at=at)
        seed.polled(done, at=at)
    assert picture(MEDIUM, "4")


def test_test_mode_is_told_in_words_and_a_paused_list_says_so(seed: Any, picture: Any) -> None:
    for n in range(20):
        seed.life(n, at=NOON - timedelta(seconds=30 * n), mode=Mode.TEST)
    assert picture(MEDIUM, "space", mode=Mode.TEST)


@on_two_sizes
def test_a_replay_in_live_mode_waits_for_the_word(
    size: tuple[int, int], store: Store, seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.intents()
    with Client("svc_live_sk_4242", base_url="http://127.0.0.1:1", clock=clock) as nobody:
        acts = Acts(store, actor="asha", clock=clock, profile="main", client=nobody)
        assert picture(size, "5", "j", "R", text="liv", acts=acts)


@on_two_sizes
def test_a_key_that_is_off_says_why(size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(size, "c")


def test_a_filter_that_cannot_be_read_is_named_under_its_box(seed: Any, picture: Any) -> None:
    seed.busy(20)
    assert picture((80, 24), "slash", text="failed colour:red")
