"""The scripted phones of the embedded service's test mode, in the order of their numbers.

The console knows them by heart, as it knows the words of the specification: the dashboard does not
list them. A test compares this table with the service's own.
"""

from typing import Final

import msgspec

AMOUNT: Final = 1_000
"""What a trial collection asks for, in whole shillings: test money."""
_PREFIX: Final = "2557540000"


class ScriptedPhone(msgspec.Struct, frozen=True):
    """One number and what becomes of a collection on it."""

    number: str
    outcome: str
    """A final status, a failure code, or `created` for the one that never finishes."""
    what: str

    def __repr__(self) -> str:
        return f"ScriptedPhone({self.outcome!r})"


def _phone(last: str, outcome: str, what: str) -> ScriptedPhone:
    return ScriptedPhone(_PREFIX + last, outcome, what)


SCRIPTED: Final = (
    _phone("01", "succeeded", "the designated number, always paid"),
    _phone("02", "insufficient_funds", "the balance is too low"),
    _phone("03", "user_cancelled", "the customer says no"),
    _phone("04", "invalid_pin", "a wrong PIN"),
    _phone("05", "payer_not_found", "no such account"),
    _phone("06", "payer_limit_reached", "over the customer's limit"),
    _phone("07", "payer_unreachable", "the phone is off"),
    _phone("08", "provider_unavailable", "the operator is down"),
    _phone("09", "expired", "nobody approves in time"),
    _phone("10", "created", "never comes to an end"),
    _phone("11", "succeeded", "its event is delivered twice"),
    _phone("12", "succeeded", "its event comes before the 202"),
    _phone("13", "succeeded", "paid at the last moment"),
    _phone("14", "succeeded", "the 202 is lost on its way"),
    _phone("15", "succeeded", "the first POST answers 500"),
)
