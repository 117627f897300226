"""What comes of matching, and what a close leaves: the period, its changes, files and checks."""

from typing import Final

from kusanya.reconcile.frames.dtypes import AT, D, F, Schema, T, W

MATCHES: Final = Schema(
    "matches",
    {
        "break_code": T,
        "standing": T,
        "match_rule": T,
        "reference": T,
        "collection_id": T,
        "row_no": W,
        "mode": T,
        "channel": T,
        "currency_ledger": T,
        "currency_service": T,
        "amount_ledger": W,
        "amount_service": W,
        "fee_ledger": W,
        "fee_service": W,
        "status_ledger": T,
        "status_service": T,
        "amount_drift": W,
        "fee_drift": W,
        "net_drift": W,
        "counted_ledger": W,
        "counted_service": W,
        "bridge_effect": W,
        "created_at": AT,
        "completed_at": AT,
        "booked_at": AT,
        "business_day": D,
        "booked_day": D,
        "age_days": W,
        "age_bucket": T,
        "suggested_action": T,
        "suggested_match": T,
        "note": T,
        "owner": T,
    },
)
"""One row per ledger line and collection that met or stayed alone. Drifts are ledger - service;
`bridge_effect` is missing where the two sides have different currencies."""

BRIDGE: Final = Schema("bridge", {"currency": T, "line": T, "rows": W, "amount": W})
"""Per currency: ledger total, less the effect of each code, service total, what is unexplained."""

AGEING: Final = Schema(
    "ageing",
    {
        "currency": T,
        "break_code": T,
        "standing": T,
        "rows": W,
        "rows_0_1": W,
        "rows_2_3": W,
        "rows_4_7": W,
        "rows_8_30": W,
        "rows_over_30": W,
        "amount": W,
        "bridge_effect": W,
        "suggested_action": T,
    },
)
"""One row per currency and code; ages in days."""

DOUBLES: Final = Schema(
    "doubles",
    {
        "mode": T,
        "currency": T,
        "reference": T,
        "collection_ids": T,
        "first_at": AT,
        "last_at": AT,
        "payments": W,
        "amount": W,
        "booked": W,
        "rule": T,
        "suspected": F,
        "refund": W,
        "fee": W,
    },
)
"""One row per reference that was paid more often than booked, then what is only suspected;
`rule` says why: one reference with two payments, or one customer who paid the same soon again."""

LINES: Final = Schema(
    "lines",
    {
        "input": T,
        "currency": T,
        "part": T,
        "rows": W,
        "amount": W,
        "rows_not_paid": W,
        "amount_not_paid": W,
    },
)
"""One row per input file, currency and part of it (before, in and after the period, then all
lines), so that no line vanishes: rows and money that are paid, and those that are not."""

SETTLED: Final = Schema(
    "settled",
    {
        "break_code": T,
        "standing": T,
        "business_day": D,
        "channel": T,
        "currency": T,
        "collection_id": T,
        "batch_id": T,
        "line_no": W,
        "count": W,
        "gross": W,
        "fee": W,
        "net": W,
        "gross_settled": W,
        "fee_settled": W,
        "net_settled": W,
        "open_balance": W,
        "suggested_action": T,
    },
)
"""One row per business day, channel and currency, or per collection; `open_balance` is what the
provider still owes."""

CLOSED: Final = Schema(
    "closed",
    {
        "id": T,
        "reference": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "status": T,
        "failure_code": T,
        "amount": W,
        "fee": W,
        "business_day": D,
        "created_day": D,
        "contradictions": W,
        "seq": W,
    },
)
"""One row per collection of a closed period, as it was known then."""

DELTA: Final = Schema(
    "delta",
    {
        "closed_run_id": T,
        "key": T,
        "currency": T,
        "change": T,
        "field": T,
        "before": T,
        "now": T,
        "amount_effect": W,
        "fee_effect": W,
        "seq": W,
    },
)
"""One row per field that a closed period would say otherwise now; the effects of a collection stand
on its first row, so that they can be summed."""

TIMELINE: Final = Schema("timeline", {"at": AT, "what": T, "detail": T})
"""One row per fact about one collection, the earliest first."""

CHECKS: Final = Schema("checks", {"what": T, "found": T, "good": F})
"""One row per thing that the notebooks stand on."""

FILES: Final = Schema("files", {"file": T, "bytes": W, "sha256": T})
"""One row per file of a pack."""

FINDINGS: Final = Schema(
    "findings",
    {"finding": T, "currency": T, "rows": W, "amount": W, "page": T, "note": T},
)
"""One row per kind of finding and currency: how many, their sum, and the page that lists them."""
