"""`kusanya store restore` and what follows it: put a backup back, and let creations go on."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from kusanya.text import safe
from kusanya_console.cli.create import client_of
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    local_path,
    profile_of,
)
from kusanya_console.output import FAILED, USAGE, Refused, complain, say, say_json, stop

_SHOWN = 20
_ID = "id"


def add_to(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command(epilog="Example: kusanya store restore ./backup.sqlite --to ./kusanya.sqlite")(
        restore
    )
    group.command(
        "mark-restored", epilog="Example: kusanya store mark-restored --backup 'pg_dump'"
    )(mark_restored)
    group.command(
        "resolve-restore",
        epilog="Example: kusanya store resolve-restore --collections list.csv --why 'dashboard'",
    )(resolve)


def restore(
    backup: Annotated[Path, typer.Argument(help="A file that kusanya store backup made.")],
    *,
    to: Annotated[
        str,
        typer.Option(metavar="<path>", help="Where the store goes; nothing may stand there."),
    ],
    sha256: Annotated[
        str | None, typer.Option(help="The digest that kusanya store backup printed.")
    ] = None,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Bring a backup of an older version up to date.")
    ] = False,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Verify a backup and put it back; new creations wait for 'store resolve-restore'."""
    from kusanya.store import restore_file
    from kusanya_console.sandbox.service_clock import parse_clock

    if to.startswith(("postgresql://", "postgres://")):
        raise Refused(
            "--to is a file: put a PostgreSQL database back with pg_restore, then run "
            "kusanya store mark-restored",
            code=USAGE,
        )
    target = local_path("--to", to)
    done = restore_file(backup, target, clock=parse_clock(clock), sha256=sha256, migrate=migrate)
    if as_json:
        say_json(done)
        return
    known = "nothing" if done.known_to is None else f"what happened up to {done.known_to}"
    say(f"restored {safe(str(target))}: {done.facts:,} facts; it knows {known}")
    _say_what_waits(done.open_intents)


def mark_restored(
    *,
    backup: Annotated[str, typer.Option(help="Which backup was put back, and how; audited.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Mark a store that was put back by other means, such as pg_restore or a copied file."""
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    with Store.open(chosen.store, create=False, clock=parse_clock(clock)) as opened:
        open_intents = opened.restores.mark(actor=opened.audit.actor, detail=backup)
    if as_json:
        say_json({"open_intents": open_intents})
        return
    say(f"marked {safe(str(chosen.store))} as restored")
    _say_what_waits(open_intents)


def _say_what_waits(open_intents: int) -> None:
    if open_intents:
        say(
            f"{open_intents:,} creations were open in the backup: none is sent again, "
            "'kusanya intents' lists them"
        )
    say(
        "no creation is sent until you have run, for each mode in use, "
        "kusanya store resolve-restore --collections FILE --why TEXT, with the ids of all "
        "collections that the service's dashboard shows since then"
    )


def resolve(
    *,
    why: Annotated[str, typer.Option(help="Where the list is from; audited.")],
    collections: Annotated[
        Path | None,
        typer.Option(
            help="The col_ ids since the backup: one a line, or a CSV with a column 'id'."
        ),
    ] = None,
    nothing_created: Annotated[
        bool, typer.Option("--nothing-created", help="The dashboard shows none since the backup.")
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Ask for every collection since the backup; when all answer, creations are sent again."""
    from kusanya.intents import resolve_restore
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    if (collections is None) is not nothing_created:
        raise Refused("say either --collections FILE or --nothing-created", code=USAGE)
    ids = [] if collections is None else _ids(collections)
    chosen, time = profile_of(profile, store), parse_clock(clock)
    with (
        Store.open(chosen.store, create=False, clock=time) as opened,
        client_of(chosen, clock=time) as client,
    ):
        try:
            done = resolve_restore(opened, client, ids, actor=opened.audit.actor, why=why)
        except ValueError as error:
            raise Refused(str(error), code=USAGE) from error
    if as_json:
        say_json({"complete": done.complete, "answers": done})
    else:
        say(
            f"{done.known + done.asked:,} collections: {done.known:,} were known, {done.asked:,} "
            f"asked for; {done.resolved:,} open creations resolved by them"
        )
    for name, listed in (("unknown to the service", done.unknown), ("no answer", done.unanswered)):
        for collection_id in listed[:_SHOWN]:
            complain(f"{collection_id}: {name}")
        if len(listed) > _SHOWN:
            complain(f"and {len(listed) - _SHOWN:,} more: {name}")
    if not done.complete:
        why_not = f" ({done.trouble})" if done.trouble else ""
        complain(f"the restore is not resolved{why_not}: correct the list or run it again")
        stop(FAILED)
    if not as_json:
        say("the restore is resolved: creations are sent again")


def _ids(path: Path) -> list[str]:
    """Return the ids of a list: a line each, or the column 'id' of a CSV with a header."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"cannot read {safe(str(path))}: {error}") from error
    rows = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    if rows and not rows[0][1].startswith("col_"):
        header = [name.strip().lower() for name in next(csv.reader([rows[0][1]]))]
        if _ID not in header:
            raise Refused(
                f"{safe(str(path))} row {rows[0][0]}: a list begins with a col_ id or with a "
                "header that has a column 'id'"
            )
        place = header.index(_ID)
        cells = [(number, next(csv.reader([line]))) for number, line in rows[1:]]
        rows = [(number, row[place].strip() if place < len(row) else "") for number, row in cells]
    for number, said in rows:
        if not said.startswith("col_") or "," in said:
            raise Refused(f"{safe(str(path))} row {number}: {safe(said, 60)!r} is no col_ id")
    if not rows:
        raise Refused(
            f"{safe(str(path))} holds no id: where nothing was created, say --nothing-created"
        )
    return [said for _, said in rows]
