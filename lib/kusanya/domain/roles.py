"""What a person may do: the six roles of a team, each with all that stands before it.

On PostgreSQL they are its own roles, see `kusanya store roles`; beside an SQLite store the
configuration lists them for people who come through a proxy.
"""

from enum import StrEnum


class Role(StrEnum):
    """From the one that may least to the one that may all."""

    LOOK = "look"
    ASK = "ask"
    ACT = "act"
    REVEAL = "reveal"
    DECIDE = "decide"
    ADMIN = "admin"

    def includes(self, other: "Role") -> bool:
        """Return whether who has this role may do what the other one may."""
        order = tuple(Role)
        return order.index(self) >= order.index(other)
