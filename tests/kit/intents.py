"""Intents as tests keep them: begun, ended, and prepared as no call of today leaves one behind."""

from concurrent.futures import Future
from datetime import datetime
from typing import Any

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store import Store
from kusanya.store.queries.intents.attempts import _under_key
from kusanya.store.queries.intents.rows import added, new_intent_id
from kusanya.store.records import AttemptEnd, AttemptStart, IntentRow, IntentState, NewIntent
from kusanya.store.tables.values import clean
from kusanya.store.writer.batch import Transaction


def prepare_intent(
    store: Store,
    *,
    prepared_at: datetime | None = None,
    intent_id: str | None = None,
    **said: Any,
) -> IntentRow:
    """Keep an intent that was not sent, as earlier versions did, or return the one of this key."""
    new = NewIntent(**said)

    def act(writing: Transaction) -> IntentRow:
        known = _under_key(writing, new)
        if known is not None:
            return known
        at = prepared_at or writing.now
        row = IntentRow(
            id=intent_id or new_intent_id(),
            seq=writing.seq(),
            idempotency_key=new.idempotency_key,
            body=new.body,
            mode=new.mode,
            profile=clean(new.profile),
            reference=clean(new.reference, NAME_MAX),
            amount=new.amount,
            phone=clean(new.phone),
            state=IntentState.PREPARED,
            prepared_at=at,
            first_sent_at=None,
            collection_id=None,
            outcome=None,
            attempts=0,
        )
        added(writing, row, at=at)
        return row

    return store._act(act)


def begin_intent(
    store: Store, *, at: datetime, by: str, until: datetime, target: str | None = None, **said: Any
) -> "Future[AttemptStart]":
    """Keep a new intent of what is said with its first attempt, as `Store.intents.begin` does."""
    return store.intents.begin(NewIntent(**said), at=at, by=by, until=until, target=target)


def end_attempt(
    store: Store,
    intent_id: str,
    number: int,
    *,
    at: datetime,
    outcome: str,
    state: IntentState,
    status: int | None = None,
    request_id: str | None = None,
    took_us: int | None = None,
    **said: Any,
) -> IntentRow:
    """Keep how an attempt ended, and return the intent, as `Store.intents.finish_attempt` does."""
    end = AttemptEnd(at=at, outcome=outcome, status=status, request_id=request_id, took_us=took_us)
    finished = store.intents.finish_attempt(intent_id, number, end, state=state, **said)
    return finished.result().intent
