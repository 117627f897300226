"""Hostile text on a real terminal: every outside field, every screen, no new kind of escape.

A benign and a hostile store of the same shape are walked through with the same keys and the same
clicks. What the terminal is told may differ in letters, never in kind; what is copied holds nothing
that a terminal acts on; and no click on a cell runs an action.
"""

import base64
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kit.intents import end_attempt, prepare_intent

from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import IntentState, Note, Verdict
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

WALK = """
import asyncio, gc, json, sys
from collections import Counter
import textual._wait
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp
from kusanya_console.screens.base import ConsoleScreen
from datetime import datetime
from pathlib import Path

# Hundreds of clicks, each with four of these waits; the walk waits for workers besides.
textual._wait.SLEEP_GRANULARITY, textual._wait.SLEEP_IDLE = 1 / 200, 1 / 400
gc.freeze()
gc.set_threshold(100_000, 5, 5)
path, met, now, records = sys.argv[1:]
records = int(records)
seen = Counter()
ran = []

async def at_once(_seconds):
    pass

class App(ConsoleApp):
    clicking = False

    async def run_action(self, action, *args, **kwargs):
        if App.clicking:
            ran.append(str(action))
        return await super().run_action(action, *args, **kwargs)

async def walk(pilot):
    app = pilot.app
    async def rest():
        # A key, its worker, its answer and the paint each take a turn; a story of long texts takes
        # its time, and the next key is meant for it.
        for _ in range(3):
            await app.workers.wait_for_complete()
            await pilot.pause()
    async def press(*keys):
        for key in keys:
            app.simulate_key(key)
            await rest()
            seen[app.console_screen.NAME] += 1
    async def click_all():
        App.clicking = True
        for row in range(1, app.size.height - 2, 4 if records > 10 else 7):
            for column in range(5, app.size.width, 37):
                await pilot.click(offset=(column, row))
        await rest()
        App.clicking = False
        # A click may have gone into a box, which would take the keys that follow as text.
        app.screen.set_focus(None)
    await rest()
    await press(*["j"] * records, "g", "right_square_bracket", *["j"] * 3, "right_square_bracket")
    await press(*["j"] * 3, "right_square_bracket", *["j"] * 3, "g")
    await press("y", "Y", "enter", "J")
    await click_all()
    await press("exclamation_mark", "n", "n", "t", "t", "z", "z", "question_mark", "escape")
    await press("2", *["j"] * records, "right_square_bracket", *["j"] * 3, "y", "enter")
    await click_all()
    for _ in range(min(records, 12)):
        await press("1", "j", "enter", "s", "Y", "enter")
    await click_all()
    await press("4", *["j"] * 5, "y", "right_square_bracket")
    await click_all()
    await press("5", *["j"] * min(records, 40), "enter", "Y", "enter", "d")
    await click_all()
    await press("6", "1", "ctrl+p", *"look", "escape", "slash", *"ref:in", "enter")
    with open(met, "w") as file:
        json.dump({"ran": ran, "seen": seen}, file)
    app.exit()

with Store.open(path, read_only=True) as store:
    clock = ManualClock(datetime.fromisoformat(now))
    context = AppContext(
        store=store, mode=Mode.LIVE, clock=clock, sleep=at_once, folder=Path(met).parent
    )
    app = App(context, store_shown="store", tick_s=None)
    app.animation_level = "none"
    app.run(auto_pilot=walk)
    sys.exit(app.return_code or 0)
"""
FRAGMENTS = (
    "\x1b[31m", "\x1b[2J", "\x1b[?1049l", "\x1b]0;title\x07", "\x1b]52;c;QUFB\x07",
    "\x1b]8;;http://x\x1b\\", "\x1bP$q\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\",
    "\x1bXsos\x1b\\", "\x1bc", "\x1b(0", "\x1b[6n", "\x1b[>c", "\x9b31m", "\x9d0;t\x9c",
    "\x90q\x9c", "\x85", "\x00", "\x7f", "\x07", "\x08\x08", "\r", "\n", "\t", "\x0e",
    "\u202e", "\u202c", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\u2028", "\u00ad",
    "\U000e0041", "e\u0301\u0301\u0301\u0301", "\ufdd0", "\ue000",
    "\U0001f468\u200d\U0001f469", "漢字", "[@click=app.quit]x[/]", "[@click=app.go('health')]y",
    "[/red]", "[/", "[bold]", "[link=http://x]z[/link]", "\\[x]", "$primary", "{0}", "%s", "=1+1",
    "<b>", "INV", "7", " ", "ق", "W" * 10_000, "Z" + "\u0301" * 50,
)  # fmt: skip


def spelled(chance: random.Random, count: int) -> list[str]:
    """Return every fragment: alone and then in mixtures, or joined where `count` is too few."""
    alone = list(FRAGMENTS)
    chance.shuffle(alone)
    if count < len(alone):
        return ["".join(alone[n::count]) for n in range(count)]
    mixed = [
        "".join(chance.choices(FRAGMENTS, k=chance.randint(2, 9))) * chance.choice((1, 1, 1, 40))
        for _ in range(max(0, count - len(alone)))
    ]
    return [*alone, *mixed]


