"""From a text to a filter. Pure."""

import re
from collections.abc import Collection, Mapping
from typing import Final

from kusanya.domain.channels import CHANNEL_NAMES, CHANNELS
from kusanya.domain.collection_columns import FieldType
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.filters.terms import KEYS, Filter, FilterError, Term
from kusanya.filters.values import READERS, STATUSES
from kusanya.say import Said

_VIEW: Final = re.compile(r"(?<!\S)@(\S*)")


def parse(text: str, *, keys: Collection[str] = KEYS.keys(), whose: str = "rows") -> Filter:
    """Return the filter that `text` writes, for a list (`whose`) that has `keys`.

    Raises FilterError naming the word that is wrong and its position.
    """
    terms: list[Term] = []
    unwell = False
    for position, word in _words(text):
        if word == "!":
            unwell = True
            continue
        try:
            term = _term(word, keys)
        except FilterError as error:
            raise FilterError(str(error), position=position) from None
        if term.key not in keys:
            said = Said("{our_records} have no {key}; they have {keys}").of(
                our_records=whose, key=term.key, keys=", ".join(keys)
            )
            raise FilterError(said, position=position)
        terms.append(term)
    return Filter(tuple(terms), unwell)


def expand(text: str, views: Mapping[str, str]) -> str:
    """Return a filter with each @name replaced by what was saved under it.

    Raises FilterError for a name that nothing was saved under.
    """

    def saved(word: re.Match[str]) -> str:
        found = views.get(word[1])
        if found is None:
            names = ", ".join(f"@{name}" for name in sorted(views)) or "none yet"
            said = Said("no view was saved as @{name}; there are {our_known}").of(
                name=word[1], our_known=names
            )
            raise FilterError(said, position=word.start())
        return found

    return _VIEW.sub(saved, text)


def _words(text: str) -> list[tuple[int, str]]:
    """Return the words, each with where it begins."""
    words: list[tuple[int, str]] = []
    word, quoted, begun = "", False, -1
    for place, character in enumerate(text):
        if character.isspace() and not quoted:
            words.append((begun, word))
            word, begun = "", -1
            continue
        begun = place if begun < 0 else begun
        if character == '"':
            quoted = not quoted
        else:
            word += character
    if quoted:
        raise FilterError('a quote is open: close it with another "', position=begun)
    words.append((begun, word))
    return [(place, word) for place, word in words if word]


_PRINTED: Final = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
"""A number as it is printed, 40,500: nobody lists 40 and 500 where thousands are written so."""
_TERM: Final = re.compile(r"(?P<key>[A-Za-z]+)(?P<op>:|<=|>=|=|<|>)(?P<rest>.*)", re.DOTALL)


def _term(word: str, keys: Collection[str]) -> Term:
    negated = len(word) > 1 and word.startswith("-")
    bare = word[1:] if negated else word
    parts = _TERM.fullmatch(bare)
    if parts is None:
        return _bare(bare, negated=negated)
    key, op, rest = parts["key"].lower(), parts["op"], parts["rest"]
    if key not in KEYS:
        raise FilterError(
            Said("{key} is no key; there are {keys}").of(key=f"{key!r}", keys=", ".join(keys))
        )
    if not rest:
        raise FilterError(Said("{key} needs a value").of(key=f"{key}{op}"))
    kind = KEYS[key]
    compares = op not in {":", "="}
    if compares and kind not in {FieldType.NUMBER, FieldType.AGE, FieldType.TIME}:
        raise FilterError(Said("{key} takes : or =, not {sign}").of(key=key, sign=op))
    read = READERS[kind]
    if kind is FieldType.NUMBER:
        rest = _PRINTED.sub(lambda printed: printed[0].replace(",", ""), rest)
    pieces = [rest] if compares else [piece for piece in rest.split(",") if piece]
    if not pieces:
        raise FilterError(Said("{key} needs a value").of(key=f"{key}{op}"))
    values = tuple(read(key, op, piece) for piece in pieces)
    return Term(key, values, negated, exact=kind is FieldType.PART and op == "=")


def _bare(word: str, *, negated: bool) -> Term:
    pieces = [piece for piece in word.split(",") if piece]
    if not pieces:
        raise FilterError(Said("{word} names nothing to look for").of(word=f"{word!r}"))
    low = [piece.lower() for piece in pieces]
    if STATUSES.issuperset(low):
        return Term("status", tuple(low), negated)
    codes = [CHANNEL_NAMES.get(piece.lower(), piece) for piece in pieces]
    if CHANNELS.keys() >= set(codes):
        return Term("channel", tuple(codes), negated)
    if FAILURE_CODES.keys() >= set(low):
        return Term("code", tuple(low), negated)
    return Term("ref", tuple(pieces), negated)
