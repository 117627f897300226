"""The inputs of a reconciliation: a store of collections, or a seeded month without one.

What is loaded is one mode, the period and some days on either side, so that a payment and its
booking meet when midnight or a weekend lies between them; every report says which day it counts by.
"""

import os
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.clock import Clock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.carried import Carried
from kusanya.reconcile.frames.columns import CONTROL, INTENTS, KEYS, RECEIPTS
from kusanya.reconcile.frames.days import (
    DAY,
    Period,
    business_day,
    cutoff,
    named_period,
    period,
)
from kusanya.reconcile.frames.engine import Source
from kusanya.reconcile.frames.quality import Quality
from kusanya.reconcile.frames.report_inputs import EXPORT, Inputs
from kusanya.reconcile.frames.tolerance import PLAIN, Tolerance
from kusanya.reconcile.inputs import given, months
from kusanya.reconcile.inputs.sample import faults as sample_faults
from kusanya.reconcile.inputs.sample import month as sample
from kusanya.reconcile.inputs.store import elsewhere, exported, known_receipts, rollup_control
from kusanya.reconcile.inputs.store.normalisation import normalise
from kusanya.store import Store
from kusanya.wire import Mode

STORE_VARIABLE: Final = "KUSANYA_STORE"
MODE_VARIABLE: Final = "KUSANYA_MODE"
LATEST: Final = "latest"
NEWEST: Final = "newest"
Progress = Callable[[str], None]
"""Called with what is being read, for people who wait."""


