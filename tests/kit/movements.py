"""Lines of an operator's or a bank's statement, the plain ones filled in."""

from datetime import UTC, datetime
from typing import Any

import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import MOVEMENTS


def movements_of(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of these lines; a line is a completed payment of 1,000 unless it says so."""
    plain: dict[str, Any] = {
        **dict.fromkeys(MOVEMENTS.columns),
        "input": "statement.csv",
        "leg": "operator",
        "channel": "MPESA_TZ",
        "currency": "TZS",
        "at": datetime(2026, 3, 5, 6, tzinfo=UTC),
        "kind": "payment",
        "status": "completed",
        "amount": 1_000,
    }
    lines = [{**plain, "line_no": number, **row} for number, row in enumerate(rows, start=1)]
    for line in lines:
        line["business_day"] = pd.Timestamp(line["at"].astimezone(EAT).date())
    return columns.frame(
        MOVEMENTS, {name: [line[name] for line in lines] for name in MOVEMENTS.columns}
    )
