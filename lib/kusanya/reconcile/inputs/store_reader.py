"""The store's collections in bulk, as Arrow columns, as of a position in its journal.

Rows are read in large pieces over a connection that cannot write, and never become objects. A
collection that changed after the position is folded again from the facts up to it, so that a closed
month can be run again: later facts do not exist for it.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from pyarrow import compute, csv
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    literal,
    or_,
    select,
)

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import DType, Schema
from kusanya.reconcile.frames.days import Period
from kusanya.reconcile.inputs.evidence import facts_of, with_fees
from kusanya.reconcile.inputs.normalisation import RAW
from kusanya.store.records import IntentState
from kusanya.store.tables.schema import collection, event, intent, intent_change, observation
from kusanya.store.tables.values import to_us
from kusanya.store.writer.projection import project_facts
from kusanya.wire import Mode, Status

_PIECE: Final = 50_000
_KEYS: Final = 500
"""Keys named in one query; SQLite takes 32,766 values, and short statements stay cached."""
_UNKNOWN: Final = (IntentState.UNKNOWN.value, IntentState.SENT.value)
Progress = Callable[[int], None]
"""Called with the number of rows read so far."""
_TAKEN: Final = (
    "id",
    "seq",
    "mode",
    "status",
    "amount",
    "fee",
    "currency",
    "channel",
    "phone",
    "reference",
    "failure_code",
    "created_at",
    "completed_at",
    "final_seen_at",
    "contradictions",
)


def collections(
    connection: Connection,
    *,
    mode: Mode,
    period: Period,
    as_of: int,
    evidence: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return the raw collections created in the period or final in it, as of `as_of`.

    With `evidence` the fees of the 202, of the event and of the GET are told apart; without it
    those columns are missing.
    """
    raw = _read(connection, [_query(mode, _around(period))], mode, as_of, progress)
    return with_fees(connection, raw, mode=mode, as_of=as_of) if evidence else raw


def of_keys(connection: Connection, keys: pd.DataFrame, *, mode: Mode, as_of: int) -> pd.DataFrame:
    """Return the raw collections of `mode` that the keys name by id or reference, however old."""
    it = collection.c
    queries = (
        _query(mode, column.in_(part))
        for column, name in ((it.id, "id"), (it.reference, "reference"))
        for part in _parts(keys[name])
    )
    return _read(connection, queries, mode, as_of).drop_duplicates("id", ignore_index=True)


def keys_of(connection: Connection, keys: pd.DataFrame, *, mode: Mode, as_of: int) -> pd.DataFrame:
    """Return id and reference of the collections of `mode` that the keys name, however old."""
    found = of_keys(connection, keys, mode=mode, as_of=as_of)
    return columns.frame(columns.KEYS, found)


def paid_before(connection: Connection, *, mode: Mode, period: Period, before: Period) -> list[str]:
    """Return the references paid around the period that were paid before the days of `before` too.

    One reference names one order: it is paid twice, however long ago the first payment was.
    """
    it, earlier = collection.c, collection.alias("earlier")
    won = Status.SUCCEEDED.value
    first = exists().where(
        earlier.c.mode == it.mode,
        earlier.c.reference == it.reference,
        earlier.c.status == won,
        earlier.c.created_at < to_us(before.begins),
    )
    query = (
        select(it.reference)
        .where(it.mode == mode.value, it.status == won, _around(period), first)
        .order_by(it.reference)
        .distinct()
    )
    return list(connection.execute(query).scalars())


def _parts(values: "pd.Series[Any]") -> Iterator[list[str]]:
    named = values.dropna().drop_duplicates().tolist()
    yield from (named[start : start + _KEYS] for start in range(0, len(named), _KEYS))


