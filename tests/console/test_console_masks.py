"""No whole phone of any fact on any screen, in a copy, a card, an export or a command's output."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import IntentState, Note
from kusanya.wire import Mode
from kusanya_console.cli.lookup.documents import found_json, story_json
from kusanya_console.cli.lookup.words import found_lines, story_lines

pytestmark = pytest.mark.anyio
PHONES = ("754111001", "754111002", "754111003", "754111004", "754111005", "754111006")


def record_payment(seed: Any, clock: ManualClock) -> str:
    """Record a payment with a phone in every field that may hold one; return its id."""
    at = clock.now() - timedelta(minutes=3)
    fields: dict[str, Any] = {
        "phone": f"255{PHONES[0]}",
        "reference": f"0{PHONES[2]}",
        "description": f"for 0{PHONES[3]}",
        "metadata": {"customer": f"+255{PHONES[4]}"},
        "failure_code": "user_cancelled",
        "failure_message": f"0{PHONES[5]} said no",
        "status": "failed",
    }
    one = seed.collection(1, at=at, **fields)
    other = {"phone": f"255{PHONES[1]}", "description": "x", "metadata": {"customer": "y"}}
    seed.polled(one, at=at + timedelta(seconds=1))
    seed.polled(seed.collection(1, at=at, **(fields | other)), at=at + timedelta(seconds=9))
    seed.delivered(seed.event(one, at=at), at=at + timedelta(seconds=5))
    seed.store.notes.add(one.id, Note(f"called 0{PHONES[3]}"), author="asha", mode=Mode.LIVE)
    name: str = one.id
    return name


def whole(text: str) -> list[str]:
    return [phone for phone in PHONES if phone in text]


def _files(folder: Path) -> list[str]:
    return [file.read_text() for file in folder.glob("kusanya-*")]


async def test_no_screen_card_copy_or_export_shows_a_whole_phone(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest, tmp_path: Path
) -> None:
    name = record_payment(seed, clock)
    async with opened(size=(160, 50), folder=tmp_path) as (app, pilot):
        seen = [shown(app)]
        for keys in (("right_square_bracket",) * 3, ("2",), ("3", *name, "enter"), ("4",), ("1",)):
            for key in keys:
                await pilot.press(key)
                await at_rest(pilot)
                box = f"│ {name}"
                seen.append(shown(app).replace(box, ""))
        for key in ("J", "Y", "enter", "y", "s"):
            await pilot.press(key)
            await at_rest(pilot)
            seen.append(app.clipboard)
        await pilot.press("ctrl+s")
        await at_rest(pilot)
        await pilot.press("enter")
        await at_rest(pilot)
    seen += _files(tmp_path)
    assert [whole(text) for text in seen if whole(text)] == []
    assert any("+255•••••002" in text for text in seen), "the second phone is shown masked"


async def test_find_and_show_print_no_whole_phone(
    seed: Any, store: Store, clock: ManualClock
) -> None:
    from kusanya.domain.business_day import day_start
    from kusanya.lookup import find, load_timeline

    name = record_payment(seed, clock)
    seed.intent(1, sent_ago=timedelta(minutes=5), state=IntentState.UNKNOWN)
    now = clock.now()
    found = find(store, name, mode=Mode.LIVE, now=now, day=day_start)
    known = load_timeline(store, name, Mode.LIVE, now=now)
    assert known is not None
    printed = [*found_lines(store, found, now), *story_lines(store, known)]
    printed += [str(found_json(store, found, now)), str(story_json(store, known))]
    assert [line for line in printed if whole(line)] == []
