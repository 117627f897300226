"""The Service screen and the sender's log as pictures: each looked at before it was accepted.

A dashboard that answers what it is told stands on loopback: the real one draws keys by chance, and
never says anything hostile.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.console.dashboards import USUAL, answering
from tests.console.picturing import MEDIUM, in_both_languages, medium_every_day, on_two_sizes

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.service_admin import ServiceAdmin

pytestmark = pytest.mark.merge

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


@pytest.fixture
def answers() -> dict[str, Any]:
    """Return what the dashboard answers below /dashboard/; a test may change it."""
    return dict(USUAL)


@pytest.fixture
def dashboard(answers: dict[str, Any]) -> Iterator[DashboardClient]:
    with answering(answers) as client:
        yield client


@pytest.fixture
def pictured(
    picture: Any, store: Store, clock: ManualClock, dashboard: DashboardClient
) -> Iterator[Callable[..., bool]]:
    """Return what compares the console with a dashboard, writes allowed unless told otherwise."""
    with Client("svc_test_sk_4242", base_url="http://127.0.0.1:1", clock=clock) as client:
        admin = ServiceAdmin(
            store, dashboard, actor="asha", profile="main", client=client, draw=lambda: "5eed5eed"
        )

        def compare(size: tuple[int, int], *names: str, **options: Any) -> bool:
            arguments: dict[str, Any] = {"mode": Mode.TEST, "service": ServiceReader(dashboard)}
            writes = StoreActions(store, actor="asha", clock=clock, profile="main", client=client)
            arguments |= {"service_admin": admin, "actions": writes}
            return bool(picture(size, *names, **arguments | options))

        yield compare


NEXT = "right_square_bracket"
LISTS = {"endpoints": ("j",), "phones": (NEXT, "j"), "faults": (NEXT, NEXT), "keys": (NEXT,) * 3}


@pytest.mark.merge
@in_both_languages
@medium_every_day
@pytest.mark.parametrize("which", LISTS)
def test_each_list_of_the_service(which: str, size: tuple[int, int], pictured: Any) -> None:
    assert pictured(size, "6", *LISTS[which])


@pytest.mark.merge
def test_a_disabled_endpoint_says_what_is_held(pictured: Any) -> None:
    assert pictured(MEDIUM, "6", "j", "j")


@pytest.mark.merge
def test_the_card_takes_the_lists_place_where_there_is_no_room_for_both(pictured: Any) -> None:
    assert pictured((80, 24), "6", "j", "d")


@pytest.mark.merge
def test_read_only_the_acts_are_listed_and_off(pictured: Any) -> None:
    assert pictured(MEDIUM, "6", service_admin=None, actions=None)


@pytest.mark.merge
@in_both_languages
@on_two_sizes
def test_a_delete_waits_for_its_word(size: tuple[int, int], pictured: Any) -> None:
    assert pictured(size, "6", "X", *"dele")


@in_both_languages
@on_two_sizes
def test_a_trial_names_what_it_will_create(size: tuple[int, int], pictured: Any) -> None:
    assert pictured(size, "6", NEXT, "j", "enter")


@in_both_languages
@on_two_sizes
def test_a_new_secret_is_shown_in_its_dialog(
    size: tuple[int, int], answers: dict[str, Any], pictured: Any
) -> None:
    name = "endpoints/we_7Qm4xT2fWc9Lr0Zb/rotate-secret"
    answers[name] = {**USUAL["endpoints"]["data"][0], "secret": "whsec_" + "0123456789abcdef" * 3}
    assert pictured(size, "6", "R", "tab", "enter")


def test_a_length_of_time_that_cannot_be_read_is_named(pictured: Any) -> None:
    assert pictured(MEDIUM, "6", "C", *"soon", "enter")


def test_a_service_that_cannot_be_read_says_so(answers: dict[str, Any], pictured: Any) -> None:
    answers["clock"] = {"now": 5}
    assert pictured((80, 24), "6")


HOSTILE = (
    "[/red]x",
    "[@click=app.quit]pay[/]",
    "\x1b[31mred\x1b]52;c;QUFB\x07\x1b]0;title\x07",
    "\u202egnp\u202c\u200b\u2066x",
    "W" * 10_000,
    "line\nbreak\ttab\rreturn",
    "漢字カナ한글",
)


@on_two_sizes
@pytest.mark.parametrize("which", ["endpoints", "faults", "keys"])
def test_hostile_text_from_the_dashboard_is_shown_as_text(
    which: str, size: tuple[int, int], answers: dict[str, Any], pictured: Any
) -> None:
    usual = USUAL["endpoints"]["data"][1], USUAL["keys"]["data"][2]
    answers["clock"] = {"now": "2026-03-04T12:24:07Z", "kind": HOSTILE[2], "speed": None}
    answers["endpoints"] = {
        "data": [usual[0] | {"id": t, "url": t, "mode": t, "status": t} for t in HOSTILE]
    }
    answers["keys"] = {
        "data": [usual[1] | {"id": t, "mode": t, "access": t, "hint": t} for t in HOSTILE]
    }
    answers["faults"] = {"rules": [{"kind": t, "times": 3} for t in HOSTILE]}
    down = ("j",) * (16 if which == "faults" else 2)
    keys = {"endpoints": (), "faults": (NEXT, NEXT), "keys": (NEXT,) * 3}[which]
    assert pictured(size, "6", *keys, *down)
