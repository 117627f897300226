"""Sending intents: what is durable before a byte leaves, and what its answer makes durable.

A create costs two commits: one that holds the intent, its lease and its first attempt before the
first byte, and one that holds how the attempt ended, what was observed, and what the intent is now.
Many at once share them. What may be sent, and when it must stop, is decided by `kusanya.intents`;
here is what must hold for all processes at once: one intent per key, one standing intent per
reference, attempts numbered without a gap, and nothing sent for an intent that is over.
"""

from concurrent.futures import Future
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, insert, update

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import IntentError, IntentReason
from kusanya.state.observation import Observation
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.intents.order import order_of
from kusanya.store.queries.intents.rows import (
    added,
    change,
    new_intent_id,
    the_intent,
    under_key,
)
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.queries.restores import check_restored
from kusanya.store.records import (
    AttemptEnd,
    AttemptFinish,
    AttemptRow,
    AttemptStart,
    CollectionRow,
    IntentRow,
    IntentState,
    NewIntent,
)
from kusanya.store.records.intent_rules import check_order, other_body
from kusanya.store.records.order import OVER
from kusanya.store.tables.schema import intent_attempt
from kusanya.store.tables.values import clean, maybe_clean, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.projection import ProjectedRow, shown

# Made once: building a statement costs many times what running it does.
_BEGIN: Final = insert(intent_attempt)
_END: Final = update(intent_attempt).where(
    intent_attempt.c.intent_id == bindparam("of"),
    intent_attempt.c.number == bindparam("at_number"),
)


class IntentAttempts(StorePart):
    """Beginning and ending the attempts of intents."""

    def begin(
        self, new: NewIntent, *, at: datetime, by: str, until: datetime, target: str | None = None
    ) -> "Future[AttemptStart]":
        """Keep a new intent, leased `by` a process `until` an instant, with its first attempt.

        `target` is where it is being sent: the address, and the merchant where that is known.
        The future resolves once all of it is durable: before that no byte may leave. Where the key
        has an intent with this body already, that one is the result and nothing is changed. The
        future fails with IntentError where the key belongs to another body, and where what is known
        of the order forbids another prompt: see `check_order`. It fails too after a restore that is
        not resolved: see `check_restored`.
        """

        def act(writing: Transaction) -> AttemptStart:
            known = _under_key(writing, new)
            if known is not None:
                return AttemptStart(intent=known, new=False)
            _check_order(writing, new)
            row = IntentRow(
                id=new_intent_id(),
                seq=writing.seq(),
                idempotency_key=new.idempotency_key,
                body=new.body,
                mode=new.mode,
                profile=clean(new.profile),
                reference=clean(new.reference, NAME_MAX),
                amount=new.amount,
                phone=clean(new.phone),
                state=IntentState.SENT,
                prepared_at=at,
                first_sent_at=at,
                collection_id=None,
                outcome=None,
                attempts=1,
                claimed_by=by,
                claimed_until=until,
                target=maybe_clean(target),
            )
            added(writing, row, at=at)
            _attempt(writing, row.id, 1, at)
            return AttemptStart(intent=row, new=True)

        return self._queue(act)

    def begin_attempt(
        self, intent_id: str, *, at: datetime, target: str | None = None
    ) -> AttemptRow:
        """Make durable that the intent is being sent now; call it before the first byte leaves.

        The intent becomes SENT and keeps the instant of its first sending for ever, and `target`,
        where it is being sent, from when something may come of it. Raises IntentError for an intent
        that is over or unknown.
        """

        def act(writing: Transaction) -> AttemptRow:
            row = the_intent(writing.connection, intent_id)
            if row.state in OVER:
                raise IntentError(
                    f"this intent is {row.state.value}: nothing is sent for it any more",
                    reason=IntentReason.OVER,
                    intent_id=intent_id,
                )
            number = row.attempts + 1
            stays = row.target is not None and row.state is not IntentState.PREPARED
            change(
                writing,
                row,
                at=at,
                state=IntentState.SENT,
                attempts=number,
                first_sent_at=row.first_sent_at or at,
                target=row.target if stays else maybe_clean(target) or row.target,
            )
            return _attempt(writing, intent_id, number, at)

        return self._act(act)

    def finish_attempt(
        self,
        intent_id: str,
        number: int,
        end: AttemptEnd,
        *,
        state: IntentState,
        collection_id: str | None = None,
        sentence: str | None = None,
        observation: Observation | None = None,
        by: str | None = None,
    ) -> "Future[AttemptFinish]":
        """Keep how an attempt ended, what was observed, and what the intent is now.

        `sentence` is the intent's outcome for people. An intent that was settled meanwhile stays
        settled, and only an answer changes one that is over otherwise.
        Where the intent is over, a lease held `by` the caller is given up. The future resolves to
        the intent, and the collection that was observed, once all of it is durable, and fails with
        IntentError for an unknown attempt.
        """

        def act(writing: Transaction) -> AttemptFinish:
            row = the_intent(writing.connection, intent_id)
            ended = {
                "of": intent_id,
                "at_number": number,
                "ended_at": to_us(end.at),
                "outcome": clean(end.outcome),
                "status": end.status,
                "request_id": maybe_clean(end.request_id),
                "took_us": end.took_us,
            }
            if writing.connection.execute(_END, ended).rowcount != 1:
                raise IntentError(
                    f"attempt {number} was never begun",
                    reason=IntentReason.UNKNOWN_INTENT,
                    intent_id=intent_id,
                )
            now, said = _what_stands(row, state, sentence)
            # What a person or an event named is not exchanged for another one.
            settled_as = row.collection_id if row.state is IntentState.SETTLED else None
            free = now in OVER and by is not None and row.claimed_by == by
            intent = change(
                writing,
                row,
                at=end.at,
                state=now,
                collection_id=settled_as or collection_id or row.collection_id,
                outcome=said,
                claimed_by=None if free else row.claimed_by,
                claimed_until=None if free else row.claimed_until,
            )
            return AttemptFinish(intent=intent, collection=_observed(writing, observation))

        return self._queue(act, observation=observation)


