"""The month-end run: one command's worth, and the same bytes whenever it is run again.

A run is named by what went into it: period, cutoff, mode, tolerances, files, tariff, store, journal
position and version. No wall clock takes part. A closed period is never rewritten; what arrives
late is a delta that the next pack carries.
"""

import hashlib
import json
from collections.abc import Hashable
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.errors import ConfigurationError, InputRefused, KusanyaError
from kusanya.reconcile.analysis.report import (
    CloseResult,
    Progress,
    Report,
    ReportVerdict,
    closed,
    report,
)
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import (
    CLOSED,
    COLLECTIONS,
    DELTA,
    FILES,
    LEDGER,
    DType,
    Schema,
)
from kusanya.reconcile.frames.days import period as as_period
from kusanya.reconcile.frames.engine import Engine, folders_of, query
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.frames.tolerance import PLAIN, Tolerance
from kusanya.reconcile.inputs import load
from kusanya.reconcile.pack import summary, write

_CLOSED: Final = "closed.parquet"
_MANIFEST: Final = "manifest.json"
_AMOUNTS: Final = Schema("amounts", {"what": DType.TEXT, "amount": DType.WHOLE})
_LARGEST: Final = """
(SELECT 'collection ' || id AS what, amount FROM collections ORDER BY amount DESC, id LIMIT 1)
UNION ALL
(SELECT 'ledger row ' || row_no AS what, amount FROM ledger ORDER BY amount DESC, row_no LIMIT 1)
"""


def run(
    *,
    first: date,
    last: date,
    out: Path,
    ledger: str = "",
    store: str = "",
    statement: str = "",
    mapping: str = "",
    tariff: str = "",
    mode: str = "",
    cutoff: str = "00:00",
    as_of: int | None = None,
    previous: Path | None = None,
    max_breaks: int = 0,
    tolerance: Tolerance = PLAIN,
    progress: Progress | None = None,
) -> CloseResult:
    """Reconcile a period and write its pack into a folder of its own under `out`.

    `previous` is the folder of an earlier pack, whose late changes this one carries. `progress` is
    called with what is being done. Nothing is written when an input is rejected or the store cannot
    be read: the result is failed and says why. Raises ConfigurationError for what the caller got
    wrong: a mode, cutoff or position, or a period that ends before it begins.
    """
    if last < first:
        raise ConfigurationError(f"the period ends on {last}, before it begins on {first}")
    try:
        made = prepare(
            store,
            mode=mode,
            period=f"{first}..{last}",
            cutoff=cutoff,
            ledger=ledger,
            statement=statement,
            mapping=mapping,
            tariff=tariff,
            previous="" if previous is None else str(previous),
            as_of=as_of,
            tolerance=tolerance,
            progress=progress,
        )
        if progress is not None:
            progress("writing the pack")
        return finish(made, out=str(out), max_breaks=max_breaks)
    except ConfigurationError:
        raise
    except KusanyaError as error:
        return CloseResult(verdict=ReportVerdict.FAILED, sentence=str(error))


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """A period that is ready to be written."""

    report: Report
    files: dict[str, str | None]
    """What went into it beside the inputs: SHA-256 of mapping and tariff, an earlier run id."""


def prepare(
    store: str = "",
    *,
    mode: str = "",
    period: str,
    cutoff: str = "00:00",
    ledger: str = "",
    statement: str = "",
    mapping: str = "",
    tariff: str = "",
    previous: str = "",
    as_of: int | None = None,
    tolerance: Tolerance = PLAIN,
    progress: Progress | None = None,
) -> Closing:
    """Read, match and audit a period; write nothing.

    Raises InputRefused when an input row was rejected, with its number and reason, or when a total
    is past 63 bits, with the rows of the largest amounts; and whatever `load.inputs` raises.
    """
    report_step = progress or (lambda _: None)
    report_step("reading collections")
    loaded = load.inputs(
        store,
        mode=mode,
        period=period,
        cutoff=cutoff,
        ledger=ledger,
        statement=statement,
        mapping=mapping,
        tariff=tariff,
        tolerance=tolerance,
        as_of=as_of,
        evidence=True,
        progress=lambda rows: report_step(f"reading collections: {rows:,}"),
    )
    if loaded.rejected:
        raise InputRefused(_rejected(loaded))
    files: dict[str, str | None] = {"mapping": _digest(mapping), "tariff": _digest(tariff)}
    late = None
    if previous:
        files["previous"] = str(_read(Path(previous))[0]["run_id"])
        # An export has one position only, its own.
        upto = loaded.as_of if isinstance(loaded.collections, pd.DataFrame) else None
        late = delta(Path(previous), store=store, as_of=upto)
    try:
        made = report(loaded, late=late, progress=progress)
    except OverflowError as error:
        raise InputRefused(f"nothing was closed: {error}; {_largest(loaded)}") from error
    return Closing(report=made, files=files)


