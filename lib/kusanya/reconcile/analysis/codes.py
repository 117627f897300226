"""What a failure code means and what helps: one table for console, notebooks and pack.

The set is open: a code that is not here appears as itself, of class `unknown`. Source: the field's
codes; assumption OPEN_SETS.
"""

from enum import StrEnum
from typing import Final

import msgspec


class CodeClass(StrEnum):
    """Who can do something about a failure."""

    LATER = "retry_later"
    CUSTOMER = "customer"
    DATA = "data"
    UNKNOWN = "unknown"


class Code(msgspec.Struct, frozen=True):
    """A failure code's class and the advice that goes with it."""

    group: CodeClass
    advice: str


EXPIRED: Final = "(expired)"
NO_CODE: Final = "(no code)"
UNKNOWN_ADVICE: Final = "Ask the provider what it means; never retry it automatically."

CODES: Final[dict[str, Code]] = {
    "insufficient_funds": Code(CodeClass.CUSTOMER, "Top up, then a new attempt."),
    "user_cancelled": Code(CodeClass.CUSTOMER, "Ask the customer, then a new attempt."),
    "invalid_pin": Code(CodeClass.CUSTOMER, "A new attempt; three wrong PINs lock the account."),
    "payer_inactive": Code(CodeClass.CUSTOMER, "The customer visits the operator's shop."),
    EXPIRED: Code(CodeClass.CUSTOMER, "Look the collection up once more, then a new attempt."),
    "payer_not_found": Code(CodeClass.DATA, "Check the phone number."),
    "amount_out_of_bounds": Code(CodeClass.DATA, "Correct the amount."),
    "duplicate": Code(CodeClass.DATA, "Look for the earlier payment first."),
    "payer_limit_reached": Code(CodeClass.LATER, "A smaller amount, or tomorrow."),
    "payment_in_progress": Code(CodeClass.LATER, "Wait two minutes; no second prompt."),
    "payer_unreachable": Code(CodeClass.LATER, "Phone on and in coverage, then a new attempt."),
    "provider_unavailable": Code(CodeClass.LATER, "Try later; watch the channel."),
    "declined": Code(CodeClass.UNKNOWN, "Ask the operator."),
    NO_CODE: Code(CodeClass.UNKNOWN, "The service gave no code; look at its message."),
}
