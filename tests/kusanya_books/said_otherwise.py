"""What was said of payments at a close and is said of them now, and what is carried of that."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from tests.kit.earlier import compared
from tests.kit.frames import frame_of

from kusanya_books import columns
from kusanya_books.columns import CLOSED, ITEMS, LEDGER
from kusanya_books.pack import late_changes
from kusanya_books.read import earlier_pack
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod

DAY = pd.Timestamp(date(2026, 3, 5))
PAID: dict[str, Any] = {
    "status": "succeeded", "amount": 1_000, "fee": 18, "currency": "TZS", "contradictions": 0,
    "business_day": DAY, "created_day": DAY, "channel": "MPESA_TZ", "mode": "live", "seq": 1,
}  # fmt: skip
CASES: dict[str, tuple[Any, Any, bool]] = {
    "nothing": ({}, {}, False),
    "another place in the journal": ({}, {"seq": 2}, False),
    "no success any more": ({}, {"status": "failed"}, True),
    "two finals": ({}, {"status": "contradiction", "contradictions": 1}, True),
    "a contradiction beside the success": ({}, {"contradictions": 1}, True),
    "one that was there": ({"contradictions": 1}, {"contradictions": 1, "fee": 19}, False),
    "another amount": ({}, {"amount": 999}, True),
    "another currency": ({}, {"currency": "KES"}, True),
    "another channel": ({}, {"channel": "AIRTEL_TZ"}, False),
    "another fee": ({}, {"fee": 19}, False),
    "a fee that was not known": ({"fee": None}, {}, False),
    "a success that was none": ({"status": "created"}, {}, False),
    "a failure that is another one": ({"status": "failed"}, {"status": "expired"}, False),
    "of another day now": ({}, None, False),
    "of this day now": (None, {}, False),
}
"""What was said at the close, and what is said now, of one payment; and whether it is carried."""


Cases = Mapping[str, tuple[Any, Any, bool]]


def side(place: int, cases: Cases = CASES) -> pd.DataFrame:
    rows = []
    for case, sides in cases.items():
        said: Any = sides[place]
        if said is not None:
            named = {"id": case, "reference": f"R {case}"}
            rows.append({**dict.fromkeys(CLOSED.columns), **PAID, **named, **said})
    return frame_of(CLOSED, *rows)


def delta(pack: Path, request: CloseRequest) -> pd.DataFrame:
    """Return what a pack's days say now that they did not say when they were closed."""
    earlier = earlier_pack.read(pack)
    since = late_changes.sides(earlier, pack, request)
    run_id = earlier.manifest["run_id"]
    return late_changes.compare(since.before, since.now, closed_run_id=run_id)


def carried(
    *,
    lines: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    basis: str = "gross",
    movements: pd.DataFrame | None = None,
    span: str = "2026-03",
    cases: Cases = CASES,
    **given: Any,
) -> EarlierPeriod:
    earlier = EarlierPeriod(
        run_id="run",
        period=period("2026-03"),
        items=columns.empty(ITEMS) if items is None else items,
        lines=columns.empty(LEDGER) if lines is None else lines,
        compared=compared(period(span), **given),
        movements=movements,
    )
    sides = late_changes.Sides(side(0, cases), side(1, cases), 9)
    late = late_changes.compare(sides.before, sides.now, closed_run_id="run")
    return late_changes.with_news(earlier, sides, late, basis=basis)
