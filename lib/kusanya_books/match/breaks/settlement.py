"""The break rules of the settlement statement, in the order in which they are tried.

None has a condition: `sql/settlement/rows.sql` decides which one a row gets.
"""

from typing import Final

from kusanya_books.match.breaks.rule import BREAK, EXPECTED, OK, BreakRule

OF_OTHER_PERIODS: Final = frozenset({"settlement_other_period", "settlement_read_before"})
"""Codes of what is paid out, and that the period did not earn."""
REFUND_BOOKED: Final = "settlement_refund_booked"
CHARGE: Final = "settlement_charge"
NOT_OWED: Final = frozenset({REFUND_BOOKED, CHARGE})
"""Codes of what the provider kept, and the period does not wait for."""
SETTLEMENT: Final[dict[str, BreakRule]] = {
    "settlement_duplicate": BreakRule(BREAK, "paid out twice", "Ask the provider."),
    "settlement_zero": BreakRule(EXPECTED, "a payout of 0 without collections", "None."),
    "settlement_unknown": BreakRule(
        BREAK, "paid out for a collection that nobody knows", "Ask the provider."
    ),
    "settlement_outside": BreakRule(
        BREAK,
        "paid out for a day outside the period of which no collection is known",
        "Give the statement of the period, or ask the provider.",
    ),
    "settlement_unexpected": BreakRule(BREAK, "paid out without collections", "Ask the provider."),
    "settlement_other_period": BreakRule(
        EXPECTED, "paid out for collections of another period", "None."
    ),
    "settlement_read_before": BreakRule(
        EXPECTED, "paid out in an earlier period, whose close read the same line", "None."
    ),
    REFUND_BOOKED: BreakRule(
        EXPECTED, "taken back by the provider, and the books give it back", "None."
    ),
    "settlement_charge_again": BreakRule(
        BREAK, "the provider charges the same twice", "Claim it, and accept it once it is settled."
    ),
    CHARGE: BreakRule(EXPECTED, "charged by the provider itself", "None."),
    "settlement_pending": BreakRule(EXPECTED, "not due yet", "Wait.", waits=True),
    "settlement_missing": BreakRule(BREAK, "due and not paid out", "Claim it."),
    "settlement_taken_back": BreakRule(
        BREAK,
        "taken back by the provider and not paid again",
        "Ask the provider, and book the refund that it names, or map the line as a charge.",
    ),
    "settlement_fee_mismatch": BreakRule(BREAK, "more or less fee was deducted", "Claim the fee."),
    "settlement_short": BreakRule(BREAK, "less was paid out", "Claim the difference."),
    "settlement_over": BreakRule(BREAK, "more was paid out", "Ask the provider."),
    "settlement_within_tolerance": BreakRule(EXPECTED, "paid out, within the tolerance", "None."),
    "settled": BreakRule(OK, "paid out", "None."),
}
