"""Ask the service about a delivery that was already acknowledged.

Runs on a thread of its own with a bounded queue, after the answer and never before it: the
acknowledgement depends on our own disk alone. What the service says is recorded as facts beside the
delivery's own, so that a difference shows up as a contradiction. Source: GET /v1/events/{id};
Delivery rules 5.
"""

import logging
import queue
import threading
import zlib
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol, Self

import msgspec

from kusanya.client.observations import event_observation, poll_observation
from kusanya.clock import Clock, SystemClock
from kusanya.errors import KusanyaError, NotFound
from kusanya.platform.closing import Closing
from kusanya.platform.forks import ForkAware
from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.wire import Collection, Event, Mode

_log: Final = logging.getLogger("kusanya.receiver")


class DoubleCheckPolicy(StrEnum):
    """Which deliveries are checked."""

    ALWAYS = "always"
    ON_CONTRADICTION = "on_contradiction"
    """Those after which the state contradicts itself, or whose event was known otherwise."""
    SAMPLED = "sampled"
    """A fixed share of all events, and every contradiction."""


class CheckClient(Protocol):
    """What the check needs of a `kusanya.Client`."""

    def get_event(self, event_id: str, /) -> Event:
        """Fetch an event. Raises KusanyaError."""
        ...

    def get_collection(self, collection_id: str, /) -> Collection:
        """Fetch a collection. Raises KusanyaError."""
        ...


