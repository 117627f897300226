"""What Health, Hand-over and Lookup have beside the commands of a list."""

from typing import Final

from kusanya_console.commands.command import HANDOVER, HEALTH, LOOKUP, Command

COMMANDS: Final = (
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
        id="handover.reread", keys=("r",), shown="r", label="read again", action="reread", bar=3,
        sentence="Read the page anew; by itself it does so every 30 s and after an act.",
        screens=frozenset({HANDOVER}),
    ),
    Command(
        id="lookup.box", keys=("slash",), shown="/", label="box", action="box", bar=1,
        types=True,
        sentence="Go to the box and type.", screens=frozenset({LOOKUP}),
    ),
)  # fmt: skip