def _read(
    connection: Connection,
    queries: Iterable[Select[Any]],
    mode: Mode,
    as_of: int,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return what the queries find as it was at `as_of`."""
    pieces = [RAW.arrow.empty_table()]
    changed: list[str] = []
    read = 0
    for piece in (piece for query in queries for piece in _pieces(connection, query)):
        current = compute.less_equal(piece["seq"], as_of)
        pieces.append(piece.filter(current))
        if len(pieces[-1]) < len(piece):
            changed += piece["id"].filter(compute.invert(current)).to_pylist()
        read += len(piece)
        if progress is not None:
            progress(read)
    raw = columns.from_arrow(pa.concat_tables(pieces))
    if changed:
        raw = pd.concat([raw, _folded(connection, changed, mode, as_of)], ignore_index=True)
    return raw


def references(connection: Connection, *, mode: Mode, period: Period, as_of: int) -> pd.DataFrame:
    """Return id and reference of every collection of `mode` created in the period."""
    it, fact = collection.c, observation.c
    known = exists().where(fact.collection_id == it.id, fact.mode == it.mode, fact.seq <= as_of)
    query = (
        select(it.id, it.reference)
        .where(it.mode == mode.value, _within(it.created_at, period))
        .where(or_(it.seq <= as_of, known))
        .order_by(it.created_at, it.id)
    )
    return _frame(connection, query, columns.KEYS)


def unknown_intents(connection: Connection, *, mode: Mode, as_of: int) -> pd.DataFrame:
    """Return the creations of `mode` that were sent and of whose answer nothing was known."""
    it, change = intent.c, intent_change.c
    plain = select(
        it.id, it.reference, it.amount, it.first_sent_at.label("sent_at"), it.prepared_at
    )
    query = plain.where(it.mode == mode.value, it.seq <= as_of, it.state.in_(_UNKNOWN))
    moved = select(it.seq).where(it.mode == mode.value, it.seq > as_of).limit(1)
    if connection.execute(moved).first() is not None:
        latest = (
            select(func.max(change.seq).label("seq"))
            .where(change.mode == mode.value, change.seq <= as_of)
            .group_by(change.intent_id)
            .subquery()
        )
        then = plain.join(intent_change, change.intent_id == it.id)
        then = then.join(latest, latest.c.seq == change.seq)
        query = query.union_all(then.where(it.seq > as_of, change.state.in_(_UNKNOWN)))  # type: ignore[assignment]  # a union is read like a select
    listed = query.subquery()
    chosen = select(*[listed.c[name] for name in columns.INTENTS.columns])
    return _frame(connection, chosen.order_by(listed.c.prepared_at, listed.c.id), columns.INTENTS)


def _frame(connection: Connection, query: Select[Any], schema: Schema) -> pd.DataFrame:
    rows = connection.execute(query).all()
    return columns.from_arrow(_arrow(rows, list(schema.columns), schema))


def _query(mode: Mode, wanted: ColumnElement[bool]) -> Select[Any]:
    it = collection.c
    # An event is looked up only where the service left completed_at out.
    joined = collection.outerjoin(
        event,
        and_(it.completed_at.is_(None), event.c.id == it.event_id, event.c.mode == it.mode),
    )
    chosen = select(*[it[name] for name in _TAKEN], event.c.created_at.label("event_at"))
    return chosen.select_from(joined).where(it.mode == mode.value, wanted)


def _around(period: Period) -> ColumnElement[bool]:
    it = collection.c
    return or_(
        _within(it.created_at, period),
        # Created before, final since: its business day may lie in the period.
        and_(it.created_at < to_us(period.begins), it.final_seen_at >= to_us(period.begins)),
    )


def _within(column: ColumnElement[Any], period: Period) -> ColumnElement[bool]:
    return and_(column >= to_us(period.begins), column < to_us(period.ends))


def _pieces(connection: Connection, query: Select[Any]) -> Iterator[pa.Table]:
    """Yield what `query` finds, in tables of RAW's types."""
    if connection.dialect.name != "sqlite":
        streamed = connection.execution_options(stream_results=True, max_row_buffer=_PIECE)
        for rows in streamed.execute(query).partitions(_PIECE):
            yield _table(rows)
        return
    # One text a row instead of sixteen objects: SQLite writes CSV, and Arrow reads it as columns.
    written, kinds = _as_line(query)
    lines = query.with_only_columns(written, maintain_column_froms=True)
    for piece in connection.execute(lines).scalars().partitions(_PIECE):
        yield _read_lines("\n".join(piece), kinds)


def _as_line(query: Select[Any]) -> tuple[ColumnElement[Any], dict[str, DType]]:
    """Return one expression that writes the columns as a line, and what the line holds."""
    form, values, kinds = [], [], {}
    for column in query.selected_columns:
        kind = kinds[str(column.key)] = RAW.columns[str(column.key)]
        if kind is not DType.TEXT:
            # As text where a value may be missing: %d would make it 0.
            form.append("%s")
            values.append(column)
        elif getattr(column, "nullable", True):
            form.append("%s")
            values.append(literal('"') + func.replace(column, '"', '""') + '"')
        else:
            # Doubles quotes. It would end at a NUL, which the store never keeps.
            form.append('"%w"')
            values.append(column)
    return func.printf(",".join(form), *values), kinds


def _read_lines(text: str, kinds: dict[str, DType]) -> pa.Table:
    types = {
        name: pa.string() if kind is DType.TEXT else pa.int64() for name, kind in kinds.items()
    }
    read = csv.read_csv(
        io.BytesIO(text.encode()),
        read_options=csv.ReadOptions(column_names=list(kinds)),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return pa.table(
        [
            read[name].cast(kind.arrow) if name in kinds else pa.nulls(len(read), kind.arrow)
            for name, kind in RAW.columns.items()
        ],
        schema=RAW.arrow,
    )


def _table(rows: Sequence[Any]) -> pa.Table:
    return _arrow(rows, [*_TAKEN, "event_at"], RAW)


def _arrow(rows: Sequence[Any], names: Sequence[str], schema: Schema) -> pa.Table:
    read = zip(*rows, strict=True) if rows else ([] for _ in names)
    kinds = dict(zip(names, read, strict=True))
    arrays = []
    for name, kind in schema.columns.items():
        if name not in kinds:
            arrays.append(pa.nulls(len(rows), kind.arrow))
        elif kind is DType.INSTANT:
            arrays.append(pa.array(kinds[name], pa.int64()).cast(kind.arrow))
        else:
            arrays.append(pa.array(kinds[name], kind.arrow))
    return pa.Table.from_arrays(arrays, schema=schema.arrow)


def _folded(connection: Connection, ids: Sequence[str], mode: Mode, as_of: int) -> pd.DataFrame:
    rows = []
    for seq, facts in facts_of(connection, ids, as_of=as_of):
        row = project_facts(facts, mode, seq)
        if row is not None:
            ours = [fact for fact in facts if fact.counts_in(mode)]
            times = [fact.event_created_at for fact in ours if fact.event_id == row.event_id]
            event_at = to_us(times[0]) if times and times[0] and row.completed_at is None else None
            rows.append((*(getattr(row, name) for name in _TAKEN), event_at))
    return columns.from_arrow(_table(rows))
