"""Rows of intents: read, added and changed inside an open transaction."""

from datetime import datetime
from enum import Enum
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Select, bindparam, insert, select, update

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import IntentError, IntentReason
from kusanya.say import Said, keep, kept
from kusanya.store.queries.planner_hints import unindexed
from kusanya.store.records import IntentRow, IntentState
from kusanya.store.records.erased_names import maybe_erased
from kusanya.store.tables.schema import intent, intent_change
from kusanya.store.tables.values import Ids, clean, from_us, maybe_at, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

INTENT_COLUMNS: Final = tuple(intent.c[name] for name in IntentRow.__struct_fields__)
_new_ids: Final = Ids("int")
# Made once: building a statement costs many times what running it does.
BY_ID: Final = select(*INTENT_COLUMNS).where(intent.c.id == bindparam("of"))
_BY_KEY: Final = select(*INTENT_COLUMNS).where(
    intent.c.mode == bindparam("of_mode"),
    intent.c.profile == bindparam("of_profile"),
    intent.c.idempotency_key.in_((bindparam("of_key"), bindparam("erased_key"))),
)
_NEWEST: Final = (
    select(*INTENT_COLUMNS)
    .where(intent.c.mode == bindparam("of_mode"))
    .order_by(unindexed(intent.c.prepared_at).desc(), intent.c.id.desc())
)
_BY_REFERENCE: Final = _NEWEST.where(
    intent.c.reference.in_((bindparam("of_reference"), bindparam("erased_reference")))
)
_BY_REFERENCES: Final = _NEWEST.where(
    intent.c.reference.in_(bindparam("of_references", expanding=True))
)
_ADD: Final = insert(intent)
_CHANGE: Final = update(intent).where(intent.c.id == bindparam("of"))
_JOURNAL: Final = insert(intent_change)


def one(connection: Connection, query: Select[Any], **values: str) -> IntentRow | None:
    """Return the one intent that `query` finds, or None."""
    row = connection.execute(query, values).mappings().one_or_none()
    return None if row is None else to_intent(row)


def the_intent(connection: Connection, intent_id: str) -> IntentRow:
    """Return an intent. Raises IntentError for an unknown one."""
    row = one(connection, BY_ID, of=intent_id)
    if row is None:
        raise IntentError(
            "there is no such intent", reason=IntentReason.UNKNOWN_INTENT, intent_id=intent_id
        )
    return row


def under_key(connection: Connection, mode: Mode, profile: str, key: str) -> IntentRow | None:
    """Return the intent with this idempotency key, or None."""
    wanted = {"of_mode": mode.value, "of_profile": clean(profile), "of_key": key}
    return one(connection, _BY_KEY, **wanted, erased_key=maybe_erased(key))


def same_reference(connection: Connection, mode: Mode, *references: str) -> tuple[IntentRow, ...]:
    """Return the intents with exactly this reference, or one of several, newest first."""
    said = [clean(reference, NAME_MAX) for reference in references]
    erased = [maybe_erased(reference) for reference in said]
    if len(said) == 1:
        asked = {"of_reference": said[0], "erased_reference": erased[0]}
        found = connection.execute(_BY_REFERENCE, {"of_mode": mode.value, **asked})
    else:
        names = {"of_references": list(dict.fromkeys([*said, *erased]))}
        found = connection.execute(_BY_REFERENCES, {"of_mode": mode.value, **names})
    return tuple(to_intent(row) for row in found.mappings())


def new_intent_id() -> str:
    """Return an id that no intent has."""
    return _new_ids.new()


def added(writing: Transaction, row: IntentRow, *, at: datetime) -> None:
    """Insert the intent and append it to the journal."""
    values = {name: _column_value(getattr(row, name)) for name in IntentRow.__struct_fields__}
    writing.connection.execute(_ADD, values)
    _journal(writing, row, at)


def change(writing: Transaction, row: IntentRow, *, at: datetime, **said: Any) -> IntentRow:
    """Update fields of the intent, append the change to the journal and return what it is now."""
    if said.get("outcome") is not None:
        said["outcome"] = kept(clean(keep(said["outcome"])))
    now = msgspec.structs.replace(row, seq=writing.seq(), **said)
    values = {name: _column_value(getattr(now, name)) for name in ("seq", *said)}
    writing.connection.execute(_CHANGE, {"of": row.id, **values})
    _journal(writing, now, at)
    return now


def _journal(writing: Transaction, row: IntentRow, at: datetime) -> None:
    writing.connection.execute(
        _JOURNAL,
        {
            "seq": row.seq,
            "intent_id": row.id,
            "mode": row.mode.value,
            "at": to_us(at),
            "state": row.state.value,
            "collection_id": row.collection_id,
            "outcome": _column_value(row.outcome),
        },
    )


def _column_value(value: Any) -> Any:
    """Return a field as its column holds it."""
    if isinstance(value, datetime):
        return to_us(value)
    if isinstance(value, Said):
        return keep(value)
    return value.value if isinstance(value, Enum) else value


def to_intent(row: Any) -> IntentRow:
    """Return a row of the table as the record it is."""
    return IntentRow(
        **{
            **row,
            "body": bytes(row["body"]),
            "mode": Mode(row["mode"]),
            "state": IntentState(row["state"]),
            "outcome": None if row["outcome"] is None else kept(row["outcome"]),
            "prepared_at": from_us(row["prepared_at"]),
            "first_sent_at": maybe_at(row["first_sent_at"]),
            "claimed_until": maybe_at(row["claimed_until"]),
            "window_closed_at": maybe_at(row["window_closed_at"]),
        }
    )
