"""Whether a reader of text costs in proportion to the text: growth compared within one run."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

SIZES: Final = (64, 256, 1_024, 4_096, 16_384, 65_536, 262_144)
_FLOOR_NS: Final = 2_000_000
"""What takes less is not compared: the clock's own noise would be."""
_MOST: Final = 9
"""Four times the text may cost so many times as much: linear is 4, quadratic 16."""
_MOST_DOUBLED: Final = 3
"""Twice the text, twice the cost; quadratic is 4."""
_SAMPLES: Final = 6


def is_linear(act: Callable[[str], object], run: Callable[[int], str], most: int = 262_144) -> bool:
    """Return whether `act` on four times the text costs about four times as much, up to `most`."""
    before = None
    for size in (size for size in SIZES if size <= most):
        text = run(size)
        cost = _cost(act, text)
        grows = before is not None and cost > _MOST * max(before, _FLOOR_NS // 8)
        # Before it is believed: something else may have had the machine, and what takes a longer
        # way from a size on leaps there once.
        if (
            grows
            and cost > _FLOOR_NS
            and all(_cost(act, run(size * 2)) > _MOST_DOUBLED * _cost(act, text) for _ in range(3))
        ):
            return False
        before = cost
    return True


def _cost(act: Callable[[str], object], text: str) -> int:
    found = []
    for _ in range(3):
        begun = time.thread_time_ns()
        act(text)
        found.append(time.thread_time_ns() - begun)
        if found[-1] > 50 * _FLOOR_NS:
            break
    return min(found)


def filled(unit: str, *, before: str = "", after: str = "") -> Callable[[int], str]:
    """Return what makes a text of a size: `unit` again and again, with a begin and an end."""

    def run(size: int) -> str:
        room = max(size - len(before) - len(after), 0)
        return before + (unit * (room // len(unit) + 1))[:room] + after

    return run


def runs_of(pattern: re.Pattern[Any]) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield hostile runs for a pattern: its own letters alone, in pairs, and its near-misses."""
    parser: Any = vars(re)["_parser"]
    written: Any = pattern.pattern
    if isinstance(written, bytes):
        tree = parser.parse(written.decode("latin-1"), pattern.flags | re.UNICODE)
    else:
        tree = parser.parse(written, pattern.flags)
    letters = list(dict.fromkeys(_letters(tree)))
    chosen = letters if len(letters) <= _SAMPLES else [*letters[:4], *letters[-2:]]
    fits = _shortest(tree)
    units = [*letters, *(a + b for a in chosen for b in chosen if a != b)]
    for unit in units:
        yield repr(unit), filled(unit, after="\x00")
    for unit in letters:
        for begin in {fits, fits[:-1], fits[:1]}:
            yield f"{begin!r} then {unit!r}", filled(unit, before=begin, after="\x00")
    if fits:
        yield f"{fits!r} repeated", filled(fits, after="\x00")
        yield f"{fits[:-1]!r} repeated", filled(fits[:-1] or fits, after="\x00")


def _letters(tree: Iterable[Any]) -> Iterator[str]:  # noqa: C901 - one branch a kind of node
    for op, value in tree:
        name = str(op)
        if name in {"LITERAL", "NOT_LITERAL"}:
            yield chr(value) if name == "LITERAL" else "a"
        elif name == "ANY":
            yield "a"
        elif name == "IN":
            yield from _of_class(value)
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            yield from _letters(value[2])
        elif name == "SUBPATTERN":
            yield from _letters(value[3])
        elif name == "ATOMIC_GROUP":
            yield from _letters(value)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _letters(branch)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            yield from _letters(value[1])


def _of_class(items: list[Any]) -> Iterator[str]:
    if str(items[0][0]) == "NEGATE":
        yield "a"
        yield "~"
        return
    for op, value in items:
        name = str(op)
        if name == "LITERAL":
            yield chr(value)
        elif name == "RANGE":
            yield chr(value[0])
        elif name == "CATEGORY":
            yield {"SPACE": " ", "DIGIT": "1", "WORD": "a"}.get(str(value).rpartition("_")[2], "~")


def _shortest(tree: Iterable[Any]) -> str:
    """Return about the shortest text that a pattern takes; a look around is not looked at."""
    found = ""
    for op, value in tree:
        name = str(op)
        if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            found += next(_letters([(op, value)]), "a")
        elif name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            found += _shortest(value[2]) * max(value[0], 1)
        elif name == "SUBPATTERN":
            found += _shortest(value[3])
        elif name == "ATOMIC_GROUP":
            found += _shortest(value)
        elif name == "BRANCH":
            found += _shortest(value[1][0])
    return found
