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
) -> None:
    """Write the journal entries of a pack as a file that accounting programs import.

    One balanced entry a day. Its number holds run id and day, so that importing it twice is seen.
    """
    from kusanya.reconcile.pack import account_map, journal_entries, journal_files

    if form not in journal_files.FORMS:
        raise Refused(
            f"--format is one of {', '.join(journal_files.FORMS)}, not {safe(form, 40)}", code=USAGE
        )
    booked_on = account_map.read(accounts)
    found = journal_entries.of_pack(pack, booked_on)
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
    for currency, rows in found.other_currencies.items():
        complain(
            f"{rows:,} postings in {currency} are not in it: they need an account map of their own"
        )
