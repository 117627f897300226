"""Queries of DuckDB's dialect in Spark's, and which tables each of them reads."""

from collections.abc import Iterator
from functools import cache
from typing import Final

import msgspec
import sqlglot
from sqlglot import TokenType, exp
from sqlglot.optimizer.scope import traverse_scope

_WIDE: Final = exp.DataType.build("DECIMAL(38, 0)")


class Statement(msgspec.Struct, frozen=True):
    """One statement in both dialects."""

    text: str
    """As it is written, for DuckDB."""
    body: str
    """Its query, for Spark."""
    reads: frozenset[str]
    """The tables and views that it reads."""
    name: str = ""
    """What it creates; empty for a question."""
    is_table: bool = False


@cache
def translate(sql: str) -> Statement:
    """Return one question."""
    asked = sqlglot.parse_one(sql, read="duckdb")
    return Statement(sql, _spark(asked), _reads(asked))


@cache
def statements(sql: str) -> tuple[Statement, ...]:
    """Return the statements of a text, each of which creates a table or a view."""
    return tuple(_created(text) for text in _split(sql))


def _split(sql: str) -> Iterator[str]:
    begin = 0
    for token in sqlglot.tokenize(sql, read="duckdb"):
        if token.token_type is TokenType.SEMICOLON:
            yield sql[begin : token.start]
            begin = token.end + 1
    if sqlglot.tokenize(sql[begin:], read="duckdb"):
        yield sql[begin:]


def _created(text: str) -> Statement:
    statement = sqlglot.parse_one(text, read="duckdb")
    if not isinstance(statement, exp.Create):
        raise TypeError(f"only tables and views are created, not {statement.key}")
    query = statement.expression
    is_table = statement.kind == "TABLE"
    return Statement(text, _spark(query), _reads(query), statement.this.name, is_table)


def _reads(query: exp.Expression) -> frozenset[str]:
    sources = (source for scope in traverse_scope(query) for source in scope.sources.values())
    return frozenset(source.name for source in sources if isinstance(source, exp.Table))


def _spark(query: exp.Expression) -> str:
    strict = sqlglot.ErrorLevel.RAISE
    return str(query.transform(_portable).sql("spark", comments=False, unsupported_level=strict))


def _portable(node: exp.Expression) -> exp.Expression:
    """Return what Spark calculates differently in a form that says the same there."""
    if isinstance(node, exp.Sum) and not isinstance(node.this, exp.Distinct):
        return exp.Sum(this=exp.Cast(this=node.this, to=_WIDE.copy()))
    if isinstance(node, exp.Div):
        double = exp.DataType.build("DOUBLE")
        sides = (exp.Cast(this=side, to=double.copy()) for side in (node.this, node.expression))
        return exp.Div(**dict(zip(("this", "expression"), sides, strict=True)), typed=True)
    if isinstance(node, exp.DataType) and node.is_type("INT128"):
        return _WIDE.copy()
    if isinstance(node, exp.DataType) and node.is_type("TIMESTAMP"):
        return exp.DataType.build("TIMESTAMPNTZ")
    return node
