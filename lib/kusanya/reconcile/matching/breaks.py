"""The break rules of ledger and statement: ordered, disjoint, exhaustive.

The first rule that applies to a row gives its code. To add a rule of the ledger, the operator or
the bank, add a row to its table here: the query's CASE, the labels and the advice are read from it.
The settlement's rows have no condition: `sql/settlement/rows.sql` decides them.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec
import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import DType, Schema


class Standing(StrEnum):
    """What a code says about a row; what people then decide about a break is its `BreakStatus`."""

    BREAK = "break"
    EXPECTED = "expected"
    """Not a fault: time between the two sides."""
    OK = "ok"


class BreakRule(msgspec.Struct, frozen=True):
    """A code's standing, what it means, what to do, and when it applies."""

    standing: Standing
    meaning: str
    action: str
    condition: str = ""
    """SQL over a row of the leg's verdicts, with `{grace_days}` and so on for what was agreed
    (`frames/tolerance.py`); empty where `settlement/rows.sql` decides."""
    waits: bool = False
    """Expected for now, and a break when nothing comes: it is carried into the next period."""
    others_may_complete: bool = False
    """A line and a payment that met and differ: further lines or payments may make up for it, so
    both are tried in split and joint bookings. True of every rule that compares amounts."""
    refund_clears: bool = False
    """The advice is to pay back or to book that: such a line of the books clears it."""


_B, _E, _O = Standing.BREAK, Standing.EXPECTED, Standing.OK

LEDGER: Final[dict[str, BreakRule]] = {
    "duplicate_in_ledger": BreakRule(_B, "booked twice", "Delete the second line.", "is_twin"),
    "contradiction": BreakRule(
        _B, "the service said two things", "Read the evidence card.", "is_contradicted"
    ),
    "unknown_status": BreakRule(
        _B, "a status we do not know", "Ask the provider what it means.", "is_unknown"
    ),
    "double_payment": BreakRule(
        _B, "the customer paid twice", "Refund the later payment.", "is_second", refund_clears=True
    ),
    "mode_mismatch": BreakRule(
        _B, "the payment is of the other mode", "Correct the booking.", "is_of_other_mode"
    ),
    "outcome_unknown": BreakRule(
        _B, "sent, and the answer never came", "Resolve the intent.", "is_unanswered"
    ),
    "books_zero": BreakRule(
        _E,
        "a line of 0 without a payment: nothing is booked",
        "None.",
        "booked AND NOT has_collection AND amount_ledger = 0",
    ),
    "timing_unseen": BreakRule(
        _E,
        "booked, not seen yet",
        "Wait.",
        "booked AND NOT has_collection AND age_days <= {grace_days}",
        waits=True,
    ),
    "missing_at_provider": BreakRule(
        _B, "booked, never paid", "Find the payment or reverse.", "booked AND NOT has_collection"
    ),
    "timing_unbooked": BreakRule(
        _E,
        "paid, not booked yet",
        "Wait.",
        "paid AND (NOT has_line OR is_open) AND age_days <= {grace_days}",
        waits=True,
    ),
    "perhaps_booked_earlier": BreakRule(
        _B,
        "paid, perhaps booked before these books begin",
        "Look in the earlier books, or give them too; else book it.",
        "paid AND NOT has_line AND date_diff('day', {books_from}, created_day) < {grace_days}",
    ),
    "missing_in_ledger": BreakRule(
        _B, "paid, not in the books", "Book it.", "paid AND NOT has_line"
    ),
    "late_success": BreakRule(
        _B,
        "paid, the books say not",
        "Deliver, or refund.",
        "paid AND NOT booked",
        refund_clears=True,
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
        "NOT {net_basis} AND fee_service <> 0 AND amount_ledger = amount_service - fee_service",
    ),
    "amount_mismatch": BreakRule(
        _B,
        "the amounts differ",
        "Correct the amount.",
        "abs(amount_ledger - due) > {amount_tolerance}",
        others_may_complete=True,
    ),
    "fee_mismatch": BreakRule(
        _B,
        "the fees differ",
        "Claim the fee, or correct it.",
        "abs(fee_ledger - fee_service) > {fee_tolerance}",
    ),
    "paid_in_earlier_period": BreakRule(
        _E, "agree, paid in an earlier period", "None.", "business_day < {first_day}"
    ),
    "paid_in_later_period": BreakRule(
        _E, "agree, paid in a later period", "None.", "business_day > {last_day}"
    ),
    "booked_in_earlier_period": BreakRule(
        _E, "agree, booked in an earlier period", "None.", "booked_day < {first_day}"
    ),
    "booked_in_later_period": BreakRule(
        _E, "agree, booked in a later period", "None.", "booked_day > {last_day}"
    ),
    "timing": BreakRule(_E, "agree, on different days", "None.", "booked_day <> business_day"),
    "refund": BreakRule(_E, "a refund", "None."),
    "credit_note": BreakRule(_E, "a credit note", "None."),
    "chargeback": BreakRule(_E, "a chargeback", "None."),
    "bank_charges": BreakRule(_E, "charges of the bank", "None."),
    "reversal": BreakRule(_E, "cancels a line of another period", "None."),
    "booked_by_day_net": BreakRule(
        _E, "one line for the payments of a day, after their fees", "Book the fees."
    ),
    "reference_differs": BreakRule(_E, "agree, the reference is written differently", "None."),
    "refunded": BreakRule(_O, "paid once too often, and refunded", "None."),
    "reversed_pair": BreakRule(_O, "a line and what cancels it", "None."),
    "split_booking": BreakRule(_O, "several lines for one payment", "None."),
    "booked_together": BreakRule(_O, "one line for several payments", "None."),
    "booked_by_day": BreakRule(_O, "one line for the payments of a day", "None."),
    "matched": BreakRule(_O, "agree", "None.", "TRUE"),
}
"""The codes of the ledger, in the order in which they are tried. `ledger/groups.sql` gives those
that have no condition."""

