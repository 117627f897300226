"""The verdicts on a pair of a ledger line and a collection: ordered, disjoint, exhaustive.

The first that applies is the row's; the queries decide, this table says what each means.
"""

from enum import StrEnum
from typing import Final

import msgspec
import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import Kind, Schema


class Standing(StrEnum):
    """What a code says about the books."""

    BREAK = "break"
    EXPECTED = "expected"
    """Not a fault: time between the two sides."""
    OK = "ok"


class Verdict(msgspec.Struct, frozen=True):
    """A code's standing, what it means and what to do."""

    standing: Standing
    meaning: str
    action: str


_B, _E, _O = Standing.BREAK, Standing.EXPECTED, Standing.OK

LEDGER: Final[dict[str, Verdict]] = {
    "duplicate_in_ledger": Verdict(_B, "booked twice", "Delete the second line."),
    "contradiction": Verdict(_B, "the service said two things", "Read the evidence card."),
    "unknown_status": Verdict(_B, "a status we do not know", "Ask the provider what it means."),
    "double_payment": Verdict(_B, "the customer paid twice", "Refund the later payment."),
    "mode_mismatch": Verdict(_B, "the payment is of the other mode", "Correct the booking."),
    "outcome_unknown": Verdict(_B, "sent, and the answer never came", "Resolve the intent."),
    "timing_unseen": Verdict(_E, "booked, not seen yet", "Wait."),
    "missing_at_provider": Verdict(_B, "booked, never paid", "Find the payment or reverse."),
    "timing_unbooked": Verdict(_E, "paid, not booked yet", "Wait."),
    "perhaps_booked_earlier": Verdict(
        _B,
        "paid, perhaps booked before these books begin",
        "Look in the earlier books, or give them too; else book it.",
    ),
    "missing_in_ledger": Verdict(_B, "paid, not in the books", "Book it."),
    "late_success": Verdict(_B, "paid, the books say not", "Deliver, or refund."),
    "still_open": Verdict(_B, "booked while not final", "Poll it, then decide."),
    "status_mismatch": Verdict(_B, "booked, but it did not succeed", "Reverse the booking."),
    "not_billable": Verdict(_O, "neither side says paid", "None."),
    "currency_mismatch": Verdict(_B, "paid in two currencies", "Correct the currency."),
    "booked_net": Verdict(
        _B, "booked after the fee, paid in full", "Correct it to the gross amount."
    ),
    "amount_mismatch": Verdict(_B, "the amounts differ", "Correct the amount."),
    "fee_mismatch": Verdict(_B, "the fees differ", "Claim the fee, or correct it."),
    "paid_in_earlier_period": Verdict(_E, "agree, paid in an earlier period", "None."),
    "paid_in_later_period": Verdict(_E, "agree, paid in a later period", "None."),
    "booked_in_earlier_period": Verdict(_E, "agree, booked in an earlier period", "None."),
    "booked_in_later_period": Verdict(_E, "agree, booked in a later period", "None."),
    "timing": Verdict(_E, "agree, on different days", "None."),
    "matched": Verdict(_O, "agree", "None."),
}
"""The codes of the ledger, in the order in which they are tried."""

SETTLEMENT: Final[dict[str, Verdict]] = {
    "settlement_duplicate": Verdict(_B, "paid out twice", "Ask the provider."),
    "settlement_unexpected": Verdict(_B, "paid out without collections", "Ask the provider."),
    "settlement_pending": Verdict(_E, "not due yet", "Wait."),
    "settlement_missing": Verdict(_B, "due and not paid out", "Claim it."),
    "settlement_fee_mismatch": Verdict(_B, "more or less fee was deducted", "Claim the fee."),
    "settlement_short": Verdict(_B, "less was paid out", "Claim the difference."),
    "settlement_over": Verdict(_B, "more was paid out", "Ask the provider."),
    "settled": Verdict(_O, "paid out", "None."),
}
"""The codes of the settlement statement, in the order in which they are tried."""

VERDICTS: Final = Schema(
    "verdicts",
    {
        "break_code": Kind.TEXT,
        "place": Kind.WHOLE,
        "standing": Kind.TEXT,
        "meaning": Kind.TEXT,
        "action": Kind.TEXT,
    },
)


def table(codes: dict[str, Verdict]) -> pd.DataFrame:
    """Return the codes with their place in the order."""
    return columns.frame(
        VERDICTS,
        {
            "break_code": list(codes),
            "place": list(range(1, len(codes) + 1)),
            "standing": [verdict.standing.value for verdict in codes.values()],
            "meaning": [verdict.meaning for verdict in codes.values()],
            "action": [verdict.action for verdict in codes.values()],
        },
    )
