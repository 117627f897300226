"""What comes of matching, and what a close leaves: the period, its changes, files and checks."""

from typing import Final

from kusanya_books.columns.dtypes import AT, D, F, Schema, T, W

MATCHES: Final = Schema(
    "matches",
    {
        "break_code": T,
        "standing": T,
        "match_rule": T,
        "group_key": T,
        "reference": T,
        "reference_service": T,
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
        "at_stake": W,
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
"""One row per ledger line and collection that met or stayed alone; what belongs together otherwise
has one `group_key`. `reference_service` is given where the two sides write it differently.
Drifts are ledger - service; `bridge_effect` is missing where they have different currencies.
`at_stake` is by how much a row is wrong, signs aside: the whole of it where one side is alone, or
both say the same sum."""

PAIRS: Final = Schema(
    "pairs",
    {
        "row_no": W,
        "reference": T,
        "collection_id": T,
        "channel": T,
        "currency": T,
        "amount_ledger": W,
        "amount_service": W,
        "fee_service": W,
        "booked_day": D,
        "business_day": D,
    },
)
"""One row per paid line of the books that agrees with its collection, in the order of the books."""

BREAKS: Final = MATCHES.plus("breaks", break_id=T, status=T)
"""The rows of a match with what people said: `status` is open, explained, accepted or to_be_booked,
and missing, as `break_id` is, where there is nothing to do."""

ITEMS: Final = Schema(
    "items",
    {
        "break_id": T,
        "leg": T,
        "subject": T,
        "finding": T,
        "break_code": T,
        "standing": T,
        "reference": T,
        "collection_id": T,
        "row_no": W,
        "channel": T,
        "currency": T,
        "amount": W,
        "balance": W,
        "suspended": W,
        "figures": T,
        "day": D,
        "age_days": W,
        "suggested_action": T,
        "status": T,
        "owner": T,
        "note": T,
        "decided_by": T,
        "carried_from": T,
    },
)
"""One row per break, and per row that waits for its other side: what the next period must look at.
`finding` is the kind of `FINDINGS` that counts it, missing where none does. `subject` is the name
that the id follows from: a receipt, a payout, a collection, or day and amount of a line without a
name; missing for books and settlement. `balance` is what the provider owes, signed, of a payout,
and what the line of the books, an operator or a bank has more than the other side; `suspended` is
what the journal entries have of it on the account for breaks; `carried_from` names the earlier
period that left it open."""

CARRIED: Final = Schema(
    "carried",
    {
        "break_id": T,
        "ending": T,
        "leg": T,
        "reference": T,
        "collection_id": T,
        "currency": T,
        "day": D,
        "carried_from": T,
        "break_code": T,
        "amount": W,
        "break_code_now": T,
        "amount_now": W,
        "suggested_action": T,
        "status": T,
        "owner": T,
        "note": T,
    },
)
"""One row per item that an earlier period left open: cleared, still open or changed."""

ROLLED: Final = Schema(
    "rolled",
    {
        "leg": T,
        "currency": T,
        "break_code": T,
        **{
            f"{what}_{part}": W
            for what in ("rows", "amount")
            for part in ("opening", "new", "cleared", "changed_away", "changed_to", "closing")
        },
        "foots": F,
    },
)
"""One row per leg, currency and code: opening + new - cleared - changed_away + changed_to =
closing, in rows and in money."""

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
        "business_day": D,
        "payments": W,
        "amount": W,
        "at_stake": W,
        "booked": W,
        "rule": T,
        "suspected": F,
        "refund": W,
        "fee": W,
    },
)
"""One row per reference that was paid more often than booked, then what is only suspected;
`rule` says why: one reference with two payments, or one customer who paid the same soon again.
`business_day` is that of the last payment, which may name no instant. `amount` is of all
payments, `at_stake` of what may have to be paid back: all but the first."""

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
        "input": T,
        "line_no": W,
        "lines": W,
        "group_key": T,
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
provider still owes. `line_no` of the file `input` is the first of its `lines`; of one that pays
several days the last day counts it. Days that one line pays together have one `group_key`."""

PAYOUTS: Final = SETTLED.plus("payouts", note=T, owner=T, break_id=T, status=T)
"""The rows of a statement with what people said, as `BREAKS` has it."""

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

DUE: Final = Schema(
    "due", {"collection_id": T, "business_day": D, "channel": T, "currency": T, "net": W}
)
"""One row per collection and day of a closed period for which the provider owes more, or less."""

EARNED: Final = Schema(
    "earned",
    {"business_day": D, "currency": T, "channel": T, "rows": W, "gross": W, "fee": W},
)
"""One row per business day, currency and channel of closed periods that has more payments, or less,
than its close knew."""

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
