"""What every frame holds: one schema each, with the types that pandas, Arrow and DuckDB agree on.

Money and counts are `Int64` (whole units of their currency), text is Arrow-backed, instants are UTC
microseconds, days are naive midnights in East Africa Time, shares are the only floating numbers.
A frame that left `check` survives a join, an empty month and 2**53 + 1 without turning to float.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from kusanya.reconcile.errors import FrameError


class Kind(Enum):
    """A column's type, once for all engines."""

    TEXT = "text"
    WHOLE = "whole"
    """Money in whole units, or a count."""
    FLAG = "flag"
    INSTANT = "instant"
    DAY = "day"
    SHARE = "share"
    """A proportion; never money."""

    @property
    def dtype(self) -> Any:
        """Return the pandas type."""
        return _DTYPES[self]

    @property
    def arrow(self) -> pa.DataType:
        """Return the Arrow type, which is also what DuckDB answers with."""
        return _ARROW[self]


_ARROW: Final[Mapping[Kind, pa.DataType]] = {
    Kind.TEXT: pa.string(),
    Kind.WHOLE: pa.int64(),
    Kind.FLAG: pa.bool_(),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
    Kind.DAY: pa.timestamp("us"),
    Kind.SHARE: pa.float64(),
}
_DTYPES: Final[Mapping[Kind, Any]] = {
    Kind.TEXT: pd.StringDtype("pyarrow"),
    Kind.WHOLE: pd.Int64Dtype(),
    Kind.FLAG: pd.BooleanDtype(),
    Kind.INSTANT: pd.DatetimeTZDtype("us", "UTC"),
    Kind.DAY: "datetime64[us]",
    Kind.SHARE: pd.Float64Dtype(),
}
_OF_ARROW: Final = {
    Kind.TEXT.arrow: Kind.TEXT.dtype,
    Kind.WHOLE.arrow: Kind.WHOLE.dtype,
    Kind.FLAG.arrow: Kind.FLAG.dtype,
    Kind.SHARE.arrow: Kind.SHARE.dtype,
}


class Schema(msgspec.Struct, frozen=True):
    """A frame's name and its columns in order."""

    name: str
    columns: Mapping[str, Kind]

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow schema."""
        return pa.schema([(name, kind.arrow) for name, kind in self.columns.items()])

    def plus(self, name: str, **columns: Kind) -> "Schema":
        """Return a schema called `name` with more columns at its end."""
        return Schema(name, {**self.columns, **columns})


def empty(schema: Schema) -> pd.DataFrame:
    """Return a frame of no rows with the schema's types."""
    return from_arrow(schema.arrow.empty_table())


