"""What the sender says of our endpoints, where it can be asked: only the embedded service can."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from kusanya.errors import KusanyaError
from kusanya.webhooks.schedule import Fuse

_log = logging.getLogger("kusanya.alarms")


class SenderEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook endpoint as the sender keeps it; its text comes from outside."""

    id: str
    url: str
    mode: str
    status: str
    failing_since: datetime | None = None
    disabled_at: datetime | None = None
    created_at: datetime | None = None

    @property
    def name(self) -> str:
        """Return the name that our receiver has for it: the end of its address."""
        return self.url.rstrip("/").rpartition("/")[2]

    @property
    def is_disabled(self) -> bool:
        """Return whether nothing is sent to it."""
        return self.status == "disabled"

    @property
    def fuse(self) -> Fuse:
        """Return how long it has been failing, and what disabled it."""
        return Fuse(
            lit_at=self.failing_since, blown_at=self.disabled_at if self.is_disabled else None
        )

    @property
    def disables_at(self) -> datetime | None:
        """Return from when on a failure disables it; None while nothing fails."""
        return None if self.is_disabled else self.fuse.blows_at


AskSender = Callable[[], Sequence[SenderEndpoint]]
"""Returns the sender's endpoints of both modes; raises KusanyaError where it does not answer."""


class LastWord:
    """What the sender said last: where it does not answer, its word before stands."""

    def __init__(self, ask: AskSender) -> None:
        self._ask = ask
        self._said: tuple[SenderEndpoint, ...] = ()
        self._trouble = ""

    def __call__(self) -> tuple[SenderEndpoint, ...]:
        """Ask, and return the endpoints of both modes."""
        try:
            self._said, self._trouble = tuple(self._ask()), ""
        except KusanyaError as error:
            # Once for each trouble, not once a round.
            if self._trouble != (trouble := str(error)):
                _log.warning("the sender says nothing", extra={"trouble": trouble})
            self._trouble = trouble
        return self._said


def our_name(one: SenderEndpoint, ours: Sequence[str], sender: Sequence[SenderEndpoint]) -> str:
    """Return the name that our receiver has for one of the sender's endpoints of a mode.

    It is the end of its address; where either side has one endpoint alone, they are the same.
    """
    if one.name not in ours and len(ours) == len(sender) == 1:
        return ours[0]
    return one.name
