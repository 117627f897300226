"""Operators' receipts of collections, as statements gave them. Facts, none changed or removed."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from sqlalchemy import Row, Select, bindparam, insert, select

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import StoreError
from kusanya.say import Said
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.records import ReceiptFact
from kusanya.store.tables.schema import collection, receipt
from kusanya.store.tables.values import clean, from_us, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_FIELDS: Final = ReceiptFact.__struct_fields__
_COLUMNS: Final = tuple(receipt.c[name] for name in _FIELDS)
# Made once: building a statement costs more than running it does.
_BY_KEY: Final = select(*_COLUMNS).where(
    receipt.c.mode == bindparam("of_mode"), receipt.c.receipt_key == bindparam("key")
)
_OF_COLLECTION: Final = select(*_COLUMNS).where(
    receipt.c.collection_id == bindparam("of_id"), receipt.c.mode == bindparam("of_mode")
)
_AMONG: Final = 500
"""Receipts of one transaction: deliveries wait no longer than for a batch of their own."""


class Receipts(StorePart):
    """Keeping and finding receipts."""

    def record(
        self, collection_id: str, mode: Mode, receipt: str, *, source: str, actor: str
    ) -> ReceiptFact:
        """Make the receipt of a collection durable and return it; once, however often it is said.

        `source` names the file that gave it. The store knows who records it, see `Audit`.
        Raises StoreError for an unknown collection, ValueError for an empty receipt.
        """
        self.record_all([(collection_id, receipt)], mode, source=source, actor=actor)
        return next(
            fact for fact in self.find(receipt, mode) if fact.collection_id == clean(collection_id)
        )

    def record_all(
        self, pairs: Sequence[tuple[str, str]], mode: Mode, *, source: str, actor: str
    ) -> int:
        """Make receipts durable, pairs of collection id and receipt; return how many are new.

        Each part of 500 is whole or absent and leaves one audit row; saying it again changes
        nothing. Raises as `record` does, and then nothing of that part is written.
        """
        if any(not key_of(said) for _, said in pairs):
            raise ValueError("a receipt has at least one character")
        return sum(
            self._act(
                partial(
                    _record,
                    pairs=pairs[start : start + _AMONG],
                    mode=mode,
                    source=source,
                    actor=actor,
                )
            )
            for start in range(0, len(pairs), _AMONG)
        )

    def find(self, receipt_said: str, mode: Mode) -> tuple[ReceiptFact, ...]:
        """Return what has this receipt, in any case and without the spaces around it.

        Oldest first; more than one collection where statements disagree.
        """
        return self._read(_BY_KEY, of_mode=mode.value, key=key_of(receipt_said))

    def of(self, collection_id: str, mode: Mode) -> tuple[ReceiptFact, ...]:
        """Return the receipts of one collection, oldest first."""
        return self._read(_OF_COLLECTION, of_id=clean(collection_id), of_mode=mode.value)

    def _read(self, query: Select[Any], **asked: str) -> tuple[ReceiptFact, ...]:
        with self._reading("read receipts") as connection:
            found = [_to_fact(row) for row in connection.execute(query, asked)]
        return tuple(sorted(found, key=lambda fact: fact.seq))


def key_of(said: str) -> str:
    """Return a receipt as receipts are compared: without spaces around it, in one case."""
    return clean(said.strip(), NAME_MAX).casefold()


def _record(
    writing: Transaction, *, pairs: Sequence[tuple[str, str]], mode: Mode, source: str, actor: str
) -> int:
    wanted = {(clean(id_), key_of(said)): clean(said.strip(), NAME_MAX) for id_, said in pairs}
    there = _recorded(writing, {id_ for id_, _ in wanted}, mode)
    new = {pair: said for pair, said in wanted.items() if pair not in there}
    if not new:
        return 0
    many = len(new) > 1
    row = audited(
        writing,
        actor=actor,
        act="record_receipts" if many else "record_receipt",
        subject=None if many else next(iter(new))[0],
        detail=source,
        outcome=f"{len(new)} recorded",
    )
    rows = [
        {
            "seq": writing.seq(),
            "collection_id": id_,
            "mode": mode.value,
            "receipt": said,
            "receipt_key": key,
            "source": clean(source),
            "at": to_us(writing.now),
            "actor": row.actor,
        }
        for (id_, key), said in new.items()
    ]
    writing.connection.execute(insert(receipt), rows)
    return len(new)


def _recorded(writing: Transaction, ids: set[str], mode: Mode) -> set[tuple[str, str]]:
    """Return the receipts that these collections have. Raises StoreError for an unknown one."""
    execute, its, it = writing.connection.execute, collection.c, receipt.c
    asked = select(its.id).where(its.id.in_(sorted(ids)), its.mode == mode.value)
    if strange := ids.difference(execute(asked).scalars()):
        raise StoreError(Said("there is no collection {id}").of(id=min(strange)))
    there = select(it.collection_id, it.receipt_key).where(
        it.collection_id.in_(sorted(ids)), it.mode == mode.value
    )
    return {(id_, key) for id_, key in execute(there)}


def _to_fact(row: Row[Any]) -> ReceiptFact:
    values = dict(zip(_FIELDS, row, strict=True))
    return ReceiptFact(**{**values, "mode": Mode(values["mode"]), "at": from_us(values["at"])})
