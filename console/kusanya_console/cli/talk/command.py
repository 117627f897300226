"""`kusanya talk`: reads commands from standard input and says what is new, in lines."""

import sys
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.say import Said
from kusanya_console.cli.options import (
    ClockName,
    Migrate,
    ProfileName,
    StoreUrl,
    profile_of,
    speak,
)
from kusanya_console.output import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kusanya_console.cli.talk.conversation import Conversation

_LONGEST = 100_000
"""Characters that are read of one line."""


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya talk --follow all")(talk)


def talk(
    *,
    follow: Annotated[
        str, typer.Option(help="What is said unasked: all, problems or alarms.")
    ] = "problems",
    every: Annotated[
        float, typer.Option(min=0.1, max=3_600, help="Seconds between two looks.")
    ] = 2.0,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Read no commands, as for a log; Ctrl-C ends it.")
    ] = False,
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Allow replays, notes and resends.")
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    migrate: Migrate = False,
) -> None:
    """Say what happens in lines, and answer commands: for screen readers, slow lines and logs.

    Draws nothing and moves no cursor. Say help for the commands; what is no command is looked up.
    Ends with quit, or with the end of standard input.
    """
    from kusanya.errors import ConfigurationError
    from kusanya_console.actions.context import AppContext
    from kusanya_console.actions.factory import (
        actions_for,
        client_for,
        open_store,
        queries_for,
    )
    from kusanya_console.cli.console.command import migrate_first
    from kusanya_console.cli.talk.announcer import Follow
    from kusanya_console.cli.talk.conversation import Conversation
    from kusanya_console.cli.talk.verbs import VERBS
    from kusanya_console.output import USAGE, Refused
    from kusanya_console.sandbox.commands.attached import service_for
    from kusanya_console.sandbox.service_clock import parse_clock

    speak()
    try:
        said = Follow(follow)
        time = parse_clock(clock, max_age_s=0.25)
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    except ValueError:
        raise Refused(
            Said("--follow is all, problems or alarms, not {text}").of(text=follow), code=USAGE
        ) from None
    chosen = profile_of(profile, store)
    migrate_first(chosen, asked=migrate)
    with ExitStack() as stack:
        client = client_for(chosen, time, stack)
        opened = open_store(chosen, time, client, stack, allow_writes=allow_writes)
        context = AppContext(
            store=opened,
            mode=chosen.mode,
            clock=time,
            home=chosen.mode,
            payees=chosen.payees,
            queries=None if client is None else queries_for(opened, client, time),
            actions=actions_for(chosen, opened, time, client, stack) if allow_writes else None,
            service=service_for(chosen, stack),
        )
        asked: SimpleQueue[str | None] = SimpleQueue()
        if not no_input:
            # A daemon: a read of a terminal cannot be called off when the conversation is over.
            Thread(target=_read_into, args=(asked,), name="talk-input", daemon=True).start()
        converse(Conversation(context, VERBS, follow=said), asked, every_s=every)


def converse(
    conversation: "Conversation", asked: "SimpleQueue[str | None]", *, every_s: float
) -> None:
    """Print what the conversation says until it is over or a None is read."""
    _say(conversation.greet())
    while not conversation.is_over:
        try:
            line = asked.get(timeout=every_s)
        except Empty:
            _say(conversation.tick())
            continue
        if line is None:
            return
        _say(conversation.answer(line))


def _read_into(asked: "SimpleQueue[str | None]") -> None:
    while line := sys.stdin.readline(_LONGEST):
        asked.put(line)
    asked.put(None)


def _say(lines: "Iterable[str]") -> None:
    for line in lines:
        say(line)
