"""`kusanya reconcile`: the month end without a notebook."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.finance.notification import UNSENT, Notification, news_of
from kusanya_console.cli.options import AsJson, ProfileName, StoreUrl, day_of, now, profile_of
from kusanya_console.cli.process.bulk_memory import memory_for_bulk
from kusanya_console.cli.process.progress_line import progress_line
from kusanya_console.cli.process.signals import interrupted_by_sigterm
from kusanya_console.output import USAGE, Refused, complain, say, say_json, stop

if TYPE_CHECKING:
    from kusanya_books.judge.report import CloseResult

_EXAMPLE = (
    "Example: kusanya reconcile --mode live --ledger books.csv --mapping books.toml "
    "--from 2026-03-01 --to 2026-03-31 --out ./packs"
)


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=_EXAMPLE)(reconcile)


def reconcile(
    *,
    out: Annotated[Path, typer.Option(help="Where the pack's folder is made.")],
    first: Annotated[
        str | None, typer.Option("--from", help="First business day, YYYY-MM-DD, EAT.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", help="Last business day, included.")] = None,
    period: Annotated[
        str | None,
        typer.Option(
            help="In place of --from and --to: yesterday, last-week (Monday to Sunday), "
            "last-month, 2026-03 or 2026-03-05."
        ),
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Which mode's collections; else the profile's.")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="[MAPPING:]FILE", help="Our books: CSV, XLSX or XLS."),
    ] = None,
    statement: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MAPPING:]FILE",
            help="The provider's settlement statement; may be repeated where it comes in files.",
        ),
    ] = None,
    operator: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MAPPING:]FILE",
            help="An operator's statement, as mpesa:march.xlsx; may be repeated. "
            "kusanya mapping list names the mappings.",
        ),
    ] = None,
    bank: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MAPPING:]FILE",
            help="A bank's statement: camt.053, MT940, OFX or a table; may be repeated.",
        ),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="TOML: which columns hold what in the files.")
    ] = None,
    tariff: Annotated[Path | None, typer.Option(help="TOML: the agreed fees.")] = None,
    cutoff: Annotated[str, typer.Option(help="When a business day turns, HH:MM.")] = "00:00",
    as_of: Annotated[
        int | None, typer.Option(help="Journal position to stop at; now by default.")
    ] = None,
    previous: Annotated[
        str | None,
        typer.Option(
            metavar="PACK|none",
            help="The earlier pack whose open items this one carries; else the newest in --out "
            "that ends before the period.",
        ),
    ] = None,
    judged_on: Annotated[
        str | None,
        typer.Option(help="Day that ages are counted to, YYYY-MM-DD; today by default."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            help="What must be compared to be signed: books, settlement, operator, bank, or "
            "operator:mpesa; several with commas or repeated; else the profile's expect.",
        ),
    ] = None,
    tolerance: Annotated[
        Path | None, typer.Option(help="TOML: tolerances; the single options below win over it.")
    ] = None,
    amount_tolerance: Annotated[
        int | None, typer.Option(min=0, help="How far amounts may differ, in whole units.")
    ] = None,
    fee_tolerance: Annotated[
        int | None, typer.Option(min=0, help="How far fees may differ, in whole units.")
    ] = None,
    grace_days: Annotated[
        int | None,
        typer.Option(min=0, help="Days that a booking or a payment may still be on its way."),
    ] = None,
    double_minutes: Annotated[
        int | None,
        typer.Option(
            min=0, help="How close two payments of one customer and amount are suspected."
        ),
    ] = None,
    settle_days: Annotated[
        int | None, typer.Option(min=0, help="Days after which a business day is paid out.")
    ] = None,
    widen_days: Annotated[
        int | None, typer.Option(min=0, help="Days around the period that are read too.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="Spark Connect address, sc://host:15002, for an export; else DuckDB."),
    ] = "",
    accounts: Annotated[
        Path | None, typer.Option(help="TOML: the account map; the pack gets journal entries.")
    ] = None,
    max_breaks: Annotated[int, typer.Option(min=0, help="Breaks that are tolerated.")] = 0,
    keep_receipts: Annotated[
        bool,
        typer.Option("--keep-receipts", help="Keep the operator's receipts, for kusanya find."),
    ] = False,
    entity: Annotated[
        str | None,
        typer.Option(help="Whose books these are, for every page; else the profile's name."),
    ] = None,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            help="Send verdict, counts and sums here: an http(s) address, or one of apprise's; "
            "with --period also to what KUSANYA_NOTIFY names."
        ),
    ] = None,
    profile: ProfileName = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Match the books with what the service said; write a pack of xlsx, CSV and HTML.

    Exits with 0 when all is explained, 1 for breaks (the pack is written) or a failed run, 3 when a
    notification could not be sent, whatever the verdict.
    """
    with progress_line("starting"):
        from kusanya.errors import ConfigurationError, InputRefused
        from kusanya.profiles import find_secret
        from kusanya_books.pack.close import run
        from kusanya_books.read import tolerance_file
        from kusanya_books.request.close_request import CloseRequest

    chosen = profile_of(profile, store)
    which = mode or chosen.mode
    days = _days(first, last, period, cutoff)
    try:
        tolerated = tolerance_file.read(
            _file(tolerance),
            amount=amount_tolerance,
            fee=fee_tolerance,
            grace_days=grace_days,
            double_minutes=double_minutes,
            settle_days=settle_days,
            widen_days=widen_days,
        )
    except InputRefused as error:
        raise Refused(str(error), code=USAGE) from error
    # Who names a period lets it run by itself; who names days sits before it.
    asked = () if period is None else find_secret("NOTIFY").text.split()
    news = Notification((*(notify or ()), *asked), which, days)
    try:
        with (
            interrupted_by_sigterm(),
            memory_for_bulk(),
            progress_line("reading what was given") as progress,
        ):
            request = CloseRequest(
                store=chosen.store.reveal(),
                mode=which.value,
                period=f"{days[0]}..{days[1]}",
                cutoff=cutoff,
                ledger=_existing_file(ledger),
                statement=[_existing_file(each) for each in statement or ()],
                operator=[_existing_file(each) for each in operator or ()],
                bank=[_existing_file(each) for each in bank or ()],
                mapping=_file(mapping),
                tariff=_file(tariff),
                tolerance=tolerated,
                as_of=as_of,
                judged_on=_judged_on(judged_on, cutoff),
                expect=expect or chosen.expect,
                engine=engine,
                previous="" if previous == "none" else previous or "",
                carry=previous is None,
                accounts=_file(accounts),
                entity=chosen.name if entity is None else entity,
                max_breaks=max_breaks,
                keep_receipts=keep_receipts,
            )
            result = run(request, out=out, progress=progress)
    except (ConfigurationError, Refused) as error:
        news.send(None)
        raise Refused(str(error), code=USAGE) from error
    unsent = news.send(result)
    if as_json:
        say_json(result.to_dict())
    else:
        _print(result, which, days)
    if unsent:
        stop(UNSENT)
    if result.exit_code:
        stop(result.exit_code)


