"""Millions of collections for the look-up benchmark, of the product's own making.

The first part of the history is put in through the product's ingest: generated bodies are signed,
judged and submitted to the journal, whatever the schema of this version is. Copies follow with
later instants and other ids, references and phones, table by table in SQL; what a copy does not
change it takes over, but for the raw bodies, which are as forgotten. The last day comes through the
ingest again. Ids are random, references partly consecutive; DAILY collections a day.

A lean store has no copies of deliveries and events: it takes half the room and time, for questions
about collections alone. A copy's facts keep the id of their first, so `check` refuses a store with
copies: one that is to be checked is filled with `copies=1`, all of it through the ingest.
"""

import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Table, select, text, update
from sqlalchemy import event as listening

from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import Endpoints, EndpointSecrets
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, Note
from kusanya.store.tables.schema import (
    collection,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    metadata_entry,
    observation,
    receipt,
    rollup,
)
from kusanya.webhooks import sign
from kusanya.wire import Mode, decode_collection

END: Final = datetime(2026, 3, 31, 12, 40, tzinfo=UTC)
"""When the newest collection was made."""
DAILY: Final = 20_000
OPEN: Final = 300
"""The newest so many have no final state yet."""
TAIL: Final = 4_000
"""The newest so many come through the ingest, after the copies."""
NOTES: Final = 5_000
ORDERS: Final = ("Kariakoo", "Mwanza", "Arusha", "Dodoma", "Mbeya", "Tanga", "Morogoro")
COPIES: Final = 16
LEAN_COPIES: Final = 64
_WHOLE_HOURS: Final = 2_500
"""So many collections are made in three hours exactly."""
_TURNS: Final = 16
"""Letters of an id, which a copy turns."""
_PENDING_BYTES: Final = 256 * 2**20
"""What the search index gathers in memory before it writes; usually 1 MiB."""
_SECRET: Final = "whsec_benchmark"
_ENDPOINTS: Final = Endpoints.of(EndpointSecrets("shop", Mode.LIVE, _SECRET))
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz"
_CHANNELS: Final = ("MPESA_TZ", "AIRTEL_TZ", "TIGO_TZ", "HALOPESA_TZ")
_CODES: Final = ("insufficient_funds", "user_cancelled", "invalid_pin", "payer_unreachable")


