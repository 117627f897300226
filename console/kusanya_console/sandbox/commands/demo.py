"""`kusanya demo`: everything at once, on loopback, with nothing left behind."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya_console.cli.options import UntilStdinCloses
from kusanya_console.cli.process.signals import interrupted_by_sigterm
from kusanya_console.output import USAGE, Refused, stop

if TYPE_CHECKING:
    from kusanya_console.sandbox.demo.stage import Stage

_SEED = 20260302


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: kusanya demo --headless --seconds 45")(demo)
    app.command("demo-traffic", hidden=True)(demo_traffic)


def demo(
    *,
    headless: Annotated[
        bool, typer.Option("--headless", help="No terminal: a line a second and a JSON summary.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=5, max=86_400, help="How long a headless demo runs.")
    ] = 45.0,
    speed: Annotated[
        float, typer.Option(min=0.1, max=1_000, help="How fast time runs in the demo.")
    ] = 1.0,
    rate: Annotated[
        float, typer.Option(min=0.01, max=500, help="Collections per second of the demo's time.")
    ] = 2.0,
    data: Annotated[
        Path | None,
        typer.Option(help="The demo's folder; by default one that another start finds."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier demos first.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of traffic and outcomes.")] = _SEED,
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Allow replays, notes, resends and revealing.")
    ] = False,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII alone.")] = False,
) -> None:
    """Run the embedded service, a receiver and seeded traffic, and open the console on them."""
    import sys

    from kusanya.profiles import data_folder
    from kusanya_console.cli.process.terminal import draws_in_ascii
    from kusanya_console.sandbox.demo.folder import DemoFolder
    from kusanya_console.sandbox.demo.stage import Stage

    if not headless and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refused("there is no terminal here: use kusanya demo --headless", code=USAGE)
    plain = ascii_only if headless else draws_in_ascii(asked=ascii_only)
    traffic = [f"--rate={rate}", f"--seed={seed}"]
    if headless:
        from kusanya_console.sandbox.demo.headless import orders_for

        traffic.append(f"--seconds={orders_for(seconds, speed=speed)}")
    else:
        traffic.append("--stuck")
    with interrupted_by_sigterm(), DemoFolder(data or data_folder() / "demo") as folder:
        if fresh:
            folder.clear()
        with Stage(folder, seed=seed, speed=speed, traffic=traffic) as stage:
            if headless:
                from kusanya_console.sandbox.demo.headless import watch

                converged = watch(stage, seconds=seconds)
            else:
                _open_console(stage, allow_writes=allow_writes, ascii_only=plain)
                converged = True
    if not converged:
        stop(1)


def demo_traffic(
    *,
    rate: Annotated[float, typer.Option()],
    seed: Annotated[int, typer.Option()],
    seconds: Annotated[float | None, typer.Option()] = None,
    stuck: Annotated[bool, typer.Option("--stuck")] = False,
    until_stdin_closes: UntilStdinCloses = False,
) -> None:
    """Create the demo's collections, crash-safe, and poll those that stay open."""
    from kusanya.profiles import load
    from kusanya_console.cli.process.parent_watch import stop_when_stdin_closes
    from kusanya_console.sandbox.demo.traffic import run

    if until_stdin_closes:
        stop_when_stdin_closes()
    run(load(), rate=rate, seed=seed, seconds=seconds, stuck=stuck)


def _open_console(stage: "Stage", *, allow_writes: bool, ascii_only: bool) -> None:
    from kusanya.store import Store
    from kusanya_console.actions.context import AppContext
    from kusanya_console.actions.factory import actions_for, client_for
    from kusanya_console.actions.queries import ServiceQueries
    from kusanya_console.application.app import ConsoleApp
    from kusanya_console.cli.process.terminal import apply_settings, run_app
    from kusanya_console.sandbox.commands.attached import embedded_for
    from kusanya_console.sandbox.service_clock import parse_clock

    profile = stage.profile
    clock = parse_clock(stage.clock_url, max_age_s=0.25)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store.open(profile.store, clock=clock, create=False))
        client = client_for(profile, clock, stack)
        context = AppContext(
            store=store,
            mode=profile.mode,
            clock=clock,
            profile="demo",
            queries=None if client is None else ServiceQueries(store, client, clock=clock),
            actions=actions_for(profile, store, clock, client, stack) if allow_writes else None,
            **embedded_for(profile, store, client, stack, allow_writes=allow_writes),
        )
        app = ConsoleApp(context, ascii=ascii_only, virtual=stage.clock_url != "real")
        apply_settings(app)
        run_app(app, check=stage.check)
