"""`kusanya deploy`: the files with which a team runs receiver and watcher as a service."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kusanya.errors import ConfigurationError
from kusanya.privacy.secret_url import SecretUrl
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.options import AsJson, ProfileName, profile_of
from kusanya_console.deploy import Kind
from kusanya_console.output import USAGE, Refused, say, say_json


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya deploy --to ./deploy --kind compose --mode live")(deploy)


def deploy(
    *,
    to: Annotated[Path, typer.Option(help="Folder that the files are written into.")],
    kind: Annotated[Kind, typer.Option(help="What runs the programs.")] = Kind.SYSTEMD,
    mode: Annotated[
        Mode | None, typer.Option(help="Mode of the service; else the profile's.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Address of the payment service; else the profile's.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Store of the programs, without a password; by default a file of theirs."
        ),
    ] = None,
    domain: Annotated[
        str, typer.Option(help="Public name that the service delivers to.")
    ] = "pay.shop.example",
    program: Annotated[
        Path | None,
        typer.Option(
            help="Where the kusanya command lies on that machine; in /opt/kusanya unless it runs "
            "from a folder that units see."
        ),
    ] = None,
    profile: ProfileName = None,
    as_json: AsJson = False,
) -> None:
    """Write units or manifests for receiver, watcher, migration, reconciliation and backup.

    With them come a Dockerfile, snippets for nginx and Caddy, rules for Prometheus and a dashboard
    for Grafana. Their README.md says what to do with them. A file that is there with other contents
    is never written over: then nothing is written.
    """
    if SecretUrl(str(to)).has_credentials:
        raise Refused("--to is a folder, not an address", code=USAGE)
    from kusanya_console.deploy.files import DeploySettings, program_for, render, write

    chosen = profile_of(profile)
    its_mode, address = (
        mode or (chosen.mode if chosen.mode_given else None),
        base_url or chosen.base_url,
    )
    missing = [
        option
        for option, value in (("--mode live", its_mode), ("--base-url https://…", address))
        if value is None
    ]
    if its_mode is None or address is None:
        raise Refused(
            f"give {' and '.join(missing)}, or have them in profile {chosen.name!r}", code=USAGE
        )
    try:
        settings = DeploySettings(
            kind=kind,
            mode=its_mode,
            base_url=address,
            store=store or "sqlite:////var/lib/kusanya/store.sqlite",
            domain=domain,
            program=program or program_for(Path(sys.executable).with_name("kusanya")),
        )
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    new = write(render(settings), to)
    if as_json:
        say_json({"folder": str(to), "written": list(new)})
    elif new:
        say(f"wrote {len(new)} files into {safe(str(to))}: begin with README.md")
    else:
        say(f"{safe(str(to))} holds these files already, unchanged")
