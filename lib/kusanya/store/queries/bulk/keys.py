"""A column that is one of many values, in one query."""

import json

from sqlalchemy import ARRAY, ColumnElement, Connection, Text, any_, func, literal, select


def is_among(
    connection: Connection, column: ColumnElement[str], values: list[str]
) -> ColumnElement[bool]:
    """Return whether a column is one of many values, which travel as one: each costs otherwise."""
    if connection.dialect.name == "sqlite":
        listed = func.json_each(json.dumps(values)).table_valued("value")
        return column.in_(select(listed.c.value))
    return column == any_(literal(values, ARRAY(Text)))
