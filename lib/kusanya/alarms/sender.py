"""What the sender says of our endpoints, where it can be asked: only the embedded service can."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kusanya.webhooks.schedule import Fuse


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


def our_name(one: SenderEndpoint, ours: Sequence[str], sender: Sequence[SenderEndpoint]) -> str:
    """Return the name that our receiver has for one of the sender's endpoints of a mode.

    It is the end of its address; where either side has one endpoint alone, they are the same.
    """
    if one.name not in ours and len(ours) == len(sender) == 1:
        return ours[0]
    return one.name
