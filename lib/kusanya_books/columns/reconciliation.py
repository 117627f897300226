"""What the first page of a pack holds: the statement, its providers, the totals of the files."""

from typing import Final

from kusanya_books.columns.dtypes import Schema, T, W

RECONCILIATION: Final = Schema(
    "reconciliation",
    {
        "part": T,
        "channel": T,
        "currency": T,
        "role": T,
        "line": T,
        "code": T,
        "standing": T,
        "rows": W,
        "amount": W,
    },
)
"""One row per line of the reconciliation statement. `role` says how the line adds up: `opening` and
`adjustment` are summed to `subtotal`, `counted` is the other side as it was counted by itself,
`difference` is what is left and must be 0, `memo` is no part of the sum."""

BALANCES: Final = Schema(
    "balances",
    {
        "part": T,
        "channel": T,
        "currency": T,
        "balance": W,
        "breaks": W,
        "carried": W,
        "adjusted": W,
        "counted": W,
        "difference": W,
    },
)
"""One row per bridge and currency: balance + breaks + carried = adjusted = counted + difference.
`carried` is every adjustment that is no break: time between the sides, fees, payouts."""

COVERAGE: Final = Schema(
    "coverage",
    {
        "leg": T,
        "channel": T,
        "currency": T,
        "rows": W,
        "amount": W,
        "rows_met": W,
        "amount_met": W,
        "percent": W,
    },
)
"""One row per leg, channel and currency: what succeeded at the service, and how much of it was met
by something given. The bank's amounts are net, and it counts no payments."""

PROVIDERS: Final = Schema(
    "providers",
    {
        "channel": T,
        "currency": T,
        "payments": W,
        "gross": W,
        "fee": W,
        "net": W,
        "paid_out": W,
        "for_other_periods": W,
        "given_back": W,
        "charged": W,
        "open_balance": W,
        "difference": W,
    },
)
"""One row per provider and currency: net = gross - fee = paid out - for other periods + given back
+ charged + open balance + difference; the last six are missing where no settlement statement was
given. `for_other_periods` is what was paid out and the period did not earn, `given_back` what the
provider kept of its payouts for refunds that the books have, `charged` what for itself."""

PLACES: Final = Schema("places", {"input": T, "currency": T, "standing": T, "rows": W, "amount": W})
"""One row per input, currency and standing: how many of its lines got a code of that standing."""

ACCOUNTED: Final = Schema(
    "accounted",
    {
        "input": T,
        "currency": T,
        **{
            f"{what}_{part}": W
            for what in ("rows", "amount")
            for part in ("read", "matched", "expected", "break", "outside", "lost")
        },
    },
)
"""One row per input file and currency, and one of the collections: read = matched + expected +
break + outside + lost. `outside` lies outside the period, or is no payment; `lost` is 0."""

CONTROLS: Final = Schema(
    "control_totals",
    {
        "input": T,
        "currency": T,
        "lines": W,
        "amount_read": W,
        "unread": W,
        "amount_unread": W,
        "file_total": W,
        "difference": W,
    },
)
"""One row per input file and currency: what was read and what could not be, against the total that
the file itself states; the last two are missing where it states none."""