SETTLEMENT: Final[dict[str, BreakRule]] = {
    "settlement_duplicate": BreakRule(_B, "paid out twice", "Ask the provider."),
    "settlement_zero": BreakRule(_E, "a payout of 0 without collections", "None."),
    "settlement_unexpected": BreakRule(_B, "paid out without collections", "Ask the provider."),
    "settlement_pending": BreakRule(_E, "not due yet", "Wait.", waits=True),
    "settlement_missing": BreakRule(_B, "due and not paid out", "Claim it."),
    "settlement_fee_mismatch": BreakRule(_B, "more or less fee was deducted", "Claim the fee."),
    "settlement_short": BreakRule(_B, "less was paid out", "Claim the difference."),
    "settlement_over": BreakRule(_B, "more was paid out", "Ask the provider."),
    "settled": BreakRule(_O, "paid out", "None."),
}
"""The codes of the settlement statement, in the order in which they are tried."""

OPERATOR: Final[dict[str, BreakRule]] = {
    "operator_not_completed": BreakRule(
        _O, "did not happen at the operator", "None.", "has_line AND NOT is_completed"
    ),
    "operator_line_again": BreakRule(
        _B, "two statements hold the same line", "Give each statement once.", "is_copied"
    ),
    "operator_zero": BreakRule(
        _E, "a line of 0: no money moved", "None.", "has_line AND amount_operator = 0"
    ),
    "operator_fee": BreakRule(_E, "the operator's fee", "None.", "kind IN ('fee', 'charge')"),
    "operator_tax": BreakRule(_E, "a tax or levy at the operator", "None.", "kind = 'tax'"),
    "operator_payout": BreakRule(
        _E, "paid out by the operator", "See the bank's statement.", "kind = 'payout'"
    ),
    "operator_refund": BreakRule(
        _E, "refunded at the operator", "Book it if the books do not say so.", "kind = 'refund'"
    ),
    "operator_chargeback": BreakRule(
        _B,
        "charged back at the operator",
        "Dispute it, or book it.",
        "kind = 'chargeback'",
        refund_clears=True,
    ),
    "operator_reversed_unpaid": BreakRule(
        _O,
        "paid and taken back at the operator, and not paid here",
        "None.",
        "(takes_back AND NOT takes_back_paid) OR (is_taken_back AND NOT paid)",
    ),
    "operator_reversed": BreakRule(
        _B,
        "taken back at the operator after success",
        "Book it as a refund, or ask the operator.",
        "takes_back OR is_taken_back",
        refund_clears=True,
    ),
    "operator_reversal_alone": BreakRule(
        _B,
        "a reversal of no known payment",
        "Ask the operator.",
        "kind = 'reversal'",
        refund_clears=True,
    ),
    "operator_other": BreakRule(
        _B,
        "neither a payment nor of another known kind",
        "Say in the mapping what it is.",
        "has_line AND (kind <> 'payment' OR NOT is_in)",
    ),
    "operator_outcome_unknown": BreakRule(
        _B,
        "paid at the operator, and the answer to our request never came",
        "Resolve the intent.",
        "is_unanswered AND NOT has_collection",
    ),
    "operator_duplicate": BreakRule(
        _B,
        "paid twice at the operator",
        "Refund the second payment.",
        "is_second",
        refund_clears=True,
    ),
    "operator_not_seen_yet": BreakRule(
        _E,
        "paid at the operator, not seen here yet",
        "Wait.",
        "has_line AND NOT has_collection AND age_days <= {grace_days}",
        waits=True,
    ),
    "operator_unknown_here": BreakRule(
        _B,
        "paid at the operator, unknown here",
        "Ask the provider for the collection.",
        "has_line AND NOT has_collection",
    ),
    "operator_not_paid_here": BreakRule(
        _B,
        "paid at the operator, and not a success here",
        "Ask the provider to correct it.",
        "has_line AND NOT paid",
    ),
    "operator_pending": BreakRule(
        _E,
        "a success here, not at the operator yet",
        "Wait.",
        "NOT has_line AND age_days <= {grace_days}",
        waits=True,
    ),
    "operator_not_reached": BreakRule(
        _B,
        "a success on a day that no statement reaches",
        "Give the statement of that day.",
        "NOT has_line AND NOT is_reached",
    ),
    "operator_missing": BreakRule(
        _B, "a success here, not at the operator", "Ask the operator.", "NOT has_line"
    ),
    "operator_currency_mismatch": BreakRule(
        _B, "paid in two currencies", "Ask the provider.", "currency_line <> currency_other"
    ),
    "operator_fee_side": BreakRule(
        _B,
        "the amounts differ by the fee",
        "Find out who bears the fee.",
        "fee_service <> 0 AND abs(amount_operator - amount_service) = fee_service",
    ),
    "operator_amount_mismatch": BreakRule(
        _B,
        "the amounts differ",
        "Ask the provider.",
        "abs(amount_operator - amount_service) > {amount_tolerance}",
    ),
    "operator_channel_mismatch": BreakRule(
        _B, "paid by another channel", "Ask the provider.", "account_line <> account_other"
    ),
    "operator_across_cutoff": BreakRule(
        _E,
        "agree, on either side of the period's edge",
        "None.",
        "operator_day NOT BETWEEN {first_day} AND {last_day}"
        " OR business_day NOT BETWEEN {first_day} AND {last_day}",
    ),
    "operator_timing": BreakRule(
        _E, "agree, on different days", "None.", "operator_day <> business_day"
    ),
    "operator_agrees": BreakRule(_O, "agree", "None.", "TRUE"),
}
"""The codes of the operator's statements, in the order in which they are tried."""

