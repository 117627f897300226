"""Seeded orders for the demo: who pays what, with an outcome mix that shows every state.

Pure: the same seed and starting number give the same orders.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

_PREFIXES: Final = ("74", "75", "76", "65", "67", "71", "68", "69", "78", "62")
"""After 255: numbers of all four large networks."""

_SCRIPTED: Final = (
    # last two digits of 2557540000.., weight, what happens
    ("02", 8),  # failed: insufficient_funds
    ("03", 4),  # failed: user_cancelled
    ("04", 3),  # failed: invalid_pin
    ("05", 1),  # failed: payer_not_found
    ("06", 1),  # failed: payer_limit_reached
    ("07", 2),  # failed: payer_unreachable
    ("08", 1),  # failed: provider_unavailable
    ("09", 5),  # not approved in time
    ("11", 2),  # its event arrives twice
    ("12", 2),  # its event arrives before the answer
    ("13", 2),  # succeeds at the last moment
    ("14", 2),  # the answer is lost after the commit
    ("15", 2),  # the first request answers 500
)
_NEVER_FINAL: Final = "10"
_ORDINARY: Final = 65
"""Weight of numbers that simply succeed."""
_AMOUNTS: Final = (1_000, 2_500, 5_000, 7_500, 12_000, 18_500, 25_000, 40_000, 85_000, 150_000)
_GOODS: Final = ("school fees", "electricity", "water bill", "bus ticket", "groceries", "rent")


class DemoOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One payment to ask for, and how long after the order before it (seconds)."""

    after_s: float
    amount: int
    phone: str
    reference: str
    description: str


def orders(*, seed: int, first: int, per_second: float, stuck: bool) -> Iterator[DemoOrder]:
    """Yield orders without end, numbered from `first`; `stuck` adds prompts that never finish."""
    chance = Random(f"{seed}:{first}")  # noqa: S311 - a demo's traffic, not a secret
    endings = [*_SCRIPTED, *([(_NEVER_FINAL, 1)] if stuck else []), (None, _ORDINARY)]
    number = first
    while True:
        ending = chance.choices([last for last, _ in endings], [weight for _, weight in endings])[0]
        phone = f"2557540000{ending}" if ending else _any_phone(chance)
        yield DemoOrder(
            after_s=chance.expovariate(per_second),
            amount=chance.choice(_AMOUNTS) + chance.randrange(0, 10) * 100,
            phone=phone,
            reference=f"INV-{number:06d}",
            description=chance.choice(_GOODS),
        )
        number += 1


def _any_phone(chance: Random) -> str:
    # Never one of the scripted numbers, all of which begin with 2557540000.
    return f"255{chance.choice(_PREFIXES)}{chance.randrange(1_000_000, 10_000_000)}"
