"""From the service's words to the collections frame: days, hours, masked phones.

Nothing past this room holds a full phone number: `phone_masked` is for eyes, `phone_key` a keyed
hash that groups the collections of one customer and leaves in no export.
"""

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pandas as pd

from kusanya.business_day import EAT
from kusanya.privacy import mask_phone
from kusanya.reconcile import columns
from kusanya.reconcile.columns import COLLECTIONS, Kind, Schema
from kusanya.reconcile.days import business_days

RAW: Final = Schema(
    "raw collections",
    {
        **{
            name: COLLECTIONS.columns[name]
            for name in (
                "id",
                "mode",
                "currency",
                "channel",
                "reference",
                "amount",
                "fee",
                "status",
                "failure_code",
                "created_at",
                "completed_at",
                "fee_202",
                "fee_event",
                "fee_get",
                "contradictions",
                "seq",
            )
        },
        "phone": Kind.TEXT,
        "event_at": Kind.INSTANT,
        "final_seen_at": Kind.INSTANT,
    },
)
"""One row per collection as the store keeps it; `event_at` is its final event's `created_at`."""


def dress(
    given: pd.DataFrame | Mapping[str, Any], *, key: str, cutoff: timedelta = timedelta(0)
) -> pd.DataFrame:
    """Return the collections frame of raw rows, ordered by creation and id.

    The business day is that of `completed_at`, else of the final event, else of the moment a final
    state was first seen; `day_source` says which. `key` keys the hash of phones. Raises FrameError.
    """
    raw = columns.frame(RAW, given)
    at = raw["completed_at"].fillna(raw["event_at"]).fillna(raw["final_seen_at"])
    source = pd.Series(pd.NA, index=raw.index, dtype=Kind.TEXT.dtype)
    for name, word in (
        ("final_seen_at", "first seen"),
        ("event_at", "event"),
        ("completed_at", "completed_at"),
    ):
        source = source.mask(raw[name].notna(), word)
    local = raw["created_at"].dt.tz_localize(None) + EAT.utcoffset(None)
    phones = raw["phone"].astype("category")
    known = [str(phone) for phone in phones.cat.categories]
    dressed = raw.assign(
        phone_masked=_of_codes(phones, [mask_phone(phone) for phone in known]),
        phone_key=_of_codes(phones, [_hash(phone, key) for phone in known]),
        created_day=business_days(raw["created_at"], cutoff=cutoff),
        created_hour=local.dt.hour,
        created_weekday=local.dt.day_of_week,
        business_day=business_days(at, cutoff=cutoff),
        day_source=source,
    )
    ordered = dressed.sort_values(["created_at", "id"], kind="stable")
    return columns.frame(COLLECTIONS, ordered)


def _of_codes(phones: "pd.Series[Any]", values: list[str]) -> Any:
    return pd.Series(pd.array(values, dtype=Kind.TEXT.dtype)).reindex(phones.cat.codes).array


def _hash(phone: str, key: str) -> str:
    return hashlib.blake2b(phone.encode(), key=key.encode()[:64], digest_size=8).hexdigest()
