"""`kusanya store roles`: who may do what on PostgreSQL."""

from typing import Annotated

import typer

from kusanya_console.output import USAGE, Refused, say


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command(epilog="Example: kusanya store roles --sql | psql -d kusanya")(roles)


def roles(
    *, sql: Annotated[bool, typer.Option("--sql", help="Print the SQL; nothing is run.")] = False
) -> None:
    """Print the SQL that makes the roles look, ask, act, reveal, decide and admin."""
    if not sql:
        raise Refused("say --sql: it prints what the owner of the database runs", code=USAGE)
    say(script().rstrip())


def script() -> str:
    """Return what psql is given: unlike by itself it stops at an error, and fails."""
    from kusanya.store import roles_sql

    return f"\\set ON_ERROR_STOP on\n{roles_sql()}"
