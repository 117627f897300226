"""The client's logic, once: what is sent, when it is sent again, what the end means.

Every method returns steps (see `effects`) that a driver carries out. A call has one total deadline;
all its attempts carry the same key and the same bytes. Retried: no connection, no answer, 408, 425,
429, 499, 5xx, 409 other than `idempotency_key_reused`, and to a create any 4xx that is not in the
service's own words. Never retried: any other 4xx.
Source: specification, Endpoints; `FIELD` conventions in assumptions SAME_BODY and RATE_LIMITS.
"""

import logging
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import msgspec

from kusanya.client import requests, response_classifier
from kusanya.client.attempts import AttemptOutcome, Attempts, Classification, UnrecordedAttempts
from kusanya.client.clock_check import ClockCheck
from kusanya.client.contact import ServiceContact
from kusanya.client.effects import Effects, Request, send, sleep
from kusanya.client.retry_policy import RetryPolicy, pause_s, poll_pause_s
from kusanya.clock import Clock
from kusanya.domain.assumptions import REPLAY_HOURS
from kusanya.errors import (
    ConfigurationError,
    Conflict,
    IdempotencyKeyReused,
    KusanyaError,
    NoAnswer,
    NotSent,
    OutcomeUnknown,
    ProtocolError,
    RateLimited,
    ServiceError,
    ServiceUnavailable,
    WaitTimeout,
)
from kusanya.platform.arguments import check_seconds
from kusanya.say import Said
from kusanya.wire import Collection, Event, Mode, Principal

_log = logging.getLogger("kusanya.client")
_PASSING = (NotSent, NoAnswer, RateLimited, ServiceUnavailable, Conflict)
"""Troubles that end by themselves; asking again is safe where nothing is created."""


class Core:
    """What both clients do, without doing it.

    `mode` is the mode of the API key, or None where its form does not say. `chance` returns
    numbers from 0 to 1. `origin` is the base address, without a last slash. `on_request` is called
    once for each request, before anything is sent.
    """

    def __init__(
        self,
        *,
        mode: Mode | None,
        clock: Clock,
        chance: Callable[[], float],
        retry_policy: RetryPolicy,
        origin: str,
        on_request: Callable[[Request], None] | None = None,
    ) -> None:
        self.mode = mode
        self.clock = clock
        self.chance = chance
        self.retry_policy = retry_policy
        self.origin = origin
        self._on_request = on_request
        self._merchant: str | None = None
        self._live_key_confirmed = False
        self.clock_check = ClockCheck(clock)
        self.contact = ServiceContact(clock)

    @property
    def target(self) -> str:
        """Return whom creates reach: the base address, and `#` and the merchant where it is known.

        It is known before the first live create leaves.
        """
        return self.origin if self._merchant is None else f"{self.origin}#{self._merchant}"

    def create_collection(
        self, create: requests.CreateRequest, *, timeout_s: float | None = None
    ) -> Effects[Collection]:
        """Send a create under its own key or a new one, which is recorded nowhere."""
        key = create.idempotency_key or requests.new_idempotency_key()
        request = requests.creation(create.body(), idempotency_key=key)
        return (yield from self.create(request, deadline=self.deadline(timeout_s)))

    def create(
        self,
        request: Request,
        *,
        attempts: Attempts | None = None,
        deadline: float | None = None,
    ) -> Effects[Collection]:
        """Send a create until it is answered, refused, or out of time.

        Before the first live create of this client the key is asked for its mode: a test set-up
        that holds a live key must not move money. Raises what `Client.create_collection` does.
        """
        deadline = self.deadline() if deadline is None else deadline
        if self.mode is Mode.LIVE and not self._live_key_confirmed:
            yield from self._confirm_live_key(deadline)
        read = partial(response_classifier.read_created, sent=request.body or b"", mode=self.mode)
        return (
            yield from self._exchange(request, read, deadline, attempts or UnrecordedAttempts())
        )

    def collection(
        self, collection_id: str, *, deadline: float | None = None
    ) -> Effects[Collection]:
        """Ask for the present state of a collection."""
        read = partial(response_classifier.read_collection, asked=collection_id, mode=self.mode)
        return (yield from self._ask(requests.collection(collection_id), read, deadline))

    def event(self, event_id: str, *, deadline: float | None = None) -> Effects[Event]:
        """Ask for an event."""
        read = partial(response_classifier.read_event, asked=event_id, mode=self.mode)
        return (yield from self._ask(requests.event(event_id), read, deadline))

    def whoami(self, *, deadline: float | None = None) -> Effects[Principal]:
        """Ask whose API key this is."""
        return (
            yield from self._ask(requests.whoami(), response_classifier.read_principal, deadline)
        )

    def wait(self, collection_id: str, *, timeout_s: float) -> Effects[Collection]:
        """Ask until the collection is final; troubles that pass are waited out."""
        check_seconds("a timeout", timeout_s, above=None)
        until = self.clock.monotonic() + timeout_s
        last = False
        for poll in count(1):
            trouble: KusanyaError | None = None
            try:
                deadline = min(until, self.deadline())
                found = yield from self.collection(collection_id, deadline=deadline)
            except _PASSING as error:
                trouble = error
            else:
                if found.is_final:
                    return found
            left_s = until - self.clock.monotonic()
            if last or left_s <= 0:
                word = "could not be asked" if trouble is not None else "is not final"
                raise WaitTimeout(
                    f"{collection_id} {word} after {timeout_s:g} s; "
                    "it may still be paid: wait for its event or ask again"
                ) from trouble
            pause = poll_pause_s(poll, chance=self.chance())
            if pause >= left_s:
                # One more poll close to the end, with some time left for its answer.
                last, pause = True, max(left_s - 1.0, left_s / 2)
            yield from sleep(pause)
        raise AssertionError("count() never ends")

    def deadline(self, timeout_s: float | None = None) -> float:
        """Return when a call that begins now must end; `timeout_s` stands for the policy's."""
        timeout_s = self.retry_policy.timeout_s if timeout_s is None else timeout_s
        check_seconds("a timeout", timeout_s)
        return self.clock.monotonic() + timeout_s

    def _ask(
        self,
        request: Request,
        read: response_classifier.Reader[response_classifier.Resource],
        deadline: float | None,
    ) -> Effects[response_classifier.Resource]:
        until = self.deadline() if deadline is None else deadline
        return (yield from self._exchange(request, read, until, UnrecordedAttempts()))

    def _confirm_live_key(self, deadline: float) -> Effects[None]:
        try:
            principal = yield from self.whoami(deadline=deadline)
        except _PASSING as error:
            raise NotSent(
                "the live API key could not be confirmed, so nothing was created"
            ) from error
        if principal.mode is not Mode.LIVE:
            raise ConfigurationError(
                "the service says this key is in test mode, its form says live; nothing was sent"
            )
        self._merchant = principal.merchant_id
        self._live_key_confirmed = True

    def _exchange(
        self,
        request: Request,
        read: response_classifier.Reader[response_classifier.Resource],
        deadline: float,
        attempts: Attempts,
    ) -> Effects[response_classifier.Resource]:
        history = _CallHistory(effect_possible=attempts.effect_possible)
        if self._on_request is not None:
            # Once for all attempts: an error of it must not hide what became of an earlier one.
            self._on_request(request)
        for number in count(1):
            left_s = deadline - self.clock.monotonic()
            if left_s <= 0:
                break
            yield from attempts.begin()
            asked_at = self.clock.monotonic()
            reply = yield from send(request, within_s=min(left_s, self.retry_policy.attempt_s))
            took_s = self.clock.monotonic() - asked_at
            self.clock_check.note(reply, took_s=took_s)
            self.contact.note(reply, took_s=took_s)
            result = response_classifier.classify(request, reply, read, now=self.clock.now())
            yield from attempts.end(result)
            history = history.after(result)
            if result.value is not None:
                return result.value
            if not result.again or number >= self.retry_policy.attempts:
                break
            pause = pause_s(number, chance=self.chance(), retry_after_s=_retry_after(result.error))
            if self.clock.monotonic() + pause >= deadline:
                break
            _log_retry(request, result, attempt=number, pause=pause)
            yield from sleep(pause)
        raise history.error(request)


