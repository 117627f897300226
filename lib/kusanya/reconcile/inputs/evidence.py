"""Which source said which fee: the 202, the event or the GET, from the facts that the store keeps.

The fee is fixed at creation, so facts that contradict each other in nothing said one and the same:
of those collections only the sources are read. The others, few in any month, are folded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Select, select

from kusanya.reconcile.frames.columns import DType
from kusanya.state.fold import FEE_KIND, fold
from kusanya.state.observation import Observation
from kusanya.store.tables.payload import source_of, unpack
from kusanya.store.tables.schema import observation
from kusanya.wire import Mode

_IDS: Final = 500
"""Ids named in one query; SQLite takes 32,766 values, and short statements stay cached."""
_COLUMNS: Final = (
    ("fee_202", "answer", "fee_answer"),
    ("fee_event", "event", "fee_event"),
    ("fee_get", "poll", "fee_poll"),
)
"""A column of the frame, the kind of source it is of, and the field of the folded state."""


def with_fees(connection: Connection, raw: pd.DataFrame, *, mode: Mode, as_of: int) -> pd.DataFrame:
    """Return the raw collections with the fee that each kind of source first reported.

    Missing where that source is silent. `raw` has the contradictions as of the same position.
    """
    disputed = raw["contradictions"].to_numpy(dtype="int64") > 0
    ids = raw["id"].tolist()
    seen = _sources_seen(connection, ids, as_of)
    disputed_ids = [collection_id for collection_id, odd in zip(ids, disputed, strict=True) if odd]
    states = {}
    for _, facts in facts_of(connection, disputed_ids, as_of=as_of):
        state = fold(facts, mode=mode)
        states[state.id] = state
    folded = [states.get(collection_id) for collection_id in disputed_ids]
    fees = {}
    for column, kind, field in _COLUMNS:
        fee = raw["fee"].array.copy()
        fee[~seen[kind]] = pd.NA
        values = [None if state is None else getattr(state, field) for state in folded]
        fee[disputed] = pd.array(values, dtype=DType.WHOLE.pandas)
        fees[column] = fee
    return raw.assign(**fees)


def facts_of(
    connection: Connection, ids: Sequence[str], *, as_of: int
) -> Iterator[tuple[int, list[Observation]]]:
    """Yield the facts of both modes about each id up to `as_of`, and the place of the latest."""
    it = observation.c
    for start in range(0, len(ids), _IDS):
        query = _facts(ids[start : start + _IDS], as_of).order_by(it.collection_id, it.seq)
        facts: dict[str, list[Observation]] = {}
        latest: dict[str, int] = {}
        for collection_id, payload, seq in connection.execute(query.add_columns(it.seq)):
            facts.setdefault(collection_id, []).append(unpack(payload))
            latest[collection_id] = seq
        yield from ((latest[collection_id], known) for collection_id, known in facts.items())


def _sources_seen(connection: Connection, ids: Sequence[str], as_of: int) -> dict[str, Any]:
    """Return for each kind of source which of the collections it spoke of."""
    seen = {kind: np.zeros(len(ids), dtype=bool) for _, kind, _ in _COLUMNS}
    for start in range(0, len(ids), _IDS):
        asked = ids[start : start + _IDS]
        places = {collection_id: start + place for place, collection_id in enumerate(asked)}
        for collection_id, payload in connection.execute(_facts(asked, as_of)):
            seen[FEE_KIND[source_of(payload)]][places[collection_id]] = True
    return seen


def _facts(ids: Sequence[str], as_of: int) -> Select[Any]:
    it = observation.c
    return select(it.collection_id, it.payload).where(it.collection_id.in_(ids), it.seq <= as_of)