def _what_stands(
    row: IntentRow, state: IntentState, said: str | None
) -> tuple[IntentState, str | None]:
    """Return the state and the outcome of an intent after an attempt that ended in `state`."""
    is_answer = state is IntentState.ANSWERED
    # A slow process may end an attempt after another process came to the answer.
    if row.state in OVER and not (is_answer and row.state is not IntentState.SETTLED):
        return row.state, row.outcome
    # An answer ends what an earlier attempt's failure said of the intent.
    return state, said or (None if is_answer else row.outcome)


def _observed(writing: Transaction, observation: Observation | None) -> CollectionRow | None:
    """Return the collection that was just observed, as all that is known of it makes it."""
    if observation is None:
        return None
    found = writing.known(writing.statements.known_collections, [observation.collection.id])
    rows = (shown(ProjectedRow._make(values)) for values in found)
    return next((row for row in rows if row.mode is observation.observed_in), None)


def _under_key(writing: Transaction, new: NewIntent) -> IntentRow | None:
    known = under_key(writing.connection, new.mode, new.profile, new.idempotency_key)
    if known is not None and known.body != new.body:
        raise other_body(known)
    return known


def _check_order(writing: Transaction, new: NewIntent) -> None:
    """Raise IntentError where another prompt for the order is not safe; audit one that is."""
    check_restored(writing.connection, new.mode)
    repeat = new.repeat
    before = check_order(order_of(writing.connection, new.mode, new.reference), repeat)
    if before is not None and repeat is not None:
        audited(
            writing,
            actor=repeat.actor,
            act="repeat reference",
            subject=before,
            detail=f"although paid: {repeat.reason}" if repeat.although_paid else repeat.reason,
            outcome="done",
        )


def _attempt(writing: Transaction, intent_id: str, number: int, at: datetime) -> AttemptRow:
    writing.connection.execute(
        _BEGIN, {"intent_id": intent_id, "number": number, "sent_at": to_us(at)}
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
