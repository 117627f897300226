"""Telling people of alarms, again and again, from one store and any number of processes.

The holder of the mode's lease reads, sends and keeps the book in the store, so that no cause
is sent twice; the others wait to take over. A message is in the book before it is sent, so a crash
loses none; only one in the middle of sending may come twice. What an address does not take is sent
again until it does, and that it does not is an alarm itself.

While the store is away its book cannot be read. The process that held the lease says so once, and
says when it is back.
"""

import logging
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.alarms.acknowledgements import acknowledgements
from kusanya.alarms.alarm import Alarm, AlarmList, Severity, names_of, runbook_of
from kusanya.alarms.inputs import AlarmInputs, AlarmReader
from kusanya.alarms.notices.messages import AlarmMessage, compose, together
from kusanya.alarms.notices.notices import DEBOUNCE, after_sending, due, observe
from kusanya.alarms.notices.targets import NoticeTarget
from kusanya.alarms.rules import raised
from kusanya.alarms.sender import AskSender
from kusanya.clock import Clock
from kusanya.domain.business_day import format_instant
from kusanya.errors import KusanyaError, NotificationError, StoreError
from kusanya.say import Language, Said, in_language
from kusanya.store import Store
from kusanya.store.records import NoticeBook, PendingNotice, UnsentNotice
from kusanya.wire import Mode

_log = logging.getLogger("kusanya.alarms")
ROUND_EVERY_S: Final = 15.0
_LEASE: Final = timedelta(minutes=2)
_AGAIN_FIRST: Final = timedelta(minutes=1)
_AGAIN_LAST: Final = timedelta(minutes=15)
_GIVEN_UP_AFTER: Final = timedelta(days=1)
_PENDING_MOST: Final = 100


