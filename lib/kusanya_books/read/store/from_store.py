"""What a report needs of a store, all of it from one moment."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pandas as pd

from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import KEYS, LEDGER
from kusanya_books.engine.engine import Source
from kusanya_books.engine.on_disk import save_frame
from kusanya_books.read import months
from kusanya_books.read.store import (
    collections_on_disk,
    elsewhere,
    known_receipts,
    rollup_control,
)
from kusanya_books.read.store.normalisation import normalise
from kusanya_books.request.close_request import ResolvedRequest
from kusanya_books.request.days import Period
from kusanya_books.request.feed import Feed
from kusanya_books.request.quality import Quality
from kusanya_books.request.report_inputs import Inputs


def inputs(
    url: str,
    asked: ResolvedRequest,
    *,
    evidence: bool,
    is_on_disk: bool,
    report_step: Callable[[str], None],
) -> Inputs:
    """Return the inputs of a store; see `load.inputs`."""
    mode, files_read, tolerance = asked.mode, asked.files_read, asked.request.tolerance
    with Store.open(url, read_only=True) as opened:
        span = asked.span or months.newest_month(
            opened, mode=mode, cutoff=asked.request.shift, before=asked.before
        )
        with opened.bulk_read.snapshot() as found:
            moment = _Moment(
                found=found,
                mode=mode,
                span=span,
                wide=span.widened(max(tolerance.widen_days, tolerance.recovery_days)),
                upto=_position(found, asked.request.as_of),
                key=opened.store_id,
                report_step=report_step,
            )
            collections, rows = moment.collections(evidence=evidence, is_on_disk=is_on_disk)
            other = moment.other_mode()
            intents = moment.unanswered_intents()
            if "movements" in files_read or "ledger" in files_read:
                files_read["receipts"] = moment.receipts()
            if "ledger" in files_read:
                kept = files_read["receipts"]
                books = known_receipts.books_by_kept(files_read["ledger"], kept)
                files_read["ledger"] = save_frame(LEDGER, books) if is_on_disk else books
            named, more = moment.elsewhere(collections, files_read)
            feed = moment.feed(opened)
            rollups = found.rollups(mode, since=span.begins, until=span.ends, as_of=moment.upto)
        report_step("comparing with the store's own totals")
        named = normalise(named, key=opened.store_id, cutoff=span.cutoff)
        at = _instant(opened, moment.upto) or span.begins
        loaded = Quality(source="collections", rows=rows, kept=rows)
        return Inputs(
            collections=collections,
            outside=elsewhere.new(named, collections),
            other_mode=elsewhere.joined(other, columns.frame(KEYS, more)),
            intents=intents,
            control=rollup_control.control(collections, rollups, period=span),
            tolerance=tolerance,
            period=span,
            mode=mode,
            source=f"store {opened.url_shown}",
            store_id=opened.store_id,
            as_of=moment.upto,
            as_of_at=at,
            judged_on=asked.judged_on,
            feed=feed,
            histories=opened.breaks.histories(mode, as_of=moment.upto),
            **{**files_read, "quality": (loaded, *files_read["quality"])},
        )


def _position(found: Any, as_of: int | None) -> int:
    upto: int = found.head if as_of is None else as_of
    if not 0 <= upto <= found.head:
        raise ConfigurationError(f"the store's journal ends at {found.head}; {upto} is not in it")
    return upto


def _instant(opened: Store, upto: int) -> datetime | None:
    """Return when the change at a place in the journal was recorded, None before the first."""
    changes = opened.feed.changes(upto - 1, limit=1) if upto else ()
    return changes[0].at if changes else None


class _Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of a store, and the days that are read of it."""

    found: Any
    """The snapshot."""
    mode: Mode
    span: Period
    wide: Period
    upto: int
    """The place in the journal."""
    key: str
    report_step: Callable[[str], None]

    @property
    def days(self) -> dict[str, datetime]:
        return {"since": self.wide.begins, "until": self.wide.ends}

    def collections(self, *, evidence: bool, is_on_disk: bool) -> tuple[Source, int]:
        """Return the collections of these days and their number."""

        def progress(doing: str, rows: int) -> None:
            self.report_step(f"{doing}: {rows:,}")

        self.report_step("reading collections")
        asked: dict[str, Any] = {**self.days, "as_of": self.upto, "progress": progress}
        if is_on_disk:
            return collections_on_disk.read(
                self.found,
                self.mode,
                key=self.key,
                cutoff=self.span.cutoff,
                evidence=evidence,
                **asked,
            )
        raw = self.found.collections(self.mode, fees_apart=evidence, **asked)
        frame = normalise(columns.from_arrow(raw), key=self.key, cutoff=self.span.cutoff)
        return frame, len(frame)

    def feed(self, opened: Store) -> Feed:
        """Return what shows that the service was heard."""
        heard = self.found.heard_at(self.mode, as_of=self.upto)
        watchers = opened.poll_leases.pollers(self.mode)
        return Feed(
            first_fact_at=None if heard is None else heard[0],
            last_fact_at=None if heard is None else heard[1],
            watched_at=watchers[0].polled_at if watchers else None,
        )

    def other_mode(self) -> pd.DataFrame:
        """Return the keys of the other mode's collections of these days."""
        other = elsewhere.other(self.mode)
        return columns.from_arrow(self.found.keys(other, **self.days, as_of=self.upto))

    def unanswered_intents(self) -> pd.DataFrame:
        """Return the intents that no answer came to."""
        return columns.from_arrow(self.found.unanswered_intents(self.mode, as_of=self.upto))

    def receipts(self) -> pd.DataFrame:
        """Return the receipts that are known, each with its collection."""
        return known_receipts.receipts(self.found.receipts(self.mode, as_of=self.upto))

    def elsewhere(
        self, collections: Source, files_read: dict[str, Any]
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return what the files name and these days do not hold, of this mode and of the other."""
        self.report_step("looking for earlier payments")
        again = self.found.paid_before(
            self.mode, since=self.span.begins, until=self.span.ends, before=self.wide.begins
        )
        self.report_step("looking for lines that no collection of these days answers")
        keys = elsewhere.keys(collections, files_read, self.span, again=again)
        ids, references = (keys[name].dropna().tolist() for name in ("id", "reference"))
        self.report_step("looking for them in the whole store")
        named, more = (
            columns.from_arrow(
                self.found.collections_named(
                    of, ids=ids, references=references, **self.days, as_of=self.upto
                )
            )
            for of in (self.mode, elsewhere.other(self.mode))
        )
        return named, more