def inputs(
    store: str = "",
    *,
    mode: str = "",
    period: str = LATEST,
    cutoff: str = "00:00",
    ledger: str = "",
    statement: str = "",
    operator: Sequence[str] = (),
    bank: Sequence[str] = (),
    mapping: str = "",
    tariff: str = "",
    tolerance: Tolerance = PLAIN,
    as_of: int | None = None,
    carried: Carried | None = None,
    evidence: bool = False,
    engine: str = "",
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Inputs:
    """Open a store and load what a report needs; without a store, make the sample month.

    A folder that `kusanya store export` wrote stands in for a store: its collections stay where
    they lie; it knows no rollups or sources of fees. `store` and `mode` come from
    KUSANYA_STORE and KUSANYA_MODE where empty; with a store the mode is test unless said otherwise.
    A period of "latest" is the last month that is over and not after the newest collection (the
    running month where there is no earlier one), "newest" the month of the newest collection;
    yesterday, last-week and last-month count from `clock`, the machine's where None.
    `ledger`, `statement`, `mapping` and `tariff` are paths of files; the sample month has books and
    a statement of its own. `operator` and `bank` are their statements, several at once; each, and
    `ledger` and `statement`, may be `MAPPING:FILE`, where MAPPING is a shipped mapping's name or a
    TOML file. `as_of` is a journal position, the newest where None; `carried` is what an earlier
    period left open, which is looked up too; `evidence` also reads which source said which fee.
    `engine` is the Spark Connect address of a cluster that sees the export's folder; DuckDB in this
    process where empty. Raises ConfigurationError for a mode, period, position or engine that
    cannot be read, InputRefused for a file, and StoreError when the store cannot be read.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    chosen = _mode(mode or os.environ.get(MODE_VARIABLE, "") or (Mode.TEST if url else Mode.LIVE))
    now = (clock or SystemClock()).now()
    turn, wanted = _span(period, cutoff, now)
    before = now if period.strip().lower() == LATEST else None
    if engine and not Path(url or "-").is_dir():
        raise ConfigurationError(
            "Spark reads an export: run kusanya store export, and name its folder as the store"
        )
    report_step = progress or (lambda _: None)
    if any((ledger, statement, operator, bank)):
        report_step("reading the books")
    files_read: dict[str, Any] = {"carried": carried} | given.read(
        ledger=ledger,
        statement=statement,
        operator=operator,
        bank=bank,
        mapping=mapping,
        tariff=tariff,
        cutoff=turn,
    )
    if not url:
        made = _sample(chosen, wanted, turn, tolerance)
        # A file that was given stands in for the sample's own, never beside it.
        kept = tuple(load for load in made.quality if load.source not in files_read)
        return msgspec.structs.replace(
            made, **{**files_read, "quality": (*kept, *files_read["quality"])}
        )
    if Path(url).is_dir():
        if as_of is not None:
            raise ConfigurationError("an export knows no earlier position; name the store")
        return _exported(
            Path(url),
            chosen,
            wanted or months.exported_month(Path(url), mode=chosen, cutoff=turn, before=before),
            tolerance=tolerance,
            files_read=files_read,
            engine=engine,
        )
    with Store.open(url, read_only=True) as opened:
        span = wanted or months.newest_month(opened, mode=chosen, cutoff=turn, before=before)
        wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
        days = {"since": wide.begins, "until": wide.ends}
        with opened.bulk_read.snapshot() as found:
            upto = found.head if as_of is None else as_of
            if not 0 <= upto <= found.head:
                raise ConfigurationError(
                    f"the store's journal ends at {found.head}; {upto} is not in it"
                )
            report_step("reading collections")
            raw = columns.from_arrow(
                found.collections(
                    chosen,
                    **days,
                    as_of=upto,
                    fees_apart=evidence,
                    progress=lambda doing, rows: report_step(f"{doing}: {rows:,}"),
                )
            )
            other = columns.from_arrow(found.keys(_other(chosen), **days, as_of=upto))
            intents = columns.from_arrow(found.unanswered_intents(chosen, as_of=upto))
            report_step("reading their days")
            frame = normalise(raw, key=opened.store_id, cutoff=turn)
            del raw
            report_step("looking for earlier payments")
            if "movements" in files_read:
                receipts = known_receipts.receipts(found.receipts(chosen, as_of=upto))
                files_read["receipts"] = receipts
            again = found.paid_before(
                chosen, since=span.begins, until=span.ends, before=wide.begins
            )
            keys = _unmet(frame, files_read, span, again=again)
            asked = {name: keys[name].dropna().tolist() for name in ("id", "reference")}
            named, more = (
                columns.from_arrow(
                    found.collections_named(
                        of, ids=asked["id"], references=asked["reference"], as_of=upto
                    )
                )
                for of in (chosen, _other(chosen))
            )
            report_step("comparing with the store's own totals")
            rollups = found.rollups(chosen, since=span.begins, until=span.ends, as_of=upto)
        outside = elsewhere.new(normalise(named, key=opened.store_id, cutoff=turn), frame)
        changes = opened.feed.changes(upto - 1, limit=1) if upto else ()
        at = changes[0].at if changes else span.begins
        loaded = Quality(source="collections", rows=len(frame), kept=len(frame))
        return Inputs(
            collections=frame,
            outside=outside,
            other_mode=_joined(other, columns.frame(KEYS, more)),
            intents=intents,
            control=rollup_control.control(frame, rollups, period=span),
            tolerance=tolerance,
            period=span,
            mode=chosen,
            source=f"store {opened.url_shown}",
            store_id=opened.store_id,
            as_of=upto,
            as_of_at=at,
            judged_on=_judged_on(at, span, tolerance),
            histories=opened.breaks.histories(chosen, as_of=upto),
            **{**files_read, "quality": (loaded, *files_read["quality"])},
        )


def of_mode(store: str, mode: str, *, period: str = NEWEST, cutoff: str = "00:00") -> Inputs:
    """Return the inputs of one mode as a frame, for a page that switches between the two.

    See `inputs`; an export is loaded whole.
    """
    loaded = inputs(store, mode=mode, period=period, cutoff=cutoff)
    if isinstance(loaded.collections, pd.DataFrame):
        return loaded
    return msgspec.structs.replace(loaded, collections=exported.whole(loaded.collections))


def _unmet(
    collections: Source, files_read: dict[str, Any], span: Period, *, again: list[str]
) -> pd.DataFrame:
    said = columns.empty(KEYS)
    if "movements" in files_read:
        receipts = files_read.get("receipts", columns.empty(RECEIPTS))
        said = elsewhere.unmet_movements(collections, files_read["movements"], receipts)
    if files_read["carried"] is not None:
        said = _joined(said, files_read["carried"].keys())
    if "ledger" not in files_read:
        return said
    keys = _joined(said, elsewhere.unmet(collections, files_read["ledger"], period=span))
    paid_twice = columns.frame(KEYS, {"id": [None] * len(again), "reference": again})
    return _joined(keys, paid_twice)


def _joined(keys: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([keys, more], ignore_index=True).drop_duplicates(ignore_index=True)


def _other(mode: Mode) -> Mode:
    return Mode.TEST if mode is Mode.LIVE else Mode.LIVE


def _mode(text: str) -> Mode:
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise ConfigurationError(f"the mode is live or test, not {text!r}") from None


def _span(text: str, turn: str, now: datetime) -> tuple[timedelta, Period | None]:
    try:
        shift = cutoff(turn)
        if text.strip().lower() in {LATEST, NEWEST}:
            return shift, None
        return shift, named_period(text, now=now, cutoff=shift) or period(text, cutoff=shift)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _judged_on(at: datetime, span: Period, tolerance: Tolerance) -> date:
    # No later than the days that were read: what lies beyond them is not missing.
    return min(business_day(at, cutoff=span.cutoff), span.last + tolerance.widen_days * DAY)


def _exported(
    folder: Path,
    mode: Mode,
    span: Period,
    *,
    tolerance: Tolerance,
    files_read: dict[str, Any],
    engine: str,
) -> Inputs:
    wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
    found = exported.collections(folder, mode=mode, period=wide, engine=engine)
    reached = exported.head(found)
    at = reached.at or span.begins
    intents = columns.empty(INTENTS)
    if "ledger" in files_read:
        # Without books nothing is called unpaid, and an older export does.
        intents = exported.unknown_intents(folder, mode=mode)
    again = exported.paid_before(folder, mode=mode, period=span, before=wide, engine=engine)
    keys = _unmet(found, files_read, span, again=again)
    other = exported.references(folder, mode=_other(mode), period=wide, engine=engine)
    more = exported.of_keys(folder, keys, mode=_other(mode), engine=engine)
    loaded = Quality(
        source="collections",
        rows=reached.rows,
        kept=reached.rows,
        sha256=exported.digest(folder),
    )
    return Inputs(
        collections=found,
        outside=elsewhere.new(exported.of_keys(folder, keys, mode=mode, engine=engine), found),
        other_mode=_joined(other, columns.frame(KEYS, more)),
        intents=intents,
        control=columns.empty(CONTROL),
        tolerance=tolerance,
        period=span,
        mode=mode,
        source=f"export {folder.resolve().name}",
        store_id=EXPORT,
        as_of=reached.seq,
        as_of_at=at,
        judged_on=_judged_on(at, span, tolerance),
        **{**files_read, "quality": (loaded, *files_read["quality"])},
    )


def _sample(mode: Mode, wanted: Period | None, turn: timedelta, tolerance: Tolerance) -> Inputs:
    made = sample_faults.month(mode=mode, cutoff=turn)
    span = wanted or made.period
    loads = {
        "collections": made.collections,
        "ledger": made.ledger,
        "statement": made.statement,
    }
    return Inputs(
        collections=made.collections,
        other_mode=made.other_mode,
        intents=made.intents,
        control=columns.empty(CONTROL),
        ledger=made.ledger,
        statement=made.statement,
        tolerance=tolerance,
        period=span,
        mode=mode,
        source=sample.SOURCE,
        store_id=sample.STORE_ID,
        as_of=len(made.collections),
        as_of_at=made.period.ends,
        judged_on=min(span.last, made.period.last),
        quality=tuple(
            Quality(source=name, rows=len(frame), kept=len(frame)) for name, frame in loads.items()
        ),
    )
