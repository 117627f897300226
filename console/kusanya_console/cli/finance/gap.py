"""`kusanya gap`: which rows sum to an amount that nobody can explain."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson
from kusanya_console.output import USAGE, Refused, say, say_json

if TYPE_CHECKING:
    from kusanya_books.judge.gap import GapAnswer

_EXAMPLE = "Example: kusanya gap 46052 --pack ./packs/kusanya-2026-03-01-... --currency TZS"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    # A negative amount begins as an option does.
    app.command(epilog=_EXAMPLE, context_settings={"ignore_unknown_options": True})(gap)


def gap(
    amount: Annotated[str, typer.Argument(help="The unexplained amount, as 46052 or -46,052.")],
    *,
    pack: Annotated[
        Path | None, typer.Option(help="Search in this pack, which kusanya reconcile wrote.")
    ] = None,
    page: Annotated[
        str, typer.Option(help="Of the pack: breaks, fee_exceptions or collections.")
    ] = "breaks",
    file: Annotated[
        Path | None, typer.Option(help="Search in this CSV, XLSX or XLS with one amount a row.")
    ] = None,
    column: Annotated[str, typer.Option(help="The file's column of signed amounts.")] = "amount",
    thousands: Annotated[
        str | None, typer.Option(help="The file's mark for thousands, where 5.000 leaves it open.")
    ] = None,
    currency: Annotated[str, typer.Option(help="Only rows of this currency.")] = "",
    largest: Annotated[
        int, typer.Option("--rows", min=1, max=6, help="Rows that a set has at most.")
    ] = 6,
    as_json: AsJson = False,
) -> None:
    """Find the smallest sets of rows that sum to an amount, and what else may explain it.

    Books nothing. Says what is proven: that no smaller set exists, how many there are, or beyond
    how many rows nothing is proven.
    """
    from kusanya_books.judge.gap import answer
    from kusanya_books.read import gap_rows, spreadsheets

    if (pack is None) == (file is None):
        raise Refused("name what to search in: either --pack FOLDER or --file FILE", code=USAGE)
    if len(thousands or "") > 1:
        raise Refused("--thousands is one sign, as . or ,", code=USAGE)
    wanted = _amount(amount)
    if pack is not None:
        if page not in gap_rows.PAGES:
            raise Refused(
                f"--page is one of {', '.join(gap_rows.PAGES)}, not {safe(page, 40)}", code=USAGE
            )
        rows = gap_rows.of_pack(pack, page=page, currency=currency)
    else:
        if file is None or not spreadsheets.named(file)[0].is_file():
            raise Refused(f"there is no file {file}", code=USAGE)
        rows = gap_rows.of_file(file, column=column, currency=currency, thousands=thousands)
    found = answer(wanted, rows.frame, period=rows.period, largest=largest)
    if as_json:
        say_json({**_document(found), "left_out": list(rows.left_out)})
    else:
        for text in rows.left_out:
            say(safe(f"Left out {text}", 200))
        _print(found)


def _amount(text: str) -> int:
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise Refused(
            f"an amount is a whole number as 46052 or -46,052, not {safe(text, 40)}", code=USAGE
        ) from None


def _print(found: "GapAnswer") -> None:
    from kusanya_books import columns

    say("Tried first:")
    for row in columns.records(found.hypotheses):
        say(safe(f"  {row.hypothesis:<28}{row.finding}", 200))
        if row.rows:
            say(f"  {'':<28}would mean: {row.meaning}")
    say(found.sentence)
    for number, rows in found.sets.groupby("set"):
        say(f"  set {number}")
        for row in columns.records(rows):
            alike = int(row.rows_of_amount) - 1
            more = f" (or one of {alike:,} more of this amount)" if alike else ""
            say(safe(f"    row {row.row_no:<8}{row.amount:>16,}  {row.label}{more}", 200).rstrip())
    say("Nothing was booked.")


def _document(found: "GapAnswer") -> dict[str, Any]:
    searched = found.searched
    sets = found.sets.astype("object").where(found.sets.notna(), None)
    sets["day"] = found.sets["day"].dt.strftime("%Y-%m-%d").where(found.sets["day"].notna(), None)
    return {
        "amount": found.amount,
        "rows": found.rows,
        "sentence": found.sentence,
        "proven": searched.proven,
        "size": searched.size,
        "count": searched.count,
        "exact": searched.is_exact,
        "sets": sets.to_dict("records"),
        "hypotheses": found.hypotheses.astype("object").to_dict("records"),
    }
