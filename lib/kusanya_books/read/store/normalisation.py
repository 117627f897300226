"""From the service's words to the collections frame: days, hours, masked phones.

Nothing past this room holds a full phone number: `phone_masked` is for eyes, `phone_key` a keyed
hash that groups the collections of one customer and leaves in no export.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from kusanya.domain.business_day import EAT
from kusanya.privacy import mask_phone, phone_hashes
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, DType, Schema
from kusanya_books.request.days import business_days

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
        "phone": DType.TEXT,
        "event_at": DType.INSTANT,
        "final_seen_at": DType.INSTANT,
    },
)
"""One row per collection as the store keeps it; `event_at` is its final event's `created_at`."""


def normalise(
    data: pd.DataFrame | Mapping[str, Any], *, key: str, cutoff: timedelta = timedelta(0)
) -> pd.DataFrame:
    """Return the collections frame of raw rows, ordered by creation and id.

    The business day is that of `completed_at`, else of the final event, else of the moment a final
    state was first seen; `day_source` says which. `key` keys the hash of phones. Raises FrameError.
    """
    raw = columns.frame(RAW, data)
    at = raw["completed_at"].fillna(raw["event_at"]).fillna(raw["final_seen_at"])
    source = pd.Series(pd.NA, index=raw.index, dtype=DType.TEXT.pandas)
    for name, word in (
        ("final_seen_at", "first seen"),
        ("event_at", "event"),
        ("completed_at", "completed_at"),
    ):
        source = source.mask(raw[name].notna(), word)
    local = raw["created_at"].dt.tz_localize(None) + EAT.utcoffset(None)
    masked, keys = _phones(pa.table({"phone": raw["phone"]})["phone"].combine_chunks(), key)
    normal = raw.assign(
        phone_masked=masked,
        phone_key=keys,
        created_day=business_days(raw["created_at"], cutoff=cutoff),
        created_hour=local.dt.hour,
        created_weekday=local.dt.day_of_week,
        business_day=business_days(at, cutoff=cutoff),
        day_source=source,
    )
    return columns.frame(COLLECTIONS, normal.take(_order(normal["created_at"], normal["id"])))


def _phones(phones: Any, key: str) -> tuple[Any, Any]:
    """Return every phone masked, and its hash; each distinct phone is looked at once."""
    coded = compute.dictionary_encode(phones)
    known = coded.dictionary
    # Of eleven digits and more a mask shows the first three and the last three at most, and the
    # middle is any other: as many masks to make as there are endings.
    usual = compute.match_substring_regex(known, r"^[0-9]{11,15}$")
    alike = compute.if_else(usual, compute.binary_replace_slice(known, 3, -3, "00000"), known)
    shapes = compute.dictionary_encode(alike)
    masks = pa.array([mask_phone(phone) for phone in shapes.dictionary.to_pylist()], pa.string())
    return tuple(
        pd.array(compute.take(texts, coded.indices), dtype=DType.TEXT.pandas)
        for texts in (compute.take(masks, shapes.indices), _hashes(known, key))
    )


def _hashes(phones: Any, key: str) -> Any:
    data = phones.to_numpy(zero_copy_only=False).astype("object")
    hashed = phone_hashes(data, key=key)
    # Hex of a fixed width, so that offsets are known.
    ends = np.arange(0, 16 * len(data) + 1, 16, dtype="int64")
    text = hashed.astype(">u8").tobytes().hex().encode()
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.large_string(), len(data), buffers)


def _order(at: "pd.Series[Any]", ids: "pd.Series[Any]") -> Any:
    """Return the places of rows by instant, then id; ids are compared only where instants tie."""
    instants = at.to_numpy(dtype="datetime64[us]").astype("int64")
    order = np.argsort(instants, kind="stable")
    sorted_ = instants[order]
    same = np.flatnonzero(sorted_[1:] == sorted_[:-1])
    if len(same):
        tied = np.union1d(same, same + 1)
        rows = pd.DataFrame({"at": sorted_[tied], "id": ids.array[order[tied]]})
        order[tied] = order[tied][rows.sort_values(["at", "id"], kind="stable").index]
    return order
