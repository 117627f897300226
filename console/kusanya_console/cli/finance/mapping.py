"""`kusanya mapping`: how a file of books or a statement is read, before a month depends on it."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.domain.business_day import EAT
from kusanya.text import safe
from kusanya_console.cli.options import AsJson
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya_books.read.guess import Guess

_mapping = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
_SHOWN = 8
_WIDE = 22
_HIDDEN = frozenset({"row_no", "line_no", "input", "leg", "booked_day"})


def add_to(app: typer.Typer) -> None:
    """Add the group to the command line."""
    app.add_typer(
        _mapping,
        name="mapping",
        help="How files of books and statements are read: try, list, show.",
    )


@_mapping.command("list", epilog="Example: kusanya mapping list")
def list_(*, as_json: AsJson = False) -> None:
    """List the mappings that are shipped, and what of each file's shape is known."""
    from kusanya_books.read.mappings import SHIPPED, shipped

    about = {name: shipped(name).about for name in SHIPPED}
    if as_json:
        say_json(about)
        return
    for name, said in about.items():
        if said is not None:
            say(f"{name:<12}{said.title}")
            say(f"{'':<12}known: {said.known}")
            say(f"{'':<12}assumed: {said.assumed}")
    say("")
    say("Use one as in: kusanya reconcile --operator mpesa:statement.xlsx ...")


@_mapping.command(epilog="Example: kusanya mapping show mpesa")
def show(name: Annotated[str, typer.Argument(help="As kusanya mapping list names it.")]) -> None:
    """Print a shipped mapping as TOML, to use as it is or to change in a file of your own."""
    from kusanya.errors import InputRefused
    from kusanya_books.read import mappings

    try:
        text = mappings.text(name)
    except InputRefused as error:
        raise Refused(str(error), code=USAGE) from error
    for line in text.splitlines():
        say(line)


@_mapping.command("try", epilog="Example: kusanya mapping try march.xlsx --out march.toml")
def try_(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, XLSX, XLS, camt.053, MT940 or OFX; a sheet as in books.xlsx#March."
        ),
    ],
    *,
    role: Annotated[
        str,
        typer.Option("--as", metavar="ledger|operator|bank|statement", help="What the file is."),
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Write the mapping here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Guess how a file is written, show its first rows as they would be read, write the TOML."""
    from kusanya_books.read.guess import ROLES, guess
    from kusanya_books.read.spreadsheets import named

    if not named(file)[0].is_file():
        raise Refused(f"there is no file {file}", code=USAGE)
    if role not in {"", *ROLES}:
        raise Refused(f"--as is one of {', '.join(ROLES)}, not {safe(role, 40)}", code=USAGE)
    if out is not None and out.exists():
        raise Refused(f"{out} is there already; choose another name", code=USAGE)
    found = guess(file, role)
    if out is not None and found.toml:
        _write(out, found.toml)
    if as_json:
        say_json(_document(found))
    else:
        _print(found, file, out)


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"cannot write {out}: {error.strerror}") from None


def _document(found: "Guess") -> dict[str, object]:
    rejected = [
        {"row": row.row, "column": row.column, "reason": row.reason, "amount": row.amount}
        for row in found.quality.rejected
    ]
    return {
        "as": found.role,
        "known": found.known,
        "uncertain": found.uncertain,
        "fits": found.fits,
        "toml": found.toml,
        "rows": found.quality.rows,
        "kept": found.quality.kept,
        "rejected": rejected,
    }


def _print(found: "Guess", file: Path, out: Path | None) -> None:
    say(f"{safe(file.name, 80)} as {found.role}: {'; '.join(found.known)}")
    for name in found.fits:
        say(f"the shipped mapping {name} has these columns: {name}:{safe(file.name, 80)}")
    quality = found.quality
    skipped = quality.count("skipped")
    say(
        f"{quality.rows:,} rows: {quality.kept:,} read, {skipped:,} no entries,"
        f" {len(quality.rejected):,} that cannot be read"
    )
    for line in _table(found):
        say(line)
    for remark in quality.rejected[:_SHOWN]:
        where = f', column "{remark.column}"' if remark.column else ""
        say(f"cannot be read: row {remark.row}{where}: {remark.reason}")
    for doubt in found.uncertain:
        say(f"uncertain: {doubt}")
    if found.toml:
        say("")
        for line in found.toml.splitlines():
            say(safe(line, 400))
    if out is not None and found.toml:
        say("")
        say(f"written to {safe(str(out), 400)}")


def _table(found: "Guess") -> list[str]:
    """Return the first rows as they would be read, without columns that are empty throughout."""
    shown = found.rows.head(_SHOWN)
    # A line of a settlement statement has a day, and no moment beside it.
    hidden = {*_HIDDEN, "business_day"} if "at" in shown else _HIDDEN
    names = [str(name) for name in shown if name not in hidden and shown[name].notna().any()]
    number = next((name for name in ("row_no", "line_no") if name in shown), None)
    header = ["row" if number else "", *names]
    rows = [header]
    for _, row in shown.iterrows():
        first = "" if number is None else str(row[number])
        rows.append([first, *("" if row[name] is None else _cell(row[name]) for name in names)])
    widths = [max(len(row[at]) for row in rows) for at in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cell(value: object) -> str:
    text = str(value)
    if text in {"<NA>", "NaT"}:
        return ""
    if isinstance(value, datetime):
        own = f"{value:%Y-%m-%d}"
        text = own if value.tzinfo is None else f"{value.astimezone(EAT):%Y-%m-%d %H:%M}"
    return safe(text, _WIDE)
