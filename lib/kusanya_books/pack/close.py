"""The month-end run: one command's worth, and the same bytes whenever it is run again.

A run is named by what went into it: period, cutoff, mode, tolerances, files, tariff, store, journal
position and version. No wall clock takes part. A closed period is never rewritten; what arrives
late is a delta that the next pack carries.
"""

from collections.abc import Hashable
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.clock import SystemClock
from kusanya.errors import ConfigurationError, InputRefused, KusanyaError
from kusanya.platform.digest import digest_of
from kusanya_books import columns
from kusanya_books.columns import (
    COLLECTIONS,
    FILES,
    LEDGER,
    DType,
    Schema,
)
from kusanya_books.engine.engines import open_engine, shared_databases
from kusanya_books.judge import proof
from kusanya_books.judge.report import (
    CloseResult,
    Report,
    ReportVerdict,
    report,
)
from kusanya_books.match import settlement
from kusanya_books.match.ledger import Progress
from kusanya_books.pack import kept_receipts, late_changes, summary, write
from kusanya_books.pack.imprint import imprint
from kusanya_books.pack.journals import (
    account_map,
    booked_before,
    journal_entries,
    journal_files,
    to_book,
)
from kusanya_books.pack.journals.account_map import AccountMap
from kusanya_books.pack.journals.journal_entries import Journals
from kusanya_books.pack.journals.to_book import ToBook
from kusanya_books.read import earlier_pack, load, pack_folder
from kusanya_books.read.earlier_pack import EarlierPack
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import DAY, format_cutoff
from kusanya_books.request.earlier_period import ALL, Compared
from kusanya_books.request.report_inputs import Inputs

_AMOUNTS: Final = Schema("amounts", {"what": DType.TEXT, "amount": DType.WHOLE})
_LARGEST: Final = """
(SELECT 'collection ' || id AS what, amount FROM collections ORDER BY amount DESC, id LIMIT 1)
UNION ALL
(SELECT 'ledger row ' || row_no AS what, amount FROM ledger ORDER BY amount DESC, row_no LIMIT 1)
"""


@shared_databases()
def run(request: CloseRequest, *, out: Path, progress: Progress | None = None) -> CloseResult:
    """Reconcile a period and write its pack into a folder of its own under `out`.

    `progress` is called with what is being done. Rows that cannot be read are listed in the pack,
    and its verdict is then not closed. Nothing is written when a file as a whole or the store
    cannot be read: the result is failed and says why. Raises ConfigurationError for what the caller
    got wrong: a mode, cutoff or position, a period that cannot be read, or receipts to keep without
    a store or a statement of an operator.
    """
    if request.keep_receipts and not request.operator:
        raise ConfigurationError("receipts come from an operator's statement, and none was given")
    keeper = kept_receipts.store_of(request.store) if request.keep_receipts else ""
    try:
        if request.carry and not request.previous:
            request = _following(request, out)
        made = prepare(request, progress=progress)
        if progress is not None:
            progress("writing the pack")
        result = finish(made, out=str(out), progress=progress)
        kept = kept_receipts.record_in(keeper, made.report) if keeper else None
    except ConfigurationError:
        raise
    except KusanyaError as error:
        return CloseResult(verdict=ReportVerdict.FAILED, sentence=str(error))
    else:
        return msgspec.structs.replace(
            result,
            receipts=kept,
            previous=Path(request.previous).name if request.previous else None,
            gap=_gap(made.report.inputs),
            carried_by=_carried_by(result),
        )


def _following(request: CloseRequest, out: Path) -> CloseRequest:
    """Return the request with the newest pack of `out` that ends before its period, if one does."""
    span = request.span(SystemClock().now())
    if span is None:
        raise ConfigurationError("name the period's days: what came before it is to be carried")
    found = earlier_pack.newest(
        out,
        store_id=load.store_id(request.store),
        mode=request.mode,
        entity=request.entity,
        before=span.first,
    )
    return request if found is None else msgspec.structs.replace(request, previous=str(found))


