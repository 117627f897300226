"""`kusanya catch-up`, `watch`: ask the service about what no event has ended."""

import sys
from typing import TYPE_CHECKING

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, profile_of
from kusanya_console.output import FAILED, complain, say, say_json, say_poll_result, stop

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

    from kusanya.catch_up import CaughtUp, Progress
    from kusanya.store import Store

_NAMED = 20
"""Unanswered questions that are named; --json lists more."""
_LONGEST_PAUSE_S = 60.0
"""Before a database that did not answer is tried again."""
_BAR = 30
"""Width of the progress bar in characters."""


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("catch-up", epilog="Example: kusanya catch-up")(catch_up)
    app.command(epilog="Example: kusanya watch")(watch)


def catch_up(
    *, profile: ProfileName = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Poll everything that is not final, once, and check events; run it after a downtime.

    Exits with 1 when something was left without an answer or unasked; running it again goes on.
    """
    from kusanya.catch_up import catch_up as run
    from kusanya.store import Store
    from kusanya_console.cli.create import client_of

    chosen = profile_of(profile, store)
    with Store.open(chosen.store) as opened, client_of(chosen) as client:
        found = run(opened, client, progress=_bar() if sys.stderr.isatty() else None)
    if as_json:
        say_json(found)
    else:
        _tell(found)
    if not found.complete:
        stop(FAILED)


def watch(*, profile: ProfileName = None, store: StoreUrl = None) -> None:
    """Keep asking about collections past their time, a few at once, until Ctrl-C."""
    import signal
    import threading

    from kusanya.watch import poll_open
    from kusanya_console.cli.create import client_of

    chosen = profile_of(profile, store)
    asked_to_stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_stop.set())
    opened = _open_when_there(chosen.store, asked_to_stop)
    if opened is None:
        return
    with opened, client_of(chosen) as client:
        say(f"watching {opened.url_shown} in {chosen.mode.value} mode")
        client.run(
            poll_open(opened, client.core, stop=asked_to_stop.is_set, on_result=say_poll_result)
        )


def _open_when_there(url: str, stop: "Event") -> "Store | None":
    """Open the store as soon as its database answers, as a watch waits later; None when stopped."""
    from kusanya.errors import StoreAway
    from kusanya.store import Store

    pause_s = 0.0
    while True:
        try:
            return Store.open(url)
        except StoreAway as error:
            if not pause_s:
                complain(f"{str(error).partition('; ')[0]}; trying again until it can be opened")
        pause_s = min(max(2 * pause_s, 1.0), _LONGEST_PAUSE_S)
        if stop.wait(pause_s):
            return None


def _tell(found: "CaughtUp") -> None:
    say(
        f"asked about {found.asked} collections: {found.became_final} became final, "
        f"{found.missing_events} of them without an event, {found.still_open} still open"
    )
    say(f"checked {found.events_checked} events, settled {found.settled} intents")
    for event_id in found.events_differing:
        say(f"event {safe(event_id)} differs from what was delivered: look at it")
    for unknown in found.unknown:
        say(f"{safe(unknown)} is not known to the service: look at it")
    if found.unlisted:
        say(f"and {found.unlisted:,} more of these, which --json does not list either")
    if not found.complete:
        for name in found.unanswered_ids[:_NAMED]:
            complain(f"no answer about {safe(name)}")
        early = "stopped early: " if found.stopped is not None else ""
        complain(
            f"{early}{found.unanswered:,} questions had no answer ({found.trouble}) and "
            f"{found.left:,} were not asked; run it again when the service answers"
        )


def _bar() -> "Callable[[Progress], None]":
    def show(progress: "Progress") -> None:
        done = progress.done * _BAR // max(progress.total, 1)
        end = "\n" if progress.done == progress.total else ""
        sys.stderr.write(
            f"\r{'#' * done}{'.' * (_BAR - done)} {progress.done} of {progress.total}{end}"
        )
        sys.stderr.flush()

    return show
