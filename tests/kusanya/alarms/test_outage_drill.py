"""The outage drill: each outage in virtual time, told to a real HTTP and a real mail server.

An outage has a cause, a time within which both have been told of it, and an end, of which both are
told too. Nothing else is sent, however long it lasts.
"""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import event
from tests.kit.sinks import http_sink, mail_sink
from tests.kit.watched_shop import NOON, ROUND, WatchedShop

from kusanya.alarms import inputs
from kusanya.alarms.notices.targets import targets
from kusanya.alarms.notices.watcher import AlarmWatcher
from kusanya.clock import ManualClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.records import Backup
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

pytest.importorskip("apprise", reason="needs the extra notify")

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Machine:
    """The store as a watcher reaches it: with a disk that may fill, or not at all."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lost = False
        self.free_bytes = 50_000_000_000

    def __getattr__(self, name: str) -> Any:
        if self.lost:
            raise StoreUnavailable("the disk is gone")
        return getattr(self.store, name)


class Drill:
    """A shop, the machine under it and who watches both."""

    def __init__(self, shop: WatchedShop) -> None:
        self.shop = shop
        self.machine = Machine(shop.store)
        self.is_full = False
        self.offset = timedelta()
        self.silent_since: datetime | None = None
        self.polls = True
        self.open: list[tuple[str, str, datetime]] = []
        """Prompts that nobody answers yet: key, phone, and when each was made."""
        self.lost: list[tuple[str, datetime]] = []
        """Payments whose event did not come: key, and when each was made."""
        event.listen(shop.store._engines.writer, "begin", self._begin)

    def _begin(self, _connection: object) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    def watcher(self, urls: list[str]) -> AlarmWatcher:
        """Return a watcher that reaches the store through the machine and sends to `urls`."""
        made = self.shop.watcher("one:1:a", *targets(urls, ()), store=self.machine)
        made._reader = inputs.AlarmReader(self.machine, Mode.LIVE)  # type: ignore[arg-type] # acts as one
        return made

    def pass_by(self, length: timedelta, watcher: AlarmWatcher, *, every: timedelta) -> None:
        """Let time pass with rounds of the watcher and beats of the poller."""
        end = self.shop.clock.now() + length
        while self.shop.clock.now() < end:
            self.shop.clock.sleep(every.total_seconds())
            if self.polls and not self.machine.lost and not self.is_full:
                self.shop.poller_runs(clock_offset=self.offset, silent_since=self.silent_since)
            watcher.round()


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """What happens, what people read of it and when at the latest."""

    begin: Callable[[Drill], None]
    end: Callable[[Drill], None]
    says: str
    within: timedelta
    again: Callable[[Drill], None] = lambda _: None
    """What it does every eight hours while it lasts."""
    lasts: timedelta = timedelta(hours=9)
    sent: int = 1
    """Messages until its end: one more where it presses more than before."""


def _fail(drill: Drill) -> None:
    drill.shop.delivered(answer=400)


def _lose_events(drill: Drill) -> None:
    for _ in range(3):
        drill.shop.learned(ago=3 * MINUTE)
        drill.lost.append((f"{drill.shop._number}", drill.shop.clock.now() - 3 * MINUTE))


def _bring_lost_events(drill: Drill) -> None:
    for key, made in drill.lost:
        drill.shop.delivered_of(key, made)


def _deliver(drill: Drill) -> None:
    drill.shop.delivered()


def _open(drill: Drill, count: int) -> None:
    for number in range(count):
        phone = f"25575400000{number}"
        drill.open.append((drill.shop.opened(phone=phone), phone, drill.shop.clock.now()))


def _hold_prompts(drill: Drill) -> None:
    _open(drill, 8)


def _let_prompts_go(drill: Drill) -> None:
    now = drill.shop.clock.now()
    for key, phone, made in drill.open:
        drill.shop.delivered_of(key, made, status="succeeded", completed_at=now, phone=phone)


def _kill_service(drill: Drill) -> None:
    drill.silent_since = drill.shop.clock.now()
    for channel in ("MPESA_TZ", "AIRTEL_TZ"):
        for number in range(8):
            phone = f"25575400000{number}"
            key = drill.shop.opened(phone=phone, channel=channel)
            drill.open.append((key, phone, drill.shop.clock.now()))


def _start_service(drill: Drill) -> None:
    drill.silent_since = None
    _let_prompts_go(drill)


def _set(name: str, value: Any) -> Callable[[Drill], None]:
    return lambda drill: setattr(drill, name, value)


def _on_machine(name: str, value: Any) -> Callable[[Drill], None]:
    return lambda drill: setattr(drill.machine, name, value)


def _miss_a_night(drill: Drill) -> None:
    made = drill.shop.clock.now() - timedelta(hours=36)
    drill.shop.store.backups.record(Backup(at=made, name="night.sqlite"), actor="cron")


def _back_up(drill: Drill) -> None:
    made = Backup(at=drill.shop.clock.now(), name="by-hand.sqlite")
    drill.shop.store.backups.record(made, actor="asha")


def _kill_pollers(drill: Drill) -> None:
    _open(drill, 1)
    drill.polls = False


def _start_pollers(drill: Drill) -> None:
    drill.polls = True
    _let_prompts_go(drill)


TOLD = 2 * MINUTE + 2 * ROUND
"""An alarm stands for two minutes before it is sent."""
OUTAGES = {
    "an endpoint fails for three days": Outage(
        begin=_fail, again=_fail, end=_deliver, says="failing: shop refused 1",
        within=TOLD, lasts=timedelta(hours=73), sent=2,
    ),
    "events do not come": Outage(
        begin=_lose_events, end=_bring_lost_events, says="silent: ", within=TOLD
    ),
    "a channel is stuck": Outage(
        begin=_hold_prompts, end=_let_prompts_go, says="stuck: ",
        within=TOLD + 2 * MINUTE, lasts=timedelta(minutes=50),
    ),
    "the service does not answer": Outage(
        begin=_kill_service, end=_start_service, says="service: it has not answered since",
        within=MINUTE + 2 * ROUND, lasts=timedelta(hours=2),
    ),
    "the store is lost": Outage(
        begin=_on_machine("lost", True), end=_on_machine("lost", False),
        says="store lost: it cannot be used", within=TOLD,
    ),
    "the poller is dead": Outage(
        begin=_kill_pollers, end=_start_pollers, says="unwatched: no poller has run",
        within=TOLD + 5 * MINUTE, lasts=timedelta(minutes=50),
    ),
    "the disk is nearly full": Outage(
        begin=_on_machine("free_bytes", 900_000_000),
        end=_on_machine("free_bytes", 50_000_000_000),
        says="disk: 900 MB are left", within=TOLD,
    ),
    "the disk is full": Outage(
        begin=_set("is_full", True), end=_set("is_full", False),
        says="store lost: it cannot be used", within=TOLD,
    ),
    "no backup is made for a night": Outage(
        begin=_miss_a_night, end=_back_up, says="backup: the newest that was verified, night.sqli",
        within=TOLD,
    ),
    "a clock is ahead": Outage(
        begin=_set("offset", timedelta(seconds=-60)), end=_set("offset", timedelta()),
        says="clock: till-3 is 60 s ahead", within=TOLD,
    ),
}  # fmt: skip


@contextmanager
def drilled(folder: Path) -> Iterator[Drill]:
    clock = ManualClock(NOON)
    with Store.open(folder / "store.db", clock=clock) as store:
        shop = WatchedShop(store, clock)
        shop.delivered()
        yield Drill(shop)


@pytest.mark.parametrize("outage", OUTAGES.values(), ids=OUTAGES.keys())
def test_people_are_notified_of_an_outage_in_time_once_and_of_its_end(
    outage: Outage,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    with drilled(tmp_path) as drill, http_sink() as http, mail_sink() as mail:
        clock = drill.shop.clock
        watcher = drill.watcher([http.url, mail.url])
        drill.pass_by(4 * MINUTE, watcher, every=ROUND)
        assert (http.received, mail.received) == ([], []), "nothing has happened yet"
        clock.sleep(7)  # it begins between two rounds
        began = clock.now()
        outage.begin(drill)
        while not (http.received and mail.received):
            drill.pass_by(ROUND, watcher, every=ROUND)
            assert clock.now() - began <= outage.within
        record_property("seconds to the notification", (clock.now() - began).total_seconds())
        assert outage.says in http.received[0]["body"]
        assert outage.says in " ".join(str(mail.received[0].get_payload(decode=True)).split())
        while clock.now() - began < outage.lasts:
            drill.pass_by(min(outage.lasts, 8 * HOUR), watcher, every=outage.lasts / 20)
            outage.again(drill)
        drill.pass_by(5 * MINUTE, watcher, every=MINUTE)
        assert len(http.received) == len(mail.received) == outage.sent
        ended = clock.now()
        outage.end(drill)
        while len(http.received) == outage.sent or len(mail.received) == outage.sent:
            drill.pass_by(MINUTE, watcher, every=MINUTE)
            assert clock.now() - ended <= 8 * MINUTE
        assert "recovered: " in http.received[-1]["body"]
        drill.pass_by(6 * HOUR, watcher, every=HOUR)
        assert len(http.received) == len(mail.received) == outage.sent + 1
