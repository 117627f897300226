"""Lookup knows creations without a collection, and no advice contradicts its verdict."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace
from tests.kit.intents import end_attempt, prepare_intent

from kusanya.clock import ManualClock
from kusanya.domain.business_day import day_start
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.domain.status import FINAL
from kusanya.lookup import (
    CreationTimeline,
    LookupResult,
    MatchKind,
    Neighbours,
    Reason,
    Timeline,
    advice,
    creation_advice,
    find,
    load_creation_timeline,
    load_timeline,
    new_request,
)
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState, Note
from kusanya.store.records.order import OrderJudgement, OrderReason, OrderStatus
from kusanya.wire import Mode

PHONE = "255754000009"
OFFERS = ("send a new request", "offer a new request", "a new try", "shall we send", "ombi jipya")


@pytest.fixture
def created(store: Store, clock: ManualClock) -> Callable[..., IntentRow]:
    """Return what keeps a creation and lets its answer be lost."""

    def make(
        reference: str = "INV-51",
        *,
        amount: int = 22_000,
        phone: str = PHONE,
        state: IntentState = IntentState.UNKNOWN,
        ago: timedelta = timedelta(minutes=5),
        **ended: Any,
    ) -> IntentRow:
        at = clock.now() - ago
        row = prepare_intent(
            store,
            idempotency_key=f"key-{reference}", body=b"{}", mode=Mode.TEST, profile="shop",
            reference=reference, amount=amount, phone=phone, prepared_at=at,
        )  # fmt: skip
        if state is IntentState.PREPARED:
            return row
        store.intents.begin_attempt(row.id, at=at)
        attempt = {"outcome": "lost", "status": None, "request_id": None, "took_us": 10_000_000}
        end_attempt(
            store, row.id, 1, at=at + timedelta(seconds=10), state=state, **(attempt | ended)
        )
        return row

    return make


def ask(store: Store, clock: ManualClock, text: str, *, mode: Mode = Mode.TEST) -> LookupResult:
    return find(store, text, mode=mode, now=clock.now(), day=day_start)


def timeline_of(store: Store, clock: ManualClock, intent: IntentRow) -> CreationTimeline:
    found = load_creation_timeline(store, intent.id, now=clock.now())
    assert found is not None
    return found


def story_of(store: Store, clock: ManualClock, number: int) -> Timeline:
    found = load_timeline(store, f"col_{number}", Mode.TEST, now=clock.now())
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("INV-51", MatchKind.REFERENCE),
        ("NV-5", MatchKind.PART),
        ("inv-5", MatchKind.PART),
        ("0754 000 009", MatchKind.PHONE),
        ("+255754000009", MatchKind.PHONE),
        ("22000", MatchKind.AMOUNT),
        ("22,000 14:55", MatchKind.AMOUNT),
    ],
)
def test_a_creation_without_an_answer_is_found_as_its_customer_would_name_it(
    store: Store, clock: ManualClock, created: Any, text: str, way: MatchKind
) -> None:
    intent = created()
    created("ORDER-7", amount=1, phone="255754000001")
    found = ask(store, clock, text)
    assert [(match.intent.id, match.kind) for match in found.creations] == [(intent.id, way)]
    assert found.count == 1


@pytest.mark.merge
@pytest.mark.parametrize("text", ["0009", "21000..23000", "22000 14:54"])
def test_a_creation_is_found_behind_all_others_that_an_outage_left_open(
    store: Store, clock: ManualClock, created: Any, text: str
) -> None:
    """Who reads that nothing is open asks the customer to pay again."""
    intent = created(ago=timedelta(minutes=6), state=IntentState.PREPARED)
    for number in range(1_001):
        prepare_intent(
            store,
            idempotency_key=f"key-{number}", body=b"{}", mode=Mode.TEST, profile="shop",
            reference=f"LATER-{number}", amount=900, phone="255754000001",
            prepared_at=clock.now() - timedelta(minutes=5),
        )  # fmt: skip
    found = ask(store, clock, text)
    assert [match.intent.id for match in found.creations] == [intent.id]


def test_a_creation_is_found_by_its_id_whatever_became_of_it(
    store: Store, clock: ManualClock, created: Any, make: Any
) -> None:
    lost = created()
    refused = created("INV-52", state=IntentState.REFUSED, outcome="refused", status=422)
    answered = created("INV-000007")
    store.record(make.observation(7, source=Source.POLL))
    store.intents.resolve(answered.id, collection_id="col_7", sentence="seen later")
    assert [m.kind for m in ask(store, clock, lost.id).creations] == [MatchKind.ID]
    assert [m.kind for m in ask(store, clock, refused.id).creations] == [MatchKind.ID]
    (match,) = ask(store, clock, answered.id).matches
    assert (match.row.id, match.kind) == ("col_7", MatchKind.CREATION)


def test_a_creation_that_became_a_collection_is_found_once_as_the_collection(
    store: Store, clock: ManualClock, created: Any, make: Any
) -> None:
    intent = created("INV-000007", phone="255754000007", amount=5_000)
    store.record(make.observation(7, source=Source.POLL))
    store.intents.resolve(intent.id, collection_id="col_7", sentence="seen later")
    for text in ("INV-000007", "0754000007", "V-0000"):
        found = ask(store, clock, text)
        assert (len(found.matches), found.creations) == (1, ())


def test_a_creation_of_the_other_mode_is_counted_and_not_shown(
    store: Store, clock: ManualClock, created: Any
) -> None:
    intent = created()
    for text in ("INV-51", intent.id):
        found = ask(store, clock, text, mode=Mode.LIVE)
        assert (found.count, found.elsewhere) == (0, 1)


def test_a_note_on_a_creation_leads_to_it(store: Store, clock: ManualClock, created: Any) -> None:
    intent = created()
    store.notes.add(intent.id, Note("SMS 9XK77QQ"), author="asha", mode=Mode.TEST)
    (match,) = ask(store, clock, "9xk77").creations
    assert (match.intent.id, match.kind) == (intent.id, MatchKind.NOTE)


@pytest.mark.parametrize("state", [IntentState.UNKNOWN, IntentState.SENT, IntentState.PREPARED])
def test_an_open_creation_lets_nobody_ask_again_and_says_until_when_a_replay_is_safe(
    store: Store, clock: ManualClock, created: Any, state: IntentState
) -> None:
    found = timeline_of(store, clock, created(state=state))
    verdict = new_request(found)
    assert (verdict.safe, verdict.reason) == (False, Reason.EARLIER_REQUEST)
    assert found.replay_until == clock.now() - timedelta(minutes=5) + timedelta(hours=23)
    said = creation_advice(found)
    assert said.english.sentence == (
        "We are checking whether your request went through. Please do not pay again."
    )
    assert said.swahili.sentence.endswith("Tafadhali usilipe tena.")
    assert not said.may_prompt


def test_after_its_window_a_person_decides_and_a_new_request_stays_unsafe(
    store: Store, clock: ManualClock, created: Any
) -> None:
    found = timeline_of(store, clock, created(ago=timedelta(hours=24)))
    assert found.replay_until is None
    verdict = new_request(found)
    assert not verdict.safe
    assert "decide" in verdict.next_step


def test_a_refused_creation_leaves_the_way_free_unless_something_else_is_open(
    store: Store, clock: ManualClock, created: Any
) -> None:
    refused = created(state=IntentState.REFUSED, outcome="refused", status=422)
    assert new_request(timeline_of(store, clock, refused)).safe
    created("INV-52", amount=1)
    verdict = new_request(timeline_of(store, clock, refused))
    assert verdict.reason is Reason.UNKNOWN_ON_PHONE
    assert "the outcome of another creation on this phone is unknown" in verdict.sentence


def test_a_creation_that_was_not_taken_has_no_unknown_outcome(
    store: Store, clock: ManualClock, created: Any
) -> None:
    refused = created(state=IntentState.REFUSED, outcome="refused", status=422)
    waiting = created("INV-52", amount=1, state=IntentState.PREPARED)
    verdict = new_request(timeline_of(store, clock, refused))
    assert not verdict.safe
    assert "was not taken yet and may still be sent" in verdict.sentence
    assert waiting.id in verdict.next_step


@pytest.mark.parametrize(
    "other",
    [
        {"reference": "INV-000007", "phone": "255754999999", "amount": 1},
        {"reference": "other", "phone": "255754000007", "amount": 5_000},
        {"reference": "other", "phone": "+255754000007", "amount": 5_000},
    ],
    ids=["same reference", "same phone and amount", "the same with a plus"],
)
def test_an_open_creation_of_the_same_order_makes_the_verdict_on_a_failed_one_wait(
    store: Store, clock: ManualClock, created: Any, make: Any, other: dict[str, Any]
) -> None:
    store.record(
        make.observation(7, source=Source.POLL, status="failed", failure_code="user_cancelled")
    )
    assert new_request(story_of(store, clock, 7)).safe
    intent = created(**other)
    found = story_of(store, clock, 7)
    verdict = new_request(found)
    assert verdict.reason is Reason.EARLIER_REQUEST
    assert "may still charge" in verdict.sentence
    said = advice(found)
    assert "do not pay again" in said.english.sentence
    assert "usilipe tena" in said.swahili.sentence
    assert intent.id in said.support_step


def test_another_payment_of_the_same_reference_makes_a_new_request_unsafe(
    store: Store, clock: ManualClock, make: Any
) -> None:
    store.record(make.observation(7, source=Source.POLL, status="expired"))
    store.record(make.observation(8, source=Source.POLL, reference="INV-000007"))
    found = story_of(store, clock, 7)
    assert new_request(found).reason is Reason.PAID_UNDER_REFERENCE
    assert advice(found).english.sentence.startswith("We have received your payment")


STATES = [
    *(("created", None), ("succeeded", None), ("expired", None), ("on_hold", None)),
    *(("failed", code) for code in (*sorted(FAILURE_CODES), "brand_new", None)),
]


def test_what_is_said_never_contradicts_the_verdict(
    store: Store, clock: ManualClock, created: Any, make: Any
) -> None:
    store.record(make.observation(7, source=Source.POLL, status="failed"))
    store.record(make.observation(8, source=Source.POLL, status="created"))
    store.record(make.observation(9, source=Source.POLL, reference="INV-000007"))
    order = created("INV-000007", amount=1, phone="255754999999")
    failed = story_of(store, clock, 7)
    prompt, paid = story_of(store, clock, 8).row, story_of(store, clock, 9).row
    unpaid, unclear = (
        OrderJudgement(status=status, reason=OrderReason.NO_MONEY)
        for status in (OrderStatus.UNPAID, OrderStatus.NEEDS_PERSON)
    )
    neighbours = (
        Neighbours(also=(), same_reference=(), creations=(), order=unpaid),
        Neighbours(also=(), same_reference=(), creations=(order,), order=unpaid),
        Neighbours(also=(prompt,), same_reference=(), creations=(), order=unpaid),
        Neighbours(also=(), same_reference=(paid,), creations=(), order=unpaid),
        Neighbours(also=(), same_reference=(), creations=(), order=unclear),
    )
    for (status, code), around, minutes in product(STATES, neighbours, (0, 10)):
        final = failed.row.final_seen_at if status in FINAL else None
        row = replace(failed.row, status=status, failure_code=code, final_seen_at=final)
        at = clock.now() + timedelta(minutes=minutes)
        _agree(replace(failed, row=row, around=around, at=at))


def _agree(found: Timeline) -> None:
    verdict, said = new_request(found), advice(found)
    sentences = (
        said.support_step, said.english.sentence, said.english.next_step,
        said.swahili.sentence, said.swahili.next_step,
    )  # fmt: skip
    whole = " ".join(sentences).casefold()
    if verdict.safe:
        assert not any(word in whole for word in ("no prompt", "no second", "do not pay again"))
    else:
        assert not any(offer in whole for offer in OFFERS), (verdict, whole)
        assert not said.may_prompt
