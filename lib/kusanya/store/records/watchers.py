"""What the programs that watch a store note in it: that they run, and what they sent to people."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from kusanya.wire import Mode


class Poller(msgspec.Struct, frozen=True, kw_only=True):
    """A process that asks about open collections, and when it last noted that it runs."""

    name: str
    mode: Mode
    polled_at: datetime
    clock_offset: timedelta | None = None
    """How far its machine's clock is behind the service's; negative where it is ahead."""
    silent_since: datetime | None = None
    """Since when the service has not answered it; None where it does."""


class AlarmNotice(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm that stands, or did until lately, and whether people have been sent it."""

    key: str
    """The same in every outbreak."""
    name: str
    stages: tuple[str, ...]
    """Those that it has reached, the newest last."""
    is_urgent: bool
    seen_at: datetime
    """When this outbreak, or its present stage, was first seen."""
    began_at: datetime
    """When the outbreak was first seen."""
    sent_at: datetime | None = None
    """When it was last sent; None while it has not been."""
    is_new: bool = True
    """True while its present stage has not been sent."""
    gone_at: datetime | None = None
    """Since when it is not raised any more; None while it is."""


class UnsentNotice(msgspec.Struct, frozen=True, kw_only=True):
    """An address that does not take notifications, as far as it may be shown."""

    target: str
    since: datetime
    reason: str


class PendingNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A message on its way to one address; kept until the address has taken it."""

    target: str
    title: str
    body: str
    data: dict[str, Any]
    """The same for a program."""
    since: datetime
    next_at: datetime
    tries: int = 0


class NoticeBook(msgspec.Struct, frozen=True, kw_only=True):
    """What the notifications of one mode have come to; empty at the beginning."""

    notices: tuple[AlarmNotice, ...] = ()
    pending: tuple[PendingNotice, ...] = ()
    unsent: tuple[UnsentNotice, ...] = ()
