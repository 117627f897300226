"""Frames of the books' schemas from plain rows."""

from typing import Any

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import Schema
from kusanya_books.match import break_life


def frame_of(schema: Schema, *rows: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of these rows; what a row does not name is missing."""
    return columns.frame(schema, {name: [row.get(name) for row in rows] for name in schema.columns})


def breaks_of(found: Any) -> int:
    """Return how many rows of a match are breaks that nobody has accepted."""
    return int(break_life.stands(found.rows).sum())
