"""How one attempt ended, and who records it.

An attempt ends in one of five ways; the words are those of the store's attempts. A caller that must
record an attempt before its first byte leaves passes an `Attempts` to the exchange.
"""

from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import msgspec

from kusanya.client.effects import Effects
from kusanya.errors import KusanyaError

Answer = TypeVar("Answer")


class AttemptOutcome(StrEnum):
    """How an attempt ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    """The service said no; the same request would be refused again."""
    RETRYABLE = "retryable"
    """The service said: not now."""
    LOST = "lost"
    """It left, or may have left, and no usable answer came."""
    NOT_SENT = "not_sent"
    """Not one byte left."""


class Classification(msgspec.Struct, Generic[Answer], frozen=True, kw_only=True):
    """What an attempt came to: a value when ANSWERED, an error otherwise."""

    outcome: AttemptOutcome
    value: Answer | None = None
    error: KusanyaError | None = None
    status: int | None = None
    request_id: str | None = None
    effect_possible: bool = False
    """True where the service may have acted on this attempt although it was not ANSWERED."""
    again: bool = False
    """True where trying again can help."""


class Attempts(Protocol):
    """Records each attempt before it is sent and after its end; both may block and may refuse."""

    @property
    def effect_possible(self) -> bool:
        """Return whether an attempt before this call may have had an effect."""
        ...

    def begin(self) -> Effects[None]:
        """Note that an attempt is about to be sent; an error raised here keeps it from leaving."""
        ...

    def end(self, result: Classification[Answer]) -> Effects[None]:
        """Note how the attempt ended."""
        ...


class UnrecordedAttempts:
    """Records nothing."""

    effect_possible = False

    def begin(self) -> Effects[None]:
        """Note nothing."""
        yield from ()

    def end(self, result: Classification[Answer]) -> Effects[None]:  # noqa: ARG002 - the protocol's shape
        """Note nothing."""
        yield from ()
