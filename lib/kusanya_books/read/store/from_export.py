"""What a report needs of the folder that `kusanya store export` wrote."""

from pathlib import Path

from kusanya_books import columns
from kusanya_books.columns import CONTROL, INTENTS, KEYS
from kusanya_books.read import months
from kusanya_books.read.store import elsewhere, exported
from kusanya_books.request.close_request import ResolvedRequest
from kusanya_books.request.feed import Feed
from kusanya_books.request.quality import Quality
from kusanya_books.request.report_inputs import Inputs


def inputs(folder: Path, asked: ResolvedRequest) -> Inputs:
    """Return the inputs of an export's folder; see `load.inputs`."""
    mode, files_read = asked.mode, asked.files_read
    tolerance, engine = asked.request.tolerance, asked.request.engine
    span = asked.span or months.exported_month(
        folder, mode=mode, cutoff=asked.request.shift, before=asked.before
    )
    wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
    found = exported.collections(folder, mode=mode, period=wide, engine=engine)
    digest = exported.digest(folder)
    reached = exported.head(found)
    at = reached.at or span.begins
    intents = columns.empty(INTENTS)
    if "ledger" in files_read:
        # Without books nothing is called unpaid, and an older export does.
        intents = exported.unknown_intents(folder, mode=mode)
    again = exported.paid_before(folder, mode=mode, period=span, before=wide, engine=engine)
    keys = elsewhere.keys(found, files_read, span, again=again)
    other = exported.references(folder, mode=elsewhere.other(mode), period=wide, engine=engine)
    more = exported.of_keys(folder, keys, mode=elsewhere.other(mode), engine=engine)
    loaded = Quality(
        source="collections",
        rows=reached.rows,
        kept=reached.rows,
        sha256=digest,
    )
    return Inputs(
        collections=found,
        outside=elsewhere.new(exported.of_keys(folder, keys, mode=mode, engine=engine), found),
        other_mode=elsewhere.joined(other, columns.frame(KEYS, more)),
        intents=intents,
        control=columns.empty(CONTROL),
        tolerance=tolerance,
        period=span,
        mode=mode,
        source=f"export {folder.resolve().name}",
        store_id=exported.store_id(folder),
        as_of=reached.seq,
        as_of_at=at,
        judged_on=asked.judged_on,
        feed=Feed(
            last_fact_at=reached.at,
            is_export=True,
            lacking=tuple(exported.lacking(folder, mode=mode, first=wide.first, last=span.last)),
        ),
        **{**files_read, "quality": (loaded, *files_read["quality"])},
    )
