"""Lines of the books, the plain ones filled in."""

from datetime import UTC, datetime
from typing import Any

import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import LEDGER


def books_of(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of these lines; a line is a payment booked `at` noon unless it says so."""
    plain: dict[str, Any] = {
        **dict.fromkeys(LEDGER.columns),
        "currency": "TZS",
        "status": "paid",
        "kind": "payment",
        "at": datetime(2026, 3, 5, 9, tzinfo=UTC),
    }
    lines = [{**plain, "row_no": number, **row} for number, row in enumerate(rows, start=1)]
    for line in lines:
        line["booked_at"] = line["at"]
        line["booked_day"] = pd.Timestamp(line["at"].astimezone(EAT).date())
    return columns.frame(LEDGER, {name: [line[name] for line in lines] for name in LEDGER.columns})
