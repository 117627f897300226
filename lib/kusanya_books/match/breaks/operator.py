"""The break rules of the operator's statements, in the order in which they are tried."""

from typing import Final

from kusanya_books.match.breaks.rule import BREAK, EXPECTED, OK, BreakRule

OPERATOR: Final[dict[str, BreakRule]] = {
    "operator_not_completed": BreakRule(
        OK, "did not happen at the operator", "None.", "has_line AND NOT is_completed"
    ),
    "operator_line_again": BreakRule(
        BREAK, "a line that its statement holds twice", "Give it without the copy.", "is_copied"
    ),
    "operator_zero": BreakRule(
        EXPECTED, "a line of 0: no money moved", "None.", "has_line AND amount_operator = 0"
    ),
    "operator_fees_differ": BreakRule(
        BREAK,
        "fees for many payments that are not the service's",
        "Claim the difference from the operator.",
        "kind = 'fee' AND abs(fee_operator - fee_service) > {fee_tolerance}",
    ),
    "operator_fee": BreakRule(EXPECTED, "the operator's fee", "None.", "kind IN ('fee', 'charge')"),
    "operator_tax": BreakRule(EXPECTED, "a tax or levy at the operator", "None.", "kind = 'tax'"),
    "operator_payout": BreakRule(
        EXPECTED, "paid out by the operator", "See the bank's statement.", "kind = 'payout'"
    ),
    "operator_own": BreakRule(
        EXPECTED, "the shop's own money, of no customer", "None.", "kind = 'own'"
    ),
    "operator_refund_booked": BreakRule(
        EXPECTED, "taken back at the operator, and the books say so", "None.", "is_booked_back"
    ),
    "operator_refund": BreakRule(
        EXPECTED,
        "refunded at the operator",
        "Book it if the books do not say so.",
        "kind = 'refund' AND NOT takes_back",
    ),
    "operator_chargeback": BreakRule(
        BREAK,
        "charged back at the operator",
        "Dispute it, or book it.",
        "kind = 'chargeback'",
        refund_clears=True,
    ),
    "operator_reversed_unpaid": BreakRule(
        OK,
        "paid and taken back at the operator, and not paid here",
        "None.",
        "(takes_back AND NOT takes_back_paid) OR (is_taken_back AND NOT paid)",
    ),
    "operator_reversed": BreakRule(
        BREAK,
        "taken back at the operator after success",
        "Book it as a refund, or ask the operator.",
        "takes_back OR is_taken_back OR (kind = 'reversal' AND takes_back_earlier)",
        refund_clears=True,
    ),
    "operator_reversal_alone": BreakRule(
        BREAK,
        "a reversal of no known payment",
        "Ask the operator.",
        "kind = 'reversal'",
        refund_clears=True,
    ),
    "operator_other": BreakRule(
        BREAK,
        "neither a payment nor of another known kind",
        "Say in the mapping what it is: own, where no customer paid it.",
        "has_line AND (kind <> 'payment' OR NOT is_in)",
    ),
    "operator_outcome_unknown": BreakRule(
        BREAK,
        "paid at the operator, and the answer to our request never came",
        "Resolve the intent.",
        "is_unanswered AND NOT has_collection",
    ),
    "operator_duplicate": BreakRule(
        BREAK,
        "paid twice at the operator",
        "Refund the second payment.",
        "is_second",
        refund_clears=True,
    ),
    "operator_not_seen_yet": BreakRule(
        EXPECTED,
        "paid at the operator, not seen here yet",
        "Wait.",
        "has_line AND NOT has_collection AND age_days <= {grace_days}",
        waits=True,
    ),
    "operator_unknown_here": BreakRule(
        BREAK,
        "paid at the operator, unknown here",
        "Ask the provider for the collection.",
        "has_line AND NOT has_collection",
    ),
    "operator_not_paid_here": BreakRule(
        BREAK,
        "paid at the operator, and not a success here",
        "Ask the provider to correct it.",
        "has_line AND NOT paid",
    ),
    "operator_pending": BreakRule(
        EXPECTED,
        "a success here, not at the operator yet",
        "Wait.",
        "NOT has_line AND age_days <= {grace_days}",
        waits=True,
    ),
    "operator_not_reached": BreakRule(
        BREAK,
        "a success on a day that no statement reaches",
        "Give the statement of that day.",
        "NOT has_line AND NOT is_reached",
    ),
    "operator_missing": BreakRule(
        BREAK, "a success here, not at the operator", "Ask the operator.", "NOT has_line"
    ),
    "operator_currency_mismatch": BreakRule(
        BREAK, "paid in two currencies", "Ask the provider.", "currency_line <> currency_other"
    ),
    "operator_fee_side": BreakRule(
        BREAK,
        "the amounts differ by the fee",
        "Find out who bears the fee.",
        "fee_service <> 0 AND abs(amount_operator - amount_service) = fee_service",
    ),
    "operator_amount_mismatch": BreakRule(
        BREAK,
        "the amounts differ",
        "Ask the provider.",
        "abs(amount_operator - amount_service) > {amount_tolerance}",
    ),
    "operator_channel_mismatch": BreakRule(
        BREAK, "paid by another channel", "Ask the provider.", "account_line <> account_other"
    ),
    "operator_fee_differs": BreakRule(
        BREAK,
        "the operator's fee is not the service's",
        "Claim the difference from the operator.",
        "abs(fee_operator - fee_service) > {fee_tolerance}",
    ),
    "operator_over_edge": BreakRule(
        EXPECTED,
        "agree within the grace, on either side of the period's edge",
        "None.",
        "(operator_day NOT BETWEEN {first_day} AND {last_day}"
        " OR business_day NOT BETWEEN {first_day} AND {last_day})"
        " AND abs(date_diff('day', operator_day, business_day)) <= {grace_days}",
    ),
    "operator_across_cutoff": BreakRule(
        EXPECTED,
        "agree, on either side of the period's edge",
        "None.",
        "operator_day NOT BETWEEN {first_day} AND {last_day}"
        " OR business_day NOT BETWEEN {first_day} AND {last_day}",
    ),
    "operator_within_tolerance": BreakRule(
        EXPECTED,
        "amounts or fees differ within the tolerance",
        "None.",
        "amount_operator <> amount_service OR fee_operator <> fee_service",
    ),
    "operator_timing": BreakRule(
        EXPECTED, "agree, on different days", "None.", "operator_day <> business_day"
    ),
    "operator_agrees": BreakRule(OK, "agree", "None.", "TRUE"),
}

OPERATOR_FEES: Final = frozenset({"operator_fee_differs", "operator_fees_differ"})
"""What is at stake is the difference of the fees, not the payment beside it."""
