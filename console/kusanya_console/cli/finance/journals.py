"""`kusanya journals`: a pack as journal entries for the books."""

from pathlib import Path
from typing import Annotated

import typer

from kusanya.text import safe
from kusanya_console.output import USAGE, Refused, complain, say

_EXAMPLE = (
    "Example: kusanya journals --pack ./packs/kusanya-2026-03-01-... --accounts accounts.toml "
    "--format xero --out march.csv"
)


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=_EXAMPLE)(journals)


def journals(
    *,
    pack: Annotated[Path, typer.Option(help="The pack, which kusanya reconcile wrote.")],
    accounts: Annotated[Path, typer.Option(help="TOML: which account each part is booked on.")],
    form: Annotated[
        str, typer.Option("--format", help="Who imports it: quickbooks, xero or odoo.")
    ],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    booked: Annotated[
        str | None,
        typer.Option(
            help="An earlier pack whose entries are in the books: only what changed since. With "
            "none, no entry of these days is."
        ),
    ] = None,
) -> None:
    """Write the journal entries of a pack as a file that accounting programs import.

    One balanced entry a day and channel. Its number is made of what it holds, so that importing it
    twice is seen.
    """
    from kusanya_books.pack.journals import account_map, journal_entries, journal_files

    if form not in journal_files.FORMS:
        raise Refused(
            f"--format is one of {', '.join(journal_files.FORMS)}, not {safe(form, 40)}", code=USAGE
        )
    booked_on = account_map.read(accounts)
    found = journal_entries.of_pack(
        pack,
        booked_on,
        booked=None if booked in {None, "none"} else Path(booked),
        is_first=booked == "none",
    )
    if found.refusal:
        raise Refused(found.refusal)
    made = journal_files.files(found.entries, booked_on, form)
    paths = [out.with_name(name) for name in journal_files.names(out.stem, made)]
    if len(made) == 1:
        paths = [out]
    for path, data in zip(paths, made, strict=True):
        try:
            path.write_bytes(data)
        except OSError as error:
            raise Refused(f"cannot write {path}: {error.strerror}") from None
        say(f"wrote {safe(str(path), 600)}")
    say(f"{len(found.entries):,} entries in {booked_on.currency}, each balanced")
    if found.not_booked:
        left = sum(abs(each.amount) for each in found.not_booked)
        complain(
            f"{left:,} {booked_on.currency} of breaks are in no entry: page postings lists them"
        )
    for currency, rows in found.other_currencies.items():
        complain(
            f"{rows:,} postings in {currency} are not in it: they need an account map of their own"
        )
