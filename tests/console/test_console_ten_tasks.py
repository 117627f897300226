"""Ten tasks of support, done by pressing keys; the README says how many, and they are counted."""

import re
from datetime import timedelta
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

import pytest
from tests.console.looking import AtRest, OpenConsole, shown
from tests.kit.messages import message
from textual.events import Paste
from textual.pilot import Pilot

from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions

README = Path(__file__).parents[2] / "console" / "README.md"
SIZES = ((80, 24), (120, 36))


class Hands:
    """A person at the keyboard, whose keys are counted beside the words of the customer."""

    def __init__(self, pilot: Pilot[Any], at_rest: AtRest) -> None:
        self.pilot = pilot
        self.at_rest = at_rest
        self.keys = 0

    async def paste(self, text: str) -> None:
        """Paste what the customer sent."""
        self.pilot.app.post_message(Paste(text))
        await self.at_rest(self.pilot)

    async def say(self, text: str) -> None:
        """Type the customer's words, or a note's."""
        for key in text:
            await self.pilot.press("space" if key == " " else key)
        await self.at_rest(self.pilot)

    async def press(self, *keys: str) -> None:
        """Press keys, each after the one before has had its effect."""
        for key in keys:
            self.keys += 1
            await self.pilot.press(key)
            await self.at_rest(self.pilot)


def keys_in_the_readme() -> dict[str, int]:
    """Return what the README says of each task."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| [^|]+ \|$", README.read_text("utf-8"), re.MULTILINE)
    return {task: int(keys) for task, keys in rows}


class Task(NamedTuple):
    """What is done after the words were pasted, or typed behind `first`; and what is seen then."""

    said: str
    seen: tuple[str, ...]
    first: str = ""
    then: tuple[str, ...] = ()
    note: str = ""
    last: str = ""


async def do(task: Task, hands: Hands) -> None:
    """Do a task by hand."""
    if task.first:
        await hands.press(task.first)
        await hands.say(task.said)
    else:
        await hands.paste(task.said)
    await hands.press(*task.then)
    if task.note:
        await hands.say(task.note)
        await hands.press(task.last)


CLIPBOARD = "sent to the terminal's clipboard"
TASKS = {
    '"5000 yesterday evening"': Task(
        "5000 yesterday evening", ("INV-482003", "TZS 5,000"), first="3"
    ),
    "a phone by its last six digits": Task("314159", ("INV-482002",), first="3"),
    "a reference": Task("INV-482005", ("INV-482005", "TZS 44,595")),
    "a receipt of the operator": Task("sj31hg4k2", ("INV-482003",)),
    "an order id of the shop": Task("shop-77", ("INV-482002",)),
    "is a new request safe?": Task("INV-482005", ("a new request is safe",)),
    "copy the sentence": Task(
        "INV-482005", (f"{CLIPBOARD}, say: There is not enough money",), then=("s",)
    ),
    "copy the evidence card": Task(
        "INV-482005", (f"evidence card {CLIPBOARD}",), then=("Y", "escape")
    ),
    "add a note": Task(
        "INV-482005", ("noted on INV-482005",), then=("A",), note="will top up", last="enter"
    ),
}


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("size", SIZES)
async def test_ten_tasks_of_support_take_as_many_keys_as_the_readme_says(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, seed: Any, store: Store, clock: ManualClock, at_rest: AtRest,
    size: tuple[int, int],
) -> None:  # fmt: skip
    well = {"status": "succeeded", "failure_code": None, "failure_message": None}
    paid = seed.life(
        2, at=clock.now() - timedelta(minutes=9), channel="MPESA_TZ", phone="255754314159",
        metadata={"order_id": "SHOP-77"}, **well,
    )  # fmt: skip
    other = seed.life(3, at=clock.now() - timedelta(hours=20), amount=5_000, **well)
    seed.life(
        5, at=clock.now() - timedelta(minutes=30), status="failed",
        failure_code="insufficient_funds", failure_message="Balance too low.",
    )  # fmt: skip
    store.receipts.record(other.id, Mode.LIVE, "SJ31HG4K2", source="mpesa.csv", actor="asha")
    sms = message(
        "M-Pesa", Language.SWAHILI, amount=paid.amount, at=paid.completed_at, payee="DUKA",
        random=Random(1),  # noqa: S311 - a seed
    )  # fmt: skip
    which = "which payment is this confirmation, and what do I say?"
    tasks = {which: Task(sms.text, ("INV-482002", "fit this payment alone", "SW "))} | TASKS
    actions = StoreActions(store, actor="asha", clock=clock, profile="main")
    counted = {}
    async with opened(size=size, actions=actions) as (app, pilot):
        for name, task in tasks.items():
            await app.run_action("go('live')")
            await at_rest(pilot)
            app.context.show(None)
            hands = Hands(pilot, at_rest)
            await do(task, hands)
            for words in task.seen:
                assert words in " ".join(shown(app).split()), f"{name}\n{shown(app)}"
            counted[name] = hands.keys
    assert counted == keys_in_the_readme()
    assert len(counted) == 10
    assert median(counted.values()) <= 3


@pytest.mark.anyio
async def test_a_paste_into_a_filter_stays_there_and_an_empty_one_goes_nowhere(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened("slash") as (app, pilot):
        app.post_message(Paste("INV-482001"))
        await at_rest(pilot)
        assert app.console_screen is not None
        assert app.console_screen.NAME == "live"
        await pilot.press("escape")
        app.post_message(Paste(" \n"))
        await at_rest(pilot)
        assert app.console_screen.NAME == "live"
