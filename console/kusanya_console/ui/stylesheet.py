"""The console's rules of style, parsed once for every set of colours.

Textual parses all of them again whenever a screen comes up for the first time, which takes longer
than to draw it and finds what it knew: the rules change with the theme alone.
"""

from typing import Any, ClassVar

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_Colours = frozenset[tuple[str, str]]
_Parsed = LRUCache[tuple[Any, ...], list[RuleSet]]
_SOURCES = 64


class ParsedOnce(Stylesheet):
    """A stylesheet that keeps what was parsed with each set of colours, for the whole process."""

    _parsed: ClassVar[dict[_Colours, _Parsed]] = {}

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._take_parsed()

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take the colours, and with them what was parsed before."""
        if variables != self._variables:
            self._parse_cache = LRUCache(_SOURCES)  # what is emptied then is nobody's
            super().set_variables(variables)
            self._take_parsed()

    def _take_parsed(self) -> None:
        self._parse_cache = self._parsed.setdefault(
            frozenset(self._variables.items()), LRUCache(_SOURCES)
        )

    def reparse(self) -> None:
        """Parse what was never parsed with these colours."""
        self.parse()
