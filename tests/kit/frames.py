"""Frames of the books' schemas from plain rows."""

from typing import Any

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import Schema


def frame_of(schema: Schema, *rows: dict[str, Any]) -> pd.DataFrame:
    """Return the frame of these rows; what a row does not name is missing."""
    return columns.frame(schema, {name: [row.get(name) for row in rows] for name in schema.columns})
