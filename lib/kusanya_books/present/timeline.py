"""What happened to one collection, in the order in which we learned of it."""

import os
from datetime import datetime
from pathlib import Path
from typing import Final

import pandas as pd

from kusanya.store import Store
from kusanya.store.records import DeliveryFilter
from kusanya_books import columns
from kusanya_books.columns import TIMELINE
from kusanya_books.read.load import STORE_VARIABLE
from kusanya_books.request.report_inputs import Inputs

_DELIVERIES: Final = 50


def timeline(inputs: Inputs, collection_id: str, *, store: str = "") -> pd.DataFrame:
    """Return one row per fact about a collection: observations, deliveries, the latest last.

    Reads the store named by `store` or KUSANYA_STORE; of sample data and of an export only creation
    and outcome are known. Raises StoreError when the store cannot be read.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    kept = url and not Path(url).is_dir()
    rows = _from_store(inputs, url, collection_id) if kept else _from_frame(inputs, collection_id)
    rows.sort(key=lambda row: row[0])
    return columns.frame(
        TIMELINE,
        {
            "at": [row[0] for row in rows],
            "what": [row[1] for row in rows],
            "detail": [row[2] for row in rows],
        },
    )


Row = tuple[datetime, str, str]


def _from_store(inputs: Inputs, url: str, collection_id: str) -> list[Row]:
    with Store.open(url, read_only=True) as opened:
        observations = opened.collections.observations(collection_id, inputs.mode)
        where = DeliveryFilter(collection_id=collection_id)
        arrived = opened.deliveries.page(inputs.mode, where=where, limit=_DELIVERIES).rows
    rows: list[Row] = []
    for fact in observations:
        collection = fact.collection
        code = f", {collection.failure_code}" if collection.failure_code else ""
        replayed = ", replayed" if fact.replayed else ""
        detail = f"{collection.status}{code}, fee {collection.fee:,}{replayed}"
        rows.append((fact.observed_at, f"heard from the {fact.source.value}", detail))
    for row in arrived:
        attempt = f"attempt {row.attempt}" if row.attempt else "attempt unknown"
        why = f", {row.reason}" if row.reason else ""
        detail = f"{row.verdict.value}{why}, {attempt}, answered {row.answer}"
        rows.append((row.arrived_at, f"delivery to {row.endpoint}", detail))
    return rows


def _from_frame(inputs: Inputs, collection_id: str) -> list[Row]:
    rows: list[Row] = []
    for row in columns.records(inputs.frame[inputs.frame["id"] == collection_id]):
        rows.append((row.created_at, "created", f"fee {row.fee:,}"))
        if not pd.isna(row.completed_at):
            code = "" if pd.isna(row.failure_code) else f", {row.failure_code}"
            rows.append((row.completed_at, "completed", f"{row.status}{code}"))
    return rows
