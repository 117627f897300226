"""`kusanya store move`: from a file to PostgreSQL."""

from typing import Annotated

import typer

from kusanya.clock import SystemClock
from kusanya.privacy.secret_url import SecretUrl
from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, profile_of
from kusanya_console.output import note, say, say_json

_EVERY_S = 2.0


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command(epilog="Example: kusanya store move --to postgresql://kusanya@db/kusanya")(move)


def move(
    *,
    to: Annotated[str, typer.Option(help="An empty database: postgresql://...")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Move the store from its file to PostgreSQL; stop every program first.

    What was killed goes on when it is run again. The same rows are proved by a digest before the
    file is given up; from then on no program opens it.
    """
    from kusanya.store import move_store

    clock = SystemClock()
    began = said = clock.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal said
        now = clock.monotonic()
        if now - said >= _EVERY_S:
            said = now
            note(f"{done:,} of {total:,} rows, {done / (now - began):,.0f} a second")

    source = profile_of(profile, store).store
    done = move_store(source, SecretUrl(to), clock=clock, progress=report)
    if as_json:
        say_json(done)
        return
    pace = f", {done.copied / done.seconds:,.0f} rows a second" if done.seconds else ""
    say(f"moved {done.rows:,} rows{pace}")
    if done.digest is not None:
        say(f"verified: both hold the same rows, digest {done.digest}")
    say(f"{safe(str(source))} is no store any more: give every program the new address")
