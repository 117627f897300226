"""The error tree. Every error that leaves a public function is one of these.

    KusanyaError
    ├── ConfigurationError          a profile, variable or option cannot be used
    ├── WireError                   bytes are not the resource they should be
    ├── webhooks.SignatureError     a delivery is not authentic; one class per cause
    ├── ServiceError                the service answered, and the answer is an error
    │   ├── AuthenticationError     401: the key is unknown or revoked
    │   ├── PermissionDenied        403: the key may not do this
    │   ├── NotFound                404: no such object in this key's mode
    │   ├── InvalidRequest          400, 405, 413, 415, 422: the request itself is wrong
    │   ├── IdempotencyKeyReused    409: this key was used with another body; final
    │   ├── Conflict                409 for any other reason; may pass
    │   ├── RateLimited             429
    │   └── ServiceUnavailable      5xx
    ├── ProtocolError               an answer that the specification does not allow
    ├── NotSent                     the request never left; nothing happened
    ├── NoAnswer                    the request left and no usable answer came in time
    │   └── OutcomeUnknown          the same for a create: the customer may have been charged
    ├── WaitTimeout                 a collection was not final in time; it may still become so
    ├── IntentError                 an intent cannot be sent, resumed or decided as asked
    ├── AmountChanged               an order is, or may be, charged with another amount
    ├── NotificationError           an address did not take a message
    ├── ReconcileError              what reconciliation refuses
    │   ├── FrameError              a frame does not have the columns and types of its schema
    │   ├── InputRefused            a ledger, statement, mapping or tariff cannot be used
    │   └── PackRefused             the pack cannot be written where it was asked for
    └── StoreError
        ├── StoreUnavailable        it cannot be opened, read or written now
        ├── StoreBusy               its queue is full; nothing was written, try again
        ├── StoreTooNew             a newer version wrote it; nothing was touched
        └── StoreDamaged            its contents do not agree with themselves

ValueError and TypeError stay for the caller's own mistakes. No error carries a payload, a secret or
a full phone number; messages say what to do next. Every one survives pickle and copy with its
fields, so that it may come from a worker process.
"""

from enum import StrEnum
from typing import Any


class KusanyaError(Exception):
    """Base of every error of this library."""

    def __reduce__(self) -> tuple[Any, ...]:
        # As they are, without a second __init__: what it asks for is not in `args`.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[KusanyaError], args: tuple[Any, ...]) -> KusanyaError:
    return kind.__new__(kind, *args)


class ConfigurationError(KusanyaError):
    """A profile, an environment variable or an option cannot be used as it stands."""


class WireError(KusanyaError):
    """Bytes are not the resource they should be; the message never quotes them."""


