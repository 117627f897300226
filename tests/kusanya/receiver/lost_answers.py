"""Intents whose create was sent a minute before noon and never answered."""

from datetime import UTC, datetime, timedelta

from tests.kit.intents import begin_intent, end_attempt

from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def begun(store: Store, number: int = 1, *, amount: int = 5000) -> IntentRow:
    """Return an intent whose sender died while it was sending."""
    begin = begin_intent(
        store,
        idempotency_key=f"key-{number}",
        body=b"{}",
        mode=Mode.TEST,
        profile="shop",
        reference=f"order-{number}",
        amount=amount,
        phone="255754000001",
        at=NOON - timedelta(minutes=1),
        by="till",
        until=NOON - timedelta(seconds=30),
    )
    return begin.result().intent


def unanswered(store: Store, number: int = 1, *, amount: int = 5000) -> IntentRow:
    """Return an intent whose sender gave up waiting for the answer."""
    return end_attempt(
        store,
        begun(store, number, amount=amount).id,
        1,
        at=NOON - timedelta(seconds=50),
        outcome="no_answer",
        status=None,
        request_id=None,
        took_us=None,
        state=IntentState.UNKNOWN,
    )
