"""Every number of the specification, named once; last, a few bounds of our own on what we read.

Source: specification, Limits, Delivery rules, Signature. What the specification leaves open is not
here but in `assumptions`.
"""

from datetime import timedelta
from typing import Final

IDEMPOTENCY_KEY_MIN_LENGTH: Final = 1
IDEMPOTENCY_KEY_MAX_LENGTH: Final = 255
"""Length of an idempotency key in printable ASCII characters. Source: Limits."""

IDEMPOTENCY_RETENTION: Final = timedelta(hours=24)
"""How long the service remembers a key, from its first receipt. Source: Limits."""

ACKNOWLEDGEMENT_TIME: Final = timedelta(seconds=10)
"""How long an endpoint has for its 2xx, the whole exchange included. Source: Delivery rules 1."""

SIGNATURE_TOLERANCE_S: Final = 300
"""How far `t` may lie from the present, both ways; this much passes. Source: Signature 4."""

RETRY_GAPS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""Waits after the first to the sixth failure of a delivery. Source: Delivery rules 2."""

DISABLE_AFTER: Final = timedelta(days=3)
"""Continuous failure after which an endpoint is disabled. Source: Delivery rules 3."""

TEST_COMPLETION_MIN: Final = timedelta(seconds=10)
TEST_COMPLETION_MAX: Final = timedelta(seconds=20)
"""When a test collection completes on its own. Source: What the service does, 5."""

EVENT_BODY_MAX_BYTES: Final = 256 * 1024
"""Largest delivery body we read; the specification's own is under 2 KiB. Source: our bound."""

ANSWER_MAX_BYTES: Final = 1024 * 1024
"""Largest answer the client reads. Source: our bound."""

INTEGER_MAX: Final = 2**63 - 1
"""Largest integer any part accepts: what both database engines hold. Source: our bound."""
