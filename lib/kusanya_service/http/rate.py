"""The optional rate limit: a bucket of tokens for each API key (assumption RATE_LIMITS)."""

from collections.abc import Callable
from typing import Final

from kusanya_service.errors import ApiError
from kusanya_service.simulation.clock import SECOND_MS


class RateLimit:
    """At most `per_second` requests a second for each key, in service time; None for no limit."""

    def __init__(self, per_second: int | None, monotonic_ms: Callable[[], int]) -> None:
        self._per_second: Final = per_second
        self._steady_ms = monotonic_ms
        self._buckets: dict[str, tuple[int, int]] = {}
        """By key: thousandths of a token left, and when that was."""

    def admit(self, key_id: str) -> None:
        """Take a token; raises ApiError 429 with how long to wait where none is left."""
        if self._per_second is None:
            return
        now = self._steady_ms()
        full = self._per_second * SECOND_MS
        left, since = self._buckets.get(key_id, (full, now))
        left = min(full, left + (now - since) * self._per_second)
        if left < SECOND_MS:
            self._buckets[key_id] = (left, now)
            raise ApiError(
                429, "rate_limited", "too many requests with this API key", retry_after_s=1
            )
        self._buckets[key_id] = (left - SECOND_MS, now)
