"""Changing the embedded service."""

from typing import Final

from kusanya_console.commands.command import Command, CommandKind
from kusanya_console.commands.screens import SERVICE

COMMANDS: Final = (
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
)  # fmt: skip
