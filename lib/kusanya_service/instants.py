"""Instants as whole milliseconds since 1970 in UTC: stored, compared and printed alike.

A float loses instants and a datetime costs too much per request; an int does neither.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

SECOND_MS: Final = 1_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def to_ms(at: datetime) -> int:
    """Return an aware datetime as milliseconds since 1970, cut down to a whole one."""
    return (at - _EPOCH) // _MILLISECOND


def from_ms(at_ms: int) -> datetime:
    """Return the aware UTC datetime of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def span_ms(span: timedelta) -> int:
    """Return a duration in whole milliseconds."""
    return span // _MILLISECOND


def iso(at_ms: int) -> str:
    """Return an instant as the wire shows it: ISO 8601 in UTC with milliseconds and a Z."""
    second, rest = divmod(at_ms, SECOND_MS)
    return f"{_second(second)}.{rest:03d}Z"


def iso_or_none(at_ms: int | None) -> str | None:
    """Return an instant as the wire shows it, and None for one that has not come."""
    return None if at_ms is None else iso(at_ms)


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
