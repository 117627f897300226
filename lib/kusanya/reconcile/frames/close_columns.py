"""What a close leaves: the period as it was known, what changed since, files and checks."""

from typing import Final

from kusanya.reconcile.frames.dtypes import AT, D, F, Schema, T, W

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