class CheckOutcome(StrEnum):
    """How a check ended."""

    AGREES = "agrees"
    DIFFERS = "differs"
    """The service tells this event differently."""
    UNKNOWN_EVENT = "unknown_event"
    """The service does not know this event: a forger may hold the signing secret."""
    FAILED = "failed"
    """It could not be asked, or what it said could not be kept; nothing follows."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    event_id: str
    mode: Mode
    outcome: CheckOutcome
    differences: tuple[str, ...] = ()
    """Fields that differ, such as `type` or `data.fee`; names alone, never values."""


class DoubleCheck(ForkAware, Closing):
    """Checks deliveries in the background, on a thread that starts with the first of them.

    Given to `receiver.app` as `double_check`, it is offered each acknowledged delivery and closed
    when the application is shut down; `with` closes it too. In a forked child it begins anew.
    """

    def __init__(
        self,
        store: Store,
        clients: Mapping[Mode, CheckClient],
        *,
        policy: DoubleCheckPolicy = DoubleCheckPolicy.ON_CONTRADICTION,
        share: float = 0.05,
        clock: Clock | None = None,
        queue_events: int = 1_000,
        on_checked: Callable[[CheckResult], None] | None = None,
    ) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"a share lies between 0 and 1, not {share}")
        self._store = store
        self._clients = dict(clients)
        self._policy = policy
        self._share = share
        self._clock = clock or SystemClock()
        self._on_checked = on_checked
        self._queue_events = queue_events
        self.dropped = 0
        """Deliveries that were not checked because the queue was full or the check was stopping."""
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._queue: queue.Queue[tuple[Arrival, DeliveryCommit] | None] = queue.Queue(
            self._queue_events
        )
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def after_fork_in_child(self) -> None:
        """Leave the thread and its queue to the parent."""
        self._begin_anew()

    def offer(self, arrival: Arrival, commit: DeliveryCommit) -> None:
        """Take note of an acknowledged delivery; returns at once and never raises."""
        if (
            commit.verdict not in {Verdict.VERIFIED, Verdict.CONFLICT}
            or arrival.observed_in not in self._clients
        ):
            return
        self.start()
        try:
            self._queue.put_nowait((arrival, commit))
        except queue.Full:
            # The facts are durable; only their confirmation is missing, and it is counted.
            self.dropped += 1

    def start(self) -> None:
        """Start the thread where it does not run; called on one thread alone, as `offer` is."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run,
                args=(self._queue, self._stopping),
                name="kusanya-double-check",
                daemon=True,
            )
            self._thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def close(self) -> None:
        """Finish the check under way and drop the others; a later delivery starts it again."""
        thread = self._thread
        if thread is None:
            return
        self._stopping.set()
        while True:
            try:
                self._queue.put_nowait(None)
                break
            except queue.Full:
                self._drop_one()
        thread.join()
        self._begin_anew()

    def _drop_one(self) -> None:
        try:
            self._queue.get_nowait()
        except queue.Empty:
            return
        self.dropped += 1

    def _run(
        self,
        offers: "queue.Queue[tuple[Arrival, DeliveryCommit] | None]",
        stopping: threading.Event,
    ) -> None:
        while (offered := offers.get()) is not None:
            if stopping.is_set():
                self.dropped += 1
                continue
            try:
                checked = self._check(*offered)
                if checked is not None and self._on_checked is not None:
                    self._on_checked(checked)
            except Exception:  # noqa: BLE001 - one mistake, or a callback's, ends no later check
                _log.exception("a double check failed")

    def _check(self, arrival: Arrival, commit: DeliveryCommit) -> CheckResult | None:
        event_id, mode = arrival.event_id or "", arrival.observed_in
        differences: tuple[str, ...] | None = None
        try:
            if not self._wanted(arrival, commit):
                return None
            differences = self._compare(arrival, event_id, mode)
            outcome = CheckOutcome.DIFFERS if differences else CheckOutcome.AGREES
            if differences is None:
                outcome = CheckOutcome.UNKNOWN_EVENT
            self._poll(arrival, mode)
        except KusanyaError:
            # Not an answer about the event: the delivery stands as it was verified.
            outcome = CheckOutcome.FAILED
        return CheckResult(
            event_id=event_id, mode=mode, outcome=outcome, differences=differences or ()
        )

    def _wanted(self, arrival: Arrival, commit: DeliveryCommit) -> bool:
        if self._policy is DoubleCheckPolicy.ALWAYS or commit.verdict is Verdict.CONFLICT:
            return True
        if self._policy is DoubleCheckPolicy.SAMPLED and is_sampled(
            arrival.event_id or "", self._share
        ):
            return True
        fact = arrival.observation
        if fact is None or f"collection.{fact.collection.status}" != arrival.event_type:
            return True
        state = self._store.collections.state(fact.collection.id, fact.observed_in)
        return state is not None and bool(state.contradictions)

    def _compare(self, arrival: Arrival, event_id: str, mode: Mode) -> tuple[str, ...] | None:
        """Return the fields that differ, or None where the service knows no such event."""
        try:
            event = self._clients[mode].get_event(event_id)
        except NotFound:
            return None
        if event.id == event_id and event.data.mode == mode:
            self._keep(event_observation(event, at=self._clock.now(), observed_in=mode))
        return differing(arrival.body, event.raw)

    def _poll(self, arrival: Arrival, mode: Mode) -> None:
        collection_id = arrival.collection_id or ""
        try:
            collection = self._clients[mode].get_collection(collection_id)
        except NotFound:
            # The event's own outcome tells that already.
            return
        if collection.id == collection_id and collection.mode == mode:
            self._keep(poll_observation(collection, at=self._clock.now(), observed_in=mode))

    def _keep(self, fact: Observation) -> None:
        self._store.submit(fact).result()


_SAMPLES: Final = 2**32
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


def is_sampled(event_id: str, share: float) -> bool:
    """Return whether an event belongs to the share that is checked; everywhere the same ones do."""
    return zlib.crc32(event_id.encode()) < share * _SAMPLES


def differing(delivered: bytes, fetched: bytes) -> tuple[str, ...]:
    """Return the fields in which two events differ as JSON; absent and null are the same.

    Raises msgspec.MsgspecError for bytes that are not JSON.
    """
    ours, theirs = (_fields(msgspec.json.decode(raw)) for raw in (delivered, fetched))
    return tuple(
        sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    )


def _fields(event: Any) -> dict[str, bytes]:
    # Encoded values and not the values, because Python holds 1, 1.0 and True for equal.
    found: dict[str, bytes] = {}
    for name, value in event.items():
        if name == "data" and isinstance(value, dict):
            found.update(
                {f"data.{inner}": _encode(v) for inner, v in value.items() if v is not None}
            )
        elif value is not None:
            found[name] = _encode(value)
    return found
