"""The inputs of a reconciliation: a store of collections, or a seeded month without one.

What is loaded is one mode, the period and some days on either side, so that a payment and its
booking meet when midnight or a weekend lies between them; every report says which day it counts by.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pandas as pd

from kusanya.clock import Clock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, CONTROL, LEDGER
from kusanya_books.engine.engines import shared_databases
from kusanya_books.engine.on_disk import save_frame
from kusanya_books.read import mapped_files
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.sample import month as sample
from kusanya_books.read.store import changed, exported, from_export, from_store
from kusanya_books.request import expectation
from kusanya_books.request.close_request import LATEST, NEWEST, CloseRequest, ResolvedRequest
from kusanya_books.request.days import Period, business_day
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.quality import Quality
from kusanya_books.request.report_inputs import Inputs

STORE_VARIABLE: Final = "KUSANYA_STORE"
MODE_VARIABLE: Final = "KUSANYA_MODE"
Progress = Callable[[str], None]
"""Called with what is being read, for people who wait."""
SAMPLE: Final = CloseRequest()


@shared_databases()
def inputs(
    request: CloseRequest = SAMPLE,
    *,
    carried: EarlierPeriod | None = None,
    evidence: bool = False,
    on_disk: bool = False,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Inputs:
    """Open a store and load what a report needs; without a store, make the sample month.

    An export's folder stands in for a store: its collections stay where they lie; it knows no
    rollups or sources of fees. Today is that of `clock`, the machine's where None. The sample month
    has books and a statement of its own. `carried` is what an earlier period left open, which is
    looked up too; `evidence` also reads which source said which fee. With `on_disk` the collections
    of a store and the lines of the books are Parquet of this process, queried where it lies: for
    months that memory should not hold. Of the request, what belongs to the pack is not read here.
    Raises ConfigurationError for a mode, period, position, engine or expected name that cannot be
    read, InputRefused for a file, and StoreError when the store cannot be read.
    """
    url = _url(request.store)
    now = (clock or SystemClock()).now()
    before = now if request.period.strip().lower() == LATEST else None
    if request.engine and not Path(url or "-").is_dir():
        raise ConfigurationError(
            "Spark reads an export: run kusanya store export, and name its folder as the store"
        )
    report_step = progress or (lambda _: None)
    asked = ResolvedRequest(
        request=request,
        mode=_mode(request.mode or os.environ.get(MODE_VARIABLE, ""), has_store=bool(url)),
        span=request.span(now),
        before=before,
        judged_on=request.judged_on or business_day(now, cutoff=request.shift),
        files_read={"carried": carried, "expect": expectation.read(request.expect)},
    )
    if request.ledger or any(map(request.files, ("statement", "operator", "bank"))):
        report_step("reading the books")
    asked.files_read.update(mapped_files.read(request))
    if url and not Path(url).is_dir():
        return from_store.inputs(
            url, asked, evidence=evidence, is_on_disk=on_disk, report_step=report_step
        )
    if on_disk and not request.engine and "ledger" in asked.files_read:
        asked.files_read["ledger"] = save_frame(LEDGER, asked.files_read["ledger"])
    if url:
        if request.as_of is not None:
            raise ConfigurationError("an export knows no earlier position; name the store")
        return from_export.inputs(Path(url), asked)
    return _sample(asked)


def of_mode(store: str, mode: str, *, period: str = NEWEST, cutoff: str = "00:00") -> Inputs:
    """Return the inputs of one mode as a frame, for a page that switches between the two.

    See `inputs`; an export is loaded whole.
    """
    loaded = inputs(CloseRequest(store=store, mode=mode, period=period, cutoff=cutoff))
    if isinstance(loaded.collections, pd.DataFrame):
        return loaded
    return msgspec.structs.replace(loaded, collections=exported.whole(loaded.collections))


def changed_since(
    store: str, days: Period, *, mode: Mode, place: int, as_of: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what changed before the end of these days, as it was at two places of the journal.

    Nothing of the sample month, which knows no past. Raises StoreError.
    """
    if not _url(store):
        return columns.empty(COLLECTIONS), columns.empty(COLLECTIONS)
    return changed.since(_url(store), days, mode=mode, place=place, as_of=as_of)


def store_id(store: str = "") -> str:
    """Return which store `inputs` reads, as its packs name it. Raises StoreError."""
    url = _url(store)
    if not url:
        return sample.STORE_ID
    if Path(url).is_dir():
        return exported.store_id(Path(url))
    with Store.open(url, read_only=True) as opened:
        return opened.store_id


def _url(store: str) -> str:
    return store or os.environ.get(STORE_VARIABLE, "")


def _mode(text: str, *, has_store: bool) -> Mode:
    try:
        return Mode(text.strip().lower() or (Mode.TEST if has_store else Mode.LIVE))
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _sample(asked: ResolvedRequest) -> Inputs:
    made = sample_faults.month(mode=asked.mode, cutoff=asked.request.shift)
    span = asked.span or made.period
    loads = {
        "collections": made.collections,
        "ledger": made.ledger,
        "statement": made.statement,
    }
    own = Inputs(
        collections=made.collections,
        other_mode=made.other_mode,
        intents=made.intents,
        control=columns.empty(CONTROL),
        ledger=made.ledger,
        statement=made.statement,
        tolerance=asked.request.tolerance,
        period=span,
        mode=asked.mode,
        source=sample.SOURCE,
        store_id=sample.STORE_ID,
        as_of=len(made.collections),
        as_of_at=made.period.ends,
        judged_on=asked.request.judged_on or min(span.last, made.period.last),
        quality=tuple(
            Quality(source=name, rows=len(frame), kept=len(frame)) for name, frame in loads.items()
        ),
    )

    # A file that was given stands in for the sample's own, never beside it.
    kept = tuple(each for each in own.quality if each.source not in asked.files_read)
    quality = (*kept, *asked.files_read["quality"])
    return msgspec.structs.replace(own, **{**asked.files_read, "quality": quality})
