"""`kusanya service`: the embedded payment collection service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya_console.cli.options import AsJson, UntilStdinCloses
from kusanya_console.output import Refused, say, say_json

if TYPE_CHECKING:
    from kusanya_service.server import RunningService


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog="Example: kusanya service --port 8080 --data ./service --allow-local 127.0.0.1:8099"
    )(service)


def service(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free.")],
    data: Annotated[Path, typer.Option(help="Folder for its data; made where it is missing.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    clock: Annotated[
        str, typer.Option(help="'real', 'virtual' (moved by kusanya clock) or a factor: 60x.")
    ] = "real",
    seed: Annotated[
        int | None, typer.Option(help="Seed of outcomes, fees and ids; else the folder's own.")
    ] = None,
    allow_local: Annotated[
        list[str] | None,
        typer.Option(help="HOST:PORT of your network that test deliveries may go to; may repeat."),
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(help="Outcomes of unscripted phones: succeeded=90,insufficient_funds=10."),
    ] = None,
    faults: Annotated[
        Path | None, typer.Option(help="TOML scenario of faults to inject from the start.")
    ] = None,
    rate_limit: Annotated[
        int | None, typer.Option(min=1, help="Requests a second and key; none by default.")
    ] = None,
    as_json: AsJson = False,
    until_stdin_closes: UntilStdinCloses = False,
) -> None:
    """Run the embedded service until Ctrl-C; its first line says how to reach it."""
    from kusanya_console.cli.process.parent_watch import stop_when_stdin_closes
    from kusanya_service.errors import PaymentServiceError
    from kusanya_service.options import Options, parse_places
    from kusanya_service.server import run
    from kusanya_service.simulation.faults import load_scenario
    from kusanya_service.simulation.networks import parse_mix

    def ready(running: "RunningService") -> None:
        if until_stdin_closes:
            stop_when_stdin_closes()
        info = running.info.reveal()
        if as_json:
            say_json(info)
            return
        say(f"serving on {info['base_url']}; use it with these in the environment:")
        for name, value in (
            ("KUSANYA_BASE_URL", info["base_url"]),
            ("KUSANYA_API_KEY", info["test_key"]),
            ("KUSANYA_DASHBOARD_URL", info["dashboard_url"]),
            ("KUSANYA_DASHBOARD_TOKEN", info["dashboard_token"]),
        ):
            say(f"export {name}={value}")
        for place in allow_local or []:
            say(f"test deliveries may go to {place}")

    try:
        run(
            Options(
                data=data,
                host=host,
                port=port,
                clock=clock,
                seed=seed,
                allow_local=parse_places(allow_local or []),
                mix=None if mix is None else parse_mix(mix),
                faults=() if faults is None else load_scenario(faults),
                rate_limit=rate_limit,
            ),
            ready,
        )
    except PaymentServiceError as error:
        raise Refused(str(error)) from error