def frame(schema: Schema, data: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    """Return `data` in the schema's order and types; columns it does not name are left out.

    Raises FrameError for a missing column or a value that its type does not hold exactly.
    """
    taken: dict[str, pd.Series[Any]] = {}
    index = data.index if isinstance(data, pd.DataFrame) else None
    for name, kind in schema.columns.items():
        if name not in data:
            raise FrameError(f"{schema.name}: column {name} is missing")
        try:
            taken[name] = _exactly(data[name], kind, index)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise FrameError(f"{schema.name}: column {name} is not {kind.value}") from error
    return pd.DataFrame(taken).reset_index(drop=True)


def _exactly(values: Any, kind: Kind, index: Any) -> Any:
    if not isinstance(values, pd.Series | pd.api.extensions.ExtensionArray | np.ndarray | list):
        return pd.Series(values, index=index, dtype=kind.dtype)
    if isinstance(values, list):
        # As objects: pandas would read [2**53 + 1, None] as floats and lose the one.
        values = pd.Series(values, index=index, dtype="object")
    column = pd.Series(values, index=index)
    if kind is Kind.WHOLE and column.dtype.kind == "f" and column.notna().any():
        raise TypeError("whole numbers never pass through floats")
    return column.astype(kind.dtype)


def check(given: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return `given` unchanged when it has the schema's columns and types, in any order.

    More columns are allowed. Raises FrameError that names what is missing or of another type.
    """
    wrong = [
        f"{name} is {given[name].dtype}, not {kind.dtype}"
        if name in given
        else f"{name} is missing"
        for name, kind in schema.columns.items()
        if name not in given or given[name].dtype != kind.dtype
    ]
    if wrong:
        raise FrameError(f"{schema.name}: {'; '.join(wrong)}")
    return given


def to_arrow(given: pd.DataFrame, schema: Schema) -> pa.Table:
    """Return the schema's columns of a checked frame as an Arrow table."""
    check(given, schema)
    return pa.Table.from_pandas(
        given[list(schema.columns)], schema=schema.arrow, preserve_index=False
    )


def from_arrow(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame of the house's types."""
    converted: pd.DataFrame = table.to_pandas(types_mapper=_OF_ARROW.get)
    return converted


def records(given: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame as named tuples; their fields are of the column's kind."""
    return iter(given.itertuples())


T, W, F, AT, D, S = Kind.TEXT, Kind.WHOLE, Kind.FLAG, Kind.INSTANT, Kind.DAY, Kind.SHARE

COLLECTIONS: Final = Schema(
    "collections",
    {
        "id": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "reference": T,
        "phone_masked": T,
        "phone_key": T,
        "amount": W,
        "fee": W,
        "status": T,
        "failure_code": T,
        "created_at": AT,
        "completed_at": AT,
        "created_day": D,
        "created_hour": W,
        "created_weekday": W,
        "business_day": D,
        "day_source": T,
        "fee_202": W,
        "fee_event": W,
        "fee_get": W,
        "contradictions": W,
        "seq": W,
    },
)
"""One row per collection, as the service and its events said. `business_day` is missing while it is
open; `created_hour` and `created_weekday` (0 is Monday) are East Africa Time."""

KEYS: Final = Schema("keys", {"id": T, "reference": T})
"""One row per collection of the other mode: enough to tell that a key belongs there."""

INTENTS: Final = Schema("intents", {"id": T, "reference": T, "amount": W, "sent_at": AT})
"""One row per creation whose outcome is not known: the customer may have been charged."""

CONTROL: Final = Schema(
    "control",
    {
        "currency": T,
        "status": T,
        "rows": W,
        "rows_rollup": W,
        "amount": W,
        "amount_rollup": W,
        "fee": W,
        "fee_rollup": W,
        "agrees": F,
    },
)
"""One row per currency and status of what was created in the period: frame against rollup."""

QUALITY: Final = Schema("quality", {"input": T, "row": W, "verdict": T, "reason": T})
"""One row per input row that was skipped, rejected or is remarkable; `row` counts from 1."""

ACCOUNT: Final = Schema(
    "account",
    {
        "input": T,
        "rows": W,
        "kept": W,
        "skipped": W,
        "rejected": W,
        "warned": W,
        "sha256": T,
    },
)
"""One row per input: rows = kept + skipped + rejected."""

TARIFF: Final = Schema(
    "tariff",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "first_day": D,
        "last_day": D,
        "low": W,
        "high": W,
        "fee": W,
        "rate_num": W,
        "rate_den": W,
        "rounding": T,
        "floor": W,
        "cap": W,
    },
)
"""One row per amount band of a span of `created_day`, all bounds included, missing = without end.
A band has either one `fee` or a rate rate_num / rate_den with its rounding, floor and cap."""

DAILY: Final = Schema(
    "daily",
    {
        "business_day": D,
        "mode": T,
        "currency": T,
        "channel": T,
        "attempts": W,
        "succeeded": W,
        "failed": W,
        "expired": W,
        "open": W,
        "other": W,
        "gross": W,
        "fee": W,
        "net": W,
        "effective_bps": W,
        "expected_fee": W,
        "fee_drift": W,
    },
)
"""One row per business day, mode, currency and channel, then a total per mode and currency."""

PARETO: Final = Schema(
    "pareto",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "class": T,
        "attempts": W,
        "share": S,
        "cum_share": S,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "value": W,
        "value_share": S,
        "value_cum_share": S,
        "advice": T,
    },
)
"""One row per mode, currency and failure code."""

LEDGER: Final = Schema(
    "ledger",
    {
        "row_no": W,
        "reference": T,
        "collection_id": T,
        "amount": W,
        "fee": W,
        "currency": T,
        "channel": T,
        "status": T,
        "booked_at": AT,
        "booked_day": D,
    },
)
"""One row per line of the merchant's books; `status` is paid, open or not_paid."""

MATCHES: Final = Schema(
    "matches",
    {
        "break_code": T,
        "standing": T,
        "match_rule": T,
        "reference": T,
        "collection_id": T,
        "row_no": W,
        "mode": T,
        "channel": T,
        "currency_ledger": T,
        "currency_service": T,
        "amount_ledger": W,
        "amount_service": W,
        "fee_ledger": W,
        "fee_service": W,
        "status_ledger": T,
        "status_service": T,
        "amount_drift": W,
        "fee_drift": W,
        "net_drift": W,
        "counted_ledger": W,
        "counted_service": W,
        "bridge_effect": W,
        "created_at": AT,
        "completed_at": AT,
        "booked_at": AT,
        "business_day": D,
        "booked_day": D,
        "age_days": W,
        "age_bucket": T,
        "suggested_action": T,
        "suggested_match": T,
        "note": T,
        "owner": T,
    },
)
"""One row per ledger line and collection that met or stayed alone. Drifts are ledger - service;
`bridge_effect` is missing where the two sides have different currencies."""

BRIDGE: Final = Schema("bridge", {"currency": T, "line": T, "rows": W, "amount": W})
"""Per currency: ledger total, less the effect of each code, service total, what is unexplained."""

AGEING: Final = Schema(
    "ageing",
    {
        "currency": T,
        "break_code": T,
        "standing": T,
        "rows": W,
        "rows_0_1": W,
        "rows_2_3": W,
        "rows_4_7": W,
        "rows_8_30": W,
        "rows_over_30": W,
        "amount": W,
        "bridge_effect": W,
        "suggested_action": T,
    },
)
"""One row per currency and code; ages in days."""

DOUBLES: Final = Schema(
    "doubles",
    {
        "mode": T,
        "currency": T,
        "reference": T,
        "collection_ids": T,
        "first_at": AT,
        "last_at": AT,
        "payments": W,
        "amount": W,
        "booked": W,
        "suspected": F,
        "refund": W,
        "fee": W,
    },
)
"""One row per reference that was paid more often than booked, then the suspected pairs."""

STATEMENT: Final = Schema(
    "statement",
    {
        "line_no": W,
        "batch_id": T,
        "collection_id": T,
        "business_day": D,
        "channel": T,
        "currency": T,
        "gross": W,
        "fee": W,
        "net": W,
        "count": W,
    },
)
"""One row per line of the provider's settlement statement: of a day and channel, or, where
`collection_id` is given, of one collection."""

PLANTED: Final = Schema(
    "planted",
    {
        "leg": T,
        "break_code": T,
        "reference": T,
        "collection_id": T,
        "row_no": W,
        "business_day": D,
        "channel": T,
    },
)
"""One row per fault of a sample month, with the verdict that is due."""

SETTLED: Final = Schema(
    "settled",
    {
        "break_code": T,
        "standing": T,
        "business_day": D,
        "channel": T,
        "currency": T,
        "collection_id": T,
        "batch_id": T,
        "line_no": W,
        "count": W,
        "gross": W,
        "fee": W,
        "net": W,
        "gross_settled": W,
        "fee_settled": W,
        "net_settled": W,
        "open_balance": W,
        "suggested_action": T,
    },
)
"""One row per business day, channel and currency, or per collection; `open_balance` is what the
provider still owes."""

POINTS: Final = Schema(
    "points",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "created_day": D,
        "amount": W,
        "fee": W,
        "rows": W,
    },
)
"""One row per day of creation, channel, amount and fee."""

FOUND: Final = TARIFF.plus("found", model=T, bps=T, bps_range=T, rows=W, explained=W, exceptions=W)
"""The tariff that was charged: TARIFF, and how well it explains the rows of its span. `bps` is the
rate in basis points and `bps_range` the rates that the rows allow."""

EXPECTED: Final = Schema(
    "expected",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "band": T,
        "rows": W,
        "unpriced": W,
        "exceptions": W,
        "amount": W,
        "charged": W,
        "expected": W,
        "drift": W,
        "effective_bps": W,
    },
)
"""One row per channel and amount band of what was created in the period, all statuses; `drift` is
charged - expected."""

