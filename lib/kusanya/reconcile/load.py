"""The inputs of a reconciliation: a store of collections, or a seeded month without one.

What is loaded is one mode, the period and some days on either side, so that a payment and its
booking meet when midnight or a weekend lies between them; every report says which day it counts by.
"""

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec
import pandas as pd

from kusanya.errors import ConfigurationError
from kusanya.reconcile import sample
from kusanya.reconcile.days import Period, business_day, cutoff, month_of, period
from kusanya.reconcile.facts import dress
from kusanya.reconcile.quality import Quality
from kusanya.store.records import CollectionFilter, CollectionRow, Key
from kusanya.wire import Mode

if TYPE_CHECKING:
    from kusanya.store import Store

WIDEN_DAYS: Final = 3
_PAGE: Final = 1_000
STORE_VARIABLE: Final = "KUSANYA_STORE"
MODE_VARIABLE: Final = "KUSANYA_MODE"
LATEST: Final = "latest"
Progress = Callable[[int], None]
"""Called with the number of rows read so far."""


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is made from. `collections` reaches some days past the period."""

    collections: pd.DataFrame
    period: Period
    mode: Mode
    source: str
    """Where the collections come from, in words; says so when they are sample data."""
    as_of: int
    """The journal position up to which facts are known."""
    quality: tuple[Quality, ...]


def inputs(
    store: str = "",
    *,
    mode: str = "",
    period: str = LATEST,
    cutoff: str = "00:00",
    widen_days: int = WIDEN_DAYS,
) -> Inputs:
    """Open a store and load what a report needs; without a store, make the sample month.

    `store` and `mode` come from KUSANYA_STORE and KUSANYA_MODE where empty. A period of "latest" is
    the month of the newest collection. Raises ConfigurationError for a mode or period that cannot
    be read, and StoreError when the store cannot.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    chosen = _mode(mode or os.environ.get(MODE_VARIABLE, "") or (Mode.TEST if url else Mode.LIVE))
    turn, wanted = _span(period, cutoff)
    if not url:
        return _sample(chosen, wanted, turn)
    from kusanya.store import Store

    with Store.open(url, migrate=False, read_only=True) as opened:
        span = wanted or newest_month(opened, mode=chosen, cutoff=turn)
        frame, quality = collections(opened, mode=chosen, period=span, widen_days=widen_days)
        return Inputs(
            collections=frame,
            period=span,
            mode=chosen,
            source=f"store {opened.url_shown}",
            as_of=opened.head(),
            quality=(quality,),
        )


def collections(
    store: "Store",
    *,
    mode: Mode,
    period: Period,
    widen_days: int = WIDEN_DAYS,
    progress: Progress | None = None,
) -> tuple[pd.DataFrame, Quality]:
    """Return the collections frame of one mode around a period, and the account of the load.

    Read by keyset pages: the store stays open to its writers. Raises StoreError.
    """
    wide = period.widened(widen_days)
    where = CollectionFilter(created_from=wide.begins, created_to=wide.ends)
    rows: list[CollectionRow] = []
    for page in _pages(store, mode, where):
        rows.extend(page)
        if progress is not None:
            progress(len(rows))
    frame = dress(_raw(store, mode, rows), key=store.store_id, cutoff=period.cutoff)
    return frame, Quality(source="collections", rows=len(rows), kept=len(frame))


def newest_month(store: "Store", *, mode: Mode, cutoff: timedelta) -> Period:
    """Return the month of the newest collection. Raises ConfigurationError when there is none."""
    newest = store.collections(mode, limit=1).rows
    if not newest:
        raise ConfigurationError(
            f"the store holds no {mode.value} collection yet; name a period, or the other mode"
        )
    return month_of(business_day(newest[0].created_at, cutoff=cutoff), cutoff=cutoff)


def _pages(
    store: "Store", mode: Mode, where: CollectionFilter
) -> Iterator[tuple[CollectionRow, ...]]:
    after: Key | None = None
    while True:
        page = store.collections(mode, where=where, older_than=after, limit=_PAGE)
        yield page.rows
        if not page.more or not page.rows:
            return
        after = page.rows[-1].key


def _raw(store: "Store", mode: Mode, rows: list[CollectionRow]) -> pd.DataFrame:
    records = [
        {
            **{name: getattr(row, name) for name in _SAME},
            "mode": row.mode.value,
            "event_at": _event_at(store, mode, row),
            "fee_202": None,
            "fee_event": None,
            "fee_get": None,
        }
        for row in rows
    ]
    names = [*_SAME, "mode", "event_at", "fee_202", "fee_event", "fee_get"]
    return pd.DataFrame(records, columns=names, dtype="object")


_SAME: Final = (
    "id",
    "currency",
    "channel",
    "reference",
    "amount",
    "fee",
    "status",
    "failure_code",
    "created_at",
    "completed_at",
    "contradictions",
    "seq",
    "phone",
    "final_seen_at",
)


def _event_at(store: "Store", mode: Mode, row: CollectionRow) -> datetime | None:
    # Asked only where the service left completed_at out: one look-up each.
    if row.completed_at is not None or row.event_id is None:
        return None
    event = store.event(row.event_id, mode)
    return None if event is None else event.created_at


def _mode(text: str) -> Mode:
    try:
        return Mode(text.strip().lower())
    except ValueError:
        raise ConfigurationError(f"the mode is live or test, not {text!r}") from None


def _span(text: str, turn: str) -> tuple[timedelta, Period | None]:
    try:
        shift = cutoff(turn)
        return shift, None if text.strip().lower() == LATEST else period(text, cutoff=shift)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _sample(mode: Mode, wanted: Period | None, turn: timedelta) -> Inputs:
    month = period(sample.MONTH, cutoff=turn)
    frame = sample.collections(mode=mode, cutoff=turn)
    return Inputs(
        collections=frame,
        period=wanted or month,
        mode=mode,
        source=sample.SOURCE,
        as_of=len(frame),
        quality=(Quality(source="collections", rows=len(frame), kept=len(frame)),),
    )
