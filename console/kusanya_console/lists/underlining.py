"""What a filter looks for, as it can be underlined in the cells of a list."""

from typing import Final

from kusanya.filters import Filter, Term
from kusanya_console.widgets.highlighting import Needle, Needles

_UNDERLINED: Final = frozenset(
    {"ref", "phone", "code", "id", "event", "endpoint", "reason", "description"}
    | {"actor", "act", "outcome"}
)
"""Keys whose words stand in cells; a status or a channel is the same in every row that is left."""
_PHONE_SHOWN: Final = 3
"""So many digits of a phone stand unmasked, at its end."""


def needles(query: Filter) -> Needles:
    """Return what to underline, by the filter's keys; what is excluded stands nowhere."""
    found: dict[str, tuple[Needle, ...]] = {}
    for term in query.terms:
        if term.key in _UNDERLINED and not term.negated:
            found[term.key] = (*found.get(term.key, ()), *_of(term))
    return found


def _of(term: Term) -> tuple[Needle, ...]:
    words = [value for value in term.values if isinstance(value, str)]
    if term.key == "phone":
        return tuple(phone_end(word) for word in words)
    # An act is kept as reveal_phone and shown as two words.
    both = dict.fromkeys(words) | {word.replace("_", " "): None for word in words}
    return tuple(map(Needle, both if term.key == "act" else words))


def phone_end(digits: str) -> Needle:
    """Return what can be seen of a phone that was looked for."""
    return Needle(digits[-_PHONE_SHOWN:], at_end=True)
