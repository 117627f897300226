"""What fees come to, why attempts fail and how often, and what came back."""

from typing import Final

from kusanya.domain.status import FIGURES
from kusanya_books.columns.dtypes import AT, D, F, S, Schema, T, W
from kusanya_books.columns.input import TARIFF

DAILY: Final = Schema(
    "daily",
    {
        "business_day": D,
        "mode": T,
        "currency": T,
        "channel": T,
        "attempts": W,
        **dict.fromkeys(FIGURES, W),
        "other": W,
        "gross": W,
        "fee": W,
        "net": W,
        "effective_bps": W,
        "expected_fee": W,
        "fee_drift": W,
        "unpriced": W,
    },
)
"""One row per business day, mode, currency and channel, then a total per mode and currency."""

POSTINGS: Final = Schema(
    "postings",
    {
        "business_day": D,
        "currency": T,
        "channel": T,
        "kind": T,
        "break_code": T,
        "rows": W,
        "gross": W,
        "fee": W,
        "excise": W,
        "vat": W,
        "net": W,
    },
)
"""One row per business day, channel, kind and break code, none of them 0 rows. `kind` is
collections, payout, refund, provider_charge, payout_break (paid out, and not ours to clear),
line_break (a line of the operator that is a break) or not_booked. `net` is gross - fee of
collections, what came in of line_break, what was paid out, given back or charged of the others;
`excise` and `vat` are parts of the fee. Of a day before the period it is what its collections are
now, less what its own close booked; what was paid for it since (paid_since), and beyond what it
waited for (over_since); what was taken back of it and is given back since (refund_since); what was
charged on it and is read since (charge_since); and what its breaks had on the account for them and
is explained.
"""

POINTS: Final = Schema(
    "points",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "created_day": D,
        "amount": W,
        "fee": W,
        "rows": W,
    },
)
"""One row per day of creation, channel, amount and fee."""

CHARGED: Final = TARIFF.plus(
    "charged", model=T, bps=T, bps_range=T, rows=W, explained=W, exceptions=W
)
"""The tariff that was charged: TARIFF, and how well it explains the rows of its span. `bps` is the
rate in basis points and `bps_range` the rates that the rows allow."""

EXPECTED: Final = Schema(
    "expected",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "band": T,
        "rows": W,
        "unpriced": W,
        "exceptions": W,
        "amount": W,
        "charged": W,
        "expected": W,
        "drift": W,
        "effective_bps": W,
    },
)
"""One row per channel and amount band of what was created in the period, all statuses; `drift` is
charged - expected."""

EXCEPTIONS: Final = Schema(
    "exceptions",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "created_day": D,
        "status": T,
        "amount": W,
        "charged": W,
        "expected": W,
        "drift": W,
    },
)
"""One row per collection whose fee is not the tariff's, the largest drift first."""

INTEGRITY: Final = Schema(
    "integrity",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "collections": W,
        "no_evidence": W,
        "single_source": W,
        "agree": W,
        "drifted": W,
        "drift": W,
    },
)
"""One row per channel: how many collections have their fee from two sources that agree."""

DRIFTED: Final = Schema(
    "drifted",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "amount": W,
        "fee_202": W,
        "fee_event": W,
        "fee_get": W,
        "first": W,
        "last": W,
        "drift": W,
    },
)
"""One row per collection whose sources say different fees; `drift` is last - first."""

UNPAID: Final = Schema(
    "unpaid",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "collections": W,
        "quoted": W,
        "deducted_lines": W,
        "deducted": W,
    },
)
"""One row per channel and status that did not succeed: fees quoted, and fees that the settlement
statement deducted all the same."""

STRADDLERS: Final = Schema(
    "straddlers",
    {
        "collection_id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "amount": W,
        "fee": W,
        "created_at": AT,
        "completed_at": AT,
        "created_day": D,
        "business_day": D,
    },
)
"""One row per collection that was created on one business day and completed on another."""

UNPRICED: Final = Schema("unpriced", {"currency": T, "rows": W, "fee": W})
"""One row per currency: collections for whose fee the tariff has no price, and what they cost."""

PARETO: Final = Schema(
    "pareto",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "class": T,
        "attempts": W,
        "share": S,
        "cum_share": S,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "value": W,
        "value_share": S,
        "value_cum_share": S,
        "advice": T,
    },
)
"""One row per mode, currency and failure code."""

RATES: Final = Schema(
    "rates",
    {
        "mode": T,
        "currency": T,
        "part": T,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "references_paid": W,
        "reference_rate": S,
        "reference_low": S,
        "reference_high": S,
        "few": F,
    },
)
"""One row per part: how many attempts, and how many references, succeeded. `few` marks rates that
rest on too few attempts to be read."""

HOURS: Final = Schema(
    "hours",
    {
        "mode": T,
        "currency": T,
        "weekday": W,
        "hour": W,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "few": F,
    },
)
"""One row per weekday (0 is Monday) and hour of creation, East Africa Time."""

RECOVERY: Final = Schema(
    "recovery",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "references": W,
        "recovered": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "still_open": W,
        "median_lag_s": W,
        "value": W,
        "value_recovered": W,
        "value_open": W,
        "value_lost": W,
        "few": F,
    },
)
"""One row per first failing code of a reference; `still_open` ones are young enough to recover."""

GAP_ROWS: Final = Schema(
    "gap_rows",
    {
        "row_no": W,
        "label": T,
        "currency": T,
        "channel": T,
        "amount": W,
        "fee": W,
        "at": AT,
        "day": D,
    },
)
"""One row per signed amount that may be part of a gap; what is not known of it is missing."""

GAP_SETS: Final = Schema(
    "gap_sets", {"set": W, "row_no": W, "label": T, "amount": W, "day": D, "rows_of_amount": W}
)
"""One row per row of a set; any of the `rows_of_amount` rows of this amount would do."""

HYPOTHESES: Final = Schema("hypotheses", {"hypothesis": T, "rows": W, "finding": T, "meaning": T})
"""One row per hypothesis and place where it fits; 0 rows where it does not."""
