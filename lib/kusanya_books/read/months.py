"""The month that a report is about where nobody names one."""

from datetime import datetime, timedelta
from pathlib import Path

from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.store.records import Key
from kusanya.wire import Mode
from kusanya_books.read.store import exported
from kusanya_books.request.days import DAY, Period, business_day, month_of

_TICK = timedelta(microseconds=1)


def newest_month(
    store: Store, *, mode: Mode, cutoff: timedelta, before: datetime | None = None
) -> Period:
    """Return the month of the newest collection; `before` asks for one that was over then.

    A month that still runs is returned where no collection is older. Raises ConfigurationError when
    there is no collection.
    """
    newest = store.collections.page(mode, limit=1).rows
    if not newest:
        raise ConfigurationError(
            f"the store holds no {mode.value} collection yet; name a period, or the other mode"
        )
    month = month_of(business_day(newest[0].created_at, cutoff=cutoff), cutoff=cutoff)
    if before is None or month.ends <= before:
        return month
    older = store.collections.page(mode, older_than=Key.after(month.begins - _TICK), limit=1).rows
    return month_of(month.first - DAY, cutoff=cutoff) if older else month


def exported_month(
    folder: Path, *, mode: Mode, cutoff: timedelta, before: datetime | None = None
) -> Period:
    """Return the month of an export's newest day, as `newest_month` does of a store."""
    days = exported.days(folder, mode=mode)
    month = month_of(days[-1], cutoff=cutoff)
    if before is None or month.ends <= before or days[0] >= month.first:
        return month
    return month_of(month.first - DAY, cutoff=cutoff)
