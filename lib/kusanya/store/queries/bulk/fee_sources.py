"""Which source said which fee: the 202, the event or the GET, from the facts that the store keeps.

The fee is fixed at creation, so facts that contradict each other in nothing said one and the same:
of those collections only the kinds of source are read, as a number that the database computes. The
others, few in any month, are folded.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute
from sqlalchemy import Connection, LargeBinary, bindparam, case, func, select

from kusanya.errors import StoreError
from kusanya.state.fold import FEE_KIND, fold
from kusanya.state.observation import Observation, Source
from kusanya.store.queries.bulk.keys import is_among
from kusanya.store.tables.payload import SOURCE_AT, unpack
from kusanya.store.tables.schema import observation
from kusanya.wire import Mode

_IDS: Final = 500
"""Ids named in one query; SQLite takes 32,766 values, and short statements stay cached."""
_COLUMNS: Final = (
    ("fee_202", "answer", "fee_answer"),
    ("fee_event", "event", "fee_event"),
    ("fee_get", "poll", "fee_poll"),
)
"""A column of the table, the kind of source it is of, and the field of the folded state."""
FEES_APART: Final = tuple(column for column, _, _ in _COLUMNS)
_BITS: Final = {"answer": 1, "event": 2, "poll": 4}
_STRANGE: Final = 8
_SCANNED: Final = 12
"""Places of the journal for each collection up to which reading all facts is the quicker way."""
_SCAN: Final = 125_000
"""Places of the journal that one query reads at least."""
_SCANS: Final = 64
"""Queries that read the whole journal at most, however long it is."""
_TOGETHER: Final = 500_000
"""Facts that are looked up at once: each look-up numbers all ids anew."""
_NAMED: Final = 20_000
"""Collections whose facts one query looks up."""


def sources_seen(
    connection: Connection,
    ids: pa.Array,
    *,
    as_of: int,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Return for each id which kinds of source spoke up to `as_of`, as a number.

    `progress` is called with how far it has read. Raises StoreError where a fact is of a source
    that does not exist.
    """
    seen = np.zeros(len(ids), dtype="int8")
    waiting: list[Any] = []
    for read, text in _lines(connection, ids, as_of):
        waiting.append(compute.split_pattern(pa.array([text]), "\n").flatten())
        if sum(map(len, waiting)) >= _TOGETHER:
            _look_up(waiting, ids, seen)
            waiting = []
        if progress is not None:
            progress(read)
    if waiting:
        _look_up(waiting, ids, seen)
    return seen


def _look_up(lines: list[Any], ids: pa.Array, seen: Any) -> None:
    facts = pa.concat_arrays(lines)
    kinds = compute.utf8_slice_codeunits(facts, 0, 1).cast(pa.int64()).to_numpy()
    places = compute.index_in(compute.utf8_slice_codeunits(facts, 1), value_set=ids)
    kinds = kinds[places.is_valid().to_numpy(zero_copy_only=False)]
    if (kinds == _STRANGE).any():
        raise StoreError("a fact in the store names no known source: run kusanya store check")
    at = places.drop_null().to_numpy()
    for bit in _BITS.values():
        seen[at[kinds == bit]] |= bit


def with_fees_apart(
    connection: Connection, collections: pa.Table, seen: Any, *, mode: Mode, as_of: int
) -> pa.Table:
    """Return the collections with the fee of each kind of source; `seen` is of their ids."""
    for column, kind, _ in _COLUMNS:
        said = compute.if_else(pa.array(seen & _BITS[kind] > 0), collections["fee"], None)
        place = collections.schema.get_field_index(column)
        collections = collections.set_column(place, column, said)
    return _with_disputed(connection, collections, mode=mode, as_of=as_of)


def _lines(connection: Connection, ids: Any, as_of: int) -> Iterator[tuple[int, str]]:
    """Yield how far it has read, and facts as lines of a kind's number and a collection's id.

    Many collections are most of the journal: then it is read from end to end, which costs a tenth
    of looking each one up, and facts of others are among the lines.
    """
    fact = observation.c
    last = connection.execute(select(func.max(fact.seq)).where(fact.seq <= as_of)).scalar() or 0
    through = last <= _SCANNED * len(ids)
    end = last if through else len(ids)
    step = max(_SCAN, last // _SCANS + 1) if through else _NAMED
    letter = func.substr(fact.payload, SOURCE_AT, 1)
    bits = {source.value[:1]: _BITS[FEE_KIND[source]] for source in Source}
    whens = [
        (letter == bindparam(None, name.encode(), LargeBinary), str(bit))
        for name, bit in bits.items()
    ]
    # An id holds letters, digits and signs: no line ends within one.
    line = case(*whens, else_=str(_STRANGE)) + fact.collection_id
    query = select(func.aggregate_strings(line, "\n")).where(fact.seq <= as_of)
    for start in range(0, end, step):
        wanted = (
            fact.seq.between(start + 1, start + step)
            if through
            else is_among(connection, fact.collection_id, ids.slice(start, step).to_pylist())
        )
        text = connection.execute(query.where(wanted)).scalar()
        if text is not None:
            yield min(start + step, end), text


def _with_disputed(
    connection: Connection, collections: pa.Table, *, mode: Mode, as_of: int
) -> pa.Table:
    """Return the collections where those that contradict themselves have the fees of the fold.

    `collections` has the contradictions as of the same place.
    """
    disputed = compute.greater(collections["contradictions"], 0)
    ids = collections["id"].filter(disputed).to_pylist()
    if not ids:
        return collections
    states = {}
    for _, facts in facts_of(connection, ids, as_of=as_of):
        state = fold(facts, mode=mode)
        states[state.id] = state
    folded = [states.get(collection_id) for collection_id in ids]
    for column, _, field in _COLUMNS:
        said = pa.array(
            [None if state is None else getattr(state, field) for state in folded], pa.int64()
        )
        replaced = compute.replace_with_mask(
            collections[column].combine_chunks(), disputed.combine_chunks(), said
        )
        place = collections.schema.get_field_index(column)
        collections = collections.set_column(place, column, replaced)
    return collections


def facts_of(
    connection: Connection, ids: Sequence[str], *, as_of: int
) -> Iterator[tuple[int, list[Observation]]]:
    """Yield the facts of both modes about each id up to `as_of`, and the place of the latest."""
    it = observation.c
    for start in range(0, len(ids), _IDS):
        asked = it.collection_id.in_(ids[start : start + _IDS])
        query = select(it.collection_id, it.payload, it.seq).where(asked, it.seq <= as_of)
        facts: dict[str, list[Observation]] = {}
        latest: dict[str, int] = {}
        for collection_id, payload, seq in connection.execute(
            query.order_by(it.collection_id, it.seq)
        ):
            facts.setdefault(collection_id, []).append(unpack(payload))
            latest[collection_id] = seq
        yield from ((latest[collection_id], known) for collection_id, known in facts.items())