def facts(count: int, *, seed: int, end: datetime = END, still_open: int = 0) -> Iterator[Any]:
    """Yield the arrivals and observations of `count` collections, in the order of time."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable choice
    phones = max(1, count // 8)
    step = timedelta(days=1) / DAILY
    for number in range(count):
        created = end - (count - number) * step
        made = _Words(chance, number, phones, created)
        if number >= count - still_open:
            yield made.observed(Source.ANSWER, "created", created)
        elif number % 500 == 7:
            # No event came: its end was learned by asking.
            yield made.observed(Source.POLL, "succeeded", created + timedelta(minutes=3))
        else:
            arrival = made.arrival()
            yield arrival
            if number % 100 == 11:
                yield arrival


class _Words:
    """One collection's words, drawn from `chance`."""

    def __init__(self, chance: random.Random, number: int, phones: int, created: datetime) -> None:
        letters = chance.choices(_LETTERS, k=32)
        self.id = "col_" + "".join(letters[:16])
        self.event_id = "evt_" + "".join(letters[16:])
        self.created = created
        self.channel = chance.choice(_CHANNELS)
        self.amount = chance.randint(1, 400) * 500
        self.fee = self.amount // 100 + 50
        # The spread of numbers over the digits is that of real ones: few beginnings, any ending.
        self.phone = f"2557{(chance.randrange(phones) * 7_368_787) % 10**8:08d}"
        kind = number % 10
        if kind < 6:
            self.reference = f"INV-2026-{number:08d}"
        elif kind < 9:
            self.reference = f"ord/{chance.getrandbits(40):010x}"
        else:
            self.reference = f"School fees {number % 7919} term {number % 3}"
        self.description = f"Order {number % 9973} for {ORDERS[number % 7]}, term {number % 3}"
        self.status = chance.choices(("succeeded", "failed", "expired"), (85, 11, 4))[0]
        self.code = chance.choice(_CODES) if self.status == "failed" else None

    def data(self, status: str) -> str:
        """Return the collection as the service writes it."""
        at = self.created.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        more = ""
        if status != "created":
            done = self.created + timedelta(seconds=17)
            more = f',"completed_at":"{done.isoformat(timespec="milliseconds")[:-6]}Z"'
        if status == "failed":
            more += f',"failure_code":"{self.code}","failure_message":"The payment failed."'
        return (
            f'{{"id":"{self.id}","object":"collection","status":"{status}",'
            f'"amount":{self.amount},"fee":{self.fee},"currency":"TZS",'
            f'"channel":"{self.channel}","phone":"{self.phone}","reference":"{self.reference}",'
            f'"description":"{self.description}","mode":"live",'
            f'"metadata":{{"shop":"4","order_id":"{order_of(self.id)}"}},'
            f'"created_at":"{at}"{more}}}'
        )

    def arrival(self) -> Arrival:
        """Return the delivery of its event, as the receiver classifies it."""
        sent = self.created + timedelta(seconds=18)
        body = (
            f'{{"id":"{self.event_id}","type":"collection.{self.status}","created_at":'
            f'"{sent.isoformat(timespec="milliseconds")[:-6]}Z","mode":"live",'
            f'"data":{self.data(self.status)}}}'
        ).encode()
        stamp = int(sent.timestamp())
        headers = (
            (b"content-type", b"application/json"),
            (b"service-signature", sign(body, _SECRET, stamp).encode()),
        )
        arrived_at = sent + timedelta(milliseconds=120)
        return classify(body, headers, arrived_at=arrived_at, endpoints=_ENDPOINTS, took_us=900)

    def observed(self, source: Source, status: str, at: datetime) -> Observation:
        """Return what an answer or a poll said."""
        return Observation(
            source=source,
            source_id=f"{source.value}-{self.id}",
            observed_at=at,
            observed_in=Mode.LIVE,
            collection=decode_collection(self.data(status).encode()),
        )


def order_of(collection_id: str) -> str:
    """Return the value that is in the metadata of this collection alone."""
    return f"A-{collection_id[4:14]}"


def receipt_of(collection_id: str) -> str:
    """Return the operator's receipt of a collection; half of them have one."""
    return f"SJ{collection_id[4:14]}".upper()


