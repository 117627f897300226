"""Personal data goes, money and proofs stay: one customer's, or everybody's past an age.

Erased are the phone in every spelling, descriptions, metadata and fields that we do not know of a
customer's collections, bodies and headers of deliveries, the bytes of creations that are over, and
notes. Amounts, fees, states, times, ids, the order of the facts and the digests of events stay, so
that everything that follows from the facts comes out as before.

Creations without an outcome and open payments are refused: their bytes may have to be sent again.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Table, Text, delete, func, select, text, update

from kusanya.domain.collection_columns import COLUMNS
from kusanya.errors import StoreError
from kusanya.privacy import normalise_phone
from kusanya.say import in_values
from kusanya.state.observation import Observation
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import ErasureResult, IntentState
from kusanya.store.records.erased_names import ERASED, Erasure, any_in, is_stand_in, stand_in
from kusanya.store.records.order import OVER
from kusanya.store.tables.payload import pack, pack_headers, unpack
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    collection,
    delivery,
    event,
    feed_head,
    intent,
    intent_change,
    metadata_entry,
    note,
    observation,
    outcome,
    receipt,
)
from kusanya.store.tables.values import to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.refold import refold
from kusanya.wire import Collection, decode_collection

_SLICE: Final = 1_000
"""Places of the journal that are looked through in one transaction: arrivals must not wait."""
_NO_HEADERS: Final = pack_headers(())
_NAMES: Final = {
    "reference",
    "idempotency_key",
    "subject",
    "alarm",
    "collection_id",
    "receipt",
    "receipt_key",
}
"""Columns by which rows find each other: a name that held a phone keeps its place."""
_PERSONAL: Final = frozenset(
    {
        "metadata",
        *(one.name for one in COLUMNS if one.type.is_text and not one.harmless),
    }
) - {"phone"}
"""Fields of a collection that are taken away whole; of a phone the digits are."""
_KEPT: Final = frozenset(Collection.__struct_fields__) - _PERSONAL
_OPEN: Final = tuple(state.value for state in IntentState if state not in OVER)
_TEXTS: Final = (intent_change, audit, acknowledgement, break_fact, receipt, outcome)


class Erasing(StorePart):
    """Erasing personal data."""

    def erase(self, phone: str, *, actor: str) -> ErasureResult:
        """Erase one customer's personal data; audited with a hash in the place of the phone.

        `phone` may be spelled in any usual way. It is durable on return, and gone from the bytes of
        an SQLite store as well. What was exported, copied or backed up before is not reached. Can
        be repeated, and has to be where the service speaks of the customer again. Raises PhoneError
        for what is no phone, StoreError while a creation or payment of the customer is open.
        """
        whole = normalise_phone(phone)
        work = _Work(Erasure(whole), whole, None, self._store_id)
        self._refuse_open(whole)
        result = self._run(work)
        tag = blake2b(whole.encode(), digest_size=8).hexdigest()
        self._finish(work, actor=actor, act="erase customer", detail=f"phone hash {tag}")
        return result

    def purge_personal(self, *, before: datetime, actor: str) -> ErasureResult:
        """Erase the personal data of every payment created before an instant; audited.

        Payments and creations that are open stay as they are. Durable on return.
        """
        work = _Work(Erasure(), None, to_us(before), self._store_id)
        result = self._run(work)
        self._finish(work, actor=actor, act="purge personal data", detail=f"before {before}")
        return result

    def _refuse_open(self, phone: str) -> None:
        digits = (phone, f"+{phone}")
        with self._reading("read what is open") as connection:
            creations = connection.execute(
                select(func.count()).where(intent.c.phone.in_(digits), intent.c.state.in_(_OPEN))
            ).scalar_one()
            payments = connection.execute(
                select(func.count()).where(
                    collection.c.phone.in_(digits), collection.c.final_seen_at.is_(None)
                )
            ).scalar_one()
        if creations or payments:
            raise StoreError(
                f"{creations} creations and {payments} payments of this customer are open: their "
                "bytes may still be needed; wait for their ends (kusanya intents, kusanya "
                "catch-up), then erase"
            )

    def _run(self, work: "_Work") -> ErasureResult:
        with self._reading("read the journal") as connection:
            head = connection.execute(select(feed_head.c.seq)).scalar_one()
        steps = (work.collections, work.deliveries, work.notes, work.texts)
        done = [
            sum(self._act(partial(step, first=first)) for first in range(1, head + 1, _SLICE))
            for step in steps
        ]
        creations, last = 0, ""
        while found := self._act(partial(work.creations, after=last)):
            creations, last = creations + found[0], found[1]
        return ErasureResult(
            collections=done[0], deliveries=done[1], notes=done[2], creations=creations
        )

    def _finish(self, work: "_Work", *, actor: str, act: str, detail: str) -> None:
        if work.searched:
            self._act(partial(_empty_indexes, columns=work.searched))
            while self._act(partial(index_all, step=_SLICE)):
                pass
        self._act(
            lambda writing: audited(
                writing, actor=actor, act=act, subject=None, detail=detail, outcome="done"
            )
        )
        with self._engines.writing() as connection:
            raw: Any = connection.connection.driver_connection
            if not self._engines.sqlite:
                raw.execute("VACUUM")  # the former rows; the server's own log goes in its own time
            elif raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise StoreError(
                    "it is erased, but the -wal still holds the former bytes while another program "
                    "reads: run the command again when that program has stopped"
                )


class _Work:
    """One erasure: what is looked for, and how each kind of row looks without it."""

    def __init__(
        self, erasure: Erasure, phone: str | None, before: int | None, store_id: str
    ) -> None:
        self._erasure = erasure
        self._phone = phone
        self._before = before
        self._store_id = store_id
        self._ids: set[str] = set()
        """Collections of one customer."""
        self.searched: set[str] = set()
        """Columns whose indexes hold pieces of what is gone."""

    def collections(self, writing: Transaction, *, first: int) -> int:
        """Rewrite the facts of the collections that a slice speaks of, and fold them anew."""
        connection, it = writing.connection, observation.c
        query = select(it.collection_id, it.payload).where(_slice(observation, first))
        speaks: Callable[[bytes], bool] = self._erasure.is_in
        if self._before is not None:
            speaks = _has_phone  # what was erased before is heard of again with the phone
            query = query.join(
                collection, (collection.c.id == it.collection_id) & (collection.c.mode == it.mode)
            ).where(
                collection.c.created_at < self._before, collection.c.final_seen_at.is_not(None)
            )  # fmt: skip
        ids = {id_ for id_, said in connection.execute(query) if speaks(said)}
        for collection_id in sorted(ids):
            self._rewrite(connection, collection_id)
        # Nobody asks for these events any more: the answer would tell everything again.
        connection.execute(
            update(event)
            .where(event.c.collection_id.in_(ids), event.c.checked_at.is_(None))
            .values(checked_at=to_us(writing.now))
        )
        refold(writing, ids)
        self._ids |= ids
        return len(ids)

    def _rewrite(self, connection: Connection, collection_id: str) -> None:
        it = observation.c
        query = select(it.seq, it.payload).where(it.collection_id == collection_id).order_by(it.seq)
        digests: set[bytes] = set()
        changed = []
        for seq, payload in connection.execute(query).all():
            fact = self._fact(unpack(payload))
            digest, packed = pack(fact)
            if digest in digests:  # they differed by what is gone
                digest, packed = pack(replace(fact, source_id=f"{fact.source_id}#{seq}"))
            digests.add(digest)
            changed.append({"of": seq, "digest": digest, "payload": packed})
        # In two steps: no two facts of one collection may have one digest, at no time.
        for row in changed:
            connection.execute(
                update(observation)
                .where(it.seq == row["of"])
                .values(digest=b"%d" % row["of"], payload=row["payload"])
            )
        for row in changed:
            connection.execute(
                update(observation).where(it.seq == row["of"]).values(digest=row["digest"])
            )

    def _fact(self, fact: Observation) -> Observation:
        return replace(
            fact,
            source_id=self._erasure.name(fact.source_id),
            collection=self._collection(fact.collection),
        )

    def _collection(self, said: Collection) -> Collection:
        fields = msgspec.json.decode(said.raw) if said.raw else msgspec.to_builtins(said)
        theirs = self._phone is None or self._erasure.is_in(said.phone)
        kept: dict[str, Any] = {}
        for name, value in fields.items():
            if name == "phone":
                kept[name] = self._stand_in(said.phone) if theirs else value
            elif name == "reference":
                kept[name] = self._erasure.name(value)
                self.searched |= {name} if kept[name] != value else set()
            elif name in _KEPT or not theirs:
                kept[name] = self._value(value)
            if name in _PERSONAL and kept.get(name) != value:
                self.searched.add("description")
        return decode_collection(msgspec.json.encode(kept))

    def _stand_in(self, phone: str) -> str:
        return phone if is_stand_in(phone) else stand_in(phone, store_id=self._store_id)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._erasure.words(value)
        if isinstance(value, dict):
            return {self._value(name): self._value(said) for name, said in value.items()}
        return [self._value(one) for one in value] if isinstance(value, list) else value

    def deliveries(self, writing: Transaction, *, first: int) -> int:
        """Clear the bodies and headers of a slice's deliveries that speak of a customer."""
        it, done = delivery.c, 0
        query = select(it.seq, it.collection_id, it.reference, it.headers, it.body)
        query = query.where(_slice(delivery, first))
        if self._before is not None:
            query = query.where(it.arrived_at < self._before)
        for seq, collection_id, reference, headers, body in writing.connection.execute(query).all():
            theirs = self._before is not None or collection_id in self._ids
            if not theirs and not any_in(self._erasure, (reference, headers, body)):
                continue
            if body is None and not self._erasure.is_in(reference):
                continue
            named = None if reference is None else self._erasure.name(reference)
            writing.connection.execute(
                update(delivery)
                .where(it.seq == seq)
                .values(body=None, headers=_NO_HEADERS, reference=named)
            )
            done += 1
        return done

    def notes(self, writing: Transaction, *, first: int) -> int:
        """Erase the words of notes on a customer's collections, and of those that name a phone."""
        it, done = note.c, 0
        query = select(it.seq, it.subject, it.at, it.text).where(_slice(note, first))
        for seq, subject, at, said in writing.connection.execute(query).all():
            old = self._before is not None and at < self._before
            if said != ERASED and (old or subject in self._ids or self._erasure.is_in(said)):
                values = {"text": ERASED, "subject": self._erasure.name(subject)}
                writing.connection.execute(update(note).where(it.seq == seq).values(values))
                done += 1
        return done

    def texts(self, writing: Transaction, *, first: int) -> int:
        """Erase the phone from the other texts of a slice."""
        return sum(self._table(writing, table, _slice(table, first)) for table in _TEXTS)

    def _table(self, writing: Transaction, table: Table, where: Any) -> int:
        columns = [column for column in table.c if isinstance(column.type, Text)]
        (key,) = table.primary_key.columns
        dated = table.c.at if "at" in table.c else None
        query = select(key, *columns).where(where)
        if self._before is not None and dated is not None:
            query = query.where(dated < self._before)
        done = 0
        for row in writing.connection.execute(query).all():
            said = dict(zip([column.name for column in columns], row[1:], strict=True))
            changed = {
                name: self._erased(table, name, value)
                for name, value in said.items()
                if self._erasure.is_in(value)
            }
            if changed:
                writing.connection.execute(update(table).where(key == row[0]).values(changed))
                done += 1
        return done

    def _erased(self, table: Table, name: str, value: str) -> str:
        if table is intent_change and name == "outcome":
            return in_values(value, self._erasure.words)
        return self._erasure.name(value) if name in _NAMES else self._erasure.words(value)

    def creations(self, writing: Transaction, *, after: str) -> tuple[int, str] | None:
        """Erase phone and bytes of the next creations that are over.

        Returns how many, and the id of the last one that was looked at; None at the end.
        """
        it, connection = intent.c, writing.connection
        query = select(
            it.id, it.phone, it.reference, it.idempotency_key, it.outcome, it.body
        ).where(it.state.not_in(_OPEN), it.id > after)
        if self._before is not None:
            query = query.where(it.prepared_at < self._before, ~it.phone.startswith("2550"))
        rows = connection.execute(query.order_by(it.id).limit(_SLICE)).all()
        done = 0
        for id_, phone, reference, key, came_to, body in rows:
            said = (phone, reference, key, came_to, body)
            if self._before is None and not any_in(self._erasure, said):
                continue
            theirs = self._before is not None or self._erasure.is_in(phone)
            values = {
                "phone": self._stand_in(phone) if theirs else phone,
                "reference": self._erasure.name(reference),
                "idempotency_key": self._erasure.name(key),
                "outcome": None if came_to is None else in_values(came_to, self._erasure.words),
                "body": b"",
            }
            connection.execute(update(intent).where(it.id == id_).values(values))
            done += 1
        return (done, rows[-1].id) if rows else None


def _has_phone(payload: bytes) -> bool:
    return not is_stand_in(unpack(payload).collection.phone)


def _slice(table: Table, first: int) -> Any:
    return table.c.seq.between(first, first + _SLICE - 1)


def _empty_indexes(writing: Transaction, *, columns: set[str]) -> None:
    """Forget what the indexes know, to make them anew; metadata goes with descriptions."""
    connection = writing.connection
    for column in sorted(columns):
        index = f"{column}_search"
        emptied = f"INSERT INTO {index} ({index}) VALUES ('delete-all')"  # noqa: S608 - our names
        if connection.dialect.name == "postgresql":
            emptied = f"DELETE FROM {index}"  # noqa: S608
        connection.execute(text(emptied))
    if "reference" in columns:
        connection.execute(update(feed_head).values(searched=0))
    if "description" in columns:
        connection.execute(delete(metadata_entry))
        connection.execute(update(feed_head).values(texts_searched=0))