def _carried_by(result: CloseResult) -> str | None:
    """Return the first period that carries an earlier close of the same days; None for none."""
    found = [] if result.folder is None else earlier_pack.followers(result.folder)
    return f"{found[0][0]} to {found[0][1]}" if found else None


def _gap(inputs: Inputs) -> str | None:
    """Return the days that lie between what was carried and the period; None for none."""
    if inputs.carried is None:
        return None
    begins, ends = inputs.carried.period.last + DAY, inputs.period.first - DAY
    return None if ends < begins else f"{begins} to {ends}"


class ClosePackage(msgspec.Struct, frozen=True, kw_only=True):
    """A period that is ready to be written."""

    request: CloseRequest
    report: Report
    files: dict[str, str | None]
    """What went into it beside the inputs: SHA-256 of mapping and tariff, an earlier run id."""
    accounts: AccountMap | None = None
    """Where the journal entries are booked; without it the pack has none."""


def prepare(
    request: CloseRequest = load.SAMPLE, *, progress: Progress | None = None
) -> ClosePackage:
    """Read, match and audit a period; write nothing.

    Raises InputRefused when a total is past 63 bits, with the rows of the largest amounts; and
    whatever `load.inputs` raises.
    """
    folder = Path(request.previous)
    earlier = earlier_pack.read(folder) if request.previous else None
    late, carried, asked = None, None, request
    if earlier is not None:
        since = late_changes.sides(earlier, folder, request)
        late = late_changes.compare(
            since.before, since.now, closed_run_id=str(earlier.manifest["run_id"])
        )
        basis = earlier.manifest["made_from"].get("basis", "gross")
        carried = late_changes.with_news(earlier.carried, since, late, basis=basis)
        asked = msgspec.structs.replace(request, as_of=since.as_of)
    booked_on = account_map.read(Path(request.accounts)) if request.accounts else None
    loaded = load.inputs(asked, carried=carried, evidence=True, on_disk=True, progress=progress)
    if earlier is not None:
        _check_it_follows(earlier, folder, loaded, entity=request.entity)
    files: dict[str, str | None] = {
        "mapping": _digest(request.mapping),
        "tariff": _digest(request.tariff),
    }
    if request.accounts:
        files["accounts"] = _digest(request.accounts)
    if earlier is not None:
        files["previous"] = str(earlier.manifest["run_id"])
    try:
        made = report(loaded, late=late, progress=progress)
    except OverflowError as error:
        raise InputRefused(f"nothing was closed: {error}; {_largest(loaded)}") from error
    return ClosePackage(request=request, report=made, files=files, accounts=booked_on)


def _check_it_follows(earlier: EarlierPack, folder: Path, inputs: Inputs, *, entity: str) -> None:
    """Raise InputRefused where what lies between a pack and the period would be in neither."""
    span, origin, name = inputs.period, earlier.manifest["made_from"], folder.resolve().name
    before, turns = earlier.carried.period, format_cutoff(span.cutoff)
    if origin["mode"] != inputs.mode.value:
        raise InputRefused(
            f"{name} is of {origin['mode']} mode: name a pack of {inputs.mode.value}"
        )
    if before.cutoff != span.cutoff:
        raise InputRefused(
            f"{name} turned its days at {origin['cutoff']}, this period does at {turns}: what was "
            "paid between the two would be in neither, or in both; close with the cutoff "
            f"{origin['cutoff']}, or with --previous none"
        )
    if before.first >= span.first:
        raise InputRefused(
            f"{name} is of {before.first} to {before.last}: name the pack of a period before "
            f"{span.first}"
        )
    if not pack_folder.is_of_entity(origin, entity):
        raise InputRefused(f"{name} is of another entity's books: name a pack of {entity}")


