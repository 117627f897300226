"""What comes of matching the operator's and the bank's statements."""

from typing import Final

from kusanya_books.columns.dtypes import AT, D, Schema, T, W

RECEIPTS: Final = Schema(
    "receipts",
    {"collection_id": T, "receipt": T, "channel": T, "input": T, "line_no": W},
)
"""One row per operator's receipt of a collection, and the line of the statement that says so."""

OPERATOR_MATCHES: Final = Schema(
    "operator_matches",
    {
        "break_code": T,
        "standing": T,
        "match_rule": T,
        "group_key": T,
        "receipt": T,
        "reference": T,
        "collection_id": T,
        "input": T,
        "line_no": W,
        "kind": T,
        "channel": T,
        "currency": T,
        "status_operator": T,
        "status_service": T,
        "amount_operator": W,
        "amount_service": W,
        "amount_drift": W,
        "fee_operator": W,
        "fee_service": W,
        "fee_drift": W,
        "counted_operator": W,
        "counted_service": W,
        "bridge_effect": W,
        "at_stake": W,
        "at": AT,
        "completed_at": AT,
        "operator_day": D,
        "business_day": D,
        "age_days": W,
        "suggested_action": T,
    },
)
"""One row per line of the operator's statements and per success of the service, met or alone.
`bridge_effect` is operator - service, `fee_drift` what the operator charged more than the service
says; a line of fees for many payments has their sums. `at_stake` is by how much a row is wrong,
signs aside: the difference of fees or amounts, else the whole. A payment and its
reversal have one `group_key`."""

BANK_MATCHES: Final = Schema(
    "bank_matches",
    {
        "break_code": T,
        "standing": T,
        "match_rule": T,
        "group_key": T,
        "payout": T,
        "source": T,
        "input": T,
        "line_no": W,
        "kind": T,
        "channel": T,
        "currency": T,
        "amount_bank": W,
        "amount_payout": W,
        "counted_bank": W,
        "counted_payout": W,
        "bridge_effect": W,
        "at_stake": W,
        "bank_day": D,
        "payout_day": D,
        "age_days": W,
        "details": T,
        "suggested_action": T,
    },
)
"""One row per line of the bank's statements and per payout, met or alone; what met in a group has
one `group_key`. `bridge_effect` is bank - payout; what a group is wrong by, or the whole of it
where it agrees, is `at_stake` on one of its rows."""

LEG_BRIDGE: Final = Schema(
    "leg_bridge", {"channel": T, "currency": T, "line": T, "rows": W, "amount": W}
)
"""Per channel and currency: the statement's sum, less the effect of each code, the other side's
sum, what is unexplained; then, where lines have balances, opening, closing and what they leave."""

BALANCES_SAID: Final = Schema(
    "balances_said",
    {"account": T, "currency": T, "moved": W, "fees": W, "opening": W, "denied": W},
)
"""What the balances beside a statement's lines say, by account: its channel, '' of a bank. `moved`
is what the lines of the period come to in files that say balances; `fees` what is taken from those
beside them; `denied` what lacks between the lines."""

BALANCE_GAPS: Final = Schema(
    "balance_gaps",
    {
        "channel": T,
        "currency": T,
        "input": T,
        "day_before": D,
        "balance_before": W,
        "day": D,
        "balance": W,
        "amount": W,
    },
)
"""Where the balances of a statement do not lead on: the last one and its day, what the lines of
the file `input` begin with and theirs, and the difference."""
