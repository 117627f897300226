"""What goes into a reconciliation: collections, books, statement, tariff, account of loads."""

from typing import Final

from kusanya_books.columns.dtypes import AT, D, F, Schema, T, W

COLLECTIONS: Final = Schema(
    "collections",
    {
        "id": T,
        "mode": T,
        "currency": T,
        "channel": T,
        "reference": T,
        "phone_masked": T,
        "phone_key": T,
        "amount": W,
        "fee": W,
        "status": T,
        "failure_code": T,
        "created_at": AT,
        "completed_at": AT,
        "created_day": D,
        "created_hour": W,
        "created_weekday": W,
        "business_day": D,
        "day_source": T,
        "fee_202": W,
        "fee_event": W,
        "fee_get": W,
        "contradictions": W,
        "seq": W,
    },
)
"""One row per collection, as the service and its events said. `business_day` is missing while it is
open; `created_hour` and `created_weekday` (0 is Monday) are East Africa Time."""

KEYS: Final = Schema("keys", {"id": T, "reference": T})
"""One row per collection of the other mode: enough to tell that a key belongs there."""

COMPARED: Final = Schema(
    "compared", {"leg": T, "channel": T, "has_fees": F, "first_day": D, "last_day": D}
)
"""One row per leg, channel and span of days of which its statement was given; the books' channel is
null."""

SINCE: Final = Schema("since", {"leg": T, "id": T, "reference": T})
"""One row per success that became known late, and leg that was compared of its day."""

CHANNELS: Final = Schema("channels", {"channel": T})
"""One row per channel of which an operator's statement was given, be it without a line."""

PAYERS: Final = Schema("payers", {"channel": T, "currency": T})
"""One row per channel and currency that its operator pays out itself."""

INTENTS: Final = Schema("intents", {"id": T, "reference": T, "amount": W, "sent_at": AT})
"""One row per creation whose outcome is not known: the customer may have been charged."""

CONTROL: Final = Schema(
    "control",
    {
        "currency": T,
        "status": T,
        "rows": W,
        "rows_rollup": W,
        "amount": W,
        "amount_rollup": W,
        "fee": W,
        "fee_rollup": W,
        "agrees": F,
    },
)
"""One row per currency and status of what was created in the period: frame against rollup."""

QUALITY: Final = Schema("quality", {"input": T, "row": W, "column": T, "verdict": T, "reason": T})
"""One row per input row that was skipped, rejected or is remarkable; `row` counts from 1, `column`
is the file's own name."""

UNREAD: Final = Schema(
    "unread", {"input": T, "row": W, "column": T, "reason": T, "currency": T, "amount": W}
)
"""One row per input row that could not be read; `amount` is missing where it could
not be either."""

ACCOUNT: Final = Schema(
    "account",
    {
        "input": T,
        "rows": W,
        "kept": W,
        "skipped": W,
        "rejected": W,
        "warned": W,
        "sha256": T,
    },
)
"""One row per input: rows = kept + skipped + rejected."""

TARIFF: Final = Schema(
    "tariff",
    {
        "mode": T,
        "currency": T,
        "channel": T,
        "first_day": D,
        "last_day": D,
        "low": W,
        "high": W,
        "fee": W,
        "rate_num": W,
        "rate_den": W,
        "rounding": T,
        "floor": W,
        "cap": W,
        "plus": W,
        "excise_bps": W,
        "vat_bps": W,
        "taxes_on_top": F,
    },
)
"""One row per amount band of a span of `created_day`, all bounds included, missing = without end.
A band has either one `fee` or a rate rate_num / rate_den with its rounding and `plus`, a sum beside
it; floor and cap bound both together. Taxes are basis points of the fee, VAT of fee with excise."""

LEDGER: Final = Schema(
    "ledger",
    {
        "row_no": W,
        "reference": T,
        "collection_id": T,
        "amount": W,
        "fee": W,
        "currency": T,
        "channel": T,
        "status": T,
        "booked_at": AT,
        "booked_day": D,
        "kind": T,
    },
    {"kind": "payment"},
)
"""One row per line of the merchant's books; `status` is paid, open or not_paid. `kind` is payment,
or refund, credit_note, chargeback, charge (of a bank) or reversal; the amount of a payment is at
least 0, of the others it is signed (money out is negative)."""

MOVEMENTS: Final = Schema(
    "movements",
    {
        "input": T,
        "line_no": W,
        "leg": T,
        "channel": T,
        "currency": T,
        "at": AT,
        "business_day": D,
        "receipt": T,
        "reference": T,
        "collection_id": T,
        "kind": T,
        "status": T,
        "amount": W,
        "fee": W,
        "balance": W,
        "details": T,
    },
)
"""One row per line of an operator's organisation statement or of a bank's statement; `leg` is
operator or bank, or, among what is carried, shown: a payout that the bank has shown. `input` is the
file's name. `kind` is payment, payout, fee, tax, refund, reversal, chargeback, charge, own (the
shop's own money, of no customer) or other; `status` is completed or the statement's own word.
`amount` is signed (in +, out -); `details` is safe text with phones masked."""

STATEMENT: Final = Schema(
    "statement",
    {
        "input": T,
        "line_no": W,
        "batch_id": T,
        "collection_id": T,
        "business_day": D,
        "channel": T,
        "currency": T,
        "gross": W,
        "fee": W,
        "net": W,
        "count": W,
        "kind": T,
    },
    {"input": "", "kind": "payment"},
)
"""One row per line of the provider's settlement statement: of a day and channel, or, where
`collection_id` is given, of one collection. `input` is the file's name. `kind` is payment, for
collections, or charge, for what the provider itself charges, below zero."""

PLANTED: Final = Schema(
    "planted",
    {
        "leg": T,
        "break_code": T,
        "reference": T,
        "collection_id": T,
        "row_no": W,
        "business_day": D,
        "channel": T,
    },
)
"""One row per fault of a sample month, with the verdict that is due."""
