"""`kusanya store`: migrate, check, rebuild, back up, copy and export what is kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.options import (
    AsJson,
    ProfileName,
    StoreUrl,
    day_of,
    instant_of,
    now,
    profile_of,
    since_of,
)
from kusanya_console.cli.store import backup, forget, move, restore, roles
from kusanya_console.output import FAILED, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.store import Store

_store = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    """Add the group to the command line."""
    backup.add_to(_store)
    restore.add_to(_store)
    move.add_to(_store)
    forget.add_to(_store)
    roles.add_to(_store)
    app.add_typer(_store, name="store", help="Care of the store that everything else reads.")


def _open(profile: str | None, store: str | None, *, migrate: bool = False) -> "Store":
    from kusanya.store import Store

    return Store.open(profile_of(profile, store).store, create=migrate, migrate=migrate)


@_store.command(epilog="Example: kusanya store migrate --store kusanya.sqlite")
def migrate(
    *, profile: ProfileName = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Create the store, or bring it to this version's schema."""
    with _open(profile, store, migrate=True) as opened:
        if as_json:
            say_json({"store": opened.url_shown, "ready": True})
            return
        say(f"{safe(opened.url_shown)} is ready at this version's schema")


@_store.command(epilog="Example: kusanya store check")
def check(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            help="Only what was written from then on: 'yesterday 00:00' (East Africa), or ISO."
        ),
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check integrity, the projection and the counts against the journal; exit 1 on findings.

    Of a large store that takes long. With --since it takes as long as what was written since then:
    run that each night, and the whole check now and then.
    """
    begin = None if since is None else since_of("--since", since, now=now())
    with _open(profile, store) as opened:
        findings = opened.maintenance.check(since=begin)
    if as_json:
        say_json({"findings": findings})
    else:
        for finding in findings:
            say(safe(f"{finding.kind}  {finding.subject or '-'}  {finding.sentence}", 400))
        say(
            f"{len(findings)} findings"
            if findings
            else "sound: every figure follows from the journal"
            if begin is None
            else f"sound, as far as what was written since {begin:%Y-%m-%d %H:%M:%S%z}"
        )
    if findings:
        stop(FAILED)


@_store.command(epilog="Example: kusanya store rebuild")
def rebuild(
    *, profile: ProfileName = None, store: StoreUrl = None, as_json: AsJson = False
) -> None:
    """Compute projection and counts again from the journal; a sound store stays as it is."""
    with _open(profile, store) as opened:
        done = opened.maintenance.rebuild()
    if as_json:
        say_json({"collections": done.collections, "rollups": done.rollups})
    elif done.collections or done.rollups:
        say(f"{done.collections} collections and {done.rollups} hourly counts changed")
    else:
        say("nothing changed: the store was sound")


@_store.command(epilog="Example: kusanya store copy --as-of 'today 02:13' --masked ./night.sqlite")
def copy(
    target: Annotated[Path, typer.Argument(help="Where the copy goes; must not exist.")],
    *,
    as_of: Annotated[str, typer.Option(help="'today 02:13' (East Africa), or ISO with its zone.")],
    masked: Annotated[
        bool, typer.Option("--masked", help="No whole phone, no words of people, no bodies.")
    ] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a new SQLite store that holds what this one knew at an instant."""
    from kusanya.store import Store

    at = instant_of("--as-of", as_of, now=now())
    with Store.open(profile_of(profile, store).store, read_only=True) as opened:
        done = opened.maintenance.copy(target, as_of=at, masked=masked)
    if as_json:
        say_json({"saved": str(target), "as_of": at, "facts": done.facts, "seq": done.seq,
                  "left_out": done.left_out, "masked": masked})  # fmt: skip
        return
    say(f"saved {safe(str(target))}: {done.facts:,} facts that were known at {at.isoformat()}")
    if done.left_out:
        say(
            f"{done.left_out:,} facts dated up to then are not in it: they were written after "
            "later ones"
        )


@_store.command("forget-bodies", epilog="Example: kusanya store forget-bodies --before 2026-01-01")
def forget_bodies(
    *,
    before: Annotated[str, typer.Option(help="Business day; older bodies go, this day's stay.")],
    profile: ProfileName = None,
    store: StoreUrl = None,
) -> None:
    """Remove the raw bodies of old deliveries; what follows from them stays."""
    from datetime import datetime, time

    from kusanya.domain.business_day import EAT

    day = day_of("--before", before)
    with _open(profile, store) as opened:
        count = opened.retention.forget_bodies(before=datetime.combine(day, time(), EAT))
    say(f"removed the bodies of {count:,} deliveries that arrived before {before}")


@_store.command(epilog="Example: kusanya store export ./export --from 2026-03-01 --to 2026-03-31")
def export(
    target: Annotated[Path, typer.Argument(help="Folder for one Parquet file a business day.")],
    *,
    first: Annotated[str | None, typer.Option("--from", help="First business day.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Last business day, included.")] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Which mode's collections; else the profile's.")
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write collections as Parquet by business day, phones masked, for other tools."""
    chosen = profile_of(profile, store)
    with _open(profile, store) as opened:
        done = opened.parquet.write(
            target,
            mode or chosen.mode,
            since=None if first is None else day_of("--from", first),
            until=None if last is None else day_of("--to", last),
        )
    if as_json:
        say_json(done)
    else:
        say(f"wrote {done.rows:,} collections into {safe(str(target))}")
