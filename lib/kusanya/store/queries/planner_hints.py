"""Expressions that keep the planner off an index."""

from typing import Any

from sqlalchemy import ColumnElement, literal_column


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
