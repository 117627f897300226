"""The hairline beside a list: its thumb is where the list stands in time; a click goes there.

A native bar would show the place in the few pages that are held. The rail counts by hourly rollups:
half of its height is half of the records of its days, so a busy morning is as long as it was.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widget import Widget

from kusanya_console.ui.vocabulary import ACCENT, RULE
from kusanya_console.widgets.sheet import PAST, as_past

_HOUR = timedelta(hours=1)
_MOMENT = timedelta(seconds=1)
Hours = Sequence[tuple[datetime, int]]


def place_of(at: datetime, hours: Hours, *, now: datetime) -> float:
    """Return how much of the records is newer than `at`: 0 at the newest end, 1 at the oldest.

    Within an hour records are taken as spread evenly, in the present hour up to `now`.
    """
    total = sum(count for _, count in hours)
    if not total:
        return 0.0
    newer = 0.0
    for hour, count in hours:
        end = _end(hour, now)
        newer += count * min(max((end - at) / (end - hour), 0.0), 1.0)
    return newer / total


def instant_at(place: float, hours: Hours, *, now: datetime) -> datetime | None:
    """Return the instant that so much of the records is newer than; None without any."""
    left = place * sum(count for _, count in hours)
    for hour, count in reversed(hours):
        if left <= count:
            end = _end(hour, now)
            return end - (end - hour) * (left / count)
        left -= count
    return hours[0][0] if hours else None


def _end(hour: datetime, now: datetime) -> datetime:
    return max(min(hour + _HOUR, now), hour + _MOMENT)


class TimeRail(Widget):
    """One column; posts `Pointed` with the instant that was clicked."""

    class Pointed(Message):
        """Somebody wants to see the list at an instant; None asks for the newest."""

        def __init__(self, at: datetime | None) -> None:
            super().__init__()
            self.at = at

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._hours: Hours = ()
        self._at: datetime | None = None
        self._now: datetime | None = None

    def show(self, hours: Hours, at: datetime | None, *, now: datetime) -> None:
        """Put the thumb where `at` stands among `hours`; without an instant there is none."""
        before = self.thumb
        self._hours, self._at, self._now = hours, at, now
        if self.thumb != before:
            self.refresh()

    @property
    def thumb(self) -> int | None:
        """Return the line of the thumb, or None where there is nothing to point at."""
        if self._at is None or self._now is None or not self._hours:
            return None
        place = place_of(self._at, self._hours, now=self._now)
        return round(place * max(self.size.height - 1, 0))

    def render(self) -> Text:
        """Return the hairline with its thumb."""
        drawn = Text(no_wrap=True, end="")
        for line in range(self.size.height):
            here = line == self.thumb
            role = RULE if not here else as_past(ACCENT) if self.has_class(PAST) else ACCENT
            drawn.append(("\n" if line else "") + ("┃" if here else "│"), role)
        return drawn

    def on_click(self, event: events.Click) -> None:
        """Go to the place in time under the mouse."""
        event.stop()
        if self._hours and self._now is not None:
            place = event.y / max(self.size.height - 1, 1)
            at = instant_at(place, self._hours, now=self._now) if event.y else None
            self.post_message(self.Pointed(at))
