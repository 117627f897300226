"""The present state of each channel, read again when some seconds have passed."""

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.channels.history import FailureClass, FailureRate, HistoryReader
from kusanya.channels.outage_guard import OutageReader
from kusanya.domain.channels import CHANNELS, channel_label
from kusanya.domain.status import PAID
from kusanya.health.endpoints import listened, load_endpoints
from kusanya.health.stuck_prompts import StuckChannel, load_stuck
from kusanya.store import Store, check_store
from kusanya.store.records import CollectionFilter
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya.wording import Wording, outage_notice

_KEPT: Final = timedelta(seconds=15)
_KNOWN_FOR: Final = timedelta(minutes=2)
"""Where no poll and no event came for so long, that prompts hung says nothing of now."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_DOWN_SHARE: Final = 0.9
"""From this share of payments without money on, since its trouble began, a channel is down."""


class ChannelState(StrEnum):
    """How a channel is doing."""

    OK = "ok"
    TROUBLE = "trouble"
    """More payments fail, or more prompts hang, than is usual, for certain."""
    DOWN = "down"
    """Nearly all do."""


class ChannelNow(msgspec.Struct, frozen=True, kw_only=True):
    """A channel, how it is doing, and what to tell customers."""

    channel: str
    label: str
    """The name that customers know it by."""
    state: ChannelState
    since: datetime | None = None
    """Since when, as far as can be told; None where it is ok."""
    english: Wording | None = None
    """For the customer; None where it is ok."""
    swahili: Wording | None = None


def now(store: Store, *, mode: Mode) -> tuple[ChannelNow, ...]:
    """Return each channel of a mode, in a fixed order, as of some seconds ago at the most.

    By the store's clock. From any thread. Raises StoreError.
    """
    check_store(store)  # what is kept of another thing would fail in every later call
    place = (id(store), Mode(mode))
    with _lock:
        for known in [key for key, reader in _readers.items() if reader.store.is_closed]:
            del _readers[known]
        reader = _readers.setdefault(place, _Reader(store, Mode(mode)))
    return reader.read()


class _Reader:
    """Reads the channels of one mode again and again."""

    def __init__(self, store: Store, mode: Mode) -> None:
        self.store = store
        self._mode = mode
        self._history = HistoryReader(store, mode)
        self._outages = OutageReader(store, mode)
        self._lock = threading.Lock()
        self._read_at: datetime | None = None
        self._last: tuple[ChannelNow, ...] = ()

    def read(self) -> tuple[ChannelNow, ...]:
        with self._lock:
            at = self.store.clock.now()
            if self._read_at is None or abs(at - self._read_at) >= _KEPT:
                self._last = self._read(at)
                self._read_at = at
            return self._last

    def _read(self, at: datetime) -> tuple[ChannelNow, ...]:
        history = self._history.read(now=at)
        # What customers do themselves, or what we send, is no trouble of the network's.
        failing = {
            one.channel: one
            for one in self._outages.read(history, now=at)
            if one.whose is FailureClass.NETWORK
        }
        hanging = {one.channel: one for one in self._hanging(history.usual_times, at)}
        paid_at = {channel: self._paid_at(channel) for channel in hanging}
        seen = {channel for channel, _ in history.usual_failures}
        return tuple(
            _judged(channel, failing.get(channel), hanging.get(channel), paid_at.get(channel))
            for channel in sorted({*CHANNELS, *seen, *failing, *hanging})
        )

    def _hanging(self, usual: Mapping[str, timedelta], at: datetime) -> Iterator[StuckChannel]:
        """Yield the channels whose prompts hang on several phones."""
        polled = [one.polled_at for one in self.store.poll_leases.pollers(self._mode)]
        span = listened(load_endpoints(self.store, self._mode, now=at))
        if at - max((*polled, *(span or ())), default=_NEVER) > _KNOWN_FOR:
            return
        found, _ = load_stuck(self.store, self._mode, usual, now=at, listened=span)
        for one in found:
            if one.is_outage:
                yield one

    def _paid_at(self, channel: str) -> datetime | None:
        """Return when the newest payment was created for which a channel brought money."""
        where = CollectionFilter(channels=(channel,), statuses=tuple(sorted(PAID)))
        paid = self.store.collections.page(self._mode, where=where, limit=1).rows
        return paid[0].created_at if paid else None


_readers: Final[dict[tuple[int, Mode], _Reader]] = {}
_lock: Final = threading.Lock()


def _judged(
    channel: str,
    failing: FailureRate | None,
    hanging: StuckChannel | None,
    paid_at: datetime | None,
) -> ChannelNow:
    label = channel_label(channel)
    if failing is None and hanging is None:
        return ChannelNow(channel=channel, label=label, state=ChannelState.OK)
    began = [
        *([] if failing is None else [failing.since]),
        *([] if hanging is None else [hanging.oldest_at]),
    ]
    all_fail = failing is not None and failing.failed >= _DOWN_SHARE * failing.finals
    all_hang = hanging is not None and (paid_at is None or paid_at < hanging.oldest_at)
    english, swahili = outage_notice(safe(label, 40), since=min(began))
    return ChannelNow(
        channel=channel,
        label=label,
        state=ChannelState.DOWN if all_fail or all_hang else ChannelState.TROUBLE,
        since=min(began),
        english=english,
        swahili=swahili,
    )