def fill(seed: Any, texts: Sequence[str], clock: ManualClock) -> None:
    """Put each text into every field that comes from outside, a record for each."""
    store = seed.store
    for n in range(len(texts)):
        spare: Iterator[str] = (texts[(n + k) % len(texts)] for k in range(100))
        at = clock.now() - timedelta(minutes=1, seconds=n)
        fields: dict[str, Any] = {
            name: next(spare)
            for name in (
                "reference", "channel", "currency", "phone", "failure_code", "failure_message",
                "description",
            )
        }  # fmt: skip
        fields["metadata"] = {f"{next(spare)}{n}": next(spare)}
        status = next(spare) if n % 4 == 0 else ("failed", "succeeded", "expired")[n % 3]
        # An id with anything but letters and digits never gets past the decoder.
        found = seed.collection(n, at=at, status=status, completed_at=at, **fields)
        seed.answered(found)
        if n % 6 == 0:
            again = {"status": "succeeded", "completed_at": at}
            seed.polled(seed.collection(n, at=at, **fields | again), at=at)
        event = seed.event(found, at=at, type=next(spare))
        seed.delivered(
            event, at=at, endpoint=next(spare) or "e", reason=next(spare) or "r", answer=400,
            verdict=Verdict.REJECTED,
        )  # fmt: skip
        if n % 3 == 0:
            seed.delivered(event, at=at + timedelta(seconds=1), endpoint=next(spare) or "e")
        made = prepare_intent(store,
            idempotency_key=f"key-{n}-{next(spare)}", body=next(spare).encode(), mode=Mode.LIVE,
            profile=next(spare)[:60], reference=next(spare), amount=n + 1, phone=next(spare),
            prepared_at=at, intent_id=f"int_{n:06}",
        )  # fmt: skip
        store.intents.begin_attempt(made.id, at=at)
        end_attempt(store,
            made.id, 1, at=at, state=(IntentState.UNKNOWN, IntentState.REFUSED)[n % 2],
            outcome=next(spare), status=None, request_id=next(spare), took_us=1,
            sentence=next(spare),
        )  # fmt: skip
        store.notes.add(found.id, Note(next(spare)), author=next(spare), mode=Mode.LIVE)
        store.audit.add(actor=next(spare), act=next(spare), subject=found.id, detail=next(spare))


# What a terminal acts on: CSI by its letters, OSC by its number, the others by their kind; raw C1
# bytes and those of UTF-8 too.
_ESCAPE = re.compile(
    rb"\x1b\[(?P<csi>[<=>?]?)[0-9;:]*(?P<between>[ -/]*)(?P<end>[@-~])"
    rb"|\x1b\](?P<osc>[0-9]*)"
    rb"|\x1b(?P<other>[^\[\]])"
    rb"|(?P<control>[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]|\xc2[\x80-\x9f])"
)
_COPIED = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)")


def kinds(written: bytes) -> set[tuple[bytes | None, ...]]:
    """Return which kinds of things a terminal was told to do."""
    return {tuple(match.groups()) for match in _ESCAPE.finditer(written)}


def walked(
    path: Path, clock: ManualClock, *, records: int, on_a_terminal: Any
) -> tuple[bytes, dict[str, Any]]:
    """Walk through every screen of a store; return what was written, and what the walk met."""
    met = path.with_suffix(".json")
    arguments = [sys.executable, "-c", WALK, path, met, clock.now().isoformat(), records]
    status, written = on_a_terminal(
        [str(one) for one in arguments], size=(40, 132), within_s=120 + 10 * records
    )
    assert status == 0, written[-3000:]
    return written, json.loads(met.read_text())


def compare(
    texts: Sequence[str], folder: Path, clock: ManualClock, make_seed: Any, on_a_terminal: Any
) -> None:
    """Walk through a benign and a hostile store and hold one against the other."""
    found = []
    for name, said in (("benign", [f"plain {n}" for n in range(len(texts))]), ("hostile", texts)):
        path = folder / f"{name}.db"
        with Store.open(path, clock=clock) as store:
            fill(make_seed(store), said, clock)
        found.append(walked(path, clock, records=len(texts), on_a_terminal=on_a_terminal))
    (benign, calm), (hostile, met) = found
    assert set(met["seen"]) >= {"live", "deliveries", "lookup", "health", "intents"}
    assert met["seen"] == calm["seen"], "both walks were the same"
    assert met["ran"] == calm["ran"], "no click ran anything that it does not run on plain text"
    assert kinds(hostile) <= kinds(benign)
    copies = [base64.b64decode(copy).decode() for copy in _COPIED.findall(hostile)]
    assert len(copies) >= 10
    for copy in copies:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", copy)


@pytest.mark.scale(3, 500, 5_000)
@pytest.mark.timeout(3600)
def test_hostile_strings_in_every_field_add_no_escape_and_run_no_action(
    tmp_path: Path, clock: ManualClock, make_seed: Any, on_a_terminal: Any, rounds: int
) -> None:
    chance = random.Random(8)  # noqa: S311 - the same strings at every run
    texts = spelled(chance, rounds)
    for part in range(0, len(texts), 100):
        folder = tmp_path / str(part)
        folder.mkdir()
        compare(texts[part : part + 100], folder, clock, make_seed, on_a_terminal)
