"""What the sender says of our endpoints, where it can be asked: only the embedded service can."""

from datetime import datetime

import msgspec

from kusanya.domain.limits import DISABLE_AFTER


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
    def disables_at(self) -> datetime | None:
        """Return from when on a failure disables it; None while nothing fails."""
        lit = self.failing_since
        return None if lit is None or self.is_disabled else lit + DISABLE_AFTER
