"""Each attempt of an intent, durable before it is sent and again when it has ended."""

from collections.abc import Iterable
from concurrent.futures import Future
from datetime import datetime
from typing import Any

import msgspec

from kusanya.client.attempts import AttemptOutcome, Classification
from kusanya.client.effects import Effects, await_durable, call
from kusanya.client.observations import answer_observation
from kusanya.clock import Clock
from kusanya.errors import (
    AuthenticationError,
    IdempotencyKeyReused,
    IntentError,
    IntentReason,
    NoAnswer,
    NotSent,
    PermissionDenied,
)
from kusanya.intents.leases import LEASE_TIME, Lease
from kusanya.intents.log import log_attempt_end, log_opened, log_sent, log_window_closed
from kusanya.intents.resolving import OPEN
from kusanya.intents.send_target import SendTarget
from kusanya.intents.window import check_window, effect_possible, latest
from kusanya.store import Store
from kusanya.store.records import (
    AttemptEnd,
    AttemptFinish,
    AttemptRow,
    AttemptStart,
    CollectionRow,
    IntentRow,
    IntentState,
    NewIntent,
)
from kusanya.telemetry.tracing import SpanName, record_span
from kusanya.wire import Collection


class IntentExists(Exception):  # noqa: N818 - control flow inside this package, never leaves it
    """The key belongs to an intent that is kept already; nothing was sent."""

    def __init__(self, intent: IntentRow) -> None:
        super().__init__(intent.id)
        self.intent = intent


