"""The break rules of the books, in the order in which they are tried."""

from typing import Final

from kusanya_books.match.breaks.rule import BREAK, EXPECTED, OK, BreakRule

LEDGER: Final[dict[str, BreakRule]] = {
    "duplicate_in_ledger": BreakRule(BREAK, "booked twice", "Delete the second line.", "is_twin"),
    "contradiction": BreakRule(
        BREAK, "the service said two things", "Read the evidence card.", "is_contradicted"
    ),
    "unknown_status": BreakRule(
        BREAK, "a status we do not know", "Ask the provider what it means.", "is_unknown"
    ),
    "double_payment": BreakRule(
        BREAK,
        "the customer paid twice",
        "Refund the later payment.",
        "is_second",
        refund_clears=True,
    ),
    "mode_mismatch": BreakRule(
        BREAK, "the payment is of the other mode", "Correct the booking.", "is_of_other_mode"
    ),
    "outcome_unknown": BreakRule(
        BREAK, "sent, and the answer never came", "Resolve the intent.", "is_unanswered"
    ),
    "books_zero": BreakRule(
        EXPECTED,
        "a line of 0 without a payment: nothing is booked",
        "None.",
        "booked AND NOT has_collection AND amount_ledger = 0",
    ),
    "timing_unseen": BreakRule(
        EXPECTED,
        "booked, not seen yet",
        "Wait.",
        "booked AND NOT has_collection AND age_days <= {grace_days}",
        waits=True,
    ),
    "missing_at_provider": BreakRule(
        BREAK, "booked, never paid", "Find the payment or reverse.", "booked AND NOT has_collection"
    ),
    "timing_unbooked": BreakRule(
        EXPECTED,
        "paid, not booked yet",
        "Wait.",
        "paid AND (NOT has_line OR is_open) AND age_days <= {grace_days}",
        waits=True,
    ),
    "perhaps_booked_earlier": BreakRule(
        BREAK,
        "paid, perhaps booked before these books begin",
        "Look in the earlier books, or give them too; else book it.",
        "paid AND NOT has_line AND date_diff('day', {books_from}, created_day) < {grace_days}",
    ),
    "perhaps_booked_later": BreakRule(
        BREAK,
        "paid, perhaps booked after these books end",
        "Give the books of the next days too, or look there; else book it.",
        "paid AND NOT has_line AND date_diff('day', business_day, {books_to}) < {grace_days}",
    ),
    "missing_in_ledger": BreakRule(
        BREAK, "paid, not in the books", "Book it.", "paid AND NOT has_line"
    ),
    "late_success": BreakRule(
        BREAK,
        "paid, the books say not",
        "Deliver, or refund.",
        "paid AND NOT booked",
        refund_clears=True,
    ),
    "still_open": BreakRule(
        BREAK, "booked while not final", "Poll it, then decide.", "booked AND is_created"
    ),
    "status_mismatch": BreakRule(
        BREAK, "booked, but it did not succeed", "Reverse the booking.", "booked AND NOT paid"
    ),
    "not_billable": BreakRule(OK, "neither side says paid", "None.", "NOT booked AND NOT paid"),
    "currency_mismatch": BreakRule(
        BREAK,
        "paid in two currencies",
        "Correct the currency.",
        "currency_ledger <> currency_service",
    ),
    "booked_net": BreakRule(
        BREAK,
        "booked after the fee, paid in full",
        "Correct it to the gross amount.",
        "NOT {net_basis} AND fee_service <> 0 AND amount_ledger = amount_service - fee_service",
        others_may_complete=True,
    ),
    "amount_mismatch": BreakRule(
        BREAK,
        "the amounts differ",
        "Correct the amount.",
        "abs(amount_ledger - due) > {amount_tolerance}",
        others_may_complete=True,
    ),
    "fee_mismatch": BreakRule(
        BREAK,
        "the fees differ",
        "Claim the fee, or correct it.",
        "abs(fee_ledger - fee_service) > {fee_tolerance}",
    ),
    "booked_over_edge": BreakRule(
        EXPECTED,
        "agree, booked within the grace after the period of the payment",
        "None.",
        "date_diff('day', business_day, booked_day) BETWEEN 1 AND {grace_days}"
        " AND (business_day < {first_day} OR booked_day > {last_day})",
    ),
    "paid_over_edge": BreakRule(
        EXPECTED,
        "agree, paid within the grace after the period of the booking",
        "None.",
        "date_diff('day', booked_day, business_day) BETWEEN 1 AND {grace_days}"
        " AND (booked_day < {first_day} OR business_day > {last_day})",
    ),
    "paid_in_earlier_period": BreakRule(
        EXPECTED, "agree, paid in an earlier period", "None.", "business_day < {first_day}"
    ),
    "paid_in_later_period": BreakRule(
        EXPECTED, "agree, paid in a later period", "None.", "business_day > {last_day}"
    ),
    "booked_in_earlier_period": BreakRule(
        EXPECTED, "agree, booked in an earlier period", "None.", "booked_day < {first_day}"
    ),
    "booked_in_later_period": BreakRule(
        EXPECTED, "agree, booked in a later period", "None.", "booked_day > {last_day}"
    ),
    "within_tolerance": BreakRule(
        EXPECTED,
        "agree within the tolerance",
        "None.",
        "amount_ledger <> due OR fee_ledger <> fee_service",
    ),
    "timing": BreakRule(
        EXPECTED, "agree, on different days", "None.", "booked_day <> business_day"
    ),
    "booked_negative": BreakRule(
        BREAK, "booked with the wrong sign", "Turn its sign, or reverse it and book it anew."
    ),
    "reversal_alone": BreakRule(
        BREAK,
        "cancels no line and no payment that is known",
        "Find what it cancels and name it, or reverse it.",
    ),
    "refund_alone": BreakRule(
        BREAK,
        "gives back more than is known to be paid",
        "Name the payment that it gives back, or reverse it.",
    ),
    "refund": BreakRule(EXPECTED, "a refund", "None."),
    "credit_note": BreakRule(EXPECTED, "a credit note", "None."),
    "chargeback": BreakRule(EXPECTED, "a chargeback", "None."),
    "bank_charges": BreakRule(EXPECTED, "charges of the bank", "None."),
    "reversal": BreakRule(EXPECTED, "cancels a line or a payment of another period", "None."),
    "booked_by_day_net": BreakRule(
        EXPECTED, "one line for the payments of a day, after their fees", "Book the fees."
    ),
    "reference_differs": BreakRule(
        EXPECTED, "agree, the reference is written differently", "None."
    ),
    "refunded": BreakRule(OK, "paid once too often, and refunded", "None."),
    "reversed_pair": BreakRule(OK, "a line and what cancels it", "None."),
    "split_booking": BreakRule(OK, "several lines for one payment", "None."),
    "booked_together": BreakRule(OK, "one line for several payments", "None."),
    "booked_by_day": BreakRule(OK, "one line for the payments of a day", "None."),
    "matched": BreakRule(OK, "agree", "None.", "TRUE"),
}
"""The queries of `sql/ledger/groups` give the codes that have no condition."""
