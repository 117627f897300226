"""Which legs, and which channels of them, a reconciliation must have compared to be signed."""

from collections.abc import Iterable
from typing import Final

import msgspec

from kusanya.domain.channels import CHANNEL_NAMES, CHANNELS, channel_label
from kusanya.errors import ConfigurationError
from kusanya.text import safe

LEGS: Final = {
    "books": "the books",
    "operator": "the operator's statements",
    "settlement": "the settlement statement",
    "bank": "the bank's statements",
}
"""Every leg that the service is compared with, as people call it."""


class Expected(msgspec.Struct, frozen=True, order=True):
    """A leg that must be compared, perhaps for one channel."""

    leg: str
    channel: str | None = None

    def __str__(self) -> str:
        words = LEGS[self.leg]
        return words if self.channel is None else f"{words} for {channel_label(self.channel)}"

    @property
    def name(self) -> str:
        """Return it as `read` reads it."""
        return self.leg if self.channel is None else f"{self.leg}:{self.channel}"


def read(texts: Iterable[str]) -> tuple[Expected, ...]:
    """Return what texts as `books,operator:mpesa` name, each once and in order.

    A channel is named as in a filter or by its code. Raises ConfigurationError for any other name.
    """
    parts = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return tuple(sorted({_read(part) for part in parts}, key=lambda one: one.name))


def _read(text: str) -> Expected:
    leg, colon, channel = (part.strip().casefold() for part in text.partition(":"))
    if leg not in LEGS:
        raise ConfigurationError(
            f"what is expected is {', '.join(LEGS)}, or one of them with a channel as "
            f"operator:mpesa; not {safe(text, 40)}"
        )
    if not colon:
        return Expected(leg)
    known = CHANNEL_NAMES | {code.casefold(): code for code in CHANNELS}
    if channel not in known:
        raise ConfigurationError(
            f"a channel is {', '.join(CHANNEL_NAMES)}, or its code as MPESA_TZ; not "
            f"{safe(channel, 40) or 'nothing'} (in {safe(text, 40)})"
        )
    return Expected(leg, known[channel])