class ServiceError(KusanyaError):
    """The service answered with an error.

    `status` is the HTTP status, `code` the service's error code where the body had one, `param`
    the field it names, `request_id` what to quote to the service's support.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.request_id = request_id
        self.retry_after_s = retry_after_s


class AuthenticationError(ServiceError):
    """401: the service does not know this API key, or it was revoked."""


class PermissionDenied(ServiceError):  # noqa: N818 - reads as the condition it states
    """403: this API key may not do that."""


class NotFound(ServiceError):  # noqa: N818 - the word every client of an API expects
    """404: there is no such object in the mode of this API key."""


class InvalidRequest(ServiceError):  # noqa: N818 - the word every client of an API expects
    """The request itself is wrong; sending it again would change nothing."""


class IdempotencyKeyReused(ServiceError):  # noqa: N818 - named after the code it reports
    """409: the key was used before with another body. Final; never retried with any key."""


class Conflict(ServiceError):  # noqa: N818 - the word every client of an API expects
    """409 for a reason other than a reused key; the same request may pass later."""


class RateLimited(ServiceError):  # noqa: N818 - the word every client of an API expects
    """429: too many requests; `retry_after_s` says how long to wait where the service did."""


class ServiceUnavailable(ServiceError):  # noqa: N818 - the word every client of an API expects
    """5xx: the service failed. A create may or may not have happened."""


class ProtocolError(KusanyaError):
    """The service answered something the specification does not allow.

    After a create this is as good as no answer: `outcome_unknown` is true where the request may
    have had an effect.
    """

    def __init__(self, message: str, *, status: int | None, outcome_unknown: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.outcome_unknown = outcome_unknown


class NotSent(KusanyaError):  # noqa: N818 - states the fact that matters: nothing happened
    """The request never left this machine, so nothing happened at the service."""


class NoAnswer(KusanyaError):  # noqa: N818 - states the fact that matters
    """The request left and no usable answer came in time; a GET may simply be asked again."""


class OutcomeUnknown(NoAnswer):
    """The request left and no usable answer came back: the customer may have been charged.

    Only two things are safe: the same key with the same bytes inside the replay window, or waiting
    for an event with this reference. `idempotency_key` and `reference` identify the request;
    `attempts` counts how often it was sent.
    """

    def __init__(
        self, message: str, *, idempotency_key: str | None, reference: str | None, attempts: int
    ) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key
        self.reference = reference
        self.attempts = attempts


class WaitTimeout(KusanyaError):  # noqa: N818 - reads as the condition it states
    """The collection was not final in time; it is still open and may become final later."""


class IntentReason(StrEnum):
    """Why an intent cannot be sent, resumed or decided as asked."""

    UNKNOWN_INTENT = "unknown_intent"
    """There is no such intent."""
    BEING_SENT = "being_sent"
    """Another call is sending it at this moment."""
    KEY_USED = "key_used"
    """The idempotency key belongs to an intent with another body."""
    REFERENCE_OPEN = "reference_open"
    """Another intent with this reference has no outcome yet: its customer may still be charged."""
    REFERENCE_USED = "reference_used"
    """Another intent with this reference became a collection."""
    NOTHING_CREATED = "nothing_created"
    """It came to its end without a collection."""
    OVER = "over"
    """It has an outcome already."""
    WINDOW_OPEN = "window_open"
    """A person may not decide yet: sending it again tells what happened."""
    WINDOW_CLOSED = "window_closed"
    """It may not be sent any more: the service could charge again."""
    CLOCK_BEHIND = "clock_behind"
    """Our clock shows a time before its last attempt."""
    OTHER_PROFILE = "other_profile"
    """It belongs to another profile than the named one."""
    OTHER_TARGET = "other_target"
    """It was first sent to another address or merchant."""
    PROFILE_NEEDED = "profile_needed"
    """It is not known where it was first sent, and no profile was named."""
    OTHER_COLLECTION = "other_collection"
    """The collection that a person named is none, or not what became of it."""
    UNSEEN_COLLECTION = "unseen_collection"
    """Nobody could look at the collection that a person named."""
    ASK_FIRST = "ask_first"
    """The store was restored and does not know what was created since its backup."""
    CHANGED = "changed"
    """It is no longer what the caller was shown."""


_PASSING = frozenset({IntentReason.BEING_SENT, IntentReason.CLOCK_BEHIND})


class IntentError(KusanyaError):
    """An intent cannot be sent, resumed or decided as asked; `intent_id` names it.

    `reason` says why, for programs.
    """

    def __init__(self, message: str, *, reason: IntentReason, intent_id: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.intent_id = intent_id

    @property
    def retryable(self) -> bool:
        """Return whether the same call may pass later, without anybody deciding or repairing."""
        return self.reason in _PASSING


class AmountChanged(KusanyaError):  # noqa: N818 - reads as the condition it states
    """An order was to be paid with another amount than the one that may be, or was, charged."""


class RulingRefused(KusanyaError):  # noqa: N818 - reads as the condition it states
    """There is nothing to rule on, or the service's answer decides nothing; nothing was kept."""


class NotificationError(KusanyaError):
    """An address did not take a message; the text says why and holds nothing of the address."""


class StoreError(KusanyaError):
    """The store could not do what was asked."""


class PlaceAhead(StoreError):  # noqa: N818 - reads as the condition it states
    """A reader's place lies ahead of the change feed: of another store, or of before a restore."""


class StoreChanged(StoreError):  # noqa: N818 - reads as the condition it states
    """A place is of another epoch: the store was restored, or is another one; says what to do."""


class StoreUnavailable(StoreError):  # noqa: N818 - reads as the condition it states
    """The store cannot be opened, read or written at present; nothing was acknowledged."""


class StoreAway(StoreUnavailable):
    """The database did not answer when the store was opened: waiting may help."""


class StoreBusy(StoreError):  # noqa: N818 - reads as the condition it states
    """The write queue is full; nothing was written and the caller may try again."""


class StoreTooNew(StoreError):  # noqa: N818 - reads as the condition it states
    """A newer version of this library wrote the store; it was left untouched."""


class StoreDamaged(StoreError):  # noqa: N818 - reads as the condition it states
    """The store's contents do not agree with themselves; `kusanya store check` says where."""


class ReconcileError(KusanyaError):
    """Base of every refusal of reconciliation."""


class FrameError(ReconcileError):
    """A frame does not have the columns and types of its schema; the message names them."""


class InputRefused(ReconcileError):  # noqa: N818 - reads as the condition it states
    """An input cannot be used as it stands; the message says what to change."""


class PackRefused(ReconcileError):  # noqa: N818 - reads as the condition it states
    """The pack cannot be written; nothing is left behind."""