EXCEPTIONS: Final = Schema(
    "exceptions",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "created_day": D,
        "status": T,
        "amount": W,
        "charged": W,
        "expected": W,
        "drift": W,
    },
)
"""One row per collection whose fee is not the tariff's, the largest drift first."""

INTEGRITY: Final = Schema(
    "integrity",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "collections": W,
        "no_evidence": W,
        "single_source": W,
        "agree": W,
        "drifted": W,
        "drift": W,
    },
)
"""One row per channel: how many collections have their fee from two sources that agree."""

DRIFTED: Final = Schema(
    "drifted",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "amount": W,
        "fee_202": W,
        "fee_event": W,
        "fee_get": W,
        "first": W,
        "last": W,
        "drift": W,
    },
)
"""One row per collection whose sources say different fees; `drift` is last - first."""

UNPAID: Final = Schema(
    "unpaid",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "collections": W,
        "quoted": W,
        "deducted_lines": W,
        "deducted": W,
    },
)
"""One row per channel and status that did not succeed: fees quoted, and fees that the settlement
statement deducted all the same."""

STRADDLERS: Final = Schema(
    "straddlers",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "amount": W,
        "fee": W,
        "created_at": AT,
        "completed_at": AT,
        "created_day": D,
        "business_day": D,
    },
)
"""One row per collection that was created on one business day and completed on another."""

