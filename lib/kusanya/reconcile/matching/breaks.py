"""The break rules of ledger and statement: ordered, disjoint, exhaustive.

The first rule that applies to a row gives its code. To add a rule of the ledger, add a row to
`LEDGER`: the query's CASE, the labels and the advice are read from here.
"""

from enum import StrEnum
from typing import Final

import msgspec
import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import DType, Schema


class BreakStatus(StrEnum):
    """What a code says about the books."""

    BREAK = "break"
    EXPECTED = "expected"
    """Not a fault: time between the two sides."""
    OK = "ok"


class BreakRule(msgspec.Struct, frozen=True):
    """A code's status, what it means, what to do, and when it applies."""

    status: BreakStatus
    meaning: str
    action: str
    condition: str = ""
    """SQL over a row of `ledger_verdicts.sql`; empty where `settlement.sql` decides."""


_B, _E, _O = BreakStatus.BREAK, BreakStatus.EXPECTED, BreakStatus.OK

LEDGER: Final[dict[str, BreakRule]] = {
    "duplicate_in_ledger": BreakRule(_B, "booked twice", "Delete the second line.", "is_twin"),
    "contradiction": BreakRule(
        _B, "the service said two things", "Read the evidence card.", "is_contradicted"
    ),
    "unknown_status": BreakRule(
        _B, "a status we do not know", "Ask the provider what it means.", "is_unknown"
    ),
    "double_payment": BreakRule(
        _B, "the customer paid twice", "Refund the later payment.", "is_second"
    ),
    "mode_mismatch": BreakRule(
        _B, "the payment is of the other mode", "Correct the booking.", "is_of_other_mode"
    ),
    "outcome_unknown": BreakRule(
        _B, "sent, and the answer never came", "Resolve the intent.", "is_unanswered"
    ),
    "timing_unseen": BreakRule(
        _E,
        "booked, not seen yet",
        "Wait.",
        "booked AND NOT has_collection AND age_days <= grace_days",
    ),
    "missing_at_provider": BreakRule(
        _B, "booked, never paid", "Find the payment or reverse.", "booked AND NOT has_collection"
    ),
    "timing_unbooked": BreakRule(
        _E,
        "paid, not booked yet",
        "Wait.",
        "paid AND (NOT has_line OR is_open) AND age_days <= grace_days",
    ),
    "perhaps_booked_earlier": BreakRule(
        _B,
        "paid, perhaps booked before these books begin",
        "Look in the earlier books, or give them too; else book it.",
        "paid AND NOT has_line AND date_diff('day', books_from, created_day) < grace_days",
    ),
    "missing_in_ledger": BreakRule(
        _B, "paid, not in the books", "Book it.", "paid AND NOT has_line"
    ),
    "late_success": BreakRule(
        _B, "paid, the books say not", "Deliver, or refund.", "paid AND NOT booked"
    ),
    "still_open": BreakRule(
        _B, "booked while not final", "Poll it, then decide.", "booked AND is_created"
    ),
    "status_mismatch": BreakRule(
        _B, "booked, but it did not succeed", "Reverse the booking.", "booked AND NOT paid"
    ),
    "not_billable": BreakRule(_O, "neither side says paid", "None.", "NOT booked AND NOT paid"),
    "currency_mismatch": BreakRule(
        _B,
        "paid in two currencies",
        "Correct the currency.",
        "currency_ledger <> currency_service",
    ),
    "booked_net": BreakRule(
        _B,
        "booked after the fee, paid in full",
        "Correct it to the gross amount.",
        "NOT net_basis AND fee_service <> 0 AND amount_ledger = amount_service - fee_service",
    ),
    "amount_mismatch": BreakRule(
        _B,
        "the amounts differ",
        "Correct the amount.",
        "abs(amount_ledger - due) > amount_tolerance",
    ),
    "fee_mismatch": BreakRule(
        _B,
        "the fees differ",
        "Claim the fee, or correct it.",
        "abs(fee_ledger - fee_service) > fee_tolerance",
    ),
    "paid_in_earlier_period": BreakRule(
        _E, "agree, paid in an earlier period", "None.", "business_day < first_day"
    ),
    "paid_in_later_period": BreakRule(
        _E, "agree, paid in a later period", "None.", "business_day > last_day"
    ),
    "booked_in_earlier_period": BreakRule(
        _E, "agree, booked in an earlier period", "None.", "booked_day < first_day"
    ),
    "booked_in_later_period": BreakRule(
        _E, "agree, booked in a later period", "None.", "booked_day > last_day"
    ),
    "timing": BreakRule(_E, "agree, on different days", "None.", "booked_day <> business_day"),
    "matched": BreakRule(_O, "agree", "None.", "TRUE"),
}
"""The codes of the ledger, in the order in which they are tried."""

SETTLEMENT: Final[dict[str, BreakRule]] = {
    "settlement_duplicate": BreakRule(_B, "paid out twice", "Ask the provider."),
    "settlement_unexpected": BreakRule(_B, "paid out without collections", "Ask the provider."),
    "settlement_pending": BreakRule(_E, "not due yet", "Wait."),
    "settlement_missing": BreakRule(_B, "due and not paid out", "Claim it."),
    "settlement_fee_mismatch": BreakRule(_B, "more or less fee was deducted", "Claim the fee."),
    "settlement_short": BreakRule(_B, "less was paid out", "Claim the difference."),
    "settlement_over": BreakRule(_B, "more was paid out", "Ask the provider."),
    "settled": BreakRule(_O, "paid out", "None."),
}
"""The codes of the settlement statement, in the order in which they are tried."""

RULES: Final = Schema(
    "rules",
    {
        "break_code": DType.TEXT,
        "place": DType.WHOLE,
        "standing": DType.TEXT,
        "meaning": DType.TEXT,
        "action": DType.TEXT,
    },
)


def table(rules: dict[str, BreakRule]) -> pd.DataFrame:
    """Return the rules with their place in the order."""
    return columns.frame(
        RULES,
        {
            "break_code": list(rules),
            "place": list(range(1, len(rules) + 1)),
            "standing": [rule.status.value for rule in rules.values()],
            "meaning": [rule.meaning for rule in rules.values()],
            "action": [rule.action for rule in rules.values()],
        },
    )


def break_code() -> str:
    """Return the SQL that gives a row of the ledger's verdicts its code."""
    rules = "\n".join(f"WHEN {rule.condition} THEN '{code}'" for code, rule in LEDGER.items())
    return f"CASE\n{rules}\nEND"


def agreeing() -> str:
    """Return the SQL list of the codes of rows that agree."""
    codes = (f"'{code}'" for code, rule in LEDGER.items() if rule.status is BreakStatus.OK)
    return f"({', '.join(codes)})"
