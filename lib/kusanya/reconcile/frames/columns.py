"""What every frame holds: all schemas by name, and what makes, checks and carries a frame.

The schemas lie by theme in the `*_columns` rooms, their types in `kinds`.
"""

from kusanya.reconcile.frames.close_columns import CHECKS, CLOSED, DELTA, FILES, FINDINGS, STORY
from kusanya.reconcile.frames.dtypes import (
    Kind,
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
    DAILY,
    DRIFTED,
    EXCEPTIONS,
    EXPECTED,
    FOUND,
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
    "FOUND",
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
    "STORY",
    "STRADDLERS",
    "TARIFF",
    "UNPAID",
    "UNPRICED",
    "Kind",
    "Schema",
    "check",
    "empty",
    "frame",
    "from_arrow",
    "records",
    "to_arrow",
]
