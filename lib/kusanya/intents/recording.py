"""Each attempt of an intent, durable before it is sent and again when it has ended."""

from collections.abc import Callable
from typing import Any

import msgspec

from kusanya.client.attempts import Ending, Judged
from kusanya.client.effects import Steps, do
from kusanya.client.observed import answered
from kusanya.errors import AuthenticationError, IdempotencyKeyReused, PermissionDenied
from kusanya.intents.claiming import LEASE, Claim
from kusanya.intents.window import check_window, effect_possible, latest
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Collection


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
        if isinstance(judged.error, IdempotencyKeyReused):
            return IntentState.REFUSED  # had an earlier attempt taken effect, it would be replayed
        if self.effect_possible:
            return IntentState.UNKNOWN
        # A refused API key says nothing about the request: with the right one it can be sent.
        about_the_key = isinstance(judged.error, AuthenticationError | PermissionDenied)
        refused = judged.ending is Ending.REFUSED and not about_the_key
        return IntentState.REFUSED if refused else IntentState.PREPARED
