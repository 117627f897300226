"""The inputs of a reconciliation: a store of collections, or a seeded month without one.

What is loaded is one mode, the period and some days on either side, so that a payment and its
booking meet when midnight or a weekend lies between them; every report says which day it counts by.
"""

import os
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import ConfigurationError
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import CONTROL, INTENTS, KEYS
from kusanya.reconcile.frames.days import DAY, Period, business_day, cutoff, month_of, period
from kusanya.reconcile.frames.engine import Source
from kusanya.reconcile.frames.quality import Quality
from kusanya.reconcile.frames.report_inputs import EXPORT, Inputs
from kusanya.reconcile.frames.tolerance import PLAIN, Tolerance
from kusanya.reconcile.inputs import (
    elsewhere,
    exported,
    files,
    sample,
    sample_faults,
    store_reader,
    tariff_file,
)
from kusanya.reconcile.inputs.mapping import read_mapping
from kusanya.reconcile.inputs.normalisation import normalise
from kusanya.reconcile.inputs.store_reader import Progress
from kusanya.store import Store
from kusanya.store.records import RollupRow
from kusanya.store.tables.engine import engines, only_store_errors
from kusanya.store.writer.projection import AMOUNT_COUNTED_MAX
from kusanya.wire import Mode

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
    ledger: str = "",
    statement: str = "",
    mapping: str = "",
    tariff: str = "",
    tolerance: Tolerance = PLAIN,
    as_of: int | None = None,
    evidence: bool = False,
    progress: Progress | None = None,
) -> Inputs:
    """Open a store and load what a report needs; without a store, make the sample month.

    A folder that `kusanya store export` wrote stands in for a store: its collections stay where
    they lie; it knows no rollups or sources of fees. `store` and `mode` come from
    KUSANYA_STORE and KUSANYA_MODE where empty; with a store the mode is test unless said otherwise.
    A period of "latest" is the month of the newest collection.
    `ledger`, `statement`, `mapping` and `tariff` are paths of files; the sample month has books and
    a statement of its own. `as_of` is a journal position, the newest where None; `evidence` also
    reads which source said which fee. Raises ConfigurationError for a mode, period or position that
    cannot be read, InputRefused for a file, and StoreError when the store cannot be read.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    chosen = _mode(mode or os.environ.get(MODE_VARIABLE, "") or (Mode.TEST if url else Mode.LIVE))
    turn, wanted = _span(period, cutoff)
    files_read = _files(ledger, statement, mapping, tariff, turn)
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
            Path(url), chosen, wanted, turn, tolerance=tolerance, files_read=files_read
        )
    with Store.open(url, read_only=True) as opened:
        span = wanted or newest_month(opened, mode=chosen, cutoff=turn)
        head = opened.feed.head()
        upto = head if as_of is None else as_of
        if not 0 <= upto <= head:
            raise ConfigurationError(f"the store's journal ends at {head}; {upto} is not in it")
        found = engines(url, read_only=True)
        try:
            with only_store_errors("read collections"), found.reader.connect() as connection:
                wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
                raw = store_reader.collections(
                    connection,
                    mode=chosen,
                    period=wide,
                    as_of=upto,
                    evidence=evidence,
                    progress=progress,
                )
                other = store_reader.references(
                    connection, mode=_other(chosen), period=wide, as_of=upto
                )
                intents = store_reader.unknown_intents(connection, mode=chosen, as_of=upto)
                frame = normalise(raw, key=opened.store_id, cutoff=turn)
                del raw
                again = store_reader.paid_before(connection, mode=chosen, period=span, before=wide)
                keys = _unmet(frame, files_read, span, again=again)
                named = store_reader.of_keys(connection, keys, mode=chosen, as_of=upto)
                more = store_reader.keys_of(connection, keys, mode=_other(chosen), as_of=upto)
        finally:
            found.dispose()
        outside = elsewhere.new(normalise(named, key=opened.store_id, cutoff=turn), frame)
        rollups = opened.rollups.collections(chosen, since=span.begins, until=span.ends)
        # Rollups know no past: once the journal has moved on they speak of another moment.
        still = opened.feed.head() == upto
        changes = opened.feed.changes(upto - 1, limit=1) if upto else ()
        at = changes[0].at if changes else span.begins
        loaded = Quality(source="collections", rows=len(frame), kept=len(frame))
        return Inputs(
            collections=frame,
            outside=outside,
            other_mode=_joined(other, more),
            intents=intents,
            control=control(frame, rollups, period=span) if still else _no_control(),
            tolerance=tolerance,
            period=span,
            mode=chosen,
            source=f"store {opened.url_shown}",
            store_id=opened.store_id,
            as_of=upto,
            as_of_at=at,
            judged_on=_judged_on(at, span, tolerance),
            **{**files_read, "quality": (loaded, *files_read["quality"])},
        )


def of_mode(store: str, mode: str, *, period: str = LATEST, cutoff: str = "00:00") -> Inputs:
    """Return the inputs of one mode as a frame, for a page that switches between the two.

    See `inputs`; an export is loaded whole.
    """
    loaded = inputs(store, mode=mode, period=period, cutoff=cutoff)
    if isinstance(loaded.collections, pd.DataFrame):
        return loaded
    return msgspec.structs.replace(loaded, collections=exported.whole(loaded.collections))


def newest_month(store: Store, *, mode: Mode, cutoff: timedelta) -> Period:
    """Return the month of the newest collection. Raises ConfigurationError when there is none."""
    newest = store.collections.page(mode, limit=1).rows
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
    wanted = ["currency", "status", "amount", "fee"]
    inside = collections.loc[(at >= period.begins) & (at < period.ends), wanted]
    # Rollups count a larger number, which is a fault, as this.
    most = AMOUNT_COUNTED_MAX
    counted = {name: inside[name].clip(-most, most) for name in ("amount", "fee")}
    loaded = inside.assign(rows=1, **counted).astype({"rows": "Int64"})
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


def _unmet(
    collections: Source, files_read: dict[str, Any], span: Period, *, again: list[str]
) -> pd.DataFrame:
    if "ledger" not in files_read:
        return columns.empty(KEYS)
    keys = elsewhere.unmet(collections, files_read["ledger"], period=span)
    paid_twice = columns.frame(KEYS, {"id": [None] * len(again), "reference": again})
    return _joined(keys, paid_twice)


def _joined(keys: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([keys, more], ignore_index=True).drop_duplicates(ignore_index=True)


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


def _judged_on(at: datetime, span: Period, tolerance: Tolerance) -> date:
    # No later than the days that were read: what lies beyond them is not missing.
    return min(business_day(at, cutoff=span.cutoff), span.last + tolerance.widen_days * DAY)


def _files(
    ledger: str, statement: str, mapping: str, tariff: str, turn: timedelta
) -> dict[str, Any]:
    forms = read_mapping(Path(mapping) if mapping else None)
    files_read: dict[str, Any] = {"basis": forms.ledger.amount_basis or "gross", "quality": ()}
    if ledger:
        files_read["ledger"], account = files.ledger(Path(ledger), forms.ledger, cutoff=turn)
        files_read["quality"] += (account,)
    if statement:
        files_read["statement"], account = files.statement(Path(statement), forms.statement)
        files_read["quality"] += (account,)
    if tariff:
        files_read["tariff"] = tariff_file.read(Path(tariff))
    return files_read


def _exported(
    folder: Path,
    mode: Mode,
    wanted: Period | None,
    turn: timedelta,
    *,
    tolerance: Tolerance,
    files_read: dict[str, Any],
) -> Inputs:
    span = wanted or month_of(exported.newest_day(folder, mode=mode), cutoff=turn)
    wide = span.widened(max(tolerance.widen_days, tolerance.recovery_days))
    found = exported.collections(folder, mode=mode, period=wide)
    reached = exported.head(found)
    at = reached.at or span.begins
    intents = columns.empty(INTENTS)
    if "ledger" in files_read:
        # Without books nothing is called unpaid, and an older export does.
        intents = exported.unknown_intents(folder, mode=mode)
    again = exported.paid_before(folder, mode=mode, period=span, before=wide)
    keys = _unmet(found, files_read, span, again=again)
    other = exported.references(folder, mode=_other(mode), period=wide)
    more = exported.of_keys(folder, keys, mode=_other(mode))
    loaded = Quality(
        source="collections",
        rows=reached.rows,
        kept=reached.rows,
        sha256=exported.digest(folder),
    )
    return Inputs(
        collections=found,
        outside=elsewhere.new(exported.of_keys(folder, keys, mode=mode), found),
        other_mode=_joined(other, columns.frame(KEYS, more)),
        intents=intents,
        control=_no_control(),
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
        control=_no_control(),
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
