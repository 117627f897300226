"""A receipt that was kept with a payment is read by whoever opens the payment later."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy

import pytest
from tests.kit.intents import begin_intent
from tests.kit.payments import by_event, polled

from kusanya.clock import ManualClock
from kusanya.lookup import Reason, Timeline, advice, claims, load_timeline, new_request
from kusanya.store import Store
from kusanya.store.records import IntentRow
from kusanya.wire import Mode

NOW = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)
PAID = NOW - timedelta(hours=3)
FAILED = {"status": "failed", "failure_code": "insufficient_funds"}


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "claims.db"), clock=ManualClock(NOW)) as opened:
        yield opened


def receipt(store: Store, collection_id: str, said: str = "DFL0000001") -> None:
    store.receipts.record(collection_id, Mode.LIVE, said, source="message of M-Pesa", actor="desk")


def read(store: Store, collection_id: str) -> Timeline:
    found = load_timeline(store, collection_id, Mode.LIVE, now=NOW)
    assert found is not None
    return found


def test_no_new_request_is_safe_for_an_unpaid_one_with_a_receipt(store: Store) -> None:
    store.record(by_event("mine", PAID, **FAILED))
    assert new_request(read(store, "col_mine")).safe
    assert claims(read(store, "col_mine")) == ()
    receipt(store, "col_mine")
    mine = read(store, "col_mine")
    assert new_request(mine).reason is Reason.CLAIMED
    assert not advice(mine).may_prompt
    (said,) = claims(mine)
    assert said.urgent
    assert said.sentence == (
        "Receipt DFL0000001 (message of M-Pesa) claims that this was paid, the service says "
        "failed: ask the service first."
    )


def test_a_receipt_of_a_paid_one_claims_nothing_else(store: Store) -> None:
    store.record(by_event("mine", PAID))
    receipt(store, "col_mine")
    assert claims(read(store, "col_mine")) == ()
    assert new_request(read(store, "col_mine")).reason is Reason.PAID


def test_a_receipt_before_the_event_is_no_alarm(store: Store) -> None:
    store.record(polled("mine", PAID, status="created"))
    receipt(store, "col_mine")
    (said,) = claims(read(store, "col_mine"))
    assert "the service says created" in said.sentence
    assert not said.urgent


def test_a_receipt_on_two_payments_is_named_on_both(store: Store) -> None:
    store.record(by_event("mine", PAID, amount=5_000))
    store.record(by_event("other", PAID, amount=900))
    receipt(store, "col_mine")
    receipt(store, "col_other", "dfl0000001 ")
    (mine,), (other,) = (claims(read(store, f"col_{name}")) for name in ("mine", "other"))
    assert mine.urgent
    assert "Receipt DFL0000001 is kept with another payment too" in mine.sentence
    assert "TZS 900" in mine.sentence
    assert "TZS 5,000" in other.sentence


def test_no_new_request_is_safe_while_another_of_the_order_has_a_receipt(store: Store) -> None:
    store.record(by_event("first", PAID, reference="INV-1", **FAILED))
    store.record(by_event("second", PAID + timedelta(hours=1), reference="INV-1", **FAILED))
    assert new_request(read(store, "col_second")).safe
    receipt(store, "col_first")
    second = read(store, "col_second")
    assert new_request(second).reason is Reason.CLAIMED_UNDER_REFERENCE
    assert "has a receipt, col_first" in new_request(second).sentence
    assert "not pay again" in advice(second).english.sentence
    assert claims(second) == ()


def test_no_new_request_is_safe_while_facts_about_another_of_the_order_contradict(
    store: Store,
) -> None:
    store.record(by_event("first", PAID, reference="INV-1", **FAILED))
    store.record(by_event("second", PAID + timedelta(hours=1), reference="INV-1", **FAILED))
    assert new_request(read(store, "col_second")).safe
    store.record(polled("first", PAID, reference="INV-1"))
    second = read(store, "col_second")
    assert new_request(second).reason is Reason.ORDER_UNCLEAR
    assert not advice(second).may_prompt
    assert "not pay again" in advice(second).english.sentence
    assert "usilipe tena" in advice(second).swahili.sentence
    assert new_request(read(store, "col_first")).reason is Reason.CONTRADICTION


def test_no_new_request_is_safe_while_another_of_the_order_was_seen_by_nobody(
    store: Store,
) -> None:
    intent = begun(store, "INV-1")
    store.intents.resolve(intent.id, collection_id="col_lost", sentence="said by asha")
    store.record(by_event("second", PAID, reference="INV-1", **FAILED))
    assert new_request(read(store, "col_second")).reason is Reason.ORDER_UNCLEAR


def begun(store: Store, reference: str) -> IntentRow:
    """Return a creation of an order that was sent."""
    start = begin_intent(store,
        idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="shop", reference=reference,
        amount=1_000, phone="255754000009", at=PAID, by="shop", until=NOW,
    )  # fmt: skip
    return start.result().intent


def test_what_the_service_calls_paid_stays_paid_beside_a_claimed_one(store: Store) -> None:
    store.record(by_event("first", PAID, reference="INV-1", **FAILED))
    store.record(by_event("second", PAID + timedelta(hours=1), reference="INV-1"))
    receipt(store, "col_first")
    assert new_request(read(store, "col_second")).reason is Reason.PAID
