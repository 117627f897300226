"""When to try again. Pure: chance comes in as a number.

Exponential backoff with full jitter: many clients that failed together do not return together.
"""

from typing import Final

import msgspec

from kusanya.platform.arguments import check_seconds, check_whole

FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 8.0


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How long one call may take and how often it may try."""

    timeout_s: float = 30.0
    """The total deadline of a call: every attempt, pause and byte included."""
    attempt_s: float = 10.0
    """The most that one attempt may take, so that a silent connection leaves time for another."""
    attempts: int = 5

    def __post_init__(self) -> None:
        check_seconds("a timeout", self.timeout_s)
        check_seconds("a timeout", self.attempt_s)
        check_whole("max_attempts", self.attempts)


def pause_s(attempt: int, *, chance: float, retry_after_s: float | None) -> float:
    """Return the seconds to wait after attempt number `attempt` (from 1) failed.

    `chance` is a number from 0 to 1. What the service asks for is a lower bound, never shortened.
    """
    ceiling: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(attempt - 1, 10))
    return max(chance * ceiling, retry_after_s or 0.0)


def poll_pause_s(poll: int, *, chance: float) -> float:
    """Return the seconds to wait after poll number `poll` (from 1) of one collection.

    A customer needs some ten seconds for a PIN: the first polls are close together, later ones
    5 s apart, each spread by a quarter both ways.
    """
    return float(min(1 + (poll - 1) // 2, 5)) * (0.75 + 0.5 * chance)
