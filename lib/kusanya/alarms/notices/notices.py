"""Which alarms people are sent, and when. Pure: from a book of notices to the next one.

- An alarm is sent once it has stood for two minutes, together with all others that are due.
- What stands is not sent again. It is news only if it presses more than before, or reaches a new
  stage (an endpoint that fails is disabled by now, a second payment has contradicting facts), and
  then at most every half an hour.
- A warning waits until five minutes have passed since the last message; urgent ones do not, and
  take the waiting warnings with them.
- What follows from another alarm is silent while that stands, and has not recovered.
- An acknowledged alarm is silent. So is a muted one, until the mute ends: then it is sent as new.
- What was sent and is gone for five minutes has recovered, which is sent too. What comes and goes
  within that time is one outbreak.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.alarms.alarm import Alarm, Severity
from kusanya.say import keep
from kusanya.store.records import AlarmNotice, NoticeBook

DEBOUNCE: Final = timedelta(minutes=2)
"""The first retry of a failed delivery comes after one."""
GROUPED_FOR: Final = timedelta(minutes=5)
GONE_FOR: Final = timedelta(minutes=5)
STAGES_APART: Final = timedelta(minutes=30)
_STAGES_KEPT: Final = 50
_MOST: Final = 500
"""More alarms at once are one outage: the oldest of them are kept."""


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be sent now, in one message."""

    alarms: tuple[Alarm, ...] = ()
    """The urgent first, then in the order of the rules."""
    recovered: tuple[AlarmNotice, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.alarms or self.recovered)


def observe(
    book: NoticeBook, alarms: Iterable[Alarm], *, acknowledged: AbstractSet[str], now: datetime
) -> NoticeBook:
    """Return the book after a reading: what was raised, what is not any more.

    `acknowledged` are the names of alarms that somebody looks after, or that are muted.
    """
    known = {notice.key: notice for notice in book.notices}
    causes = list(alarms)
    raised = {one.key: one for one in causes if not _is_silent(one, acknowledged)}
    standing = {one.key: one for cause in causes for one in (cause, *cause.follows)}
    notices = [_gone(one, now) for one in book.notices if one.key not in standing]
    # What is looked after neither begins nor recovers, but is known to stand.
    notices += [
        msgspec.structs.replace(
            known[key], gone_at=None, is_new=known[key].is_new or one.muted_as in acknowledged
        )
        for key, one in standing.items()
        if key in known and key not in raised
    ]
    notices += [_seen(known.get(key), alarm, now) for key, alarm in raised.items()]
    kept = [one for one in notices if one.sent_at is not None or one.gone_at is None]
    kept.sort(key=lambda one: (one.sent_at is None, one.began_at, one.key))
    return msgspec.structs.replace(book, notices=tuple(kept[:_MOST]))


def due(
    book: NoticeBook, alarms: Iterable[Alarm], *, acknowledged: AbstractSet[str], now: datetime
) -> Due:
    """Return what is to be sent of an observed book."""
    notices = {notice.key: notice for notice in book.notices}
    ripe = [
        alarm
        for alarm in alarms
        if not _is_silent(alarm, acknowledged)
        and (notice := notices.get(alarm.key)) is not None
        and _is_ripe(notice, now, after=timedelta() if alarm.is_proven else DEBOUNCE)
    ]
    recovered = tuple(
        one for one in book.notices if one.gone_at is not None and now - one.gone_at >= GONE_FOR
    )
    sent = [one.sent_at for one in book.notices if one.sent_at is not None]
    is_soon = bool(sent) and now - max(sent) < GROUPED_FOR
    if is_soon and not any(one.severity is Severity.URGENT for one in ripe):
        ripe = []
    ripe.sort(key=lambda one: one.severity is not Severity.URGENT)
    return Due(alarms=tuple(ripe), recovered=recovered)


def after_sending(book: NoticeBook, sent: Due, *, now: datetime) -> NoticeBook:
    """Return the book once a message has reached somebody."""
    sent_keys = {alarm.key for alarm in sent.alarms}
    over = {notice.key for notice in sent.recovered}
    return msgspec.structs.replace(
        book,
        notices=tuple(
            msgspec.structs.replace(one, sent_at=now, is_new=False) if one.key in sent_keys else one
            for one in book.notices
            if one.key not in over
        ),
    )


def _is_silent(alarm: Alarm, acknowledged: AbstractSet[str]) -> bool:
    return not acknowledged.isdisjoint(alarm.names)


def _seen(known: AlarmNotice | None, alarm: Alarm, now: datetime) -> AlarmNotice:
    urgent = alarm.severity is Severity.URGENT
    if known is None:
        return AlarmNotice(
            key=alarm.key, name=keep(alarm.name), stages=(alarm.stage,), is_urgent=urgent,
            seen_at=now, began_at=now,
        )  # fmt: skip
    worse = (urgent and not known.is_urgent) or alarm.stage not in {"", *known.stages}
    return msgspec.structs.replace(
        known,
        name=keep(alarm.name),
        stages=known.stages if alarm.stage in known.stages else _added(known, alarm.stage),
        is_urgent=urgent or known.is_urgent,
        seen_at=now if worse else known.seen_at,
        is_new=known.is_new or worse,
        gone_at=None,
    )


def _added(known: AlarmNotice, stage: str) -> tuple[str, ...]:
    return (*known.stages, stage)[-_STAGES_KEPT:]


def _gone(one: AlarmNotice, now: datetime) -> AlarmNotice:
    return one if one.gone_at is not None else msgspec.structs.replace(one, gone_at=now)


def _is_ripe(notice: AlarmNotice, now: datetime, *, after: timedelta) -> bool:
    if not notice.is_new or now - notice.seen_at < after:
        return False
    return notice.sent_at is None or now - notice.sent_at >= STAGES_APART
