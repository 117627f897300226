"""What the merchant wrote beside a payment: its metadata and its description."""

import re
from typing import Final

from kusanya.filters import FilterError, parse
from kusanya.lookup.search.by_name import PART_LENGTH
from kusanya.lookup.search.matches import Candidates, LookupQuestion, LookupResult, Match, MatchKind
from kusanya.say import Said
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, MetadataTerm

_TEXT: Final = re.compile(r'"?(?:meta|description)[:=]', re.IGNORECASE)
_PART_LEAST: Final = 3
_ONE_PART: Final = Said(
    "one part of a description of {count} letters at least is looked for, as in "
    'description:"school fees"'
).of(count=_PART_LEAST)


def is_text(asked: str) -> bool:
    """Return whether metadata or a description is asked for by name, as in a filter."""
    return _TEXT.match(asked) is not None


def by_text(store: Store, question: LookupQuestion) -> LookupResult:
    """Return what has the metadata or description that was asked for by name, as in a filter."""
    try:
        asked = parse(question.text, keys=("meta", "description"), whose="look-ups")
    except FilterError as error:
        return LookupResult(text=question.text, trouble=str(error), is_message=True)
    entries: list[MetadataTerm] = []
    part: str | None = None
    for term in asked.terms:
        if term.key == "meta":
            pairs = tuple(str(value).partition("=")[::2] for value in term.values)
            entries.append(MetadataTerm(pairs, negated=term.negated))
        elif part is None and len(term.values) == 1 and not term.negated:
            part = str(term.values[0])
        else:
            return LookupResult(text=question.text, trouble=_ONE_PART, is_message=True)
    if part is not None and len(part) < _PART_LEAST:
        return LookupResult(text=question.text, trouble=_ONE_PART, is_message=True)
    where = CollectionFilter(metadata=tuple(entries), description_part=part)
    page = store.collections.page(question.mode, where=where, limit=question.limit)
    kind = MatchKind.METADATA if entries else MatchKind.DESCRIPTION
    matches = tuple(Match(row, kind) for row in page.rows)
    return LookupResult(text=question.text, matches=matches, more=page.more)


def by_description(store: Store, question: LookupQuestion) -> Candidates:
    """Return what has the text in its description."""
    if len(question.text) < PART_LENGTH:
        return Candidates()
    rows = store.collections.described(question.mode, question.text, limit=question.limit)
    return Candidates([Match(row, MatchKind.DESCRIPTION) for row in rows])
