"""Intents in a state that no call of today leaves behind: prepared, and never sent."""

from datetime import datetime

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store import Store
from kusanya.store.queries.intents.attempts import _under_key
from kusanya.store.queries.intents.rows import added, new_intent_id
from kusanya.store.records import IntentRow, IntentState
from kusanya.store.tables.values import clean
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode


def prepare_intent(
    store: Store,
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
    """Keep an intent that was not sent, as earlier versions did, or return the one of this key."""

    def act(writing: Transaction) -> IntentRow:
        known = _under_key(writing, mode, profile, idempotency_key, body)
        if known is not None:
            return known
        at = prepared_at or writing.now
        row = IntentRow(
            id=intent_id or new_intent_id(),
            seq=writing.seq(),
            idempotency_key=idempotency_key,
            body=body,
            mode=mode,
            profile=clean(profile),
            reference=clean(reference, NAME_MAX),
            amount=amount,
            phone=clean(phone),
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
