"""Expressions that keep the planner off an index, or from planning anew."""

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, bindparam, literal_column


def unindexed(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return a whole-number column as something to sort by that no index holds.

    For the few rows that another index finds: given the column itself, a planner without
    statistics rather walks the whole history in its order.
    """
    return value + literal_column("0")


def unsearched(value: ColumnElement[str]) -> ColumnElement[str]:
    """Return a text column as something to compare that no index holds.

    For a condition that so many rows meet that walking the list in its order finds them sooner.
    """
    return value + literal_column("''")


def bound_asked() -> ColumnElement[int]:
    """Return `bound`, a value of each question, as the most rows of a statement made once.

    Where a value itself stands as the limit, SQLite looks at it and plans the statement anew every
    time: that takes as long as finding a row.
    """
    return bindparam("bound", type_=BigInteger) + literal_column("0")
