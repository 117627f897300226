"""When a failed delivery is tried again, when it is given up, and when an endpoint is disabled.

Pure arithmetic on aware UTC instants; nothing here reads a clock. The sender decides with it, and
the receiver's side infers with it what the sender will do next.
Source: specification, Delivery rules 2 and 3. Assumes RETRY_TIMES_ARE_GAPS and
FUSE_BURNS_FROM_FIRST_FAILURE.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME, DISABLE_AFTER, RETRY_GAPS

ATTEMPTS: Final = len(RETRY_GAPS) + 1
"""Attempts that one delivery gets in all."""

_INFERENCE_SLACK: Final = timedelta(seconds=30)
"""How much later than planned an attempt may arrive and still be recognised by its time."""


def next_attempt(attempt: int, *, failed_at: datetime) -> datetime | None:
    """Return when to try again after attempt number `attempt`, or None to give up.

    Attempts count from 1. `failed_at` is when the failure was known: a time-out is known 10 s after
    its send, and counting from the send would press a slow endpoint harder than a dead one.
    Raises ValueError outside 1 to ATTEMPTS.
    """
    if not 1 <= attempt <= ATTEMPTS:
        raise ValueError(f"an attempt is numbered 1 to {ATTEMPTS}, not {attempt}")
    if attempt == ATTEMPTS:
        return None
    return failed_at + RETRY_GAPS[attempt - 1]


def plan(*, first_at: datetime) -> tuple[datetime, ...]:
    """Return the earliest instant of each of the ATTEMPTS attempts.

    Earliest, because every attempt that times out delays all later ones by up to 10 s.
    """
    instants = [first_at]
    for gap in RETRY_GAPS:
        instants.append(instants[-1] + gap)
    return tuple(instants)


def infer_attempt(*, signed_at: datetime, event_created_at: datetime) -> int | None:
    """Tell from its times which attempt a delivery is, or None when no slot fits.

    The specification exposes no attempt number, so this is an inference and is shown as one. An
    attempt fits from its earliest planned instant until the delays that its predecessors can add.
    """
    age = signed_at - event_created_at
    for number, earliest in enumerate(plan(first_at=event_created_at), start=1):
        # t and created_at are cut to whole seconds, each on its own.
        opens = earliest - event_created_at - timedelta(seconds=1)
        closes = opens + (number - 1) * ACKNOWLEDGEMENT_TIME + _INFERENCE_SLACK
        if opens <= age <= closes:
            return number
    return None


class Fuse(msgspec.Struct, frozen=True, kw_only=True):
    """How long one endpoint has been failing; `Fuse()` is a healthy one."""

    lit_at: datetime | None = None
    """The first failure since the last success."""
    blown_at: datetime | None = None
    """The failure that disabled the endpoint."""

    @property
    def blows_at(self) -> datetime | None:
        """Return from when on a failure disables the endpoint, or None while nothing fails."""
        return None if self.lit_at is None else self.lit_at + DISABLE_AFTER

    def after(self, *, at: datetime, delivered: bool) -> "Fuse":
        """Return the fuse once an attempt has ended at `at`; outcomes are given in time order.

        A blown fuse stays blown whatever arrives late: enabling is a person's act, which starts
        a new fuse.
        """
        if self.blown_at is not None:
            return self
        if delivered:
            return Fuse()
        if self.lit_at is None:
            return Fuse(lit_at=at)
        if at - self.lit_at >= DISABLE_AFTER:
            return Fuse(lit_at=self.lit_at, blown_at=at)
        return self
