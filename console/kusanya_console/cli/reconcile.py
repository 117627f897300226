"""`kusanya reconcile`: the month end without a notebook."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, day_of, profile_of
from kusanya_console.cli.output import USAGE, Refused, complain, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.reconcile.close import Outcome

_EXAMPLE = (
    "Example: kusanya reconcile --ledger books.csv --mapping books.toml "
    "--from 2026-03-01 --to 2026-03-31 --out ./packs"
)


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=_EXAMPLE)(reconcile)


def reconcile(
    *,
    first: Annotated[str, typer.Option("--from", help="First business day, YYYY-MM-DD, EAT.")],
    last: Annotated[str, typer.Option("--to", help="Last business day, included.")],
    out: Annotated[Path, typer.Option(help="Where the pack's folder is made.")],
    ledger: Annotated[Path | None, typer.Option(help="Our books, CSV or XLSX.")] = None,
    statement: Annotated[Path | None, typer.Option(help="Settlement statement.")] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="TOML: which columns hold what in the files.")
    ] = None,
    tariff: Annotated[Path | None, typer.Option(help="TOML: the agreed fees.")] = None,
    cutoff: Annotated[str, typer.Option(help="When a business day turns, HH:MM.")] = "00:00",
    as_of: Annotated[
        int | None, typer.Option(help="Journal position to stop at; now by default.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="An earlier pack, whose late changes this one carries.")
    ] = None,
    max_breaks: Annotated[int, typer.Option(min=0, help="Breaks that are tolerated.")] = 0,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Match the books with what the service said; write a pack of xlsx, CSV and HTML.

    Exits with 0 when all is explained, 1 for breaks (the pack is written) or a failed run.
    """
    from kusanya.errors import ConfigurationError
    from kusanya.reconcile.close import run

    chosen = profile_of(profile, store)
    try:
        outcome = run(
            first=day_of("--from", first),
            last=day_of("--to", last),
            out=out,
            ledger=_file(ledger),
            store=chosen.store,
            statement=_file(statement),
            mapping=_file(mapping),
            tariff=_file(tariff),
            mode=chosen.mode.value,
            cutoff=cutoff,
            as_of=as_of,
            previous=previous,
            max_breaks=max_breaks,
            said=_progress if sys.stderr.isatty() else None,
        )
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    if as_json:
        say_json(outcome.told())
    else:
        _tell(outcome)
    if outcome.exit_code:
        stop(outcome.exit_code)


def _tell(outcome: "Outcome") -> None:
    if outcome.folder is None:
        complain(outcome.sentence)
        return
    say(safe(outcome.sentence, 600))
    for code, count in sorted(outcome.by_code.items()):
        say(f"  {code:<26} {count:>9,}")
    say(f"run {outcome.run_id}: {safe(str(outcome.folder), 600)}")


def _progress(doing: str) -> None:
    sys.stderr.write(f"\r\x1b[K{safe(doing, 70)}")
    sys.stderr.flush()


def _file(path: Path | None) -> str:
    if path is None:
        return ""
    if not path.is_file():
        raise Refused(f"there is no file {path}", code=USAGE)
    return str(path)
