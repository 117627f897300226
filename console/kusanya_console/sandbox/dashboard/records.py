"""What the dashboard of the embedded service tells, as frozen values.

All of it is text from outside: names and addresses are shown through `cell()` alone, and an answer
of another form is refused as a whole rather than shown in part.
"""

from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.say import Said
from kusanya_console.sandbox.dashboard.errors import DashboardError

T = TypeVar("T")
VIRTUAL: Final = "virtual"


class ServiceKey(msgspec.Struct, frozen=True, kw_only=True):
    """An API key; its secret was shown once, when it was made."""

    id: str
    mode: str
    access: str
    hint: str
    created_at: datetime
    revoked_at: datetime | None = None


class ServiceTime(msgspec.Struct, frozen=True, kw_only=True):
    """The service's clock."""

    now: datetime
    kind: str
    speed: float | None = None

    @property
    def is_virtual(self) -> bool:
        """Return whether time stands still until somebody moves it."""
        return self.kind == VIRTUAL


class FaultRule(msgspec.Struct, frozen=True, kw_only=True):
    """One fault in force: how often it strikes, how often in all, for how long."""

    kind: str
    rate: float = 1.0
    times: int | None = None
    seconds: float = 5.0
    struck: int = 0

    @property
    def left(self) -> int | None:
        """Return how often it may still strike; None for without end."""
        return None if self.times is None else max(self.times - self.struck, 0)

    @property
    def frequency(self) -> str:
        """Return in words how often it strikes."""
        often = "always" if self.rate >= 1 else f"{self.rate * 100:g} %"
        return (
            often
            if self.times is None
            else Said("{our_often}, {left} of {all} times left").of(
                our_often=often, left=self.left, all=self.times
            )
        )


class ServicePicture(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the Service screen shows, read at one time."""

    time: ServiceTime
    endpoints: tuple[SenderEndpoint, ...]
    keys: tuple[ServiceKey, ...]
    faults: tuple[FaultRule, ...]


class SentAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt in the sender's own log."""

    number: int
    started_at: datetime
    ended_at: datetime
    outcome: str
    status_code: int | None = None
    error: str | None = None
    duration_ms: int = 0
    manual: bool = False

    @property
    def took(self) -> timedelta:
        """Return how long the sender waited."""
        return timedelta(milliseconds=self.duration_ms)


class SentDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """What the sender did about one event at one endpoint."""

    id: str
    event_id: str
    endpoint_id: str
    url: str
    mode: str
    status: str
    attempts: tuple[SentAttempt, ...]
    next_attempt_at: datetime | None = None


def parse_answer(answer: Any, form: type[T]) -> T:
    """Return a decoded answer as `form`. Raises DashboardError where it has another form."""
    try:
        return msgspec.convert(answer, form, strict=True)
    except msgspec.ValidationError as error:
        raise DashboardError("the dashboard answers something that cannot be read") from error


def rows(answer: Any, form: type[T]) -> tuple[T, ...]:
    """Return the rows of a list's answer. Raises DashboardError where it has another form."""
    listed = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise DashboardError("the dashboard answers something that cannot be read")
    return tuple(parse_answer(one, form) for one in listed)
