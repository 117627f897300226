"""Whether the store was in touch with the service to the end of a period.

Books can agree with a store that heard nothing. A verdict rests on what was heard, and on what
shows that there was nothing more to hear.
"""

from collections.abc import Iterator
from datetime import date, datetime

import msgspec

from kusanya.domain.business_day import EAT
from kusanya_books.request.days import DAY, Period


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    """What a store, or an export of one, shows of its touch with the service, in one mode."""

    first_fact_at: datetime | None = None
    """When its first fact was observed; None where there is none, or where an export does not say.
    """
    last_fact_at: datetime | None = None
    """When the newest fact was observed, up to the position that is read."""
    watched_at: datetime | None = None
    """When a watcher last noted that it runs and has the service's answers."""
    is_export: bool = False
    lacking: tuple[str, ...] = ()
    """What an export does not hold of the period, in sentences."""

    @property
    def advice(self) -> str:
        """Return how the store hears what it may have missed."""
        if self.is_export:
            return "export the store again after that, or name the store itself"
        return "run kusanya catch-up, let kusanya watch run beside the store, and close again"

    def doubts(self, period: Period, *, judged_on: date, grace_days: int) -> Iterator[str]:
        """Yield why the feed is not proven alive to the end of the period and of its grace.

        Of a run within the grace, the days up to the one before it are asked about.
        """
        yield from self.lacking
        begun = Period(first=judged_on, last=judged_on, cutoff=period.cutoff).begins
        needed = max(period.ends, min(period.ends + grace_days * DAY, begun))
        heard = [at for at in (self.last_fact_at, self.watched_at) if at is not None]
        if not heard:
            yield f"the store has heard nothing of the service, and no watcher ran: {self.advice}"
        elif max(heard) < needed:
            watched = "" if self.is_export else f", {_watched(self.watched_at)}"
            yield (
                f"the last fact is of {shown(self.last_fact_at)}{watched}; nothing shows that "
                f"the service was heard until {shown(needed)}: {self.advice}"
            )
        if self.first_fact_at is not None and self.first_fact_at >= period.ends:
            yield (
                f"the store's first fact is of {shown(self.first_fact_at)}, after the period: "
                "name the store that was used then"
            )


def _watched(at: datetime | None) -> str:
    return "no watcher noted that it runs" if at is None else f"a watcher last ran {shown(at)}"


def shown(at: datetime | None) -> str:
    """Return a moment as people read it."""
    return "no day" if at is None else f"{at.astimezone(EAT):%Y-%m-%d %H:%M} EAT"
