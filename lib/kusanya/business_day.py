"""The day as the books have it: East Africa Time, which has no summer time.

The service itself speaks UTC alone.
"""

from datetime import datetime, timedelta, timezone
from typing import Final

EAT: Final = timezone(timedelta(hours=3), "EAT")
"""East Africa Time: the day turns at 21:00Z."""


def day_start(instant: datetime) -> datetime:
    """Return the first instant, in EAT, of the day on which an aware `instant` lies."""
    return instant.astimezone(EAT).replace(hour=0, minute=0, second=0, microsecond=0)
