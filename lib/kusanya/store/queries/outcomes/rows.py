"""Rows of outcomes, of their work and of their consumers, and what is shared about them."""

from hashlib import sha256
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Row,
)

from kusanya.errors import StoreChanged, StoreError
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.queries.restores import restored_at
from kusanya.store.records.outcomes import (
    ConsumerRow,
    Kind,
    Outcome,
    Work,
)
from kusanya.store.tables.schema import (
    outcome,
    outcome_work,
)
from kusanya.store.tables.values import from_us, maybe_at
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

ADDED: Final = "add consumer"
"""The act by which a consumer begins; its place in the journal is where that was."""
FIELDS: Final = Outcome.__struct_fields__

OUTCOME: Final = tuple(outcome.c[name] for name in FIELDS)

WORK: Final = (
    outcome_work.c.consumer,
    outcome_work.c.tries,
    outcome_work.c.due_at,
    outcome_work.c.parked,
    outcome_work.c.why,
)


def to_outcome(row: Row[Any]) -> Outcome:
    """Return the outcome of a row of OUTCOME."""
    values = dict(zip(FIELDS, row, strict=False))
    read = {"mode": Mode(values["mode"]), "kind": Kind(values["kind"]), "at": from_us(values["at"])}
    return Outcome(**{**values, **read})


def to_work(row: Row[Any]) -> Work:
    """Return the work of a row of OUTCOME and WORK."""
    name, tries, due_at, parked, why = row[len(FIELDS) :]
    return Work(
        outcome=to_outcome(row),
        consumer=name,
        tries=tries,
        due_at=from_us(due_at),
        parked=parked,
        why=why,
    )


def to_consumer(row: Row[Any]) -> ConsumerRow:
    """Return the consumer of a row."""
    return ConsumerRow(
        name=row.name,
        mode=Mode(row.mode),
        place=row.place,
        begins_at=maybe_at(row.begins_at),
        epoch=row.epoch,
        added_at=from_us(row.added_at),
    )


def epoch_of(connection: Connection, store_id: str) -> str:
    """Return the epoch of an open store."""
    at = restored_at(connection)
    said = f"{store_id} {'' if at is None else at.isoformat()}"
    return sha256(said.encode()).hexdigest()[:12]


def check_epoch(connection: Connection, store_id: str, epoch: str, *, of: str) -> None:
    """Raise StoreChanged where a place, or a consumer, is of another epoch."""
    now = epoch_of(connection, store_id)
    if now != epoch:
        raise StoreChanged(
            f"{of} is of epoch {epoch} and the store of {now}: it was restored, or is another one. "
            "What the shop did since the backup is in its own table and is not done twice; when "
            "the payments of that time are in the store again: kusanya outcomes rejoin NAME"
        )


def unknown(name: str) -> StoreError:
    """Return the error for a consumer that nobody has added."""
    return StoreError(
        f"there is no consumer {name}: kusanya outcomes add {name} --begin now makes one, and says "
        "with which outcomes it begins"
    )


def audit_of(writing: Transaction, actor: str, act: str, subject: str, detail: str) -> None:
    """Keep an act about outcomes in the open transaction."""
    audited(writing, actor=actor, act=act, subject=subject, detail=detail, outcome="done")