class RecordedAttempts:
    """The `Attempts` of one intent: of one that is kept and leased, or of a new one.

    A new one is kept with its lease and its first attempt, in one transaction, when that attempt
    is about to be sent.
    """

    def __init__(
        self,
        lease: Lease,
        intent: IntentRow | None = None,
        before: Iterable[AttemptRow] = (),
        *,
        send_target: SendTarget,
        opening: NewIntent | None = None,
    ) -> None:
        before = tuple(before)
        self._lease = lease
        self._store: Store = lease.store
        self._clock: Clock = lease.clock
        self._send_target = send_target
        self._opening = opening
        self._leased_at = lease.clock.now()
        self._latest_at = self._leased_at if intent is None else latest(intent, before)
        self._number = 0
        self._began = 0.0
        self._took_s = 0.0
        self._opened: Future[AttemptStart] | None = None
        self._under_way = False
        """An attempt was begun and has not ended."""
        self._may_leave = False
        """The attempt under way may have been sent."""
        self._intent = intent
        self.answered: CollectionRow | None = None
        """The collection of an answer as the store had it when that became durable."""
        self.effect_possible: bool = effect_possible(before)

    @property
    def begun(self) -> bool:
        """Return whether there is an intent yet."""
        return self._intent is not None

    @property
    def intent(self) -> IntentRow:
        """Return the intent as it was last written. Raises IntentError where there is none yet."""
        if self._intent is None:
            raise IntentError("there is no such intent yet", reason=IntentReason.UNKNOWN_INTENT)
        return self._intent

    @property
    def lease(self) -> Lease:
        """Return the lease under which the intent is sent."""
        return self._lease

    def begin(self) -> Effects[None]:
        """Make the attempt durable; refuse a wrong target, a closed window, a lost lease."""
        self._may_leave = False
        self._began = self._clock.monotonic()
        if self._intent is None and self._opening is not None:
            yield from self._open(self._opening)
        else:
            yield from call(self._begin)
        log_sent(self.intent, attempt=self._number)
        self._began = self._clock.monotonic()
        self._may_leave = True

    def end(self, result: Classification[Any]) -> Effects[None]:
        """Make the end of the attempt durable, and with it the fact that an answer is."""
        self._under_way = False
        finished = yield from await_durable(lambda: self._finish(result))
        self._intent, self.answered = finished.intent, finished.collection
        self._log_end(result)

    def cut_short(self) -> None:
        """Keep how far a call came that ends without its answer, and give up its lease; blocks.

        An attempt that may have left is of unknown outcome, and stays so.
        """
        opened = self._opened
        if self._intent is None and opened is not None and opened.exception() is None:
            self._keep_opened(opened.result())
        if self._intent is None:
            return
        if self._under_way:
            result = _cut_short(left=self._may_leave)
            self._intent = self._finish(result).result().intent
            self._log_end(result)
        self._lease.release()

    def _log_end(self, result: Classification[Any]) -> None:
        """Log and trace an attempt whose end is durable."""
        log_attempt_end(self.intent, result, attempt=self._number)
        record_span(
            SpanName.ATTEMPT,
            mode=self.intent.mode.value,
            reference=self.intent.reference,
            ended_at=self._latest_at,
            took_s=self._took_s,
            error=result.error,
            attributes={
                "intent_id": self.intent.id,
                "collection_id": self.intent.collection_id,
                "attempt": self._number,
                "outcome": result.outcome.value,
                "http_status": result.status,
            },
        )

    def _finish(self, result: Classification[Any]) -> "Future[AttemptFinish]":
        now = self._latest_at = self._clock.now()
        self._took_s = self._clock.monotonic() - self._began
        self.effect_possible = self.effect_possible or result.effect_possible
        collection = result.value if isinstance(result.value, Collection) else None
        intent = self.intent
        return self._store.intents.finish_attempt(
            intent.id,
            self._number,
            AttemptEnd(
                at=now,
                outcome=result.outcome.value,
                status=result.status,
                request_id=result.request_id,
                took_us=round(self._took_s * 1_000_000),
            ),
            state=self._state(result),
            collection_id=None if collection is None else collection.id,
            sentence=None if result.error is None else str(result.error),
            # In one transaction with the end of its attempt: neither is seen without the other.
            observation=None
            if collection is None
            else answer_observation(collection, key=intent.idempotency_key, at=now),
            by=self._lease.by,
        )

    def _open(self, opening: NewIntent) -> Effects[None]:
        now = self._leased_at = self._latest_at = self._clock.now()

        def queue() -> "Future[AttemptStart]":
            self._opened = self._store.intents.begin(
                opening,
                at=now,
                by=self._lease.by,
                until=now + LEASE_TIME,
                target=self._send_target.target(),
            )
            return self._opened

        begun = yield from await_durable(queue)
        if not self._keep_opened(begun):
            raise IntentExists(begun.intent)
        log_opened(begun.intent)

    def _keep_opened(self, begun: AttemptStart) -> bool:
        """Take the new intent for ours; False where the key has one already."""
        if begun.new:
            self._intent = begun.intent
            self._lease = msgspec.structs.replace(self._lease, intent_id=begun.intent.id)
            self._number = 1
            self._under_way = True
        return begun.new

    def _begin(self) -> None:
        now = self._clock.now()
        intent = self.intent
        self._send_target.check(intent)
        self._check_window(intent, now=now)
        if now - self._leased_at > LEASE_TIME / 3:
            self._lease.take()
            self._leased_at = now
        self._number = self._store.intents.begin_attempt(
            intent.id, at=now, target=self._send_target.target()
        ).number
        self._under_way = True
        if intent.first_sent_at is None:
            self._intent = msgspec.structs.replace(intent, first_sent_at=now)

    def _check_window(self, intent: IntentRow, *, now: datetime) -> None:
        try:
            check_window(intent, latest_at=self._latest_at, now=now)
        except IntentError as refusal:
            if refusal.reason is IntentReason.WINDOW_CLOSED:
                # For good: a clock that is set back must not open it again.
                self._intent = self._store.intents.close_window(
                    intent.id, at=now, sentence=str(refusal), only_from=OPEN
                )
                log_window_closed(self._intent)
            raise

    def _state(self, result: Classification[Any]) -> IntentState:
        if result.outcome is AttemptOutcome.ANSWERED:
            return IntentState.ANSWERED
        if isinstance(result.error, IdempotencyKeyReused):
            return IntentState.REFUSED  # had an earlier attempt taken effect, it would be replayed
        if self.effect_possible:
            return IntentState.UNKNOWN
        # A refused API key says nothing about the request: with the right one it can be sent.
        about_the_key = isinstance(result.error, AuthenticationError | PermissionDenied)
        refused = result.outcome is AttemptOutcome.REFUSED and not about_the_key
        return IntentState.REFUSED if refused else IntentState.PREPARED


def _cut_short(*, left: bool) -> Classification[Any]:
    if left:
        error = NoAnswer("the call was cut short before an answer came")
        return Classification(outcome=AttemptOutcome.LOST, error=error, effect_possible=True)
    not_sent = NotSent("the call was cut short before the request was sent")
    return Classification(outcome=AttemptOutcome.NOT_SENT, error=not_sent)