def fill(
    url: str, count: int, *, seed: int = 1, lean: bool = False, copies: int | None = None
) -> None:
    """Fill an empty store at `url` with `count` collections, or a few more.

    Nothing of it need survive a power cut. The count is rounded up so that no copy lies across the
    hours of the rollups.
    """
    copies = copies or (LEAN_COPIES if lean else COPIES)
    first = -(-count // (copies * _WHOLE_HOURS)) * _WHOLE_HOURS
    began = time.monotonic()

    def report(what: str) -> None:
        sys.stderr.write(f"  {what} after {time.monotonic() - began:,.0f} s\n")

    with Store.open(url, batch_rows=2_000, queue_rows=20_000) as store:
        journal: Any = store._journal
        journal._chore = lambda _: False
        listening.listen(store._engines.writer, "connect", _careless)
        # A journal that is off wants the file for itself; the next opening has it on again.
        engines = store._engines
        with nullcontext() if engines.identity is None else engines.identity.let_go():
            engines.reader.dispose()
            engines.writer.dispose()
        span = first * (timedelta(days=1) / DAILY)
        tail = TAIL * (timedelta(days=1) / DAILY)
        submit(store, facts(first, seed=seed, end=END - tail - (copies - 1) * span))
        report(f"{first:,} collections taken in")
        if copies > 1:
            span_us = span // timedelta(microseconds=1)
            with store._engines.writer.begin() as connection:
                _multiply(connection, first=first, span_us=span_us, copies=copies, lean=lean)
            report("all copied")
        submit(store, facts(TAIL, seed=seed + 1, still_open=OPEN))
        for row in store.collections.page(Mode.LIVE, limit=NOTES).rows:
            store.notes.add(
                row.id, Note(f"SMS {row.id[-6:]} shown"), author="support", mode=Mode.LIVE
            )
        with store._engines.writer.begin() as connection:
            _index(connection)
        if not store._engines.sqlite:
            # Past SQLAlchemy, whose connections here begin a transaction before anything else.
            with closing(store._engines.writer.raw_connection()) as pooled:
                server: Any = pooled.driver_connection
                server.execute("VACUUM ANALYZE")
    report("filled")


def submit(store: Store, stream: Iterator[Any]) -> None:
    """Put facts into a store and wait until all are durable."""
    waiting: list[Future[Any]] = []
    while some := list(islice(stream, 5_000)):
        sent = [store.submit(item) for item in some]
        for future in waiting:
            future.result()
        waiting = sent
    for future in waiting:
        future.result()


def _careless(connection: Any, _record: object) -> None:
    if hasattr(connection, "set_trace_callback"):
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -2000000"):
            connection.execute(f"PRAGMA {pragma}")
    else:
        connection.execute("SET synchronous_commit = off")
        connection.commit()


_INSTANTS: Final = frozenset(
    {
        "created_at",
        "completed_at",
        "first_seen_at",
        "final_seen_at",
        "arrived_at",
        "hour",
        "event_created_at",
        "signed_at",
        "first_arrived_at",
        "checked_at",
        "observed_at",
    }
)


def _multiply(connection: Connection, *, first: int, span_us: int, copies: int, lean: bool) -> None:
    taken: int = connection.execute(select(feed_head.c.seq)).scalar_one()
    whole = (delivery, event, observation, collection)
    facts_of = whole[2:] if lean else whole
    for table in facts_of:
        for index in table.indexes:
            index.drop(connection)
    for copy in range(1, copies):
        changed = _changes(connection, copy, first)
        changed |= {name: f"{name} + {copy * span_us}" for name in _INSTANTS}
        changed["seq"] = f"seq + {copy * taken}"
        for table in facts_of:
            own, order = _laid(connection, table, changed, copy=copy, first=first)
            _copy(connection, table, {**changed, **own}, f"WHERE seq <= {taken} {order}")
        for table in (rollup, delivery_rollup):
            # Of the hours of the first part alone; an arrival may fall into the next one's.
            hours = f"SELECT min(hour) + {span_us} FROM {table.name}"  # noqa: S608 - names of the schema
            keys = ", ".join(column.name for column in table.primary_key.columns)
            sums = [c.name for c in table.c if c.name in {"count", "amount", "fee"}]
            adds = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in sums)
            added = f"WHERE hour < ({hours}) ON CONFLICT ({keys}) DO UPDATE SET {adds}"
            _copy(connection, table, changed, added)
    connection.execute(update(feed_head).values(seq=copies * taken))
    for table in facts_of:
        for index in table.indexes:
            index.create(connection)


def _laid(
    connection: Connection, table: Table, changed: dict[str, str], *, copy: int, first: int
) -> tuple[dict[str, str], str]:
    """Return a table's own changes and the order in which its copies are put in.

    Random ids go one behind the other, so that their tree is gone through once per copy; the rows
    themselves lie in the order in which they came, as the ingest lays them.
    """
    if table is delivery:
        return {"body": "NULL"}, ""
    if table is observation:
        return {}, f"ORDER BY {changed['collection_id']}"
    own = {"id": _turned("id", "evt" if table is event else "col", copy)}
    if table is collection and connection.dialect.name == "postgresql":
        return own, "ORDER BY seq"
    if table is collection:
        own["rowid"] = f"rowid + {copy * first}"
    return own, f"ORDER BY {own['id']}"


def _copy(connection: Connection, table: Table, changed: dict[str, str], which: str) -> None:
    names = [column.name for column in table.c]
    names += ["rowid"] if "rowid" in changed else []
    values = ", ".join(changed.get(name, name) for name in names)
    copied = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name}"  # noqa: S608 - names of the schema
    connection.execute(text(f"{copied} {which}"))


