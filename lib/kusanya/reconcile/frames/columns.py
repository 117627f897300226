"""What every frame holds: all schemas by name, and what makes, checks and carries a frame.

The schemas lie by theme in the `*_columns` rooms, their types in `dtypes`.
"""

from kusanya.reconcile.frames.close_columns import CHECKS, CLOSED, DELTA, FILES, FINDINGS, TIMELINE
from kusanya.reconcile.frames.dtypes import (
    DType,
    Schema,
    check,
    empty,
    frame,
    from_arrow,
    records,
    to_arrow,
)
from kusanya.reconcile.frames.failure_columns import HOURS, PARETO, RATES, RECOVERY
from kusanya.reconcile.frames.fee_columns import (
    CHARGED,
    DAILY,
    DRIFTED,
    EXCEPTIONS,
    EXPECTED,
    INTEGRITY,
    POINTS,
    STRADDLERS,
    UNPAID,
    UNPRICED,
)
from kusanya.reconcile.frames.input_columns import (
    ACCOUNT,
    COLLECTIONS,
    CONTROL,
    INTENTS,
    KEYS,
    LEDGER,
    PLANTED,
    QUALITY,
    STATEMENT,
    TARIFF,
)
from kusanya.reconcile.frames.match_columns import AGEING, BRIDGE, DOUBLES, LINES, MATCHES, SETTLED

__all__ = [
    "ACCOUNT",
    "AGEING",
    "BRIDGE",
    "CHARGED",
    "CHECKS",
    "CLOSED",
    "COLLECTIONS",
    "CONTROL",
    "DAILY",
    "DELTA",
    "DOUBLES",
    "DRIFTED",
    "EXCEPTIONS",
    "EXPECTED",
    "FILES",
    "FINDINGS",
    "HOURS",
    "INTEGRITY",
    "INTENTS",
    "KEYS",
    "LEDGER",
    "LINES",
    "MATCHES",
    "PARETO",
    "PLANTED",
    "POINTS",
    "QUALITY",
    "RATES",
    "RECOVERY",
    "SETTLED",
    "STATEMENT",
    "STRADDLERS",
    "TARIFF",
    "TIMELINE",
    "UNPAID",
    "UNPRICED",
    "DType",
    "Schema",
    "check",
    "empty",
    "frame",
    "from_arrow",
    "records",
    "to_arrow",
]