def _days(
    first: str | None, last: str | None, period: str | None, cutoff: str
) -> tuple[date, date]:
    """Return the first and the last business day; Refused where they are not named just once."""
    from kusanya_books.request import days

    if period is None and first is not None and last is not None:
        return day_of("--from", first), day_of("--to", last)
    if period is None or first is not None or last is not None:
        raise Refused("name the days with --from and --to, or with --period alone", code=USAGE)
    try:
        shift = days.cutoff(cutoff)
        found = days.named_period(period, now=now(), cutoff=shift) or days.period(period)
    except ValueError as error:
        raise Refused(
            f"--period is {', '.join(days.NAMED)} or a month, day or span; {error}", code=USAGE
        ) from None
    return found.first, found.last


def _judged_on(text: str | None, cutoff: str) -> date:
    from kusanya_books.request import days

    try:
        today = days.business_day(now(), cutoff=days.cutoff(cutoff))
    except ValueError as error:
        raise Refused(str(error), code=USAGE) from None
    day = today if text is None else day_of("--judged-on", text)
    if day > today:
        raise Refused(f"--judged-on is {day}, and that day is yet to come", code=USAGE)
    return day


def _print(result: "CloseResult", mode: Mode, days: tuple[date, date]) -> None:
    from kusanya_books.judge import findings
    from kusanya_books.match.breaks import EVERY

    if result.folder is None:
        complain(result.sentence)
        return
    say(f"{mode.value} collections, business days {days[0]} to {days[1]}, East Africa Time")
    said = safe(result.sentence, 600)
    say(said)
    for row in result.findings:
        if row["rows"]:
            say(safe(f"  {findings.in_words(row)}", 200))
    for code in sorted(result.by_code, key=list(EVERY).index):
        rule = EVERY[code]
        say(f"  {code:<24}{result.by_code[code]:>8,}  {rule.meaning}: {rule.action}")
    if result.receipts is not None:
        say(f"new receipts of the operator in the store: {result.receipts:,}")
    for line in news_of(result, said=said):
        say(safe(line, 600))
    say(f"run {result.run_id}, pack in {safe(str(result.folder), 600)}")
    say(f"read report.html there; {'sign pack.xlsx' if result.verdict.may_sign else 'do not sign'}")


def _file(path: Path | None) -> str:
    if path is None:
        return ""
    if not path.is_file():
        raise Refused(f"there is no file {path}", code=USAGE)
    return str(path)


def _existing_file(text: str | None) -> str:
    """Return a file, perhaps with a mapping before it, once both are known to be there."""
    from kusanya.errors import InputRefused
    from kusanya_books.read.mapped_files import split
    from kusanya_books.read.spreadsheets import named

    if not text:
        return ""
    try:
        mapping, path = split(text)
    except InputRefused as error:
        raise Refused(str(error), code=USAGE) from error
    _file(named(Path(path))[0])
    if mapping.lower().endswith(".toml"):
        _file(Path(mapping))
    return text