class AlarmWatcher:
    """Reads the alarms of one mode and sends them to targets; one round at a time.

    People read messages in `language`, programs in English. `sender` asks the sender of events what
    it says of our endpoints, where it can be asked. `on_reading` is called with the inputs and
    alarms of each round, for metrics.
    """

    def __init__(
        self,
        store: Store,
        mode: Mode,
        targets: Sequence[NoticeTarget],
        *,
        by: str,
        clock: Clock,
        language: Language = Language.ENGLISH,
        sender: AskSender | None = None,
        on_reading: Callable[[AlarmInputs, tuple[Alarm, ...]], None] | None = None,
    ) -> None:
        self._store = store
        self._mode = mode
        self._targets = {target.name: target for target in targets}
        self._by = by
        self._clock = clock
        self._language = language
        self._on_reading = on_reading
        self._reader = AlarmReader(store, mode, sender=sender)
        self._leads = True
        self._away_since: datetime | None = None
        self._away_sent: set[str] = set()

    def round(self) -> None:
        """Read, send what is due, keep the book. Troubles of the store are sent, never raised."""
        try:
            self._leads = self._take_lease()
            if self._leads:
                self._notify()
        except StoreError as error:
            self._store_away(error)
        else:
            self._store_back()

    def stop(self) -> None:
        """Give up the lease."""
        try:
            self._store.alarm_notices.release_lease(self._mode, by=self._by)
        except StoreError as error:
            _log.info("the lease ends by itself", extra={"trouble": str(error)})

    def report_stopped(self, error: KusanyaError) -> None:
        """Say that polling ended by an error, unless another process watches or it was said."""
        alarm = Alarm(
            code="unwatched",
            mode=self._mode,
            subject="stopped",
            severity=Severity.URGENT,
            mark="◐",
            name="kusanya watch",
            sentence=Said("unwatched: kusanya watch has stopped: {why}.").of(why=str(error)),
            next_step="To do: correct that and start it again.",
            rows=AlarmList.COLLECTIONS,
        )
        try:
            if self._take_lease():
                now = self._clock.now()
                book = self._store.alarm_notices.load(self._mode)
                others = [one for one in book.notices if one.key != alarm.key]
                known = [one for one in book.notices if one.key == alarm.key]
                seen = observe(
                    msgspec.structs.replace(book, notices=tuple(known)),
                    [alarm],
                    acknowledged=frozenset(),
                    now=now - DEBOUNCE,
                )
                book = msgspec.structs.replace(book, notices=(*others, *seen.notices))
                book = _without_strangers(book, self._targets)
                self._send(self._with_due(book, (alarm,), frozenset(), now))
        except StoreError as trouble:
            _log.warning("nobody was told that it stopped", extra={"trouble": str(trouble)})

    def _take_lease(self) -> bool:
        until = self._clock.now() + _LEASE
        return self._store.alarm_notices.take_lease(self._mode, by=self._by, until=until)

    def _notify(self) -> None:
        now = self._clock.now()
        # A consumer that does not run tells nobody that a customer waits.
        self._store.outcomes.tell()
        inputs = self._reader.read(now=now)
        alarms = raised(inputs, format_time=lambda at: format_instant(at, now=now))
        if self._on_reading is not None:
            self._on_reading(inputs, alarms)
        held = acknowledgements(self._store, names_of(alarms), now=now)
        acknowledged = held.by_name.keys()
        known = self._store.alarm_notices.load(self._mode)
        book = observe(known, alarms, acknowledged=acknowledged, now=now)
        book = self._with_due(_without_strangers(book, self._targets), alarms, acknowledged, now)
        if book != known and not self._store.alarm_notices.save(self._mode, book, by=self._by):
            return
        self._send(book, kept=True)

    def _with_due(
        self,
        book: NoticeBook,
        alarms: Sequence[Alarm],
        acknowledged: AbstractSet[str],
        now: datetime,
    ) -> NoticeBook:
        """Return the book with the message of what is due, waiting for every target."""
        found = due(book, alarms, acknowledged=acknowledged, now=now)
        if not found or not self._targets:
            return book
        message = self._in_words(compose(found, mode=self._mode, now=now))
        new = tuple(
            PendingNotice(
                target=name, title=message.title, body=message.body, data=message.data, since=now,
                next_at=now,
            )
            for name in self._targets
        )  # fmt: skip
        book = after_sending(book, found, now=now)
        return msgspec.structs.replace(book, pending=(*book.pending, *new)[-_PENDING_MOST:])

    def _in_words(self, message: AlarmMessage) -> AlarmMessage:
        title, body = (in_language(text, self._language) for text in (message.title, message.body))
        return msgspec.structs.replace(message, title=title, body=body)

    def _send(self, book: NoticeBook, *, kept: bool = False) -> None:
        notices = self._store.alarm_notices
        if not kept and not notices.save(self._mode, book, by=self._by):
            return
        now = self._clock.now()
        ready = {one.target for one in book.pending if one.next_at <= now}
        for name in sorted(ready):
            # It may have taken long to send to the one before.
            if not self._take_lease():
                return
            book = self._send_to(self._targets[name], book)
            if not notices.save(self._mode, book, by=self._by):
                return

    def _send_to(self, target: NoticeTarget, book: NoticeBook) -> NoticeBook:
        mine = [one for one in book.pending if one.target == target.name]
        others = tuple(one for one in book.pending if one.target != target.name)
        unsent = tuple(one for one in book.unsent if one.target != target.name)
        reason = _try(target, self._in_words(together(mine)))
        now = self._clock.now()
        if reason is None:
            _log.info("sent", extra=_of(target, mine))
            return msgspec.structs.replace(book, pending=others, unsent=unsent)
        _log.warning("not sent", extra={**_of(target, mine), "trouble": reason})
        again = tuple(_again(one, now) for one in mine if now - one.since < _GIVEN_UP_AFTER)
        since = next((one.since for one in book.unsent if one.target == target.name), now)
        failed = UnsentNotice(target=target.name, since=since, reason=reason)
        return msgspec.structs.replace(book, pending=(*others, *again), unsent=(*unsent, failed))

    def _store_away(self, error: StoreError) -> None:
        now = self._clock.now()
        if self._away_since is None:
            self._away_since = now
            _log.warning("the alarms cannot be read", extra={"trouble": str(error)})
        if not self._leads or now - self._away_since < DEBOUNCE:
            return
        at = format_instant(self._away_since, now=now)
        why = in_language(str(error), Language.ENGLISH)
        message = AlarmMessage(
            title=Said("Kusanya {mode}, urgent: the store cannot be used").of(
                mode=self._mode.value
            ),
            body=Said(
                "URGENT store lost: it cannot be used since {at}: {why}. While it is away every "
                "delivery is answered 503 and no other alarm is known. To do: look at the disk or "
                "the database. See {place}"
            ).of(at=at, why=str(error), place=runbook_of("store_lost")),
            data={"mode": self._mode.value, "at": now.isoformat(), "store_lost": why},
        )
        message = self._in_words(message)
        for target in self._targets.values():
            if target.name not in self._away_sent and _try(target, message) is None:
                self._away_sent.add(target.name)

    def _store_back(self) -> None:
        if self._away_since is None:
            return
        _log.info("the alarms can be read again")
        away_since, self._away_since = self._away_since, None
        sent, self._away_sent = self._away_sent, set()
        at = format_instant(away_since, now=self._clock.now())
        message = AlarmMessage(
            title=Said("Kusanya {mode}: the store recovered").of(mode=self._mode.value),
            body=Said("recovered: the store, which was away since {at}").of(at=at),
            data={"mode": self._mode.value, "recovered": [{"key": "store_lost"}]},
        )
        message = self._in_words(message)
        for name in sorted(sent):
            reason = _try(self._targets[name], message)
            if reason is not None:
                _log.warning("not sent", extra={"target": name, "trouble": reason})


def _try(target: NoticeTarget, message: AlarmMessage) -> str | None:
    """Send a message; return why it was not taken, or None."""
    try:
        target.send(message)
    except NotificationError as error:
        return in_language(str(error), Language.ENGLISH)
    return None


def _of(target: NoticeTarget, mine: Sequence[PendingNotice]) -> dict[str, str | int]:
    codes = {alarm["code"] for one in mine for alarm in one.data.get("alarms", ())}
    return {"target": target.name, "messages": len(mine), "alarms": ",".join(sorted(codes))}


def _again(one: PendingNotice, now: datetime) -> PendingNotice:
    pause = min(_AGAIN_FIRST * 2 ** min(one.tries, 10), _AGAIN_LAST)
    return msgspec.structs.replace(one, tries=one.tries + 1, next_at=now + pause)


def _without_strangers(book: NoticeBook, targets: dict[str, NoticeTarget]) -> NoticeBook:
    """Return the book without what waits for targets that are not given any more."""
    return msgspec.structs.replace(
        book,
        pending=tuple(one for one in book.pending if one.target in targets),
        unsent=tuple(one for one in book.unsent if one.target in targets),
    )
