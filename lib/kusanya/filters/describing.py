"""From a filter to a text that is read as the same filter. Pure."""

from datetime import date, time

from kusanya.domain.collection_columns import FieldType
from kusanya.filters.terms import KEYS, UNITS, Filter, Range, Term, TimeRange, Value
from kusanya.filters.values import unknown_word


def describe(found: Filter) -> str:
    """Return a text that `parse` reads as the same filter."""
    said = ["!"] if found.unwell else []
    said.extend(_describe_term(term) for term in found.terms)
    return " ".join(said)


def _describe_term(term: Term) -> str:
    slips = any(isinstance(value, str) and unknown_word(term.key, value) for value in term.values)
    op = "=" if term.exact or slips else ":"
    first = term.values[0]
    if len(term.values) == 1 and isinstance(first, (Range, TimeRange)):
        said = term.key + _ends(term.key, first)
    else:
        said = term.key + op + ",".join(_say(term.key, value) for value in term.values)
    said = f"-{said}" if term.negated else said
    return f'"{said}"' if any(character.isspace() for character in said) else said


def _say(key: str, value: Value) -> str:
    return value if isinstance(value, str) else _ends(key, value).removeprefix(":")


def _ends(key: str, value: Range | TimeRange) -> str:
    if isinstance(value, Range):
        low, high = _number(key, value.low), _number(key, value.high)
    else:
        low, high = _clock(value.begin), _clock(value.end)
    if low == high and low is not None:
        return f":{low}"
    if high is None:
        return f">={low}"
    return f"<={high}" if low is None else f":{low}..{high}"


def _number(key: str, number: int | None) -> str | None:
    if number is None or KEYS[key] is not FieldType.AGE:
        return None if number is None else f"{number}"
    unit = next(unit for unit in ("d", "h", "m", "s") if number % UNITS[unit] == 0)
    return f"{number // UNITS[unit]}{unit}"


def _clock(when: time | date | None) -> str | None:
    if when is None:
        return None
    return f"{when:%H:%M}" if isinstance(when, time) else when.isoformat()