BANK: Final[dict[str, BreakRule]] = {
    "bank_not_completed": BreakRule(
        _O, "did not happen at the bank", "None.", "has_line AND NOT is_completed"
    ),
    "bank_line_again": BreakRule(
        _B, "two statements hold the same line", "Give each statement once.", "is_copied"
    ),
    "bank_zero": BreakRule(
        _E, "a line of 0: no money moved", "None.", "has_line AND amount_bank = 0"
    ),
    "bank_charge": BreakRule(_E, "the bank's charge", "None.", "kind IN ('fee', 'charge', 'tax')"),
    "bank_returned": BreakRule(
        _B,
        "taken back at the bank",
        "Ask the bank.",
        "kind IN ('reversal', 'chargeback', 'refund')",
    ),
    "bank_debit": BreakRule(
        _E, "money out that is no payout's", "None.", "has_line AND amount_bank < 0"
    ),
    "bank_credited_again": BreakRule(
        _B, "one payout, credited twice", "Ask the bank.", "is_second"
    ),
    "bank_perhaps_earlier": BreakRule(
        _B,
        "credited, perhaps for a payout before the statements begin",
        "Give the earlier statement too.",
        "has_line AND NOT has_met AND kind = 'payout'"
        " AND date_diff('day', first_payout, bank_day) < {settle_days}",
    ),
    "bank_unexpected": BreakRule(
        _B,
        "credited, and no payout says so",
        "Ask the operator.",
        "has_line AND NOT has_met AND kind = 'payout'",
    ),
    "bank_other_credit": BreakRule(
        _E, "money in that no payout explains", "See whose it is.", "has_line AND NOT has_met"
    ),
    "bank_pending": BreakRule(
        _E,
        "paid out, not credited yet",
        "Wait.",
        "NOT has_met AND age_days <= {settle_days}",
        waits=True,
    ),
    "bank_missing": BreakRule(
        _B, "paid out, not at the bank", "Ask bank and operator.", "NOT has_met"
    ),
    "bank_short": BreakRule(
        _B, "less was credited", "Claim the difference.", "drift < -{amount_tolerance}"
    ),
    "bank_over": BreakRule(_B, "more was credited", "Ask the bank.", "drift > {amount_tolerance}"),
    "bank_across_cutoff": BreakRule(
        _E,
        "agree, on either side of the period's edge",
        "None.",
        "least(bank_from, payout_from) < {first_day} OR greatest(bank_to, payout_to) > {last_day}",
    ),
    "bank_late": BreakRule(
        _E,
        "agree, credited later than agreed",
        "None.",
        "date_diff('day', payout_from, bank_to) > {settle_days}",
    ),
    "bank_together": BreakRule(_O, "several payouts in one credit", "None.", "form = 'together'"),
    "bank_in_parts": BreakRule(_O, "one payout in several credits", "None.", "form = 'parts'"),
    "bank_agrees": BreakRule(_O, "agree", "None.", "TRUE"),
}
"""The codes of the bank's statements, in the order in which they are tried."""

