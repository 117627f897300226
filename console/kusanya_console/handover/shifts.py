"""When the shifts of a desk begin."""

from datetime import datetime, timedelta
from typing import Final

from kusanya.domain.business_day import day_start

_SHIFTS: Final = (6, 14, 22)
"""Hours of East Africa."""


def shift_before(at: datetime) -> datetime:
    """Return the last beginning of a shift up to an instant."""
    day = day_start(at)
    starts = [day + timedelta(days=back, hours=hour) for back in (-1, 0) for hour in _SHIFTS]
    return max(start for start in starts if start <= at)


def next_shift(at: datetime) -> datetime:
    """Return the next beginning of a shift after an instant."""
    day = day_start(at)
    starts = [day + timedelta(days=on, hours=hour) for on in (0, 1) for hour in _SHIFTS]
    return min(start for start in starts if start > at)
