"""Every screen, declared once: its name, its key, its class, which shared keys work on it, its own.

A screen's class is loaded when somebody goes there: this list holds names alone.
"""

from enum import Enum
from typing import Final

import msgspec

from kusanya_console.commands.command import Command


class Part(Enum):
    """What a screen has that shared keys work on."""

    TABLE = "table"
    """Rows with a cursor, which can be marked and exported."""
    LIST = "list"
    """A table that is filtered, followed and read page by page: a `ListScreen`."""
    PAYMENT = "payment"
    """A cursor that points at a payment."""


class ScreenEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One screen of the console."""

    name: str
    """The `NAME` of its class."""
    key: str
    label: str
    sentence: str
    """What somebody sees there, for help and palette."""
    module: str
    """The module below `kusanya_console` that holds its class."""
    screen: str
    """The name of its class."""
    parts: frozenset[Part] = frozenset()
    action: str = ""
    """What its key does, where that is not just to go there."""
    aside: bool = False
    """True where the key bar names it only while it is shown: there is no room for all."""
    commands: tuple[Command, ...] = ()
    """Its own commands, which exist on no other screen."""


LIVE: Final = "live"
DELIVERIES: Final = "deliveries"
LOOKUP: Final = "lookup"
HEALTH: Final = "health"
INTENTS: Final = "intents"
SERVICE: Final = "service"

SCREENS: Final = (
    ScreenEntry(
        name=LIVE, key="1", label="Live", module="live.screen", screen="LiveScreen",
        sentence="Watch what is moving: counts, and the newest collections.",
        parts=frozenset({Part.TABLE, Part.LIST, Part.PAYMENT}),
    ),
    ScreenEntry(
        name=DELIVERIES, key="2", label="Deliveries",
        module="deliveries.screen", screen="DeliveriesScreen",
        sentence="See what arrived, what we answered, and what comes next.",
        parts=frozenset({Part.TABLE, Part.LIST, Part.PAYMENT}),
    ),
    ScreenEntry(
        name=LOOKUP, key="3", label="Lookup", module="lookup.screen", screen="LookupScreen",
        sentence="Find a collection by reference, id or phone, and learn what to say.",
        parts=frozenset({Part.TABLE, Part.PAYMENT}),
        commands=(
            Command(
                id="lookup.choose", keys=("enter",), shown="enter", label="choose", action="choose",
                sentence="Take the payment under the cursor for the one that the message is of.",
            ),
            Command(
                id="lookup.box", keys=("slash",), shown="/", label="box", action="box", bar=1,
                types=True, sentence="Go to the box and type.",
            ),
        ),
    ),
    ScreenEntry(
        name=HEALTH, key="4", label="Health", module="health.screen", screen="HealthScreen",
        sentence="See where it is going wrong: endpoints, failures, stuck prompts.",
        commands=(
            Command(
                id="health.open", keys=("enter",), shown="enter", label="open", action="open",
                sentence="Open the rows behind the line under the cursor, filtered.", bar=1,
            ),
            Command(
                id="health.narrower", keys=("minus",), shown="-", label="narrower",
                action="lookback(-1)", bar=3,
                sentence="Count failures over a shorter time: hour, day, week.",
            ),
            Command(
                id="health.wider", keys=("plus", "equals_sign"), shown="+", label="wider",
                action="lookback(1)", bar=2,
                sentence="Count failures over a longer time: hour, day, week.",
            ),
        ),
    ),
    ScreenEntry(
        name=INTENTS, key="5", label="Intents", module="intents.screen", screen="IntentsScreen",
        sentence="See which creations have no answer, and how long they may be replayed.",
        parts=frozenset({Part.TABLE, Part.PAYMENT}),
    ),
    ScreenEntry(
        name=SERVICE, key="6", label="Service",
        module="sandbox.screen.screen", screen="ServiceScreen",
        sentence="See the embedded service from its own side, and change it.",
        action="service",
    ),
    ScreenEntry(
        name="audit", key="7", label="Audit", module="audit.screen", screen="AuditScreen",
        sentence="See who did what, when, and to which collection.",
        parts=frozenset({Part.TABLE, Part.LIST}), aside=True,
    ),
    ScreenEntry(
        name="handover", key="8", label="Hand-over",
        module="handover.screen", screen="HandoverScreen",
        sentence="See what happened in this shift, who did what, and what is open.",
        aside=True,
        commands=(
            Command(
                id="handover.down", keys=("j", "down"), shown="j ↓", label="down",
                action="scroll(1)", sentence="Scroll the page down.",
            ),
            Command(
                id="handover.up", keys=("k", "up"), shown="k ↑", label="up",
                action="scroll(-1)", sentence="Scroll the page up.",
            ),
            Command(
                id="handover.earlier", keys=("minus",), shown="-", label="earlier",
                action="shift(-1)", bar=1,
                sentence="Begin a shift earlier: at 06:00, 14:00 or 22:00.",
            ),
            Command(
                id="handover.later", keys=("plus", "equals_sign"), shown="+", label="later",
                action="shift(1)", sentence="Begin a shift later.", bar=2,
            ),
            Command(
                id="handover.reread", keys=("r",), shown="r", label="read again",
                action="reread", bar=3,
                sentence="Read the page anew; by itself it does so every 30 s and after an act.",
            ),
        ),
    ),
)  # fmt: skip


def _with(part: Part) -> frozenset[str]:
    return frozenset(screen.name for screen in SCREENS if part in screen.parts)


LISTS: Final = _with(Part.LIST)
TABLES: Final = _with(Part.TABLE)
PAYMENTS: Final = _with(Part.PAYMENT)

GOING: Final = tuple(
    Command(
        id=f"go.{screen.name}",
        keys=(screen.key,),
        shown=screen.key,
        label=screen.label,
        action=screen.action or f"app.go('{screen.name}')",
        sentence=screen.sentence,
        aside=screen.aside,
    )
    for screen in SCREENS
)
"""The commands that go to a screen."""
OWN: Final = tuple(
    msgspec.structs.replace(command, screens=frozenset({screen.name}))
    for screen in SCREENS
    for command in screen.commands
)
"""The commands of one screen alone."""
