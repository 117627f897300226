"""Moving in a list, narrowing it, and its detail."""

from typing import Final

from kusanya_console.commands.command import Command, CommandKind
from kusanya_console.commands.screens import (
    DELIVERIES,
    HEALTH,
    LISTS,
    LIVE,
    LOOKUP,
    PAYMENTS,
    SERVICE,
    TABLES,
)

COMMANDS: Final = (
    Command(
        id="list.down", keys=("j", "down"), shown="j ↓", label="down", action="move(1)",
        sentence="Go one record or line down.",
        screens=TABLES | {HEALTH, SERVICE},
    ),
    Command(
        id="list.up", keys=("k", "up"), shown="k ↑", label="up", action="move(-1)",
        sentence="Go one record or line up.",
        screens=TABLES | {HEALTH, SERVICE},
    ),
    Command(
        id="list.page_down", keys=("pagedown",), shown="PgDn", label="page down",
        action="move_page(1)", sentence="Go one page older.", screens=TABLES - {LOOKUP},
    ),
    Command(
        id="list.page_up", keys=("pageup",), shown="PgUp", label="page up",
        action="move_page(-1)", sentence="Go one page newer.", screens=TABLES - {LOOKUP},
    ),
    Command(
        id="list.newest", keys=("g", "home"), shown="g", label="newest", action="newest",
        sentence="Go to the newest record and follow what comes.", screens=TABLES - {LOOKUP},
    ),
    Command(
        id="list.oldest", keys=("G", "end"), shown="G", label="oldest", action="oldest",
        sentence="Go to the oldest record.", screens=TABLES - {LOOKUP},
    ),
    Command(
        id="list.follow", keys=("f",), shown="f", label="follow", action="follow", bar=2,
        sentence="Follow the newest records, or stop following; moving stops it too.",
        screens=LISTS,
    ),
    Command(
        id="list.mark", keys=("space",), shown="space", label="mark", action="mark", bar=1,
        bar_of=frozenset({LIVE, DELIVERIES}),
        sentence="Mark the record: copy, note, ask, export and resend then take all marked ones.",
        screens=TABLES,
    ),
    Command(
        id="list.mark_all", keys=("asterisk",), shown="*", label="mark all", action="mark_all",
        sentence="Mark what is listed, the first thousand that pass the filter. esc unmarks.",
        screens=TABLES,
    ),
    Command(
        id="list.pause", keys=("P",), shown="P", label="pause", action="pause", bar=9,
        sentence="Hold the list still; header and counts go on.", screens=LISTS,
    ),
    Command(
        id="list.filter", keys=("slash",), shown="/", label="filter", action="filter", bar=3,
        types=True,
        sentence="Narrow the list, as in: failed airtel amount>=5000 age<=15m. esc clears.",
        screens=LISTS,
    ),
    Command(
        id="list.save_view", keys=(), shown="", label="save view…", action="save_view",
        kind=CommandKind.ACT, screens=LISTS,
        sentence="Save the filter under a name; @name stands for it, for everybody.",
    ),
    Command(
        id="list.search_on", keys=("greater_than_sign",), shown=">", label="search on",
        action="search_on", screens=LISTS,
        sentence="Go on with a search that ran out of time.",
    ),
    Command(
        id="list.unwell", keys=("exclamation_mark",), shown="!", label="not well",
        action="unwell", bar=4,
        sentence="Show only what is not plainly well, or everything again.", screens=LISTS,
    ),
    Command(
        id="list.next_unwell", keys=("n",), shown="n", label="next not well",
        action="next_unwell(1)", bar=7,
        sentence="Go to the next older record that is not plainly well.", screens=LISTS,
    ),
    Command(
        id="list.previous_unwell", keys=("N",), shown="N", label="previous not well",
        action="next_unwell(-1)",
        sentence="Go to the next newer record that is not plainly well.", screens=LISTS,
    ),
    Command(
        id="list.order", keys=("o",), shown="o", label="order", action="order", bar=10,
        sentence="List by creation, by the time of the final state, or by amount.",
        screens=frozenset({LIVE}),
    ),
    Command(
        id="list.turn", keys=("O",), shown="O", label="turn round", action="turn",
        sentence="Turn the order round: oldest, earliest or smallest first.", screens=LISTS,
    ),
    Command(
        id="list.columns", keys=("C",), shown="C", label="columns…", action="columns",
        sentence="Choose, move, widen and sort by columns; a click on a heading sorts too.",
        screens=TABLES - {LOOKUP},
    ),
    Command(
        # Without a key: what is typed there is a reference more often than a command.
        id="lookup.columns", keys=(), shown="", label="columns…", action="columns",
        sentence="Choose, move and widen the columns of the matches.", screens=frozenset({LOOKUP}),
    ),
    Command(
        id="list.open", keys=("enter",), shown="enter", label="story", action="open", bar=5,
        sentence="Open the whole story of the record under the cursor.",
        screens=TABLES - {LOOKUP},
    ),
    Command(
        id="list.pane", keys=("d",), shown="d", label="detail", action="pane", bar=6,
        sentence="Show or hide the detail of the record under the cursor.",
        screens=(TABLES - {LOOKUP}) | {SERVICE},
    ),
    Command(
        id="pane.next", keys=("right_square_bracket",), shown="]", label="next part",
        action="part(1)", screens=PAYMENTS,
        sentence="Show the next part of the detail: card, what to say, what is odd, JSON.",
    ),
    Command(
        id="pane.previous", keys=("left_square_bracket",), shown="[", label="previous part",
        action="part(-1)", sentence="Show the previous part of the detail.", screens=PAYMENTS,
    ),
    Command(
        id="pane.zoom", keys=("z",), shown="z", label="zoom", action="zoom",
        sentence="Give the detail the whole screen, or the list its place again.",
        screens=LISTS | PAYMENTS | {HEALTH},
    ),
)  # fmt: skip