def _largest(inputs: Inputs) -> str:
    """Return which collection and which line say the largest amounts."""
    with open_engine(inputs.collections, inputs.ledger) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        engine.register("ledger", inputs.ledger, LEDGER)
        rows = columns.records(engine.frame(_LARGEST, _AMOUNTS))
        return "; ".join(f"the largest amount of {row.what} is {row.amount:,}" for row in rows)


def finish(closing: ClosePackage, *, out: str, progress: Progress | None = None) -> CloseResult:
    """Write the pack of a prepared period under `out` and return the result; see `pack`."""
    return pack(
        closing.report,
        out=Path(out),
        max_breaks=closing.request.max_breaks,
        files=closing.files,
        entity=closing.request.entity,
        accounts=closing.accounts,
        progress=progress,
    )


def manifest(result: CloseResult) -> pd.DataFrame:
    """Return the files of a pack with their SHA-256, as its manifest says.

    Raises InputRefused when there is no pack.
    """
    if result.folder is None:
        raise InputRefused(f"there is no pack: {result.sentence}")
    files = pack_folder.manifest(result.folder)["files"]
    return columns.frame(
        FILES,
        {
            "file": list(files),
            "bytes": [file["bytes"] for file in files.values()],
            "sha256": [file["sha256"] for file in files.values()],
        },
    )


@shared_databases()
def pack(
    made: Report,
    *,
    out: Path,
    max_breaks: int = 0,
    files: dict[str, str | None] | None = None,
    entity: str = "",
    accounts: AccountMap | None = None,
    progress: Progress | None = None,
) -> CloseResult:
    """Write the pack of a report and return the result.

    `files` names what else went into it, by SHA-256 or run id: mapping, tariff, an earlier pack.
    `accounts` adds the folder `journals`, with a file for each program that imports entries.

    The folder appears whole or not at all. Where it is there already, with the same contents, it is
    left alone. Raises PackRefused when it cannot be written or differs from what is there.
    """
    identity = {**summary.identity(made.inputs, files or {}), "max_breaks": max_breaks}
    # A watcher's note is no fact of the journal: what it leaves unproven is part of the identity.
    identity |= {"entity": entity, "unproven": list(made.unproven)}
    own = _to_book(made)
    before = None
    if accounts is not None:
        currency = accounts.currency
        before = booked_before.earlier_close(out, identity, own, currency=currency)
    if before is not None:
        identity[booked_before.AFTER] = msgspec.to_builtins(before.runs)
        own = msgspec.structs.replace(own, books_others=own.books_others and not before.has_more)
    run_id = summary.run_id(identity)
    entries = None if accounts is None else journal_entries.of_close(own, accounts, booked=before)
    late = own.late if accounts is None else own.late - own.unbooked(before)
    verdict = made.verdict(max_breaks=max_breaks)
    span = made.inputs.period
    name = f"kusanya-{span.first}-{span.last}-{made.inputs.mode.value}-{run_id}"
    folder = write.write(
        made,
        out / name,
        summary=[
            *summary.first_sheet(made, run_id, verdict, identity),
            *([] if entries is None else _facts_of(entries)),
        ],
        imprint=imprint(made, run_id=run_id, verdict=verdict, made_from=identity),
        manifest={
            "run_id": run_id,
            "verdict": verdict.value,
            "made_from": identity,
            earlier_pack.COMPARED: msgspec.to_builtins(_all_compared(made)),
            earlier_pack.NOT_CLOSED: msgspec.to_builtins(_not_closed(made.inputs, verdict)),
            earlier_pack.PAYERS: sorted(made.inputs.paid_by_operators),
            earlier_pack.BEGINS: own.begins.isoformat(),
            booked_before.LATE: sorted(day.isoformat() for day in late),
            to_book.BOOKS_OTHERS: own.books_others,
            **({} if accounts is None else {booked_before.CURRENCY: accounts.currency}),
        },
        others={} if accounts is None or entries is None else _files_of(entries, accounts),
        progress=progress,
    )
    return CloseResult(
        verdict=verdict,
        sentence=summary.sentence(made, verdict),
        run_id=run_id,
        folder=folder,
        breaks=made.breaks,
        unexplained=made.unexplained,
        by_code=made.by_code,
        findings=tuple(_plain(row) for row in made.findings.to_dict("records")),
        coverage=tuple(_plain(row) for row in made.coverage.to_dict("records")),
        look_first=made.look_first,
        unproven=made.unproven,
        waiting=tuple(proof.waiting(made.items)),
    )


