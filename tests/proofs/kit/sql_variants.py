"""What could stand in the place of one word of a query: the mutants of SQL.

Texts in quotes, comments and names are left alone. A variant that no engine would read proves
nothing, so none is made of a star that means "all columns" or of the AND of a BETWEEN.
"""

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|IS NOT NULL|IS NULL|LEFT JOIN|[$A-Za-z_][A-Za-z_0-9.]*|[0-9]+"
    r"|<>|<=|>=|//|::|\s+|\S"
)
_EXCHANGED: Final[dict[str, tuple[str, ...]]] = {
    "=": ("<>",),
    "<>": ("=",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "//": ("*",),
    "AND": ("OR",),
    "OR": ("AND",),
    "IS NULL": ("IS NOT NULL",),
    "IS NOT NULL": ("IS NULL",),
    "LEFT JOIN": ("INNER JOIN",),
    "DESC": ("ASC",),
    "least": ("greatest",),
    "greatest": ("least",),
    "min": ("max",),
    "max": ("min",),
    "DISTINCT": ("",),
    "NOT": ("",),
}


def sql_variants(sql: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence and the whole query for each single exchange."""
    between = False
    before = ""
    for found in _TOKEN.finditer(sql):
        word = found[0]
        if word.isspace() or word.startswith("--"):
            continue
        others = _EXCHANGED.get(word, ())
        if word == "AND" and between:
            between, others = False, ()
        elif word == "*" and (before in {"(", ",", "SELECT"} or before.endswith(".")):
            others = ()
        elif word.isdigit():
            others = (str(int(word) + 1),)
        between = between or word == "BETWEEN"
        before = word
        line = sql.count("\n", 0, found.start()) + 1
        for other in others:
            said = f"line {line}: {word!r} became {other!r} in {_around(sql, found.start())!r}"
            yield said, sql[: found.start()] + other + sql[found.end() :]


def _around(sql: str, place: int) -> str:
    start = sql.rfind("\n", 0, place) + 1
    end = sql.find("\n", place)
    return sql[start : len(sql) if end < 0 else end].strip()[:60]
