"""Where every line went: what each file holds against what the legs made of it.

The two sides are told apart: what was read by the inputs alone, where it went by the verdicts of
the legs. A line that is in no result, or in two, shows as lost.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    ACCOUNTED,
    COLLECTIONS,
    LEDGER,
    MOVEMENTS,
    PLACES,
    STATEMENT,
)
from kusanya_books.engine.engine import query
from kusanya_books.engine.engines import open_engine
from kusanya_books.request.report_inputs import Inputs

_STANDINGS: Final = {"ok": "matched", "expected": "expected", "break": "break"}
OUTSIDE: Final = "outside"
_Sums = tuple[int, int]
"""Rows and amount."""


def accounted(inputs: Inputs, legs: Iterable[Any]) -> pd.DataFrame:
    """Return one row per input and currency by `ACCOUNTED`; `legs` are the matches that were made.

    The collections stand there where books were given to hold them against.
    """
    made = list(legs)
    found: dict[Any, dict[str, _Sums]] = defaultdict(lambda: defaultdict(lambda: (0, 0)))
    read = _read(inputs)
    for row in columns.records(read):
        _add(found, row, "read")
        if row.standing == OUTSIDE:
            _add(found, row, OUTSIDE)
    for leg in made:
        for row in columns.records(leg.places):
            _add(found, row, _STANDINGS.get(row.standing, OUTSIDE))
    if inputs.ledger is None:
        found = defaultdict(
            dict, {key: one for key, one in found.items() if key[0] != "collections"}
        )
    rows = [_line(key, found[key]) for key in sorted(found, key=lambda key: (key[0], key[1] or ""))]
    return columns.from_dicts(ACCOUNTED, rows)


def lost(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `accounted` that do not add up."""
    wrong: pd.DataFrame = frame[(frame["rows_lost"] != 0) | (frame["amount_lost"] != 0)]
    return wrong


def _read(inputs: Inputs) -> pd.DataFrame:
    with open_engine(inputs.collections, inputs.ledger) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        engine.register("ledger", inputs.ledger, LEDGER)
        engine.register("statement", inputs.statement, STATEMENT)
        engine.register("movements", inputs.movements, MOVEMENTS)
        span = inputs.period
        asked = {"first": span.first, "last": span.last, "net_basis": inputs.basis == "net"}
        return engine.frame(query("inputs/read"), PLACES, asked)


def _add(found: dict[Any, dict[str, _Sums]], row: Any, part: str) -> None:
    sums = found[row.input, None if pd.isna(row.currency) else row.currency]
    rows, amount = sums[part]
    sums[part] = rows + int(row.rows), amount + (0 if pd.isna(row.amount) else int(row.amount))


def _line(key: tuple[str, str | None], sums: dict[str, _Sums]) -> dict[str, Any]:
    row: dict[str, Any] = {"input": key[0], "currency": key[1]}
    for place, what in enumerate(("rows", "amount")):
        parts = {name: sums[name][place] for name in ("read", *_STANDINGS.values(), OUTSIDE)}
        left = 2 * parts["read"] - sum(parts.values())
        row |= {f"{what}_{name}": value for name, value in {**parts, "lost": left}.items()}
    return row
