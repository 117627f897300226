"""What a break rule says, and the three standings that its code can have."""

from enum import StrEnum

import msgspec


class Standing(StrEnum):
    """What a code says about a row; what people then decide about a break is its `BreakStatus`."""

    BREAK = "break"
    EXPECTED = "expected"
    """Not a fault: time between the two sides."""
    OK = "ok"


class BreakRule(msgspec.Struct, frozen=True):
    """A code's standing, what it means, what to do, and when it applies."""

    standing: Standing
    meaning: str
    action: str
    condition: str = ""
    """SQL over a row of the leg's verdicts, with `{grace_days}` and so on for what was agreed
    (`request/tolerance.py`); empty where `settlement/rows.sql` decides."""
    waits: bool = False
    """Expected for now, and a break when nothing comes: it is carried into the next period."""
    others_may_complete: bool = False
    """A line and a payment that met and differ: further lines or payments may make up for it, so
    both are tried in split and joint bookings. True of every rule that compares amounts."""
    refund_clears: bool = False
    """The advice is to pay back or to book that: such a line of the books clears it."""


BREAK, EXPECTED, OK = Standing.BREAK, Standing.EXPECTED, Standing.OK
