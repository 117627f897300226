"""What a report needs of a store, all of it from one moment."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from kusanya.errors import ConfigurationError
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import KEYS
from kusanya.reconcile.frames.days import DAY, Period, business_day
from kusanya.reconcile.frames.engine import Source
from kusanya.reconcile.frames.quality import Quality
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.frames.tolerance import Tolerance
from kusanya.reconcile.inputs import months
from kusanya.reconcile.inputs.store import (
    collections_on_disk,
    elsewhere,
    known_receipts,
    rollup_control,
)
from kusanya.reconcile.inputs.store.normalisation import normalise
from kusanya.store import Store
from kusanya.wire import Mode


def inputs(
    url: str,
    mode: Mode,
    wanted: Period | None,
    *,
    cutoff: timedelta,
    before: datetime | None,
    tolerance: Tolerance,
    as_of: int | None,
    files_read: dict[str, Any],
    evidence: bool,
    is_on_disk: bool,
    report_step: Callable[[str], None],
) -> Inputs:
    """Return the inputs of a store; see `load.inputs`.

    `wanted` is the period, that of the newest month where None; see `months.newest_month`.
    """
    with Store.open(url, read_only=True) as opened:
        span = wanted or months.newest_month(opened, mode=mode, cutoff=cutoff, before=before)
        wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
        days = {"since": wide.begins, "until": wide.ends}
        with opened.bulk_read.snapshot() as found:
            upto = found.head if as_of is None else as_of
            if not 0 <= upto <= found.head:
                raise ConfigurationError(
                    f"the store's journal ends at {found.head}; {upto} is not in it"
                )

            def progress(doing: str, rows: int) -> None:
                report_step(f"{doing}: {rows:,}")

            report_step("reading collections")
            collections, rows = _collections(
                found,
                mode,
                days,
                as_of=upto,
                key=opened.store_id,
                cutoff=cutoff,
                evidence=evidence,
                is_on_disk=is_on_disk,
                progress=progress,
            )
            other = columns.from_arrow(found.keys(elsewhere.other(mode), **days, as_of=upto))
            intents = columns.from_arrow(found.unanswered_intents(mode, as_of=upto))
            if "movements" in files_read:
                receipts = known_receipts.receipts(found.receipts(mode, as_of=upto))
                files_read["receipts"] = receipts
            report_step("looking for earlier payments")
            again = found.paid_before(mode, since=span.begins, until=span.ends, before=wide.begins)
            report_step("looking for lines that no collection of these days answers")
            keys = elsewhere.keys(collections, files_read, span, again=again)
            asked = {name: keys[name].dropna().tolist() for name in ("id", "reference")}
            report_step("looking for them in the whole store")
            named, more = (
                columns.from_arrow(
                    found.collections_named(
                        of, ids=asked["id"], references=asked["reference"], **days, as_of=upto
                    )
                )
                for of in (mode, elsewhere.other(mode))
            )
            rollups = found.rollups(mode, since=span.begins, until=span.ends, as_of=upto)
        report_step("comparing with the store's own totals")
        outside = elsewhere.new(normalise(named, key=opened.store_id, cutoff=cutoff), collections)
        changes = opened.feed.changes(upto - 1, limit=1) if upto else ()
        at = changes[0].at if changes else span.begins
        loaded = Quality(source="collections", rows=rows, kept=rows)
        return Inputs(
            collections=collections,
            outside=outside,
            other_mode=elsewhere.joined(other, columns.frame(KEYS, more)),
            intents=intents,
            control=rollup_control.control(collections, rollups, period=span),
            tolerance=tolerance,
            period=span,
            mode=mode,
            source=f"store {opened.url_shown}",
            store_id=opened.store_id,
            as_of=upto,
            as_of_at=at,
            judged_on=judged_on(at, span, tolerance),
            histories=opened.breaks.histories(mode, as_of=upto),
            **{**files_read, "quality": (loaded, *files_read["quality"])},
        )


def judged_on(at: datetime, span: Period, tolerance: Tolerance) -> date:
    """Return the day that ages are counted to: no later than the days that were read.

    What lies beyond them is not missing.
    """
    return min(business_day(at, cutoff=span.cutoff), span.last + tolerance.widen_days * DAY)


def _collections(
    found: Any,
    mode: Mode,
    days: dict[str, datetime],
    *,
    as_of: int,
    key: str,
    cutoff: timedelta,
    evidence: bool,
    is_on_disk: bool,
    progress: Callable[[str, int], None],
) -> tuple[Source, int]:
    if is_on_disk:
        return collections_on_disk.read(
            found,
            mode,
            **days,
            as_of=as_of,
            key=key,
            cutoff=cutoff,
            evidence=evidence,
            progress=progress,
        )
    raw = found.collections(mode, **days, as_of=as_of, fees_apart=evidence, progress=progress)
    frame = normalise(columns.from_arrow(raw), key=key, cutoff=cutoff)
    return frame, len(frame)
