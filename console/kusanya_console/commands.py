"""Every command of the console, declared once: its keys, its label, its sentence.

Bindings, key bar, palette and help are made from this list. A command's `action` is a Textual
action of the screen or, with the prefix `app.`, of the application.
"""

from enum import StrEnum
from typing import Final

import msgspec
from textual.binding import Binding, BindingType


class Kind(StrEnum):
    """What a command may do."""

    LOOK = "look"
    ASK = "ask"
    ACT = "act"


LIVE: Final = "live"
DELIVERIES: Final = "deliveries"
LOOKUP: Final = "lookup"
HEALTH: Final = "health"
INTENTS: Final = "intents"
_LISTS: Final = frozenset({LIVE, DELIVERIES})


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a person can ask for."""

    id: str
    keys: tuple[str, ...]
    """As Textual spells them."""
    shown: str
    """The keys as the key bar and the help write them."""
    label: str
    sentence: str
    action: str
    kind: Kind = Kind.LOOK
    screens: frozenset[str] = frozenset()
    """Where it exists; empty means everywhere."""
    bar: int = 0
    """Its rank in the key bar, 1 first; 0 keeps it out."""

    def on(self, screen: str) -> bool:
        """Tell whether this command exists on a screen."""
        return not self.screens or screen in self.screens


COMMANDS: Final = (
    Command(
        id="go.live", keys=("1",), shown="1", label="Live", action="app.go('live')",
        sentence="Watch what is moving: counts, and the newest collections.",
    ),
    Command(
        id="go.deliveries", keys=("2",), shown="2", label="Deliveries",
        action="app.go('deliveries')",
        sentence="See what arrived, what we answered, and what comes next.",
    ),
    Command(
        id="go.lookup", keys=("3",), shown="3", label="Lookup", action="app.go('lookup')",
        sentence="Find a collection by reference, id or phone, and learn what to say.",
    ),
    Command(
        id="go.health", keys=("4",), shown="4", label="Health", action="app.go('health')",
        sentence="See where it is going wrong: endpoints, failures, stuck prompts.",
    ),
    Command(
        id="go.intents", keys=("5",), shown="5", label="Intents", action="app.go('intents')",
        sentence="See which creations have no answer, and how long they may be replayed.",
    ),
    Command(
        id="list.down", keys=("j", "down"), shown="j ↓", label="down", action="move(1)",
        sentence="Go to the next older record; following ends.",
        screens=_LISTS | {LOOKUP, HEALTH, INTENTS},
    ),
    Command(
        id="list.up", keys=("k", "up"), shown="k ↑", label="up", action="move(-1)",
        sentence="Go to the next newer record; following ends.",
        screens=_LISTS | {LOOKUP, HEALTH, INTENTS},
    ),
    Command(
        id="list.page_down", keys=("pagedown",), shown="PgDn", label="page down",
        action="move_page(1)", sentence="Go one page older.", screens=_LISTS,
    ),
    Command(
        id="list.page_up", keys=("pageup",), shown="PgUp", label="page up",
        action="move_page(-1)", sentence="Go one page newer.", screens=_LISTS,
    ),
    Command(
        id="list.newest", keys=("g", "home"), shown="g", label="newest", action="newest",
        sentence="Go to the newest record and follow what comes.", screens=_LISTS,
    ),
    Command(
        id="list.oldest", keys=("G", "end"), shown="G", label="oldest", action="oldest",
        sentence="Go to the oldest record.", screens=_LISTS,
    ),
    Command(
        id="list.follow", keys=("f",), shown="f", label="follow", action="follow", bar=2,
        sentence="Follow the newest records, or stop following.", screens=_LISTS,
    ),
    Command(
        id="list.pause", keys=("space",), shown="space", label="pause", action="pause", bar=1,
        sentence="Hold the list still; header and counts go on.", screens=_LISTS,
    ),
    Command(
        id="list.filter", keys=("slash",), shown="/", label="filter", action="filter", bar=3,
        sentence="Narrow the list, as in: failed airtel amount>=5000 age<=15m. esc clears.",
        screens=_LISTS,
    ),
    Command(
        id="list.search_on", keys=("greater_than_sign",), shown=">", label="search on",
        action="search_on", screens=_LISTS,
        sentence="Go on with a search that ran out of time.",
    ),
    Command(
        id="list.unwell", keys=("exclamation_mark",), shown="!", label="not well",
        action="unwell", bar=4,
        sentence="Show only what is not plainly well, or everything again.", screens=_LISTS,
    ),
    Command(
        id="list.next_unwell", keys=("n",), shown="n", label="next not well",
        action="next_unwell(1)", bar=7,
        sentence="Go to the next older record that is not plainly well.", screens=_LISTS,
    ),
    Command(
        id="list.previous_unwell", keys=("N",), shown="N", label="previous not well",
        action="next_unwell(-1)",
        sentence="Go to the next newer record that is not plainly well.", screens=_LISTS,
    ),
    Command(
        id="list.open", keys=("enter",), shown="enter", label="story", action="open", bar=5,
        sentence="Open the whole story of the record under the cursor.",
        screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.pane", keys=("d",), shown="d", label="detail", action="pane", bar=6,
        sentence="Show or hide the detail of the record under the cursor.",
        screens=_LISTS | {INTENTS},
    ),
    Command(
        id="lookup.box", keys=("slash",), shown="/", label="box", action="box", bar=1,
        sentence="Go to the box and type.", screens=frozenset({LOOKUP}),
    ),
    Command(
        id="copy.sentence", keys=("s",), shown="s", label="copy sentence",
        action="copy_sentence", bar=2, screens=frozenset({LOOKUP}),
        sentence="Copy what to say to the customer, in English and in Swahili.",
    ),
    Command(
        id="copy.card", keys=("Y",), shown="Y", label="copy card", action="copy_card", bar=3,
        sentence="Copy the whole story as text, the phone masked.", screens=frozenset({LOOKUP}),
    ),
    Command(
        id="copy.id", keys=("y",), shown="y", label="copy", action="copy_id", bar=8,
        sentence="Copy the reference; on Deliveries the event's id, on Health the report.",
    ),
    Command(
        id="list.export", keys=("ctrl+s",), shown="^s", label="export", action="export",
        sentence="Write the rows that pass the filter to a CSV file, phones masked.",
        screens=_LISTS,
    ),
    Command(
        id="ask.service", keys=("c",), shown="c", label="ask the service", action="ask_service",
        kind=Kind.ASK, screens=_LISTS | {LOOKUP, INTENTS},
        sentence="Ask the service about the record under the cursor and keep its answer.",
    ),
    Command(
        id="ask.catch_up", keys=("c",), shown="c", label="catch up", action="catch_up",
        kind=Kind.ASK, screens=frozenset({HEALTH}),
        sentence="Ask the service for everything open and every event not yet checked.",
    ),
    Command(
        id="act.note", keys=("A",), shown="A", label="note…", action="note", kind=Kind.ACT,
        sentence="Keep a note on the payment; Lookup finds payments by what was noted.",
        screens=_LISTS | {LOOKUP, INTENTS},
    ),
    Command(
        id="act.reveal", keys=("v",), shown="v", label="reveal phone", action="reveal",
        kind=Kind.ACT, screens=_LISTS | {LOOKUP, INTENTS},
        sentence="Show the whole phone number for 30 s; audited, never in a copy.",
    ),
    Command(
        id="act.replay", keys=("R",), shown="R", label="replay…", action="replay",
        kind=Kind.ACT, screens=frozenset({INTENTS}),
        sentence="Send the same key and the same bytes again, within 23 h of the first time.",
    ),
    Command(
        id="act.resend", keys=("R",), shown="R", label="resend…", action="resend",
        kind=Kind.ACT, screens=frozenset({DELIVERIES}),
        sentence="Let the embedded service deliver this event again.",
    ),
    Command(
        id="view.times", keys=("t",), shown="t", label="times", action="app.times",
        sentence="Write times in EAT, in UTC or as ages.",
    ),
    Command(
        id="view.back", keys=("escape",), shown="esc", label="back", action="step_back",
        sentence="Go one step back.",
    ),
    Command(
        id="view.help", keys=("question_mark",), shown="?", label="help", action="app.help",
        sentence="Show the keys of this screen.", bar=9,
    ),
    Command(
        id="view.palette", keys=("ctrl+p", "colon"), shown="^p", label="commands",
        action="app.command_palette", sentence="Find a command by its name.", bar=10,
    ),
    Command(
        id="app.quit", keys=("ctrl+q",), shown="^q", label="quit", action="app.quit",
        sentence="Leave the console.",
    ),
)  # fmt: skip


def commands_of(screen: str) -> tuple[Command, ...]:
    """Return the commands that exist on a screen, in the order in which they are declared."""
    return tuple(command for command in COMMANDS if command.on(screen))


def bindings_of(screen: str) -> list[BindingType]:
    """Return the key bindings of a screen, each under its command's id so it can be remapped."""
    return [
        Binding(",".join(command.keys), command.action, command.sentence, id=command.id)
        for command in commands_of(screen)
    ]
