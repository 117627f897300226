"""One attempt judged, and who is told of it.

An attempt ends in one of five ways; the words are those of the store's attempts. Whoever must know
of an attempt before its first byte leaves gives the exchange an `Attempts`.
"""

from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import msgspec

from kusanya.client.effects import Steps
from kusanya.errors import KusanyaError

Answer = TypeVar("Answer")


class Ending(StrEnum):
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


class Judged(msgspec.Struct, Generic[Answer], frozen=True, kw_only=True):
    """What an attempt came to: a value when ANSWERED, an error otherwise."""

    ending: Ending
    value: Answer | None = None
    error: KusanyaError | None = None
    status: int | None = None
    request_id: str | None = None
    effect_possible: bool = False
    """True where the service may have acted on this attempt although it was not ANSWERED."""
    again: bool = False
    """True where trying again can help."""


class Attempts(Protocol):
    """Who is told before each attempt and after it; both may block and both may refuse."""

    @property
    def effect_possible(self) -> bool:
        """Tell whether an attempt before this call may have had an effect."""
        ...

    def begin(self) -> Steps[None]:
        """Note that an attempt is about to be sent; an error raised here keeps it from leaving."""
        ...

    def end(self, judged: Judged[Answer]) -> Steps[None]:
        """Note how the attempt ended."""
        ...


class Unrecorded:
    """Nobody is told."""

    effect_possible = False

    def begin(self) -> Steps[None]:
        """Note nothing."""
        yield from ()

    def end(self, judged: Judged[Answer]) -> Steps[None]:  # noqa: ARG002 - the protocol's shape
        """Note nothing."""
        yield from ()
