"""Swahili hours and amounts in words as figures: "saa tano na robo usiku", "laki moja na nusu".

Only what stands behind a word of hours or of amounts is read: "moja" may be anything else. Pure.
"""

import re
from itertools import pairwise
from typing import Final

from kusanya.domain.swahili_numbers import ONES, TENS

_WORTH: Final = {
    **{word: number for number, word in enumerate(ONES, start=1)},
    **{word: 10 * number for number, word in enumerate(TENS, start=1)},
}
UNITS: Final = {"mia": 100, "elfu": 1_000, "laki": 100_000, "milioni": 1_000_000}
"""What stands before a number and multiplies it."""
_OF_UNITS: Final = "|".join(UNITS)
_IN_WORDS: Final = re.compile(
    rf"\b(saa|dakika|{_OF_UNITS})\s+"
    rf"(?:({'|'.join(TENS)})(?:\s+na\s+({'|'.join(ONES)}))?|({'|'.join(ONES)}))\b"
)
_HOUR: Final = re.compile(
    r"\bsaa\s+([0-9]{1,2})\s+"
    r"(?:(na\s+nusu)|(na\s+robo)|(kasoro\s+robo)|na\s+(?:dakika\s+)?([0-5]?[0-9]))(?![\w:.,])"
)
_SUM: Final = re.compile(
    rf"\b(?:{_OF_UNITS})\s+[0-9]{{1,3}}"
    rf"(?:\s+na\s+(?:(?:{_OF_UNITS})\s+[0-9]{{1,3}}|nusu))++(?![\w:.,])"
)
_TERM: Final = re.compile(rf"({_OF_UNITS})\s+([0-9]{{1,3}})")


def in_figures(text: str) -> str:
    """Return a text of small letters with hours and amounts in words written as figures.

    An hour becomes "saa 5:15", an amount of several parts one number; one whose parts do not become
    smaller stays as it is, as it is no sum.
    """
    return _SUM.sub(_summed, _HOUR.sub(_timed, _IN_WORDS.sub(_numbered, text)))


def _numbered(found: re.Match[str]) -> str:
    return f"{found[1]} {sum(_WORTH[word] for word in found.groups()[1:] if word)}"


def _timed(found: re.Match[str]) -> str:
    hour, (half, quarter, less, minutes) = int(found[1]), found.groups()[1:]
    if less:
        return f"saa {(hour + 10) % 12 + 1}:45"
    return f"saa {hour}:{30 if half else 15 if quarter else int(minutes):02}"


def _summed(found: re.Match[str]) -> str:
    terms = [(UNITS[unit], int(number)) for unit, number in _TERM.findall(found[0])]
    if any(after >= before for (before, _), (after, _) in pairwise(terms)):
        return found[0]
    half = terms[-1][0] // 2 if found[0].endswith("nusu") else 0
    return str(sum(unit * number for unit, number in terms) + half)