EVERY: Final = {**LEDGER, **SETTLEMENT, **OPERATOR, **BANK}
"""The codes of all legs."""

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
            "standing": [rule.standing.value for rule in rules.values()],
            "meaning": [rule.meaning for rule in rules.values()],
            "action": [rule.action for rule in rules.values()],
        },
    )


def break_code(rules: dict[str, BreakRule]) -> str:
    """Return the SQL that gives a row of a leg's verdicts its code, by rules with a condition."""
    tried = "\n".join(
        f"WHEN {rule.condition} THEN '{code}'" for code, rule in rules.items() if rule.condition
    )
    return f"CASE\n{tried}\nEND"


def agreeing() -> str:
    """Return the SQL list of the ledger's codes of rows that agree."""
    return _codes(lambda rule: rule.standing is Standing.OK)


def completed_by_others() -> str:
    """Return the SQL list of the ledger's codes that split and joint bookings may complete."""
    return _codes(lambda rule: rule.others_may_complete)


def cleared_by_refund() -> str:
    """Return the SQL list of the ledger's codes whose payments a refund pays back."""
    return _codes(lambda rule: rule.refund_clears)


def _codes(chosen: Callable[[BreakRule], bool]) -> str:
    codes = (f"'{code}'" for code, rule in LEDGER.items() if chosen(rule))
    return f"({', '.join(codes)})"
