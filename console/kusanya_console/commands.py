"""Every command of the console, declared once: its keys, its label, its sentence.

Bindings, key bar, palette and help are made from this list. A command's `action` is a Textual
action of the screen or, with the prefix `app.`, of the application.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec
from textual.binding import Binding, BindingType

from kusanya.assumptions import REPLAY_HOURS


class CommandKind(StrEnum):
    """What a command may do."""

    LOOK = "look"
    ASK = "ask"
    ACT = "act"


LIVE: Final = "live"
DELIVERIES: Final = "deliveries"
LOOKUP: Final = "lookup"
HEALTH: Final = "health"
INTENTS: Final = "intents"
SERVICE: Final = "service"
AUDIT: Final = "audit"
HANDOVER: Final = "handover"
_LISTS: Final = frozenset({LIVE, DELIVERIES, AUDIT})
_MARKED: Final = frozenset({LIVE, DELIVERIES})
"""Screens whose records can be marked."""
_PAYMENTS: Final = frozenset({LIVE, DELIVERIES, LOOKUP, INTENTS})
"""Screens whose cursor points at a payment."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a person can ask for."""

    id: str
    keys: tuple[str, ...]
    """As Textual spells them; a command without one is found in the palette."""
    shown: str
    """The keys as the key bar and the help write them."""
    label: str
    sentence: str
    action: str
    kind: CommandKind = CommandKind.LOOK
    screens: frozenset[str] = frozenset()
    """Where it exists; empty means everywhere."""
    bar: int = 0
    """Its rank in the key bar, 1 first; 0 keeps it out."""
    aside: bool = False
    """A screen that the key bar names only while it is shown: there is no room for all."""
    types: bool = False
    """Opens a line to type into: at once, so that keys sent right behind it are typed there."""

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
        id="go.service", keys=("6",), shown="6", label="Service", action="service",
        sentence="See the embedded service from its own side, and change it.",
    ),
    Command(
        id="go.audit", keys=("7",), shown="7", label="Audit", action="app.go('audit')",
        aside=True,
        sentence="See who did what, when, and to which collection.",
    ),
    Command(
        id="go.handover", keys=("8",), shown="8", label="Hand-over", action="app.go('handover')",
        aside=True,
        sentence="See what happened in this shift, who did what, and what is open.",
    ),
    Command(
        id="list.down", keys=("j", "down"), shown="j ↓", label="down", action="move(1)",
        sentence="Go to the next older record; following ends.",
        screens=_LISTS | {LOOKUP, HEALTH, INTENTS, SERVICE},
    ),
    Command(
        id="list.up", keys=("k", "up"), shown="k ↑", label="up", action="move(-1)",
        sentence="Go to the next newer record; following ends.",
        screens=_LISTS | {LOOKUP, HEALTH, INTENTS, SERVICE},
    ),
    Command(
        id="list.page_down", keys=("pagedown",), shown="PgDn", label="page down",
        action="move_page(1)", sentence="Go one page older.", screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.page_up", keys=("pageup",), shown="PgUp", label="page up",
        action="move_page(-1)", sentence="Go one page newer.", screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.newest", keys=("g", "home"), shown="g", label="newest", action="newest",
        sentence="Go to the newest record and follow what comes.", screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.oldest", keys=("G", "end"), shown="G", label="oldest", action="oldest",
        sentence="Go to the oldest record.", screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.follow", keys=("f",), shown="f", label="follow", action="follow", bar=2,
        sentence="Follow the newest records, or stop following.", screens=_LISTS,
    ),
    Command(
        id="list.mark", keys=("space",), shown="space", label="mark", action="mark", bar=1,
        sentence="Mark the record: copy, note, ask, export and resend then take all marked ones.",
        screens=_MARKED,
    ),
    Command(
        id="list.mark_all", keys=("asterisk",), shown="*", label="mark all", action="mark_all",
        sentence="Mark what passes the filter, the newest thousand. esc unmarks.",
        screens=_MARKED,
    ),
    Command(
        id="list.pause", keys=("P",), shown="P", label="pause", action="pause", bar=9,
        sentence="Hold the list still; header and counts go on.", screens=_LISTS,
    ),
    Command(
        id="list.filter", keys=("slash",), shown="/", label="filter", action="filter", bar=3,
        types=True,
        sentence="Narrow the list, as in: failed airtel amount>=5000 age<=15m. esc clears.",
        screens=_LISTS,
    ),
    Command(
        id="list.save_view", keys=(), shown="", label="save view…", action="save_view",
        kind=CommandKind.ACT, screens=_LISTS,
        sentence="Save the filter under a name; @name stands for it, for everybody.",
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
        id="list.order", keys=("o",), shown="o", label="order", action="order", bar=10,
        sentence="List by creation, by the time of the final state, or by amount.",
        screens=frozenset({LIVE}),
    ),
    Command(
        id="list.open", keys=("enter",), shown="enter", label="story", action="open", bar=5,
        sentence="Open the whole story of the record under the cursor.",
        screens=_LISTS | {INTENTS},
    ),
    Command(
        id="list.pane", keys=("d",), shown="d", label="detail", action="pane", bar=6,
        sentence="Show or hide the detail of the record under the cursor.",
        screens=_LISTS | {INTENTS, SERVICE},
    ),
    Command(
        id="pane.next", keys=("right_square_bracket",), shown="]", label="next part",
        action="part(1)", screens=_PAYMENTS,
        sentence="Show the next part of the detail: card, what to say, what is odd, JSON.",
    ),
    Command(
        id="pane.previous", keys=("left_square_bracket",), shown="[", label="previous part",
        action="part(-1)", sentence="Show the previous part of the detail.", screens=_PAYMENTS,
    ),
    Command(
        id="pane.zoom", keys=("z",), shown="z", label="zoom", action="zoom",
        sentence="Give the detail the whole screen, or the list its place again.",
        screens=_PAYMENTS | {HEALTH, AUDIT},
    ),
    Command(
        id="health.open", keys=("enter",), shown="enter", label="open", action="open",
        sentence="Open the rows behind the line under the cursor, filtered.", bar=1,
        screens=frozenset({HEALTH}),
    ),
    Command(
        id="health.narrower", keys=("minus",), shown="-", label="narrower",
        action="window(-1)", sentence="Count failures over a shorter time: hour, day, week.",
        screens=frozenset({HEALTH}), bar=3,
    ),
    Command(
        id="health.wider", keys=("plus", "equals_sign"), shown="+", label="wider",
        action="window(1)", sentence="Count failures over a longer time: hour, day, week.",
        screens=frozenset({HEALTH}), bar=2,
    ),
    Command(
        id="handover.down", keys=("j", "down"), shown="j ↓", label="down", action="scroll(1)",
        sentence="Scroll the page down.", screens=frozenset({HANDOVER}),
    ),
    Command(
        id="handover.up", keys=("k", "up"), shown="k ↑", label="up", action="scroll(-1)",
        sentence="Scroll the page up.", screens=frozenset({HANDOVER}),
    ),
    Command(
        id="handover.earlier", keys=("minus",), shown="-", label="earlier", action="shift(-1)",
        sentence="Begin a shift earlier: at 06:00, 14:00 or 22:00.", bar=1,
        screens=frozenset({HANDOVER}),
    ),
    Command(
        id="handover.later", keys=("plus", "equals_sign"), shown="+", label="later",
        action="shift(1)", sentence="Begin a shift later.", bar=2,
        screens=frozenset({HANDOVER}),
    ),
    Command(
        id="lookup.box", keys=("slash",), shown="/", label="box", action="box", bar=1,
        types=True,
        sentence="Go to the box and type.", screens=frozenset({LOOKUP}),
    ),
    Command(
        id="copy.sentence", keys=("s",), shown="s", label="copy sentence",
        action="copy_sentence", bar=12, screens=_PAYMENTS,
        sentence="Copy what to say to the customer, in English and in Swahili.",
    ),
    Command(
        id="copy.card", keys=("Y",), shown="Y", label="copy card", action="copy_card", bar=13,
        sentence="Copy the evidence card as text and save it to a file, the phone masked.",
        screens=_PAYMENTS | {HEALTH},
    ),
    Command(
        id="copy.json", keys=("J",), shown="J", label="copy JSON", action="copy_json",
        sentence="Copy the JSON as it was received, the phone masked.", screens=_PAYMENTS,
    ),
    Command(
        id="copy.id", keys=("y",), shown="y", label="copy", action="copy_id", bar=8,
        sentence="Copy the reference; on Deliveries the event's id, on Health the report.",
    ),
    Command(
        id="copy.notice", keys=(), shown="", label="copy outage notice", action="copy_notice",
        sentence="Copy what customers are told of the network under the cursor, in both languages.",
        screens=frozenset({HEALTH}),
    ),
    Command(
        id="list.export", keys=("ctrl+s",), shown="^s", label="export", action="export",
        sentence="Write the rows that pass the filter to a CSV file, phones masked.",
        screens=_LISTS,
    ),
    Command(
        id="list.export_raw", keys=(), shown="", label="export raw CSV", action="export('RAW')",
        sentence="Write the rows that pass the filter with exact values, for programs.",
        screens=_LISTS,
    ),
    Command(
        id="list.export_lines", keys=(), shown="", label="export JSON Lines",
        action="export('LINES')", screens=_LISTS,
        sentence="Write the rows that pass the filter as one JSON object a line.",
    ),
    Command(
        id="ask.service", keys=("c",), shown="c", label="ask the service", action="ask_service",
        kind=CommandKind.ASK, screens=_PAYMENTS,
        sentence="Ask the service about the record under the cursor and keep its answer.",
    ),
    Command(
        id="ask.catch_up", keys=("c",), shown="c", label="catch up", action="catch_up",
        kind=CommandKind.ASK, screens=frozenset({HEALTH}), bar=4,
        sentence="Ask the service for everything open and every event not yet checked.",
    ),
    Command(
        id="act.note", keys=("A",), shown="A", label="note…", action="note", kind=CommandKind.ACT,
        sentence="Keep a note on the payment; Lookup finds payments by what was noted.",
        screens=_PAYMENTS,
    ),
    Command(
        id="act.keep_receipt", keys=("K",), shown="K", label="keep receipt",
        action="keep_receipt", kind=CommandKind.ACT, screens=frozenset({LOOKUP}),
        sentence="Keep the receipt of a pasted message with its payment; Lookup then finds it.",
    ),
    Command(
        id="act.reveal", keys=("v",), shown="v", label="reveal phone", action="reveal",
        kind=CommandKind.ACT, screens=_PAYMENTS,
        sentence="Show the whole phone number for 30 s; audited, never in a copy.",
    ),
    Command(
        id="act.replay", keys=("R",), shown="R", label="replay…", action="replay",
        kind=CommandKind.ACT, screens=frozenset({INTENTS}), bar=1,
        sentence=f"Send the same key and bytes again, within {REPLAY_HOURS} h of the first time.",
    ),
    Command(
        id="act.decide", keys=("D",), shown="D", label="decide…", action="decide",
        kind=CommandKind.ACT, screens=frozenset({INTENTS}), bar=2,
        sentence="Record what became of a creation whose window is over, and how you know.",
    ),
    Command(
        id="act.acknowledge", keys=("A",), shown="A", label="acknowledge…", action="acknowledge",
        kind=CommandKind.ACT, screens=frozenset({HEALTH}),
        sentence="Say that you look after the alarm or oddity under the cursor; audited.",
    ),
    Command(
        id="act.resend", keys=("R",), shown="R", label="resend…", action="resend",
        kind=CommandKind.ACT, screens=frozenset({DELIVERIES}),
        sentence="Let the embedded service deliver this event again.",
    ),
    Command(
        id="service.next", keys=("right_square_bracket",), shown="]", label="next list",
        action="tab(1)", screens=frozenset({SERVICE}), bar=3,
        sentence="Show the next list: endpoints, scripted phones, faults, keys.",
    ),
    Command(
        id="service.previous", keys=("left_square_bracket",), shown="[", label="previous list",
        action="tab(-1)", sentence="Show the list before.", screens=frozenset({SERVICE}),
    ),
    Command(
        id="service.use", keys=("enter",), shown="enter", label="use…", action="use", bar=1,
        kind=CommandKind.ACT, screens=frozenset({SERVICE}),
        sentence="On a phone: create a test collection. On a fault: put it in force, or end it.",
    ),
    Command(
        id="service.add", keys=("A",), shown="A", label="add…", action="add", bar=4,
        kind=CommandKind.ACT, screens=frozenset({SERVICE}),
        sentence="Register an endpoint or make a key; its secret is shown once.",
    ),
    Command(
        id="service.enable", keys=("E",), shown="E", label="enable…", action="enable",
        kind=CommandKind.ACT, screens=frozenset({SERVICE}),
        sentence="Enable a disabled endpoint; what was held for it goes on.",
    ),
    Command(
        id="service.rotate", keys=("R",), shown="R", label="rotate…", action="rotate",
        kind=CommandKind.ACT, screens=frozenset({SERVICE}),
        sentence="Give an endpoint a new signing secret, shown once; both sign for a day.",
    ),
    Command(
        id="service.delete", keys=("X",), shown="X", label="delete…", action="delete",
        kind=CommandKind.ACT, screens=frozenset({SERVICE}),
        sentence="Delete an endpoint, or revoke a key. It cannot be undone.",
    ),
    Command(
        id="service.advance", keys=("C",), shown="C", label="clock…", action="advance_clock",
        kind=CommandKind.ACT, screens=frozenset({SERVICE}), bar=2,
        sentence="Move a virtual clock forward; everything due until then happens.",
    ),
    Command(
        id="service.no_faults", keys=("F",), shown="F", label="end faults…", action="no_faults",
        kind=CommandKind.ACT, screens=frozenset({SERVICE}), bar=5,
        sentence="End every fault in force.",
    ),
    Command(
        id="view.times", keys=("t",), shown="t", label="times", action="app.times",
        sentence="Write times in EAT, in UTC or as ages.",
    ),
    Command(
        id="view.theme", keys=(), shown="", label="colours", action="app.next_theme",
        sentence="Go from dark to light to the terminal's own colours, and round again.",
    ),
    Command(
        id="view.language", keys=(), shown="", label="language", action="app.next_language",
        sentence="Go from English to Kiswahili, and back.",
    ),
    Command(
        id="view.mode", keys=(), shown="", label="the other mode", action="app.other_mode",
        sentence="Go from LIVE MODE to TEST MODE or back; every window is emptied first.",
    ),
    Command(
        id="view.back", keys=("escape",), shown="esc", label="back", action="step_back",
        sentence="Go one step back.",
    ),
    Command(
        id="view.help", keys=("question_mark",), shown="?", label="help", action="app.help",
        sentence="Show the keys of this screen.", bar=90,
    ),
    Command(
        id="view.palette", keys=("ctrl+p", "colon"), shown="^p", label="commands",
        action="app.command_palette", sentence="Find a command by its name.", bar=91,
    ),
    Command(
        id="app.leave", keys=("q", "ctrl+c"), shown="q", label="leave", action="app.leave",
        sentence="Leave the console: press it twice.",
    ),
    Command(
        id="app.quit", keys=("ctrl+q",), shown="^q", label="quit", action="app.quit",
        sentence="Leave the console at once.",
    ),
)  # fmt: skip


