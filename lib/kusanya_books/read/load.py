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
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import CONTROL, LEDGER
from kusanya_books.engine.engines import shared_databases
from kusanya_books.engine.on_disk import save_frame
from kusanya_books.read import mapped_files, months
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.sample import month as sample
from kusanya_books.read.store import exported, from_export, from_store
from kusanya_books.request import expectation
from kusanya_books.request.days import (
    Period,
    business_day,
    cutoff,
    named_period,
    period,
)
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.quality import Quality
from kusanya_books.request.report_inputs import EXPORT, Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance

STORE_VARIABLE: Final = "KUSANYA_STORE"
MODE_VARIABLE: Final = "KUSANYA_MODE"
LATEST: Final = "latest"
NEWEST: Final = "newest"
Progress = Callable[[str], None]
"""Called with what is being read, for people who wait."""


@shared_databases()
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
    carried: EarlierPeriod | None = None,
    evidence: bool = False,
    on_disk: bool = False,
    engine: str = "",
    judged_on: date | None = None,
    expect: Sequence[str] = (),
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
    With `on_disk` the collections of a store and the lines of the books are Parquet of this
    process, queried where it lies: for months that memory should not hold.
    `engine` is the Spark Connect address of a cluster that sees the export's folder; DuckDB in this
    process where empty. Ages are counted to `judged_on`, the day of `clock` where None; the sample
    month has its own. `expect` names what must be compared, as `expectation.read` has it. Raises
    ConfigurationError for a mode, period, position, engine or expected name that cannot be read,
    InputRefused for a file, and StoreError when the store cannot be read.
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
    expected = expectation.read(expect)
    judged = judged_on or business_day(now, cutoff=turn)
    report_step = progress or (lambda _: None)
    if any((ledger, statement, operator, bank)):
        report_step("reading the books")
    files_read: dict[str, Any] = {"carried": carried, "expect": expected} | mapped_files.read(
        ledger=ledger,
        statement=statement,
        operator=operator,
        bank=bank,
        mapping=mapping,
        tariff=tariff,
        cutoff=turn,
    )
    if on_disk and not engine and "ledger" in files_read:
        files_read["ledger"] = save_frame(LEDGER, files_read["ledger"])
    if not url:
        made = _sample(chosen, wanted, turn, tolerance)
        own_day = made.judged_on if judged_on is None else judged_on
        return msgspec.structs.replace(_with_files(made, files_read), judged_on=own_day)
    if Path(url).is_dir():
        if as_of is not None:
            raise ConfigurationError("an export knows no earlier position; name the store")
        return from_export.inputs(
            Path(url),
            chosen,
            wanted or months.exported_month(Path(url), mode=chosen, cutoff=turn, before=before),
            tolerance=tolerance,
            judged_on=judged,
            files_read=files_read,
            engine=engine,
        )
    return from_store.inputs(
        url,
        chosen,
        wanted,
        cutoff=turn,
        before=before,
        tolerance=tolerance,
        as_of=as_of,
        judged_on=judged,
        files_read=files_read,
        evidence=evidence,
        is_on_disk=on_disk,
        report_step=report_step,
    )


def of_mode(store: str, mode: str, *, period: str = NEWEST, cutoff: str = "00:00") -> Inputs:
    """Return the inputs of one mode as a frame, for a page that switches between the two.

    See `inputs`; an export is loaded whole.
    """
    loaded = inputs(store, mode=mode, period=period, cutoff=cutoff)
    if isinstance(loaded.collections, pd.DataFrame):
        return loaded
    return msgspec.structs.replace(loaded, collections=exported.whole(loaded.collections))


def store_id(store: str = "") -> str:
    """Return which store `inputs` reads, as its packs name it. Raises StoreError."""
    url = store or os.environ.get(STORE_VARIABLE, "")
    if not url:
        return sample.STORE_ID
    if Path(url).is_dir():
        return EXPORT
    with Store.open(url, read_only=True) as opened:
        return opened.store_id


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


def _with_files(made: Inputs, files_read: dict[str, Any]) -> Inputs:
    # A file that was given stands in for the sample's own, never beside it.
    kept = tuple(load for load in made.quality if load.source not in files_read)
    return msgspec.structs.replace(
        made, **{**files_read, "quality": (*kept, *files_read["quality"])}
    )
