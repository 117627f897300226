"""Intents: creations that are durable before their first byte leaves.

Every method that writes returns after COMMIT. What may be sent, and when it must stop, is decided
by `kusanya.intents`; here is only what must hold for all processes at once: one intent per key, one
claim at a time, attempts numbered without a gap, and nothing sent for an intent that is over.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, insert, or_, select, tuple_, update

from kusanya.errors import IntentError
from kusanya.store.base import Base
from kusanya.store.batch import Writing
from kusanya.store.order import unindexed
from kusanya.store.records import AttemptRow, IntentRow, IntentState, Key, Page
from kusanya.store.schema import intent, intent_attempt, intent_change
from kusanya.store.values import (
    NAME_MAX,
    clean,
    from_us,
    ids,
    maybe_at,
    maybe_clean,
    maybe_us,
    to_us,
)
from kusanya.wire import Mode

OVER: Final = frozenset({IntentState.ANSWERED, IntentState.REFUSED, IntentState.SETTLED})
"""States after which nothing is sent any more."""
_INTENT: Final = tuple(intent.c[name] for name in IntentRow.__struct_fields__)
_ATTEMPT: Final = tuple(intent_attempt.c[name] for name in AttemptRow.__struct_fields__)
_new_ids: Final = ids("int")


class Intents(Base):
    """Keeping and reading intents."""

    def prepare_intent(
        self,
        *,
        idempotency_key: str,
        body: bytes,
        mode: Mode,
        profile: str,
        reference: str,
        amount: int,
        phone: str,
        prepared_at: datetime | None = None,
        intent_id: str | None = None,
    ) -> IntentRow:
        """Make an intent durable and return it, or the one that has this key and body already.

        Keys are unique per mode and profile. Raises IntentError when the key belongs to an intent
        with another body.
        """

        def act(writing: Writing) -> IntentRow:
            it = intent.c
            known = _one(
                writing.connection,
                it.mode == mode.value,
                it.profile == clean(profile),
                it.idempotency_key == idempotency_key,
            )
            if known is not None:
                if known.body != body:
                    raise IntentError(
                        "this idempotency key belongs to an intent with another body: "
                        "look at that one before creating anew",
                        intent_id=known.id,
                    )
                return known
            at = prepared_at or writing.now
            new_id = intent_id or next(_new_ids)
            row = {
                "id": new_id,
                "idempotency_key": idempotency_key,
                "body": body,
                "mode": mode.value,
                "profile": clean(profile),
                "reference": clean(reference, NAME_MAX),
                "amount": amount,
                "phone": clean(phone),
                "state": IntentState.PREPARED.value,
                "prepared_at": to_us(at),
                "attempts": 0,
                "seq": 0,
            }
            writing.connection.execute(insert(intent).values(**row))
            return _changed(writing, new_id, at=at)

        return self._act(act)

    def claim_intent(self, intent_id: str, *, by: str, until: datetime) -> bool:
        """Reserve an intent for one process until `until`; False while another holds it.

        A claim of one's own is prolonged. Raises IntentError for an unknown intent.
        """

        def act(writing: Writing) -> bool:
            row = _of(writing.connection, intent_id)
            held = (
                row.claimed_by not in (None, by)
                and row.claimed_until is not None
                and row.claimed_until > writing.now
            )
            if held:
                return False
            writing.connection.execute(
                update(intent)
                .where(intent.c.id == intent_id)
                .values(claimed_by=by, claimed_until=to_us(until))
            )
            return True

        return self._act(act)

    def release_intent(self, intent_id: str, *, by: str) -> None:
        """Give up one's own claim; another's stays."""

        def act(writing: Writing) -> None:
            writing.connection.execute(
                update(intent)
                .where(intent.c.id == intent_id, intent.c.claimed_by == by)
                .values(claimed_by=None, claimed_until=None)
            )

        self._act(act)

    def begin_attempt(self, intent_id: str, *, at: datetime) -> AttemptRow:
        """Make durable that the intent is being sent now; call it before the first byte leaves.

        The intent becomes SENT and keeps the instant of its first sending for ever. Raises
        IntentError for an intent that is over or unknown.
        """

        def act(writing: Writing) -> AttemptRow:
            row = _of(writing.connection, intent_id)
            if row.state in OVER:
                raise IntentError(
                    f"this intent is {row.state.value}: nothing is sent for it any more",
                    intent_id=intent_id,
                )
            number = row.attempts + 1
            writing.connection.execute(
                insert(intent_attempt).values(intent_id=intent_id, number=number, sent_at=to_us(at))
            )
            _changed(
                writing,
                intent_id,
                at=at,
                state=IntentState.SENT.value,
                attempts=number,
                first_sent_at=to_us(row.first_sent_at or at),
            )
            return AttemptRow(
                intent_id=intent_id,
                number=number,
                sent_at=at,
                ended_at=None,
                outcome=None,
                status=None,
                request_id=None,
                took_us=None,
            )

        return self._act(act)

    def end_attempt(
        self,
        intent_id: str,
        number: int,
        *,
        at: datetime,
        outcome: str,
        status: int | None,
        request_id: str | None,
        took_us: int | None,
        state: IntentState,
        collection_id: str | None = None,
        sentence: str | None = None,
    ) -> IntentRow:
        """Make durable how an attempt ended and what the intent is now; return the intent.

        `outcome` is the attempt's stable word, `sentence` the intent's for people. An intent that
        was settled meanwhile stays settled. Raises IntentError for an unknown attempt.
        """

        def act(writing: Writing) -> IntentRow:
            row = _of(writing.connection, intent_id)
            ended = writing.connection.execute(
                update(intent_attempt)
                .where(intent_attempt.c.intent_id == intent_id, intent_attempt.c.number == number)
                .values(
                    ended_at=to_us(at),
                    outcome=clean(outcome),
                    status=status,
                    request_id=maybe_clean(request_id),
                    took_us=took_us,
                )
            )
            if ended.rowcount != 1:
                raise IntentError(f"attempt {number} was never begun", intent_id=intent_id)
            settled = row.state is IntentState.SETTLED
            return _changed(
                writing,
                intent_id,
                at=at,
                state=row.state.value if settled else state.value,
                collection_id=collection_id or row.collection_id,
                outcome=row.outcome if settled else maybe_clean(sentence) or row.outcome,
            )

        return self._act(act)

    def settle_intent(
        self,
        intent_id: str,
        *,
        collection_id: str | None,
        sentence: str,
        state: IntentState = IntentState.SETTLED,
        at: datetime | None = None,
    ) -> IntentRow:
        """Make durable that an event, an answer or a person decided an intent; return it."""

        def act(writing: Writing) -> IntentRow:
            row = _of(writing.connection, intent_id)
            return _changed(
                writing,
                intent_id,
                at=at or writing.now,
                state=state.value,
                collection_id=collection_id or row.collection_id,
                outcome=clean(sentence),
            )

        return self._act(act)

    def intent(self, intent_id: str) -> IntentRow | None:
        """Return an intent, or None where it is unknown."""
        with self._reading("read intents") as connection:
            return _one(connection, intent.c.id == clean(intent_id))

    def intent_by_key(self, mode: Mode, profile: str, key: str) -> IntentRow | None:
        """Return the intent with this idempotency key, or None."""
        it = intent.c
        with self._reading("read intents") as connection:
            return _one(
                connection,
                it.mode == mode.value,
                it.profile == clean(profile),
                it.idempotency_key == clean(key),
            )

    def intents(
        self,
        mode: Mode | None = None,
        *,
        states: Sequence[IntentState] = (),
        older_than: Key | None = None,
        limit: int = 200,
    ) -> Page[IntentRow]:
        """Return a page of intents, newest first, of one mode or of both."""
        it = intent.c
        query = select(*_INTENT).order_by(it.prepared_at.desc(), it.id.desc()).limit(limit + 1)
        if mode is not None:
            query = query.where(it.mode == mode.value)
        if states:
            query = query.where(or_(*(it.state == state.value for state in states)))
        if older_than is not None:
            query = query.where(
                tuple_(it.prepared_at, it.id) < tuple_(older_than.value, older_than.id)
            )
        with self._reading("read intents") as connection:
            found = tuple(_to_intent(row) for row in connection.execute(query).mappings())
        return Page(rows=found[:limit], more=len(found) > limit)

    def attempts(self, intent_id: str) -> tuple[AttemptRow, ...]:
        """Return the attempts of an intent, first to last."""
        query = (
            select(*_ATTEMPT)
            .where(intent_attempt.c.intent_id == clean(intent_id))
            .order_by(intent_attempt.c.number)
        )
        with self._reading("read intents") as connection:
            return tuple(
                AttemptRow(
                    **{
                        **row,
                        "sent_at": from_us(row["sent_at"]),
                        "ended_at": maybe_at(row["ended_at"]),
                    }
                )
                for row in connection.execute(query).mappings()
            )

    def intents_by_reference(self, mode: Mode, reference: str) -> tuple[IntentRow, ...]:
        """Return the intents with exactly this reference, newest first."""
        it = intent.c
        query = (
            select(*_INTENT)
            .where(it.mode == mode.value, it.reference == clean(reference, NAME_MAX))
            .order_by(unindexed(it.prepared_at).desc(), it.id.desc())
        )
        with self._reading("read intents") as connection:
            return tuple(_to_intent(row) for row in connection.execute(query).mappings())


def _one(connection: Connection, *where: Any) -> IntentRow | None:
    row = connection.execute(select(*_INTENT).where(*where)).mappings().one_or_none()
    return None if row is None else _to_intent(row)


def _of(connection: Connection, intent_id: str) -> IntentRow:
    row = _one(connection, intent.c.id == intent_id)
    if row is None:
        raise IntentError("there is no such intent", intent_id=intent_id)
    return row


def _changed(writing: Writing, intent_id: str, *, at: datetime, **values: Any) -> IntentRow:
    """Update the intent, append the change to the journal and return what it is now."""
    seq = writing.seq()
    writing.connection.execute(
        update(intent).where(intent.c.id == intent_id).values(seq=seq, **values)
    )
    row = _of(writing.connection, intent_id)
    writing.connection.execute(
        insert(intent_change).values(
            seq=seq,
            intent_id=row.id,
            mode=row.mode.value,
            at=maybe_us(at),
            state=row.state.value,
            collection_id=row.collection_id,
            outcome=row.outcome,
        )
    )
    return row


def _to_intent(row: Any) -> IntentRow:
    return IntentRow(
        **{
            **row,
            "body": bytes(row["body"]),
            "mode": Mode(row["mode"]),
            "state": IntentState(row["state"]),
            "prepared_at": from_us(row["prepared_at"]),
            "first_sent_at": maybe_at(row["first_sent_at"]),
            "claimed_until": maybe_at(row["claimed_until"]),
        }
    )