def _largest(inputs: Inputs) -> str:
    """Return which collection and which line say the largest amounts."""
    with Engine(folders=folders_of(inputs.collections)) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        engine.register(
            "ledger", columns.empty(LEDGER) if inputs.ledger is None else inputs.ledger, LEDGER
        )
        rows = columns.records(engine.frame(_LARGEST, _AMOUNTS))
        return "; ".join(f"the largest amount of {row.what} is {row.amount:,}" for row in rows)


def finish(closing: Closing, *, out: str, max_breaks: int = 0) -> CloseResult:
    """Write the pack of a prepared period under `out` and return the result; see `pack`."""
    return pack(closing.report, out=Path(out), max_breaks=max_breaks, files=closing.files)


def manifest(result: CloseResult) -> pd.DataFrame:
    """Return the files of a pack with their SHA-256, as its manifest says.

    Raises InputRefused when there is no pack.
    """
    if result.folder is None:
        raise InputRefused(f"there is no pack: {result.sentence}")
    files = _read(result.folder)[0]["files"]
    return columns.frame(
        FILES,
        {
            "file": list(files),
            "bytes": [file["bytes"] for file in files.values()],
            "sha256": [file["sha256"] for file in files.values()],
        },
    )


def pack(
    made: Report, *, out: Path, max_breaks: int = 0, files: dict[str, str | None] | None = None
) -> CloseResult:
    """Write the pack of a report and return the result.

    `files` names what else went into it, by SHA-256 or run id: mapping, tariff, an earlier pack.

    The folder appears whole or not at all. Where it is there already, with the same contents, it is
    left alone. Raises PackRefused when it cannot be written or differs from what is there.
    """
    identity = {**summary.identity(made.inputs, files or {}), "max_breaks": max_breaks}
    run_id = summary.run_id(identity)
    verdict = made.verdict(max_breaks=max_breaks)
    span = made.inputs.period
    name = f"kusanya-{span.first}-{span.last}-{made.inputs.mode.value}-{run_id}"
    folder = write.write(
        made,
        out / name,
        summary=summary.first_sheet(made, run_id, verdict, identity),
        manifest={"run_id": run_id, "verdict": verdict.value, "made_from": identity},
    )
    return CloseResult(
        verdict=verdict,
        sentence=summary.sentence(made, verdict),
        run_id=run_id,
        folder=folder,
        breaks=made.breaks,
        unexplained=made.unexplained,
        by_code=summary.by_code(made),
        findings=tuple(_plain(row) for row in made.findings.to_dict("records")),
    )


def delta(previous: Path, *, store: str = "", as_of: int | None = None) -> pd.DataFrame:
    """Return what the period of an earlier pack says now that it did not say when it was closed.

    Reads the same store as of `as_of`, the newest position where None. Raises InputRefused when the
    folder is no pack, or is one of another store.
    """
    manifest, before = _read(previous)
    origin = manifest["made_from"]
    now = load.inputs(
        store,
        mode=origin["mode"],
        period=f"{origin['first']}..{origin['last']}",
        cutoff=origin["cutoff"],
        tolerance=msgspec.convert(origin["tolerance"], Tolerance),
        as_of=as_of,
    )
    if now.store_id != origin["store_id"]:
        raise InputRefused(f"{previous.name} was made from another store")
    return compare(before, closed(now), closed_run_id=manifest["run_id"])


def compare(before: pd.DataFrame, now: pd.DataFrame, *, closed_run_id: str) -> pd.DataFrame:
    """Return how `now` differs from `before`, both frames of closed collections, field by field."""
    with Engine() as engine:
        engine.register("before", before, CLOSED)
        engine.register("now", now, CLOSED)
        return engine.frame(query("delta"), DELTA, {"closed_run_id": closed_run_id})


def _read(previous: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    try:
        manifest = json.loads((previous / _MANIFEST).read_text(encoding="utf-8"))
        table = columns.from_arrow(pq.read_table(previous / _CLOSED))
        checked = columns.check(table, CLOSED)
        days = manifest["made_from"]
        as_period(f"{days['first']}..{days['last']}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused(f"{previous.resolve().name} is not the folder of a pack") from error
    return manifest, checked


def _plain(row: dict[Hashable, Any]) -> dict[str, Any]:
    return {str(name): None if pd.isna(value) else value for name, value in row.items()}


def _digest(path: str) -> str | None:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else None


def _rejected(inputs: Inputs) -> str:
    first = next(
        f"{load.source}, row {remark.row}: {remark.reason}"
        for load in inputs.quality
        for remark in load.remarks
        if remark.verdict == "rejected"
    )
    more = inputs.rejected - 1
    also = f", and {more:,} more" if more else ""
    return f"nothing was closed: {inputs.rejected:,} rejected row(s); {first}{also}"
