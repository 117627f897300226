"""`kusanya console`: the terminal console."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya_console.cli.options import ClockName, Migrate, ProfileName, StoreUrl, profile_of
from kusanya_console.output import USAGE, Refused

if TYPE_CHECKING:
    from kusanya.clock import Clock
    from kusanya.profiles import Profile


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya console --store kusanya.sqlite")(console)


def console(
    *,
    store: StoreUrl = None,
    profile: ProfileName = None,
    clock: ClockName = "real",
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Allow replays, notes, resends and revealing.")
    ] = False,
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw with ASCII alone; NO_COLOR works too.")
    ] = False,
    web: Annotated[
        bool, typer.Option("--web", help="Show it in a browser on this machine, read-only.")
    ] = False,
    port: Annotated[int, typer.Option("--port", help="Where --web listens; 0 is any free.")] = 0,
    listen: Annotated[
        str | None,
        typer.Option(
            help="With --web: HOST:PORT for a proxy that knows its users; see --trust-header."
        ),
    ] = None,
    trust_header: Annotated[
        str | None,
        typer.Option(help="With --listen: the header in which the proxy names the user, X-User."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="With --listen: network of that proxy, as 10.0.0.5/32; may repeat."),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Show what was known at 'today 02:13'.")
    ] = None,
    replay: Annotated[
        str | None, typer.Option("--replay", help="Play 'today 02:00..03:30' again, masked.")
    ] = None,
    speed: Annotated[float, typer.Option("--speed", help="How fast --replay runs.")] = 1.0,
    migrate: Migrate = False,
) -> None:
    """Watch collections and deliveries live; press ? for help and ctrl+q to leave."""
    if as_of is not None or replay is not None:
        if as_of is not None and replay is not None:
            raise Refused("--as-of and --replay exclude each other", code=USAGE)
        if web or allow_writes:
            raise Refused("--as-of and --replay only look, on this terminal", code=USAGE)
    if web:
        migrate_first(profile_of(profile, store), asked=migrate)
        from kusanya_console.cli.console.in_a_browser import in_a_browser, web_place

        in_a_browser(
            profile_of(profile, store),
            clock=clock,
            place=web_place(port, listen, trust_header, trusted_proxy),
            ascii_only=ascii_only,
            allow_writes=allow_writes,
        )
        return
    if listen or trust_header or trusted_proxy:
        raise Refused("--listen, --trust-header and --trusted-proxy are for --web", code=USAGE)
    from kusanya_console.cli.process.terminal import draws_in_ascii
    from kusanya_console.sandbox.service_clock import parse_clock

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("the console needs a terminal; for scripts there is kusanya find", code=USAGE)
    ascii_only = draws_in_ascii(asked=ascii_only)
    chosen = profile_of(profile, store)
    time = parse_clock(clock, max_age_s=0.25)
    migrate_first(chosen, asked=migrate)
    if as_of is not None or replay is not None:
        from kusanya_console.cli.console.past import show_as_of, show_replay

        if as_of is not None:
            show_as_of(chosen, as_of, now=time.now(), ascii_only=ascii_only)
        elif replay is not None:
            show_replay(chosen, replay, speed=speed, now=time.now(), ascii_only=ascii_only)
        return
    _show_in_turn(
        chosen,
        clock=time,
        virtual=clock != "real",
        ascii_only=ascii_only,
        allow_writes=allow_writes,
    )


def migrate_first(profile: "Profile", *, asked: bool) -> None:
    """Bring the store up to date where it is asked for: looking opens it anew, to read it only."""
    from kusanya.store import Store

    if asked:
        Store.open(profile.store, create=False, upgrade=True).close()


def _show_in_turn(
    chosen: "Profile", *, clock: "Clock", virtual: bool, ascii_only: bool, allow_writes: bool
) -> None:
    """Show one profile after the other, as a person goes on with them."""
    shown, notice = chosen, ""
    while True:
        following = _show(
            shown,
            clock=clock,
            virtual=virtual,
            ascii_only=ascii_only,
            allow_writes=allow_writes,
            notice=notice,
        )
        if following is None:
            return
        notice = ""
        try:
            # What the command line named belongs to the profile that it began with.
            wanted = chosen if following == chosen.name else profile_of(following)
            _check(wanted, clock=clock)
        except KusanyaError as error:
            notice = f"profile {safe(following, 40)} cannot be shown: {safe(str(error), 300)}"
        else:
            shown = wanted


def _check(profile: "Profile", *, clock: "Clock") -> None:
    """Raise KusanyaError where the store of a profile cannot be opened."""
    from kusanya.store import Store

    with Store.open(profile.store, clock=clock, read_only=True, create=False) as opened:
        opened.feed.head()


def _show(
    chosen: "Profile",
    *,
    clock: "Clock",
    virtual: bool,
    ascii_only: bool,
    allow_writes: bool,
    notice: str,
) -> str | None:
    """Show the console on a profile until it is left; return the profile to go on with, if any."""
    from kusanya.profiles import has_bell, profile_names
    from kusanya_console.actions.context import AppContext
    from kusanya_console.actions.factory import (
        actions_for,
        client_for,
        open_store,
        queries_for,
    )
    from kusanya_console.application.app import ConsoleApp
    from kusanya_console.cli.process.terminal import apply_settings, run_app
    from kusanya_console.sandbox.commands.attached import embedded_for

    with ExitStack() as stack:
        client = client_for(chosen, clock, stack)
        opened = open_store(chosen, clock, client, stack, allow_writes=allow_writes)
        context = AppContext(
            store=opened,
            mode=chosen.mode,
            clock=clock,
            profile=chosen.name,
            profiles=tuple(profile_names()),
            payees=chosen.payees,
            queries=None if client is None else queries_for(opened, client, clock),
            actions=actions_for(chosen, opened, clock, client, stack) if allow_writes else None,
            **embedded_for(chosen, opened, client, stack, allow_writes=allow_writes),
        )
        app = ConsoleApp(context, ascii=ascii_only, virtual=virtual, bell=has_bell())
        apply_settings(app)
        if notice:
            app.begin_with(notice)
        run_app(app)
        return app.next_profile
