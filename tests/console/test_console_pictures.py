"""Every screen, at every size, empty, busy and with hostile text: looked at before accepted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import structs
from tests.console.picturing import MEDIUM, SIZES, in_both_languages, on_every_size, on_two_sizes
from tests.console.test_console_messages import customers_message
from textual import events

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.queries import notes_and_audit
from kusanya.store.records import IntentState, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.messages import FeedAdvanced, FeedFailed
from kusanya_console.actions.store_actions import StoreActions

pytestmark = pytest.mark.merge

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SCREENS = {
    "live": (),
    "deliveries": ("2", "exclamation_mark"),
    "lookup": ("3",),
    "health": ("4",),
    "intents": ("5", "j"),
}
on_every_screen = pytest.mark.parametrize("screen", SCREENS)


@in_both_languages
@on_every_size
@on_every_screen
def test_a_busy_screen(screen: str, size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy()
    seed.intents()
    typed = "INV-482902" if screen == "lookup" else ""
    assert picture(size, *SCREENS[screen], text=typed)


@in_both_languages
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


@pytest.mark.merge
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


@in_both_languages
def test_the_help_lists_the_keys(picture: Any) -> None:
    assert picture((100, 40), "question_mark")


def test_too_small_a_terminal_gets_one_line(seed: Any, picture: Any) -> None:
    seed.busy(3)
    assert picture((59, 15))


@pytest.mark.merge
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


def test_test_mode_is_said_in_words_and_a_paused_list_says_so(seed: Any, picture: Any) -> None:
    for n in range(20):
        seed.life(n, at=NOON - timedelta(seconds=30 * n), mode=Mode.TEST)
    seed.watched(Mode.TEST)
    assert picture(MEDIUM, "P", mode=Mode.TEST)


@pytest.mark.merge
@in_both_languages
@on_two_sizes
def test_a_replay_in_live_mode_waits_for_the_word(
    size: tuple[int, int], store: Store, seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.intents()
    with Client("svc_live_sk_4242", base_url="http://127.0.0.1:1", clock=clock) as nobody:
        actions = StoreActions(store, actor="asha", clock=clock, profile="main", client=nobody)
        assert picture(size, "5", "j", "R", text="liv", actions=actions)


@in_both_languages
@on_two_sizes
def test_a_key_that_is_off_says_why(size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(size, "c")


@pytest.mark.merge
@in_both_languages
def test_a_filter_that_cannot_be_read_is_named_under_its_box(seed: Any, picture: Any) -> None:
    seed.busy(20)
    assert picture((80, 24), "slash", text="failed colour:red")


@pytest.mark.merge
@in_both_languages
@on_two_sizes
def test_a_decision_asks_what_it_became_and_how_one_knows(
    size: tuple[int, int], store: Store, seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.intents()
    actions = StoreActions(store, actor="asha", clock=clock, profile="main")
    assert picture(size, "5", "D", *"nothing", "enter", text="statement", actions=actions)


def test_an_alarm_names_who_looks_after_it(
    store: Store, seed: Any, clock: ManualClock, picture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The picture is to be the same whoever runs the tests.
    monkeypatch.setattr(notes_and_audit, "operating_system_user", lambda: "asha")
    seed.busy(20)
    actions = StoreActions(store, actor="asha", clock=clock, profile="main")
    assert picture(MEDIUM, "4", "A", *"secret", "space", *"rotated", "enter", actions=actions)


def test_health_counts_a_week(seed: Any, clock: ManualClock, picture: Any) -> None:
    seed.busy(20)
    for n in range(40):
        seed.life(1000 + n, at=clock.now() - timedelta(hours=4 * n, minutes=1))
    assert picture(MEDIUM, "4", "plus", "plus", "j", "j", "j")


@pytest.mark.merge
def test_the_largest_payments_come_first(seed: Any, picture: Any) -> None:
    seed.busy()
    assert picture(MEDIUM, "o", "o", "j")


@in_both_languages
@on_two_sizes
@pytest.mark.parametrize("part", [1, 2, 3], ids=["say", "odd", "json"])
def test_the_parts_of_a_payment(part: int, size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy(20)
    keys = ["right_square_bracket"] * part
    assert picture(size, "j", "j", "j", *keys, *(["z"] if size == SIZES[0] else []))


@pytest.mark.merge
@on_two_sizes
def test_an_unknown_phone_is_not_repeated(size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy(5)
    assert picture(size, "3", text="0799123456")


@in_both_languages
@on_every_size
def test_a_pasted_message_names_its_payment(  # noqa: PLR0917 - fixtures
    size: tuple[int, int], seed: Any, clock: ManualClock, console: Any, keys: Any, snap_compare: Any
) -> None:
    seed.life(3, at=clock.now() - timedelta(minutes=9))
    actions = StoreActions(seed.store, actor="asha", clock=clock, profile="main")
    app = console(actions=actions)

    async def paste(pilot: Any) -> None:
        await keys("3")(pilot)
        app.screen.post_message(events.Paste(customers_message(seed.store)))
        await keys()(pilot)

    assert snap_compare(app, terminal_size=size, run_before=paste)


def test_a_match_in_the_other_mode_names_the_way_there(
    seed: Any, clock: ManualClock, picture: Any
) -> None:
    seed.life(600, at=clock.now() - timedelta(minutes=3), mode=Mode.TEST)
    assert picture(SIZES[0], "3", text="INV-482600")


@pytest.mark.parametrize("screen", ["health", "intents", "lookup"])
def test_ascii_on_every_other_screen(screen: str, seed: Any, picture: Any) -> None:
    seed.busy(20)
    seed.intents()
    typed = "INV-482901" if screen == "lookup" else ""
    assert picture(MEDIUM, *SCREENS[screen], text=typed, ascii=True)


@pytest.mark.parametrize("screen", ["health", "intents"])
def test_the_light_theme_on_other_screens(screen: str, seed: Any, picture: Any) -> None:
    seed.busy(20)
    seed.intents()
    assert picture(MEDIUM, *SCREENS[screen], theme="kusanya-light")


@pytest.mark.merge
@in_both_languages
@on_two_sizes
@pytest.mark.parametrize("screen", ["live", "health", "intents"])
def test_a_lost_store_leaves_what_was_known(  # noqa: PLR0917 - fixtures
    screen: str, size: tuple[int, int], seed: Any, clock: ManualClock, console: Any, keys: Any,
    snap_compare: Any,
) -> None:  # fmt: skip
    seed.busy(20)
    seed.intents()
    app = console()

    async def lose(pilot: Any) -> None:
        await keys(*SCREENS[screen])(pilot)
        await clock.advance(15)
        app.post_message(FeedFailed(StoreUnavailable("the disk is gone")))
        await keys()(pilot)

    assert snap_compare(app, terminal_size=size, run_before=lose)


def test_a_feed_that_lags_says_by_how_much(
    seed: Any, console: Any, keys: Any, snap_compare: Any
) -> None:
    seed.busy(20)
    app = console()

    async def lag(pilot: Any) -> None:
        await keys()(pilot)
        late = structs.replace(app.context.snapshot, behind=timedelta(seconds=9))
        app.post_message(FeedAdvanced(late))
        await keys()(pilot)

    assert snap_compare(app, terminal_size=MEDIUM, run_before=lag)


@in_both_languages
@on_two_sizes
def test_a_fuse_near_its_end_and_one_that_is_blown(
    size: tuple[int, int], seed: Any, clock: ManualClock, picture: Any
) -> None:
    refused = {"verdict": Verdict.REJECTED, "reason": "no_match", "answer": 400}
    for n, (endpoint, hours) in enumerate((("billing", 67), ("pos", 74), ("shop", 0))):
        for since in {hours, hours // 2, 0}:
            at = clock.now() - timedelta(hours=since, seconds=40)
            done = seed.collection(10 * n + since, at=at, status="succeeded", completed_at=at)
            event = seed.event(done, at=at)
            seed.delivered(event, at=at, endpoint="shop")
            if endpoint != "shop":
                seed.delivered(event, at=at, endpoint=endpoint, **refused)
    assert picture(size, "4")


def test_a_theme_of_the_terminals_own_colours(seed: Any, picture: Any) -> None:
    seed.busy(20)
    seed.intents()
    assert picture(MEDIUM, "n", theme="kusanya-terminal")


@on_two_sizes
def test_creations_that_nobody_works_on_are_shown_and_explained(
    size: tuple[int, int], seed: Any, picture: Any
) -> None:
    lost = {"outcome": "not_sent", "took_us": 900, "sentence": "no answer in time"}
    for n in range(20, 30):
        seed.intent(n, sent_ago=timedelta(minutes=4), state=IntentState.PREPARED, **lost)
    seed.intent(61, sent_ago=timedelta(minutes=9), state=None)
    assert picture(size, "5", "j", "j")


@on_two_sizes
def test_a_creation_without_an_answer_is_shown_in_the_lookup(
    size: tuple[int, int], seed: Any, picture: Any
) -> None:
    seed.intents()
    assert picture(size, "3", text="INV-431003")