def commands_of(screen: str) -> tuple[Command, ...]:
    """Return the commands that exist on a screen, in the order in which they are declared."""
    return tuple(command for command in COMMANDS if command.on(screen))


OPENS_A_BOX: Final = frozenset(command.action for command in COMMANDS if command.types)
"""Actions whose keys are typed like any other while a box has the focus."""


def bindings_of(screen: str) -> list[BindingType]:
    """Return the key bindings of a screen, each under its command's id so it can be remapped."""
    return [
        Binding(
            ",".join(command.keys),
            command.action,
            command.sentence,
            id=command.id,
            # Another key waits for the widget that has the focus, and those behind it too.
            priority=command.types,
        )
        for command in commands_of(screen)
        if command.keys
    ]


_SPELLED: Final[Mapping[str, str]] = {
    "slash": "/", "question_mark": "?", "exclamation_mark": "!", "greater_than_sign": ">",
    "minus": "-", "plus": "+", "colon": ":", "escape": "esc", "pagedown": "PgDn", "pageup": "PgUp",
    "left_square_bracket": "[", "right_square_bracket": "]", "asterisk": "*",
}  # fmt: skip


def keys_shown(command: Command, remapped: Mapping[str, str]) -> str:
    """Return a command's keys as people read them, a remapped one as it is now."""
    if command.id not in remapped:
        return command.shown
    keys = (key.strip() for key in remapped[command.id].split(","))
    return " ".join(_SPELLED.get(key, key.replace("ctrl+", "^")) for key in keys)


def wrong_keys(remapped: Mapping[str, str]) -> str:
    """Return why a remapping of keys cannot be, or nothing: unknown commands, keys taken twice."""
    known = {command.id for command in COMMANDS}
    unknown = sorted(set(remapped) - known)
    if unknown:
        return f"no command has the id {unknown[0]}; they are {', '.join(sorted(known))}"
    for screen in sorted({name for command in COMMANDS for name in command.screens}):
        taken: dict[str, str] = {}
        for command in commands_of(screen):
            held = remapped.get(command.id)
            for key in command.keys if held is None else [one.strip() for one in held.split(",")]:
                other = taken.setdefault(key, command.id)
                if other != command.id:
                    return f"the key {key} would be both {other} and {command.id} on {screen}"
    return ""