def _to_book(made: Report) -> ToBook:
    """Return what is to be booked of the period, and of those that were closed before it."""
    inputs, earlier = made.inputs, made.inputs.carried
    span = inputs.period
    given = to_book.given(inputs.operator_channels, has_settlement=inputs.statement is not None)
    return ToBook(
        first=span.first,
        last=span.last,
        begins=span.first if earlier is None else min(span.first, earlier.chain_begins),
        known_at=0 if earlier is None else earlier.as_of,
        given=given,
        books_others=bool(given),
        postings=made.page("postings").frame,
        earned=made.earned,
    )


def _not_closed(inputs: Inputs, verdict: ReportVerdict) -> list[tuple[date, date]]:
    """Return the periods, this one and those before it, whose files were not read whole."""
    earlier = () if inputs.carried is None else inputs.carried.not_closed
    is_own = verdict is ReportVerdict.NOT_CLOSED
    return [*earlier, *([(inputs.period.first, inputs.period.last)] if is_own else [])]


def _all_compared(made: Report) -> tuple[Compared, ...]:
    """Return what was given to this close, and to those before it; like follows like as one."""
    inputs, keeps_lines = made.inputs, made.settlement_lines is not None
    statement = inputs.statement
    before = None if inputs.carried is None else inputs.carried.settlement
    dated_later = {} if inputs.carried is None else inputs.carried.own.dated_later
    if made.settled is not None:
        dated_later = made.settled.dated_later
    own = Compared(
        first=inputs.period.first,
        last=inputs.period.last,
        books=inputs.ledger is not None,
        operators=inputs.operator_channels,
        has_settlement=statement is not None,
        settled=sorted({name or ALL for name, _ in inputs.settled_channels}),
        by_item=statement is not None and settlement.paid_for(statement, before).item,
        keeps_lines=keeps_lines,
        dated_later=dated_later,
    )
    earlier = () if inputs.carried is None else inputs.carried.compared
    if not keeps_lines:
        earlier = tuple(msgspec.structs.replace(one, keeps_lines=False) for one in earlier)
    if not earlier:
        return (own,)
    *others, newest = earlier
    joined = msgspec.structs.replace(own, first=newest.first)
    if newest.last + DAY == own.first and msgspec.structs.replace(newest, last=own.last) == joined:
        return (*others, joined)
    return (*earlier, own)


def _facts_of(made: Journals) -> summary.Summary:
    left = sum(abs(each.amount) for each in made.not_booked)
    said = f"{len(made.entries):,} in journals" if not made.refusal else made.refusal
    return [("journal entries", said), ("money of breaks that no entry books", left)]


def _files_of(made: Journals, accounts: AccountMap) -> dict[str, bytes]:
    """Return the files to import, none where an account is missing, and what is in none of them."""
    files = {"journals/not_booked.csv": journal_files.not_booked(made)}
    if made.refusal:
        return {**files, "journals/missing_accounts.csv": journal_files.missing(made)}
    for form in journal_files.FORMS:
        parts = journal_files.files(made.entries, accounts, form)
        names = journal_files.names(form, parts)
        files |= {f"journals/{name}": data for name, data in zip(names, parts, strict=True)}
    return files


def _plain(row: dict[Hashable, Any]) -> dict[str, Any]:
    return {str(name): None if pd.isna(value) else value for name, value in row.items()}


def _digest(path: str) -> str | None:
    return digest_of(Path(path)) if path else None