RATES: Final = Schema(
    "rates",
    {
        "mode": T,
        "currency": T,
        "part": T,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "references_paid": W,
        "reference_rate": S,
        "reference_low": S,
        "reference_high": S,
        "few": F,
    },
)
"""One row per part: how many attempts, and how many references, succeeded. `few` marks rates that
rest on too few attempts to be read."""

HOURS: Final = Schema(
    "hours",
    {
        "mode": T,
        "currency": T,
        "weekday": W,
        "hour": W,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "few": F,
    },
)
"""One row per weekday (0 is Monday) and hour of creation, East Africa Time."""

RECOVERY: Final = Schema(
    "recovery",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "references": W,
        "recovered": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "still_open": W,
        "median_lag_s": W,
        "value": W,
        "value_recovered": W,
        "value_open": W,
        "value_lost": W,
        "few": F,
    },
)
"""One row per first failing code of a reference; `still_open` ones are young enough to recover."""

CLOSED: Final = Schema(
    "closed",
    {
        "id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "failure_code": T,
        "amount": W,
        "fee": W,
        "business_day": D,
        "created_day": D,
        "contradictions": W,
        "seq": W,
    },
)
"""One row per collection of a closed period, as it was known then."""

DELTA: Final = Schema(
    "delta",
    {
        "closed_run_id": T,
        "key": T,
        "change": T,
        "field": T,
        "before": T,
        "now": T,
        "amount_effect": W,
        "fee_effect": W,
        "seq": W,
    },
)
"""One row per field that a closed period would say otherwise now; the effects of a collection stand
on its first row, so that they can be summed."""

STORY: Final = Schema("story", {"at": AT, "what": T, "detail": T})
"""One row per fact about one collection, the earliest first."""

CHECKS: Final = Schema("checks", {"what": T, "found": T, "good": F})
"""One row per thing that the notebooks stand on."""

FILES: Final = Schema("files", {"file": T, "bytes": W, "sha256": T})
"""One row per file of a pack."""
