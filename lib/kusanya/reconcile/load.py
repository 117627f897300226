"""The inputs of a reconciliation: a store of collections, or a seeded month without one.

What is loaded is one mode, the period and some days on either side, so that a payment and its
booking meet when midnight or a weekend lies between them; every report says which day it counts by.
"""

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pandas as pd

from kusanya.errors import ConfigurationError
from kusanya.reconcile import columns, sample, scan
from kusanya.reconcile.columns import CONTROL, INTENTS
from kusanya.reconcile.days import Period, business_day, cutoff, month_of, period
from kusanya.reconcile.facts import dress
from kusanya.reconcile.inputs import Inputs
from kusanya.reconcile.quality import Quality
from kusanya.reconcile.scan import Progress
from kusanya.store import Store
from kusanya.store.engine import engines, only_store_errors
from kusanya.store.records import RollupRow
from kusanya.wire import Mode

WIDEN_DAYS: Final = 3
STORE_VARIABLE: Final = "KUSANYA_STORE"
MODE_VARIABLE: Final = "KUSANYA_MODE"
LATEST: Final = "latest"
_SUMS: Final = ("rows", "amount", "fee")


def inputs(
    store: str = "",
    *,
    mode: str = "",
    period: str = LATEST,
    cutoff: str = "00:00",
    widen_days: int = WIDEN_DAYS,
    as_of: int | None = None,
    evidence: bool = False,
    progress: Progress | None = None,
) -> Inputs:
    """Open a store and load what a report needs; without a store, make the sample month.

    `store` and `mode` come from KUSANYA_STORE and KUSANYA_MODE where empty; with a store the mode
    is test unless said otherwise. A period of "latest" is the month of the newest collection.
    `as_of` is a journal position, the newest where None; `evidence` also reads which source said
    which fee. Raises ConfigurationError for a mode or period that cannot be read, and StoreError
    when the store cannot.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    chosen = _mode(mode or os.environ.get(MODE_VARIABLE, "") or (Mode.TEST if url else Mode.LIVE))
    turn, wanted = _span(period, cutoff)
    if not url:
        return _sample(chosen, wanted, turn)
    with Store.open(url, migrate=False, read_only=True) as opened:
        span = wanted or newest_month(opened, mode=chosen, cutoff=turn)
        head = opened.head()
        upto = head if as_of is None else as_of
        if not 0 <= upto <= head:
            raise ConfigurationError(f"the store's journal ends at {head}; {upto} is not in it")
        found = engines(url, read_only=True)
        try:
            with only_store_errors("read collections"), found.reader.connect() as connection:
                wide = span.widened(widen_days)
                raw = scan.collections(
                    connection,
                    mode=chosen,
                    period=wide,
                    as_of=upto,
                    evidence=evidence,
                    progress=progress,
                )
                other = scan.references(connection, mode=_other(chosen), period=wide, as_of=upto)
                intents = scan.unknown_intents(connection, mode=chosen, as_of=upto)
        finally:
            found.dispose()
        frame = dress(raw, key=opened.store_id, cutoff=turn)
        rollups = opened.rollups(chosen, since=span.begins, until=span.ends)
        # Rollups know no past: once the journal has moved on they speak of another moment.
        still = opened.head() == upto
        return Inputs(
            collections=frame,
            other_mode=other,
            intents=intents,
            control=control(frame, rollups, period=span) if still else _no_control(),
            period=span,
            mode=chosen,
            source=f"store {opened.url_shown}",
            store_id=opened.store_id,
            as_of=upto,
            quality=(Quality(source="collections", rows=len(raw), kept=len(frame)),),
        )


def newest_month(store: Store, *, mode: Mode, cutoff: timedelta) -> Period:
    """Return the month of the newest collection. Raises ConfigurationError when there is none."""
    newest = store.collections(mode, limit=1).rows
    if not newest:
        raise ConfigurationError(
            f"the store holds no {mode.value} collection yet; name a period, or the other mode"
        )
    return month_of(business_day(newest[0].created_at, cutoff=cutoff), cutoff=cutoff)


def control(
    collections: pd.DataFrame, rollups: Sequence[RollupRow], *, period: Period
) -> pd.DataFrame:
    """Return counts and sums of what was created in the period beside the store's rollups.

    Rollups know whole hours; a cutoff within an hour has no control and gives no row.
    """
    if period.cutoff % timedelta(hours=1):
        return _no_control()
    at = collections["created_at"]
    inside = collections[(at >= period.begins) & (at < period.ends)]
    loaded = inside.assign(rows=1).astype({"rows": "Int64"})
    ours = loaded.groupby(["currency", "status"])[list(_SUMS)].sum()
    kept = pd.DataFrame(
        [(row.currency, row.status, row.count, row.amount, row.fee) for row in rollups],
        columns=["currency", "status", *_SUMS],
    ).astype(dict.fromkeys(_SUMS, "Int64"))
    theirs = kept.groupby(["currency", "status"])[list(_SUMS)].sum()
    both = ours.join(theirs.add_suffix("_rollup"), how="outer").fillna(0).reset_index()
    agrees = both["rows"].notna()
    for name in _SUMS:
        agrees &= both[name] == both[f"{name}_rollup"]
    return columns.frame(CONTROL, both.assign(agrees=agrees))


def _no_control() -> pd.DataFrame:
    return columns.empty(CONTROL)


def _other(mode: Mode) -> Mode:
    return Mode.TEST if mode is Mode.LIVE else Mode.LIVE


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
    frame = sample.collections(mode=mode, cutoff=turn)
    return Inputs(
        collections=frame,
        other_mode=columns.empty(columns.KEYS),
        intents=columns.empty(INTENTS),
        control=_no_control(),
        period=wanted or period(sample.MONTH, cutoff=turn),
        mode=mode,
        source=sample.SOURCE,
        store_id=sample.STORE_ID,
        as_of=len(frame),
        quality=(Quality(source="collections", rows=len(frame), kept=len(frame)),),
    )
