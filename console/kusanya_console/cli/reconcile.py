"""`kusanya reconcile`: the month end without a notebook."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, day_of, profile_of
from kusanya_console.cli.signals import interrupted_by_sigterm
from kusanya_console.output import USAGE, Refused, complain, say, say_json, stop

if TYPE_CHECKING:
    from kusanya.reconcile.analysis.report import CloseResult, Progress

_EXAMPLE = (
    "Example: kusanya reconcile --mode live --ledger books.csv --mapping books.toml "
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
    mode: Annotated[
        Mode | None, typer.Option(help="Which mode's collections; else the profile's.")
    ] = None,
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
    double_minutes: Annotated[
        int,
        typer.Option(
            min=0, help="How close two payments of one customer and amount are suspected."
        ),
    ] = 10,
    max_breaks: Annotated[int, typer.Option(min=0, help="Breaks that are tolerated.")] = 0,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Match the books with what the service said; write a pack of xlsx, CSV and HTML.

    Exits with 0 when all is explained, 1 for breaks (the pack is written) or a failed run.
    """
    from kusanya.errors import ConfigurationError
    from kusanya.reconcile.frames.tolerance import Tolerance
    from kusanya.reconcile.pack.close import run

    chosen = profile_of(profile, store)
    days = (day_of("--from", first), day_of("--to", last))
    which = mode or chosen.mode
    try:
        with interrupted_by_sigterm(), _progress() as progress:
            result = run(
                first=days[0],
                last=days[1],
                out=out,
                ledger=_file(ledger),
                store=chosen.store,
                statement=_file(statement),
                mapping=_file(mapping),
                tariff=_file(tariff),
                mode=which.value,
                cutoff=cutoff,
                as_of=as_of,
                previous=previous,
                max_breaks=max_breaks,
                tolerance=Tolerance(double_minutes=double_minutes),
                progress=progress,
            )
    except ConfigurationError as error:
        raise Refused(str(error), code=USAGE) from error
    if as_json:
        say_json(result.to_dict())
    else:
        _print(result, which, days)
    if result.exit_code:
        stop(result.exit_code)


def _print(result: "CloseResult", mode: Mode, days: tuple[date, date]) -> None:
    from kusanya.reconcile.matching.breaks import LEDGER, SETTLEMENT

    if result.folder is None:
        complain(result.sentence)
        return
    say(f"{mode.value} collections, business days {days[0]} to {days[1]}, East Africa Time")
    say(safe(result.sentence, 600))
    for row in result.findings:
        if row["rows"]:
            say(safe(f"  {_format_finding(row)}", 200))
    verdicts = {**LEDGER, **SETTLEMENT}
    for code in sorted(result.by_code, key=list(verdicts).index):
        rule = verdicts[code]
        say(f"  {code:<24}{result.by_code[code]:>8,}  {rule.meaning}: {rule.action}")
    say(f"run {result.run_id}, pack in {safe(str(result.folder), 600)}")
    say("read report.html there; sign pack.xlsx")


def _format_finding(row: dict[str, Any]) -> str:
    money = "" if row["amount"] is None else f", {row['currency']} {row['amount']:,}"
    return f"{row['rows']:,} {row['finding']}{money}"


@contextmanager
def _progress() -> "Iterator[Progress | None]":
    """Yield what tells a person at a terminal what is being done; the line is gone at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield lambda doing: _redraw(safe(doing, 70))
    finally:
        _redraw("")


def _redraw(line: str) -> None:
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()


def _file(path: Path | None) -> str:
    if path is None:
        return ""
    if not path.is_file():
        raise Refused(f"there is no file {path}", code=USAGE)
    return str(path)
