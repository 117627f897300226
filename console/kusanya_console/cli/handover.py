"""`kusanya handover`: what happened since an instant, who did what, what is open."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    now,
    profile_of,
    since_of,
    speak,
)
from kusanya_console.output import say, say_json
from kusanya_console.ui.language import translate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kusanya.handover import Handover
    from kusanya.wire import Mode

TITLES: Final = {"happened": "What happened", "did": "Who did what", "open": "What is open"}


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya handover --since 18:00")(handover)


def handover(
    *,
    since: Annotated[
        str, typer.Option(help="From then on: 18:00, yesterday 18:00, 2026-03-04 18:00.")
    ],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Print the hand-over of a shift: what happened, who did what, and what is open now.

    Times are East Africa's, phones masked.
    """
    from kusanya import handover as shift
    from kusanya.store import Store

    speak(as_json=as_json)
    chosen, present = profile_of(profile, store), now(clock)
    begin = since_of("--since", since, now=present)
    with Store.open(chosen.store, create=False, read_only=True) as opened:
        found = shift.load(opened, chosen.mode, since=begin, now=present)
    if as_json:
        say_json(shift.as_json(found))
        return
    for line in said_lines(found, chosen.mode):
        say(line)


def said_lines(found: "Handover", mode: "Mode") -> "Iterator[str]":
    """Yield the hand-over as it is printed, each part under its title."""
    from kusanya import handover as shift
    from kusanya.domain.business_day import format_instant

    at, read = (format_instant(one, now=found.at) for one in (found.since, found.at))
    since_when = translate("{mode} mode, since {at}", mode=mode.value, at=at)
    yield f"{since_when}, {translate('as of {at}', at=read)}"
    last = ""
    for line in shift.lines(found):
        if line.part != last:
            yield ""
            yield translate(TITLES[line.part])
            last = line.part
        yield f"  {translate(line.text)}"