def _turned(name: str, kind: str, copy: int) -> str:
    """Return an id's letters turned by so many places: as random as before, and another."""
    round_, by = divmod(copy, _TURNS)
    more = f" || '{chr(97 + round_)}'" if round_ else ""
    return f"'{kind}_' || substr({name}, {5 + by}) || substr({name}, 5, {by}){more}"


def _changes(connection: Connection, copy: int, first: int) -> dict[str, str]:
    number = f"CAST(substr(reference, 10) AS INTEGER) + {copy * first}"
    if connection.dialect.name == "postgresql":
        padded = f"lpad(({number})::text, 8, '0')"
    else:
        padded = f"printf('%08d', {number})"
    turn, mark = copy % 8, chr(97 + copy % 26) + (str(copy // 26) if copy >= 26 else "")
    return {
        "collection_id": _turned("collection_id", "col", copy),
        "event_id": _turned("event_id", "evt", copy),
        "phone": f"'2557' || substr(phone, {5 + turn}) || substr(phone, 5, {turn})",
        "reference": f"CASE substr(reference, 1, 4) WHEN 'INV-' THEN 'INV-2026-' || {padded} "
        f"WHEN 'ord/' THEN 'ord/' || substr(reference, 9) || substr(reference, 5, 4) || '{mark}' "
        f"ELSE reference || ' {mark}' END",
    }


def _index(connection: Connection) -> None:
    """Fill the search indexes in one go, with what the journal's chore would put there."""
    for said in ("reference", "description"):
        _index_pieces(connection, said)
    entry, it = metadata_entry.name, collection.name
    for name, value in (("order_id", "'a-' || lower(substr(id, 5, 10))"), ("shop", "'4'")):
        values = f"SELECT mode, {value}, '{name}', created_at, id FROM {it}"  # noqa: S608 - names of ours
        connection.execute(
            text(
                f"INSERT INTO {entry} (mode, value, name, created_at, collection_id) "
                f"{values} ORDER BY 2, created_at, id"
            )
        )
    head: int = connection.execute(select(feed_head.c.seq)).scalar_one()
    fields = "seq, collection_id, mode, receipt, receipt_key, source, at, actor"
    said = "'SJ' || upper(substr(id, 5, 10))"
    receipts = (
        f"SELECT {head} + row_number() OVER (), id, mode, {said}, lower({said}), "  # noqa: S608 - names of ours
        f"'statement.csv', created_at, 'finance' FROM {it} WHERE substr(id, 5, 1) < 'V'"
    )
    connection.execute(text(f"INSERT INTO {receipt.name} ({fields}) {receipts}"))
    last = "coalesce((SELECT max(seq) FROM receipt), 0)"
    connection.execute(
        text(f"UPDATE feed_head SET seq = {last}, searched = {last}, texts_searched = {last}")  # noqa: S608 - names of ours
    )


def _index_pieces(connection: Connection, of: str) -> None:
    found = (
        f"SELECT o.seq, lower(c.{of}) AS said FROM observation o "  # noqa: S608 - names of ours
        "JOIN collection c ON c.id = o.collection_id"
    )
    table = f"{of}_search"
    if connection.dialect.name == "postgresql":
        pieces = (
            "ARRAY(SELECT DISTINCT substr(said, n, 3) "
            "FROM generate_series(1, length(said) - 2) AS n)"
        )
        found = f"SELECT seq, {pieces} FROM ({found}) AS found"  # noqa: S608 - names of ours
        insert = f"INSERT INTO {table} {found}"
    else:
        insert = f"INSERT INTO {table} (rowid, {of}) {found} ORDER BY o.seq"
        _pend(connection, table, _PENDING_BYTES)
    connection.execute(text(insert))
    if connection.dialect.name == "sqlite":
        _pend(connection, table, 2**20)


def _pend(connection: Connection, table: str, size: int) -> None:
    order = f"INSERT INTO {table} ({table}, rank) VALUES ('hashsize', :size)"  # noqa: S608 - names of ours
    connection.execute(text(order), {"size": size})
