"""`kusanya console`: the terminal console."""

import sys
from typing import Annotated

import typer

from kusanya_console.cli.options import ClockName, ProfileName, StoreUrl, profile_of
from kusanya_console.cli.output import USAGE, Refused


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya console --store kusanya.sqlite")(console)


def console(
    *,
    store: StoreUrl = None,
    profile: ProfileName = None,
    clock: ClockName = "real",
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw with ASCII alone; NO_COLOR works too.")
    ] = False,
) -> None:
    """Watch collections and deliveries live; press ? for help and ctrl+q to leave."""
    from kusanya.profiles import key_map
    from kusanya.service_clock import parse_clock
    from kusanya.store import Store
    from kusanya_console.app import ConsoleApp
    from kusanya_console.cli.terminal import run_app

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the console needs a terminal; for scripts there is kusanya find", code=USAGE)
    chosen = profile_of(profile, store)
    time = parse_clock(clock, max_age_s=0.25)
    # Looking never creates or migrates: an empty new store would look like a quiet day.
    with Store.open(chosen.store, clock=time, read_only=True) as opened:
        app = ConsoleApp(
            opened, mode=chosen.mode, clock=time, profile=chosen.name, ascii=ascii_only
        )
        app.set_keymap(key_map())
        run_app(app)
