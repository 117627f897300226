"""`kusanya rule`: choose among final states that contradict each other, by the service's answer."""

from typing import Annotated

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ClockName, ProfileName, StoreUrl, profile_of
from kusanya_console.output import USAGE, Refused, say, say_json


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya rule col_1 --why 'success after expiry'")(rule)


def rule(
    collection: Annotated[str, typer.Argument(help="The id of the payment: col_...")],
    *,
    why: Annotated[str, typer.Option(help="Why the service's answer holds; audited.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Ask the service about a payment whose facts contradict each other, and rule by its answer.

    Every fact stays. A fact that comes later and denies the ruling is a contradiction again. Takes
    the role kusanya_decide where the store keeps roles.
    """
    from kusanya.intents.ruling import ruling
    from kusanya.store import Store
    from kusanya_console.cli.create import client_of
    from kusanya_console.sandbox.service_clock import parse_clock

    if not why.strip():
        raise Refused("--why: give the reason why the service's answer holds", code=USAGE)
    chosen, time = profile_of(profile, store), parse_clock(clock)
    with Store.open(chosen.store, clock=time) as opened, client_of(chosen, clock=time) as client:
        mode, actor = client.mode or chosen.mode, opened.audit.actor
        steps = ruling(opened, client.core, collection, mode=mode, why=why, actor=actor)
        found = client.run(steps)
    if as_json:
        say_json({"id": found.id, "status": str(found.status), "ruled": found.is_ruled})
    else:
        say(f"{safe(found.id, 60)} is ruled {found.status}")
