"""What the alarm rules judge: one reading of a store, and what the sender says of its endpoints."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.alarms.noise import Noise, load_noise
from kusanya.alarms.open_anomalies import OpenAnomaly, OpenAnomalyReader
from kusanya.alarms.second_payments import SecondPaymentReader
from kusanya.alarms.sender import AskSender, LastWord, SenderEndpoint, our_name
from kusanya.alarms.silence import Silence, load_silence
from kusanya.alarms.stalled_intents import StalledIntents, count_stalled, stalled_intents
from kusanya.channels.history import FailureRate, HistoryReader
from kusanya.channels.outage_guard import OutageReader
from kusanya.domain.assumptions import REPLAY_WINDOW
from kusanya.health.report import Health, health
from kusanya.health.service_silence import ServiceSilence, load_service_silence
from kusanya.store import Store
from kusanya.store.records import (
    BackupStatus,
    CollectionRow,
    IntentRow,
    IntentState,
    Poller,
    Restore,
    UnsentNotice,
)
from kusanya.store.records.outcomes import ConsumerRow
from kusanya.wire import Mode

MISSING_AFTER: Final = timedelta(hours=1)
"""An event that is late for so long has failed at its first three attempts."""
_MISSING_WITHIN: Final = timedelta(days=1)
_POLLED_WITHIN: Final = timedelta(minutes=10)
"""What a poller noted longer ago says nothing about its machine's clock now."""
_UNKNOWN_READ: Final = 100
CLOSING_WITHIN: Final = timedelta(hours=2)
"""So long before its window ends people are told that a creation still has no answer."""


class AlarmInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the rules judge, as of one instant, in one mode."""

    mode: Mode
    at: datetime
    health: Health
    silence: Silence | None
    stalled: StalledIntents
    unknown: tuple[IntentRow, ...]
    """Intents whose outcome is unknown, the newest 100."""
    closing: int = 0
    """How many of all that are unknown may be replayed for a short while only."""
    service_silence: ServiceSilence | None = None
    missing_events: int = 0
    """Events of the last day that have been missing for an hour."""
    anomalies: tuple[OpenAnomaly, ...] = ()
    noise: tuple[Noise, ...] = ()
    paid_again: tuple[CollectionRow, ...] = ()
    """Payments of orders that were paid before, the newest first."""
    consumers: tuple[ConsumerRow, ...] = ()
    failure_rates: tuple[FailureRate, ...] = ()
    pollers: tuple[Poller, ...] = ()
    """Those that ran within minutes, with what they noted of their clocks."""
    free_bytes: int | None = None
    """Room on the disk of the store's file; None for a database server's."""
    send_failures: tuple[UnsentNotice, ...] = ()
    restore: Restore | None = None
    """The last restore of the store from a backup."""
    backup: BackupStatus = BackupStatus()
    """The newest verified backup of the store, and how old it may become."""
    months_until: datetime | None = None
    """Until when deliveries have tables of their months; None where they are in one."""
    sender: tuple[SenderEndpoint, ...] = ()
    """What the sender says of the endpoints of this mode, where it can be asked."""

    @property
    def clock_offsets(self) -> dict[str, timedelta]:
        """Return how far each machine's clock is behind the service's, as noted last there."""
        found: dict[str, timedelta] = {}
        for poller in self.pollers:
            if poller.clock_offset is not None:
                found.setdefault(poller.name.partition(":")[0], poller.clock_offset)
        return found

    def our_name(self, one: SenderEndpoint) -> str:
        """Return the name that our receiver has for an endpoint of the sender."""
        return our_name(one, [known.endpoint for known in self.health.endpoints], self.sender)

    def with_sender(self, endpoints: Iterable[SenderEndpoint]) -> "AlarmInputs":
        """Return these inputs and what the sender says; it keeps the endpoints of both modes."""
        mine = tuple(one for one in endpoints if one.mode == self.mode.value)
        return msgspec.structs.replace(self, sender=mine)


class AlarmReader:
    """Reads the inputs of one mode again and again; what changes slowly is kept for a while.

    `read` reads the store, and asks the `sender` where it can be asked: on one thread, one call at
    a time.
    """

    def __init__(self, store: Store, mode: Mode, *, sender: AskSender | None = None) -> None:
        self._store = store
        self._mode = mode
        self._sender = LastWord(sender or tuple)
        self._history = HistoryReader(store, mode)
        self._outages = OutageReader(store, mode)
        self._anomalies = OpenAnomalyReader(store, mode)
        self._second_payments = SecondPaymentReader(store, mode)

    def read(self, *, now: datetime) -> AlarmInputs:
        """Return what the store says of the mode; bounded lists and rollups. Raises StoreError."""
        store, mode = self._store, self._mode
        history = self._history.read(now=now)
        pollers = tuple(
            one for one in store.poll_leases.pollers(mode) if now - one.polled_at <= _POLLED_WITHIN
        )
        found = AlarmInputs(
            mode=mode,
            at=now,
            health=health(store, mode, now=now, usual_times=history.usual_times),
            silence=load_silence(store, mode, now=now),
            stalled=count_stalled(stalled_intents(store, mode, now=now), now=now),
            unknown=unknown_intents(store, mode),
            closing=store.intents.count_unknown(
                mode, sent_within=(now - REPLAY_WINDOW, now - REPLAY_WINDOW + CLOSING_WITHIN)
            ),
            missing_events=store.deliveries.count_missing(
                mode, since=now - _MISSING_WITHIN, until=now - MISSING_AFTER
            ),
            anomalies=self._anomalies.read(now=now),
            noise=load_noise(store, mode, now=now),
            paid_again=self._second_payments.read(now=now),
            consumers=tuple(one for one in store.outcomes.consumers() if one.mode is mode),
            failure_rates=self._outages.read(history, now=now),
            pollers=pollers,
            service_silence=load_service_silence(store, mode, pollers, now=now),
            free_bytes=store.free_bytes,
            send_failures=store.alarm_notices.unsent(mode),
            restore=store.restores.of(mode),
            backup=store.backups.status(),
            months_until=store.retention.months_until(),
        )
        return found.with_sender(self._sender())


def load(
    store: Store, mode: Mode, *, now: datetime, sender: AskSender | None = None
) -> AlarmInputs:
    """Return what a store tells of one mode, and its sender, read once. Raises StoreError."""
    return AlarmReader(store, mode, sender=sender).read(now=now)


def format_unknown(count: int) -> str:
    """Return a count of unknown outcomes as far as was looked."""
    return f"{_UNKNOWN_READ - 1}+" if count >= _UNKNOWN_READ else f"{count}"


def unknown_intents(store: Store, mode: Mode) -> tuple[IntentRow, ...]:
    """Return the newest intents whose outcome is unknown. Raises StoreError."""
    return store.intents.page(mode, states=(IntentState.UNKNOWN,), limit=_UNKNOWN_READ).rows
