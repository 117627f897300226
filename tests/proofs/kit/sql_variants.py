"""What a query could be mistaken for: one word for another, or one part of it left out.

Left out is each term of a condition, each column of a PARTITION BY, each arm of a coalesce: a
currency that a join forgets is such a part. Texts in quotes, comments and names are left alone. A
variant that no engine would read proves nothing, so none is made of a star that means "all columns"
or of the AND of a BETWEEN. It works on the words, not on a tree: the queries have places that are
filled in later, which no reader of SQL knows.
"""

import re
from collections.abc import Iterator
from typing import Final

_TOKEN: Final = re.compile(
    r"--[^\n]*|'(?:[^']|'')*'|IS NOT NULL|IS NULL|LEFT JOIN|FULL OUTER JOIN|ANTI JOIN|SEMI JOIN"
    r"|PARTITION BY|GROUP BY|ORDER BY|[$A-Za-z_][A-Za-z_0-9.]*|[0-9]+"
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
    "IN": ("NOT IN",),
    "LEFT JOIN": ("INNER JOIN",),
    "FULL OUTER JOIN": ("LEFT JOIN", "INNER JOIN"),
    "ANTI JOIN": ("SEMI JOIN",),
    "SEMI JOIN": ("ANTI JOIN",),
    "DESC": ("ASC",),
    "least": ("greatest",),
    "greatest": ("least",),
    "min": ("max",),
    "max": ("min",),
    "DISTINCT": ("",),
    "NOT": ("",),
}


_ENDS: Final = frozenset(
    {
        *("OR", "WHEN", "THEN", "ELSE", "END", "WHERE", "WINDOW", "LIMIT", "UNION", "AS", "ON"),
        *("GROUP BY", "ORDER BY", "LEFT JOIN", "FULL OUTER JOIN", "ANTI JOIN", "SEMI JOIN"),
        *("INNER", "CROSS", "QUALIFY", "HAVING", ";", ",", "ROWS"),
    }
)
"""Words that end a condition or a list at the same depth."""
_BEGINS: Final = frozenset({"ON", "WHERE", "WHEN", "PARTITION BY", "coalesce"})


def sql_variants(sql: str) -> Iterator[tuple[str, str]]:
    """Yield a sentence and the whole query for each exchange of a word, and each part left out."""
    yield from _exchanged(sql)
    yield from _left_out(sql)


def _left_out(sql: str) -> Iterator[tuple[str, str]]:
    words = [
        found
        for found in _TOKEN.finditer(sql)
        if not found[0].isspace() and not found[0].startswith("--")
    ]
    for place, word in enumerate(words):
        if word[0] not in _BEGINS:
            continue
        inside = word[0] == "coalesce"
        by = "," if inside or word[0] == "PARTITION BY" else "AND"
        cuts = _parts(words, place + 1 + inside, by)
        starts = [words[place + inside].end(), *(words[cut].end() for cut in cuts[:-1])]
        spans = [
            (start, words[cut].start() if cut < len(words) else len(sql))
            for start, cut in zip(starts, cuts, strict=True)
        ]
        if len(spans) == 1:
            continue
        for number, (start, end) in enumerate(spans):
            from_ = start if number == 0 else words[cuts[number - 1]].start()
            to = words[cuts[0]].end() if number == 0 else end
            line = sql.count("\n", 0, start) + 1
            part = " ".join(sql[start:end].split())[:60]
            yield f"line {line}: without {part!r} of {word[0]}", f"{sql[:from_]} {sql[to:]}"


def _parts(words: list[re.Match[str]], first: int, by: str) -> list[int]:  # noqa: C901 - one table of cases
    """Return where each part ends of what begins at a word: at `by`, or at the end of the whole."""
    depth, between, cases = 0, False, 0
    cuts: list[int] = []
    for place in range(first, len(words)):
        word = words[place][0]
        if word == "(":
            depth += 1
        elif word == ")":
            if depth == 0:
                return [*cuts, place]
            depth -= 1
        elif word == "CASE":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif depth or cases:
            continue
        elif word == "BETWEEN":
            between = True
        elif word == "AND" and between:
            between = False
        elif word == by:
            cuts.append(place)
        elif word in _ENDS:
            # What an OR joins is no chain of terms that all must hold.
            return [place] if word == "OR" else [*cuts, place]
    return [*cuts, len(words)]


def _exchanged(sql: str) -> Iterator[tuple[str, str]]:
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
