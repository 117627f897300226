"""`kusanya store backup` and what the store remembers of it: how old the newest one may become."""

import os
import re
from pathlib import Path
from typing import Annotated, Final

import typer

from kusanya.privacy.secret_url import SecretUrl
from kusanya.text import safe
from kusanya_console.cli.options import (
    AsJson,
    ClockName,
    ProfileName,
    StoreUrl,
    instant_of,
    length_of,
    local_path,
    now,
    profile_of,
)
from kusanya_console.output import FAILED, USAGE, Refused, complain, say, say_json, stop

_BACKUPS: Final = f"kusanya-{'[0-9]' * 8}T{'[0-9]' * 6}Z"
"""Copies that were named by their time, and by nobody else."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_SHOWN: Final = 5


def add_to(group: typer.Typer) -> None:
    """Add the commands to the group."""
    group.command(epilog="Example: kusanya store backup ./kusanya-backup.sqlite")(backup)
    group.command("verify-backup", epilog="Example: kusanya store verify-backup ./backups")(verify)
    group.command(
        "mark-backed-up", epilog="Example: kusanya store mark-backed-up --backup 'pg_dump'"
    )(mark_backed_up)
    group.command("expect-backups", epilog="Example: kusanya store expect-backups --within 36h")(
        expect_backups
    )


def backup(
    target: Annotated[
        str, typer.Argument(help="A new file, or a folder, in which it is named by the time.")
    ],
    *,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Of the copies in that folder keep so many, the newest."),
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Copy the store while it is in use and check the copy; the store remembers a sound one.

    A store on PostgreSQL is copied by its own pg_dump, which has to be installed.

    Exits with 1 when the check found something: the copy is kept, older ones are too, and it does
    not count as a backup for the alarm.
    """
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    chosen = profile_of(profile, store)
    ending = ".dump" if chosen.store.reveal().startswith("postgres") else ".sqlite"
    place = local_path("target", target)
    folder = place if place.is_dir() or target.endswith(os.sep) else None
    if folder is not None:
        place = folder / f"kusanya-{now():%Y%m%dT%H%M%SZ}{ending}"
    elif keep is not None:
        raise Refused("--keep is for a folder, and it must be there", code=USAGE)
    with Store.open(chosen.store, create=False, clock=parse_clock(clock)) as opened:
        made = opened.maintenance.backup(place)
    if folder is not None and keep is not None and not made.findings:
        # Their names stand in the order of their times.
        for old in sorted(folder.glob(_BACKUPS + ending))[:-keep]:
            old.unlink()
    if as_json:
        say_json({"saved": str(place), "sha256": made.backup.sha256, "findings": made.findings})
    else:
        say(f"saved {safe(str(place))}")
        say(f"sha256 {made.backup.sha256}")
    for finding in made.findings[:_SHOWN]:
        complain(safe(f"{finding.kind}  {finding.subject or '-'}  {finding.sentence}", 400))
    if made.findings:
        complain(
            f"the copy does not agree with itself ({len(made.findings)} findings): it counts as no "
            "backup; run kusanya store check, and keep the older backups"
        )
        stop(FAILED)


def verify(
    backup: Annotated[
        Path, typer.Argument(help="A backup, or a folder of which the newest one is taken.")
    ],
    *,
    scratch: Annotated[
        str | None,
        typer.Option(
            help="For a dump of PostgreSQL: a database that ends in _scratch, postgresql://...; "
            "all that it holds is dropped. KUSANYA_SCRATCH or KUSANYA_SCRATCH_FILE otherwise."
        ),
    ] = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Put a backup back beside the store and check it there; exits with 1 if it cannot be."""
    from kusanya.profiles import find_secret
    from kusanya.store import verify_backup
    from kusanya_console.sandbox.service_clock import parse_clock

    if backup.is_dir():
        named = [*backup.glob(f"{_BACKUPS}.dump"), *backup.glob(f"{_BACKUPS}.sqlite")]
        if not named:
            raise Refused(f"{safe(str(backup))} holds no backup")
        backup = max(named, key=lambda path: path.name)
    address = scratch or find_secret("SCRATCH").text
    findings = verify_backup(
        backup, clock=parse_clock(clock), scratch=SecretUrl(address) if address else None
    )
    if as_json:
        say_json({"backup": str(backup), "findings": findings})
    elif not findings:
        say(f"{safe(str(backup))} can be put back, and agrees with itself")
    for finding in findings[:_SHOWN]:
        complain(safe(f"{finding.kind}  {finding.subject or '-'}  {finding.sentence}", 400))
    if findings:
        stop(FAILED)


def mark_backed_up(
    *,
    backup: Annotated[str, typer.Option(help="How it was made and where it is; audited.")],
    at: Annotated[
        str | None,
        typer.Option(help="When it began: 'today 02:30' (East Africa), or ISO; else now."),
    ] = None,
    sha256: Annotated[str, typer.Option(help="The digest of its file.")] = "",
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Say that other tools, such as pg_dump, made a backup and that it was verified."""
    from kusanya.store import Store
    from kusanya.store.records import Backup
    from kusanya_console.sandbox.service_clock import parse_clock

    digest = sha256.strip().lower()
    if digest and not _SHA256.fullmatch(digest):
        raise Refused("--sha256 is 64 hexadecimal digits", code=USAGE)
    chosen, time = profile_of(profile, store), parse_clock(clock)
    present = time.now()
    began = present if at is None else instant_of("--at", at, now=present)
    with Store.open(chosen.store, create=False, clock=time) as opened:
        opened.backups.record(
            Backup(at=began, name=backup.strip(), sha256=digest), actor=opened.audit.actor
        )
        status = opened.backups.status()
    if as_json:
        say_json(status)
    else:
        say(f"{safe(str(chosen.store))} remembers a backup of {began.isoformat()}")


def expect_backups(
    *,
    within: Annotated[
        str | None,
        typer.Option(help="How old the newest backup may become: 36h or 8d, for an alarm."),
    ] = None,
    any_age: Annotated[bool, typer.Option("--any-age", help="Raise no alarm for its age.")] = False,
    profile: ProfileName = None,
    store: StoreUrl = None,
    clock: ClockName = "real",
    as_json: AsJson = False,
) -> None:
    """Say how old the newest backup of a store may become before an alarm is raised; audited.

    Until somebody says so, it is 36 hours once a backup was made, and any age before the first.
    """
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    if (within is None) is not any_age:
        raise Refused("say either --within 36h or --any-age", code=USAGE)
    age = None if within is None else length_of("--within", within)
    chosen = profile_of(profile, store)
    with Store.open(chosen.store, create=False, clock=parse_clock(clock)) as opened:
        opened.backups.expect(age, actor=opened.audit.actor)
        status = opened.backups.status()
    if as_json:
        say_json(status)
        return
    said = "raises no alarm for their age" if within is None else f"wants one every {within}"
    say(f"{safe(str(chosen.store))} {said}")