def _log_retry(
    request: Request, result: Classification[Any], *, attempt: int, pause: float
) -> None:
    details = {
        "method": request.method,
        "path": request.path,
        "attempt": attempt,
        "outcome": result.outcome.value,
        "status": result.status,
        "request_id": result.request_id,
        "why": str(result.error),
        "pause_s": round(pause, 3),
    }
    _log.warning(
        "request will be sent again", extra={k: v for k, v in details.items() if v is not None}
    )


def _retry_after(error: KusanyaError | None) -> float | None:
    # A request to wait is respected, also from a proxy.
    cause = error.__cause__ if isinstance(error, NoAnswer) else error
    return cause.retry_after_s if isinstance(cause, ServiceError) else None


class _CallHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What all attempts of a call say together."""

    sent: int = 0
    lost: bool = False
    effect_possible: bool
    """An attempt before the last may have had an effect."""
    last: Classification[Any] | None = None

    def after(self, result: Classification[Any]) -> "_CallHistory":
        before = self.last is not None and self.last.effect_possible
        return _CallHistory(
            sent=self.sent + (result.outcome is not AttemptOutcome.NOT_SENT),
            lost=self.lost or result.outcome is AttemptOutcome.LOST,
            effect_possible=self.effect_possible or before,
            last=result,
        )

    def error(self, request: Request) -> KusanyaError:
        """Return the error that a call without an answer ends in."""
        if self.last is None or self.last.error is None:
            return NotSent("no time was left to send the request")
        error = self.last.error
        if request.method != "POST":
            return error
        # An error speaks of the last attempt only: a proxy's 404 or a revoked key does not say
        # what became of the one before. A reused key does: ours would have been replayed.
        decided = isinstance(error, IdempotencyKeyReused | ProtocolError)
        silent_on_earlier = self.effect_possible and not decided
        # Nothing but 5xx stays ServiceUnavailable, which says as much about the outcome.
        only_failures = isinstance(error, ServiceUnavailable) and not self.lost
        if not isinstance(error, NoAnswer) and (not silent_on_earlier or only_failures):
            return error
        unknown = OutcomeUnknown(
            Said(
                "the create was sent and no usable answer came: the customer may have been "
                "charged. Send the same key with the same bytes within {hours} hours, or wait for "
                "an event with this reference"
            ).of(hours=REPLAY_HOURS),
            idempotency_key=request.idempotency_key,
            reference=response_classifier.reference_of(request),
            attempts=self.sent,
        )
        unknown.__cause__ = error
        return unknown
