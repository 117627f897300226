"""The state that follows from facts: what is shown of them, and what contradicts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations
from typing import Any

import pytest

from kusanya.domain.status import CONTRADICTION
from kusanya.state import CollectionState, Observation, Source, fold
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
Fact = Callable[..., Observation]
FINALS = {"succeeded", "failed", "expired"}


def fields_of(state: CollectionState) -> list[str]:
    return [contradiction.field for contradiction in state.contradictions]


@pytest.mark.spec("states")
def test_the_answer_to_a_create_is_a_created_collection(fact: Fact) -> None:
    state = fold([fact("answer", after=1)])
    assert (state.status, state.statuses) == ("created", ("created",))
    assert (state.amount, state.fee, state.currency, state.mode) == (5000, 50, "TZS", Mode.TEST)
    assert state.first_seen_at == NOON + timedelta(seconds=1)
    assert not state.is_final
    assert state.learned_from is None
    assert (state.confirmed_by, state.event_ids) == ((), ())
    assert (state.fee_answer, state.fee_event, state.fee_poll) == (50, None, None)
    assert state.net is None
    assert (state.observations, state.contradictions) == (1, ())


@pytest.mark.spec("delivery-5")
@pytest.mark.parametrize("status", ["succeeded", "failed", "expired"])
def test_a_final_state_wins_over_created_whichever_was_observed_first(
    fact: Fact, status: str
) -> None:
    early, late = fact("event", status=status, after=1), fact("answer", after=2)
    state = fold([late, early])
    assert state.status == status
    assert state.statuses == tuple(sorted(["created", status]))
    assert state.is_final
    assert state.final_seen_at == NOON + timedelta(seconds=1)
    assert state.learned_from is Source.EVENT
    assert state.contradictions == ()


def test_a_status_nobody_named_lies_between_created_and_the_finals(fact: Fact) -> None:
    created, odd = fact("answer"), fact("poll", status="in_review", after=5)
    assert fold([odd, created]).status == "in_review"
    assert not fold([odd, created]).is_final
    over = fold([created, odd, fact("event", status="failed", after=3)])
    assert over.status == "failed"
    assert over.statuses == ("created", "failed", "in_review")
    assert over.contradictions == ()


def test_of_two_unknown_statuses_the_one_observed_last_is_shown(fact: Fact) -> None:
    first, second = fact("poll", status="queued", after=1), fact("poll", status="held", after=2)
    assert fold([first, second]).status == fold([second, first]).status == "held"


def test_a_replayed_answer_is_of_the_past_even_when_it_is_observed_last(fact: Fact) -> None:
    poll = fact("poll", status="held", after=1)
    replay = fact("answer", status="queued", after=9, replayed=True)
    assert fold([poll, replay]).status == "held"
    assert fold([replay]).status == "queued"


@pytest.mark.spec("states")
def test_two_different_finals_are_a_contradiction_that_lists_everything(fact: Fact) -> None:
    expired = fact("event", status="expired", after=1, event_id="evt_1")
    succeeded = fact("poll", status="succeeded", after=2)
    state = fold([succeeded, expired])
    assert state.status == CONTRADICTION == "contradiction"
    assert state.statuses == ("expired", "succeeded")
    assert state.is_final
    assert state.net is None
    assert fields_of(state) == ["status"]
    assert state.contradictions[0].values == ("expired", "succeeded")
    assert state.contradictions[0].sources == (Source.EVENT, Source.POLL)
    assert state.confirmed_by == (Source.EVENT, Source.POLL)


@pytest.mark.parametrize(
    ("field", "other", "values"),
    [
        pytest.param("fee", 60, ("50", "60"), id="fee"),
        pytest.param("amount", 4000, ("5000", "4000"), id="amount"),
        pytest.param("currency", "KES", ("TZS", "KES"), id="currency"),
        pytest.param("channel", "TIGO_TZ", ("MPESA_TZ", "TIGO_TZ"), id="channel"),
        pytest.param("reference", "order-2", ("order-1", "order-2"), id="reference"),
        pytest.param("phone", "255754000777", ("+255•••••001", "+255•••••777"), id="phone"),
        pytest.param(
            "created_at",
            NOON + timedelta(seconds=1),
            ("2026-03-02T12:00:00Z", "2026-03-02T12:00:01Z"),
            id="created_at",
        ),
    ],
)
def test_a_changed_field_is_listed_and_the_earliest_value_is_shown(
    fact: Fact, field: str, other: Any, values: tuple[str, str]
) -> None:
    answer, event = fact("answer"), fact("event", status="succeeded", after=5, **{field: other})
    for order in permutations([answer, event]):
        state = fold(order)
        assert fields_of(state) == [field]
        assert state.contradictions[0].values == values
        assert state.contradictions[0].sources == (Source.ANSWER, Source.EVENT)
        assert getattr(state, field) == getattr(answer.collection, field)
        assert state.status == "succeeded"


@pytest.mark.parametrize(
    ("field", "first", "other"),
    [
        ("failure_code", "insufficient_funds", "user_cancelled"),
        ("failure_message", "No money", "Cancelled"),
        ("completed_at", NOON + timedelta(seconds=12), NOON + timedelta(seconds=13)),
        ("description", "Shoes", "Hats"),
        ("metadata", {"a": "1"}, {"a": "2"}),
    ],
)
def test_a_field_that_may_appear_late_appears_once_and_contradicts_when_it_changes(
    fact: Fact, field: str, first: Any, other: Any
) -> None:
    silent = fact("answer")
    said = fact("event", status="failed", after=1, **{field: first})
    assert fold([said, silent]).contradictions == ()
    assert getattr(fold([said, silent]), field) == first
    state = fold([fact("poll", status="failed", after=2, **{field: other}), silent, said])
    assert fields_of(state) == [field]
    assert getattr(state, field) == first


def test_a_field_said_after_another_source_was_silent_about_it_still_contradicts(
    fact: Fact,
) -> None:
    facts = [
        fact("answer", after=0),
        fact("poll", status="failed", after=1, failure_message="No money"),
        fact("poll", status="failed", after=2, failure_code="a"),
        fact("poll", status="failed", after=3, failure_code="b"),
    ]
    for order in permutations(facts):
        state = fold(order)
        assert fields_of(state) == ["failure_code"]
        assert (state.failure_code, state.failure_message) == ("a", "No money")


def test_the_fee_is_kept_apart_for_each_kind_of_source(fact: Fact) -> None:
    state = fold(
        [
            fact("poll", status="succeeded", fee=70, after=3),
            fact("event", status="succeeded", fee=60, after=2),
            fact("event_check", status="succeeded", fee=65, after=4),
            fact("answer", fee=50, after=1),
        ]
    )
    assert (state.fee_answer, state.fee_event, state.fee_poll) == (50, 60, 70)
    assert state.contradictions[0].values == ("50", "60", "70", "65")


@pytest.mark.spec("delivery-4")
def test_a_repeated_fact_counts_once_at_the_time_it_was_first_observed(fact: Fact) -> None:
    early, late = (fact("event", status="failed", after=after) for after in (4, 9))
    for order in permutations([early, late, early]):
        state = fold(order)
        assert state.observations == 1
        assert state.final_seen_at == NOON + timedelta(seconds=4)


def test_of_facts_observed_at_the_same_instant_the_answer_counts_first_and_the_poll_last(
    fact: Fact,
) -> None:
    ranked = (Source.ANSWER, Source.EVENT, Source.EVENT_CHECK, Source.POLL)
    # In the order of their names, and of how much they say, they would stand otherwise.
    facts = [fact(source.value, fee=90 - place) for place, source in enumerate(ranked)]
    for order in permutations(facts):
        state = fold(order)
        assert state.fee == 90
        assert state.contradictions[0].sources == ranked
        for first in range(1, len(ranked)):
            rest = [one for one in order if one.source in ranked[first:]]
            assert fold(rest).fee == 90 - first


def test_one_event_id_with_two_contents_is_two_facts(fact: Fact) -> None:
    facts = [fact("event", status="failed"), fact("event", status="failed", fee=51)]
    states = {repr(fold(order)) + str(fold(order).contradictions) for order in permutations(facts)}
    assert len(states) == 1
    assert fold(facts).observations == 2
    assert fields_of(fold(facts)) == ["fee"]


def test_two_events_for_one_collection_are_both_named_and_a_fetched_one_has_not_arrived(
    fact: Fact,
) -> None:
    state = fold(
        [
            fact("event", status="failed", event_id="evt_b"),
            fact("event", status="failed", event_id="evt_a", after=1),
            fact("event_check", status="failed", event_id="evt_c", after=2),
        ]
    )
    assert state.event_ids == ("evt_a", "evt_b")
    assert fold([fact("event_check", status="failed")]).event_ids == ()


@pytest.mark.parametrize("count", [2, 3, 7])
def test_events_are_named_in_the_order_of_their_ids(fact: Fact, count: int) -> None:
    # Many times over: a set of two comes out in order by luck half the time.
    for series in range(16):
        named = [f"evt_{series}_{number}" for number in range(count)]
        facts = [fact("event", status="failed", event_id=one, source_id=one) for one in named]
        assert fold(reversed(facts)).event_ids == tuple(named)


def test_simultaneous_facts_are_distinguished_by_source(fact: Fact) -> None:
    facts = [fact(source, status="failed") for source in ("poll", "event_check", "event")]
    for order in permutations(facts):
        assert fold(order).learned_from is Source.EVENT


def test_simultaneous_facts_of_one_source_are_distinguished_by_content(fact: Fact) -> None:
    # Python holds 1 and True for equal; JSON does not.
    one = fact("poll", metadata={"a": 1}, source_id="p")
    true = fact("poll", metadata={"a": True}, source_id="p")
    shown = {repr(fold(order).metadata) for order in permutations([one, true])}
    assert len(shown) == 1
    assert fold([one, true]).observations == 2


def test_instants_come_out_in_utc_whatever_offset_they_came_with(fact: Fact) -> None:
    eat = timezone(timedelta(hours=3))
    shifted = fact("event", status="failed", created_at=NOON.astimezone(eat))
    state = fold([fact("answer"), shifted])
    assert state.contradictions == ()
    assert fold([shifted]).created_at.tzinfo is UTC
    assert fold([shifted]).created_at == NOON


@pytest.mark.spec("service-4")
def test_net_is_amount_less_fee_for_a_succeeded_collection_alone(fact: Fact) -> None:
    assert fold([fact("event", status="succeeded")]).net == 4950
    for status in ("created", "failed", "expired", "in_review"):
        assert fold([fact("poll", status=status)]).net is None


def test_no_facts_and_the_facts_of_two_collections_are_the_callers_mistake(fact: Fact) -> None:
    with pytest.raises(ValueError, match="at least one"):
        fold([])
    with pytest.raises(ValueError, match="one collection"):
        fold([fact("answer"), fact("answer", after=1, id="col_2")])


def test_neither_a_state_nor_its_contradictions_show_a_phone(fact: Fact) -> None:
    state = fold([fact("answer"), fact("poll", after=1, phone="255754000777")])
    assert fields_of(state) == ["phone"]
    shown = repr(state) + repr(state.contradictions)
    assert "255754000001" not in shown
    assert "255754000777" not in shown
