"""A shop in virtual time whose alarms are watched and sent to a list, an HTTP server or mail."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from tests.kit.payments import by_event, polled
from tests.kit.polling import arrival, poller_runs

from kusanya.alarms.alarm import Alarm
from kusanya.alarms.notices.messages import AlarmMessage
from kusanya.alarms.notices.targets import NoticeTarget
from kusanya.alarms.notices.watcher import ROUND_EVERY_S, AlarmWatcher
from kusanya.alarms.sender import AskSender
from kusanya.clock import ManualClock
from kusanya.errors import NotificationError
from kusanya.privacy import mask_text
from kusanya.say import Language
from kusanya.store import Store
from kusanya.wire import Mode

NOON: Final = datetime(2026, 3, 4, 12, tzinfo=UTC)
ROUND: Final = timedelta(seconds=ROUND_EVERY_S)


def assert_no_phone(alarms: Iterable[Alarm]) -> None:
    """Hold that no alarm is named by a phone: its subject is kept and shown as it is."""
    for alarm in alarms:
        names = (alarm.subject, alarm.key, alarm.id, alarm.stage, alarm.header, str(alarm.filter))
        for name in names:
            assert mask_text(name) == name, f"{alarm.code} is named by a phone"


class Inbox:
    """What was sent, and when; refuses everything while `full`."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.full = False
        self.messages: list[tuple[datetime, AlarmMessage]] = []

    def send(self, message: AlarmMessage) -> None:
        """Keep a message."""
        if self.full:
            raise NotificationError("it is full")
        self.messages.append((self.clock.now(), message))

    @property
    def codes(self) -> list[str]:
        """Return the codes of all alarms sent, and `+` with the keys of those recovered."""
        found: list[str] = []
        for _, message in self.messages:
            for data in message.data.get("messages", [message.data]):
                found += [one["code"] for one in data.get("alarms", ())]
                found += [f"+{one['key']}" for one in data.get("recovered", ())]
        return found


class WatchedShop:
    """A store in virtual time, and watchers of it."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.inbox = Inbox(clock)
        self._number = 0

    def watcher(
        self,
        by: str = "one:1:a",
        *targets: NoticeTarget,
        store: Any = None,
        language: Language = Language.ENGLISH,
        sender: AskSender | None = None,
    ) -> AlarmWatcher:
        """Return a watcher that sends to the inbox, or to other targets."""
        return AlarmWatcher(
            store or self.store,
            Mode.LIVE,
            targets or (NoticeTarget("inbox", self.inbox.send),),
            by=by,
            clock=self.clock,
            language=language,
            sender=sender,
            on_reading=lambda _inputs, alarms: assert_no_phone(alarms),
        )

    def run(
        self,
        watchers: Sequence[AlarmWatcher],
        length: timedelta,
        *,
        every: timedelta = ROUND,
        polled: bool = False,
    ) -> None:
        """Let time pass, with a round of each watcher at each step, and of a poller where asked."""
        end = self.clock.now() + length
        while self.clock.now() < end:
            self.clock.sleep(every.total_seconds())
            if polled:
                self.poller_runs()
            for watcher in watchers:
                watcher.round()

    def poller_runs(
        self, *, clock_offset: timedelta | None = None, silent_since: datetime | None = None
    ) -> None:
        """Let a poller note that it runs, and ask about what is due."""
        poller_runs(self.store, clock_offset=clock_offset, silent_since=silent_since)

    def opened(self, *, phone: str = "255754000001", channel: str = "MPESA_TZ") -> str:
        """Keep a collection that was created now; return its key."""
        self._number += 1
        key = f"{self._number}"
        fact = polled(
            key, self.clock.now(), status="created", completed_at=None, phone=phone,
            channel=channel,
        )  # fmt: skip
        self.store.record(msgspec.structs.replace(fact, observed_at=self.clock.now()))
        return key

    def learned(self, ago: timedelta) -> None:
        """Keep a final state that polling learned now, of a collection made so long ago."""
        self._number += 1
        fact = polled(f"{self._number}", self.clock.now() - ago)
        self.store.record(msgspec.structs.replace(fact, observed_at=self.clock.now()))

    def delivered(self, *, answer: int = 200, ago: timedelta = timedelta(), **fields: Any) -> None:
        """Keep a delivery that came now for a payment made so long ago, and our answer to it."""
        self._number += 1
        self.delivered_of(f"{self._number}", self.clock.now() - ago, answer=answer, **fields)

    def delivered_of(self, key: str, made: datetime, *, answer: int = 200, **fields: Any) -> None:
        """Keep a delivery that came now for the payment `key`, and our answer to it."""
        now = self.clock.now()
        fact = msgspec.structs.replace(by_event(key, made, **fields), observed_at=now)
        self.store.submit(arrival(fact, at=now, answer=answer)).result()
