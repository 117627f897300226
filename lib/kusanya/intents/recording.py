"""Each attempt of an intent, durable before it is sent and again when it has ended."""

import os
import socket
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import msgspec

from kusanya.client.attempts import Ending, Judged
from kusanya.client.effects import Steps, do
from kusanya.client.observed import answered
from kusanya.clock import Clock
from kusanya.errors import AuthenticationError, IntentError, PermissionDenied
from kusanya.intents.window import check_window, effect_possible, latest
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Collection

LEASE: Final = timedelta(seconds=60)
"""How long a claim outlives the last sign of its process; longer than one attempt can take."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """An intent that this process alone may send, until its lease runs out."""

    store: Store
    clock: Clock
    by: str
    intent_id: str

    @classmethod
    def new(cls, store: Store, clock: Clock, intent_id: str) -> "Claim":
        """Return a claim that is not taken yet; no two calls share one, also in one process."""
        by = f"{this_process()}:{uuid.uuid4().hex[:12]}"
        return cls(store=store, clock=clock, by=by, intent_id=intent_id)

    def take(self) -> None:
        """Take or prolong the claim. Raises IntentError where another process holds it."""
        until = self.clock.now() + LEASE
        if not self.store.claim_intent(self.intent_id, by=self.by, until=until):
            raise IntentError(
                "another process is sending this intent now: wait for it, then look again",
                intent_id=self.intent_id,
            )

    def release(self) -> None:
        """Give the claim up."""
        self.store.release_intent(self.intent_id, by=self.by)


class Recorded:
    """The `Attempts` of one intent. Its claim must be held."""

    def __init__(self, intent: IntentRow, claim: Claim) -> None:
        self._claim = claim
        self._store = claim.store
        self._clock = claim.clock
        self._claimed_at = claim.clock.now()
        before = claim.store.attempts(intent.id)
        self._latest_at = latest(intent, before)
        self._number = 0
        self._began = 0.0
        self.intent = intent
        """The intent as it was last written."""
        self.effect_possible: bool = effect_possible(before)

    def begin(self) -> Steps[None]:
        """Make the attempt durable; refuse where the window is over or the claim is lost."""
        yield from do(self._begin)

    def end(self, judged: Judged[Any]) -> Steps[None]:
        """Make the end of the attempt durable, and with it the fact that an answer is."""
        yield from do(lambda: self._end(judged))

    def _begin(self) -> None:
        now = self._clock.now()
        check_window(self.intent, latest_at=self._latest_at, now=now)
        if now - self._claimed_at > LEASE / 3:
            self._claim.take()
            self._claimed_at = now
        self._number = self._store.begin_attempt(self.intent.id, at=now).number
        if self.intent.first_sent_at is None:
            self.intent = msgspec.structs.replace(self.intent, first_sent_at=now)
        self._began = self._clock.monotonic()

    def _end(self, judged: Judged[Any]) -> None:
        now = self._latest_at = self._clock.now()
        self.effect_possible = self.effect_possible or judged.effect_possible
        heard = judged.value if isinstance(judged.value, Collection) else None
        saved: Callable[[], object] | None = None
        if heard is not None:
            # Queued before the end of the attempt, so that it is durable no later: a crash in
            # between leaves a fact without its attempt, never an attempt without its fact.
            fact = answered(heard, key=self.intent.idempotency_key, at=now)
            saved = self._store.submit(fact).result
        self.intent = self._store.end_attempt(
            self.intent.id,
            self._number,
            at=now,
            outcome=judged.ending.value,
            status=judged.status,
            request_id=judged.request_id,
            took_us=round((self._clock.monotonic() - self._began) * 1_000_000),
            state=self._state(judged),
            collection_id=None if heard is None else heard.id,
            sentence=None if judged.error is None else str(judged.error),
        )
        if saved is not None:
            saved()

    def _state(self, judged: Judged[Any]) -> IntentState:
        if judged.ending is Ending.ANSWERED:
            return IntentState.ANSWERED
        # A refused key says nothing about the request: with the right key it can still be sent.
        about_the_key = isinstance(judged.error, AuthenticationError | PermissionDenied)
        if judged.ending is Ending.REFUSED and not about_the_key:
            return IntentState.REFUSED
        return IntentState.UNKNOWN if self.effect_possible else IntentState.PREPARED


def this_process() -> str:
    """Return a name for this process that people can follow: machine and number."""
    return f"{socket.gethostname()}:{os.getpid()}"
