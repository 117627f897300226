"""The break rules of the bank's statements, in the order in which they are tried."""

from typing import Final

from kusanya_books.match.breaks.rule import BREAK, EXPECTED, OK, BreakRule

BANK: Final[dict[str, BreakRule]] = {
    "bank_not_completed": BreakRule(
        OK, "did not happen at the bank", "None.", "has_line AND NOT is_completed"
    ),
    "bank_line_again": BreakRule(
        BREAK, "a line that its statement holds twice", "Give it without the copy.", "is_copied"
    ),
    "bank_zero": BreakRule(
        EXPECTED, "a line of 0: no money moved", "None.", "has_line AND amount_bank = 0"
    ),
    "bank_charge": BreakRule(
        EXPECTED, "the bank's charge", "None.", "kind IN ('fee', 'charge', 'tax')"
    ),
    "bank_paid_again": BreakRule(
        EXPECTED, "a payout taken back, and paid again", "None.", "is_paid_again"
    ),
    "bank_taken_back": BreakRule(
        BREAK,
        "a payout taken back at the bank, and not paid again",
        "Ask the operator to pay it again.",
        "takes_back",
    ),
    "bank_returned": BreakRule(
        BREAK,
        "taken back at the bank",
        "Ask the bank.",
        "NOT has_met AND kind IN ('reversal', 'chargeback', 'refund')",
    ),
    "bank_debit": BreakRule(
        EXPECTED,
        "money out that is no payout's",
        "None.",
        "NOT has_met AND has_line AND amount_bank < 0",
    ),
    "bank_credited_again": BreakRule(
        BREAK, "one payout, credited twice", "Ask the bank.", "is_second"
    ),
    "bank_perhaps_earlier": BreakRule(
        BREAK,
        "credited, perhaps for a payout before the statements begin",
        "Give the earlier statement too.",
        "has_line AND NOT has_met AND kind = 'payout'"
        " AND date_diff('day', first_payout, bank_day) < {settle_days}",
    ),
    "bank_unexpected": BreakRule(
        BREAK,
        "credited, and no payout says so",
        "Ask the operator.",
        "has_line AND NOT has_met AND kind = 'payout'",
    ),
    "bank_other_credit": BreakRule(
        EXPECTED, "money in that no payout explains", "See whose it is.", "has_line AND NOT has_met"
    ),
    "bank_pending": BreakRule(
        EXPECTED,
        "paid out, not credited yet",
        "Wait.",
        # What is due after the statements end is no bank's to have.
        "NOT has_met AND (age_days <= {settle_days}"
        " OR date_diff('day', payout_day, bank_ends) < {settle_days})",
        waits=True,
    ),
    "bank_missing": BreakRule(
        BREAK, "paid out, not at the bank", "Ask bank and operator.", "NOT has_met"
    ),
    "bank_short": BreakRule(
        BREAK, "less was credited", "Claim the difference.", "drift < -{amount_tolerance}"
    ),
    "bank_over": BreakRule(
        BREAK, "more was credited", "Ask the bank.", "drift > {amount_tolerance}"
    ),
    "bank_across_cutoff": BreakRule(
        EXPECTED,
        "agree, on either side of the period's edge",
        "None.",
        "least(bank_from, payout_from) < {first_day} OR greatest(bank_to, payout_to) > {last_day}",
    ),
    "bank_late": BreakRule(
        EXPECTED,
        "agree, credited later than agreed",
        "None.",
        "date_diff('day', payout_from, bank_to) > {settle_days}",
    ),
    "bank_within_tolerance": BreakRule(
        EXPECTED, "agree within the tolerance", "None.", "drift <> 0"
    ),
    "bank_together": BreakRule(OK, "several payouts in one credit", "None.", "form = 'together'"),
    "bank_in_parts": BreakRule(OK, "one payout in several credits", "None.", "form = 'parts'"),
    "bank_agrees": BreakRule(OK, "agree", "None.", "TRUE"),
}
