"""However facts arrive, and however often, they say one state; hearing more loses nothing."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kusanya.state import Dispute, Observation, fold
from kusanya.wire import Mode

Fact = Callable[..., Observation]
FINALS = {"succeeded", "failed", "expired"}
SELECTED: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "a plain success": [
        ("answer", {}),
        ("event", {"status": "succeeded", "after": 12}),
        ("poll", {"status": "succeeded", "after": 13}),
        ("poll", {"after": 5}),
        ("event_check", {"status": "succeeded", "after": 14}),
        ("answer", {"replayed": True, "after": 20, "source_id": "answer-0"}),
        ("event", {"status": "succeeded", "after": 70}),
    ],
    "success after expiry, with another fee": [
        ("answer", {}),
        ("event", {"status": "expired", "after": 12}),
        ("event", {"status": "succeeded", "after": 12, "event_id": "evt_2", "fee": 55}),
        ("poll", {"status": "succeeded", "after": 12, "fee": 55}),
        ("poll", {"status": "in_review", "after": 12, "source_id": "q"}),
        ("poll", {"status": "expired", "after": 11, "mode": Mode.LIVE, "source_id": "r"}),
    ],
    "everything at one instant": [
        ("answer", {"metadata": {"a": 1}}),
        ("answer", {"metadata": {"a": True}}),
        ("event", {"status": "failed", "failure_code": "a"}),
        ("event", {"status": "failed", "failure_code": "b"}),
        ("poll", {"status": "failed", "failure_message": "x", "completed_at": None}),
        ("poll", {"status": "odd", "source_id": "z"}),
        ("poll", {"status": "odder", "source_id": "y"}),
    ],
}


@pytest.mark.spec("delivery-5")
@pytest.mark.parametrize("case", SELECTED.values(), ids=SELECTED.keys())
def test_every_order_of_up_to_seven_facts_gives_one_state(
    fact: Fact, case: list[tuple[str, dict[str, Any]]]
) -> None:
    facts = [fact(source, **fields) for source, fields in case]
    expected = fold(facts)
    for order in permutations(facts):
        assert fold(order) == expected


facts_drawn = st.lists(
    st.fixed_dictionaries(
        {
            "source": st.sampled_from(["answer", "event", "event_check", "poll"]),
            "status": st.sampled_from(
                ["created", "created", "succeeded", "failed", "expired", "odd", "odder"]
            ),
            "after": st.integers(0, 3),
            "fee": st.sampled_from([50, 50, 51]),
            "amount": st.sampled_from([5000, 5000, 5001]),
            "failure_code": st.sampled_from([None, None, "a", "b"]),
            "description": st.sampled_from([None, "x"]),
            "metadata": st.sampled_from([None, {}, {"a": 1}, {"a": True}, {"a": 1, "b": "2"}]),
            "mode": st.sampled_from([Mode.TEST, Mode.TEST, Mode.LIVE]),
            "observed_in": st.sampled_from([Mode.TEST, Mode.TEST, Mode.LIVE]),
            "replayed": st.booleans(),
            "source_id": st.sampled_from(["s", "t"]),
            "event_id": st.sampled_from(["evt_1", "evt_2"]),
            "disputed": st.sampled_from([None, None, None, *Dispute]),
        }
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.spec("delivery-4")
@settings(max_examples=400)
@given(facts_drawn, st.data())
def test_order_and_repetition_change_nothing(
    fact: Fact, drawn: list[dict[str, Any]], data: st.DataObject
) -> None:
    facts = [fact("answer"), *(fact(**one) for one in drawn)]
    again = data.draw(st.lists(st.sampled_from(facts), max_size=9))
    shuffled = data.draw(st.permutations(facts + again))
    state, other = fold(facts, mode=Mode.TEST), fold(shuffled, mode=Mode.TEST)
    assert other == state
    assert repr(other.metadata) == repr(state.metadata)


@settings(max_examples=300)
@given(facts_drawn, st.data())
def test_hearing_more_never_loses_a_final_a_status_or_a_contradiction(
    fact: Fact, drawn: list[dict[str, Any]], data: st.DataObject
) -> None:
    facts = [fact("answer"), *(fact(**one) for one in drawn)]
    part = fold(facts[: data.draw(st.integers(1, len(facts)))], mode=Mode.TEST)
    whole = fold(facts, mode=Mode.TEST)
    assert set(part.statuses) <= set(whole.statuses)
    assert whole.is_final or not part.is_final
    assert set(part.event_ids) <= set(whole.event_ids)
    assert set(part.confirmed_by) <= set(whole.confirmed_by)
    assert part.observations <= whole.observations
    values = {c.field: set(c.values) for c in whole.contradictions}
    for contradiction in part.contradictions:
        assert set(contradiction.values) <= values[contradiction.field]


@settings(max_examples=300)
@given(facts_drawn)
def test_the_status_agrees_with_a_plain_reading_of_the_facts(
    fact: Fact, drawn: list[dict[str, Any]]
) -> None:
    facts = [fact(**one) for one in drawn]
    counting = [one for one, made in zip(drawn, facts, strict=True) if made.counts_in(Mode.TEST)]
    assume(counting)
    state = fold(facts, mode=Mode.TEST)
    statuses = {one["status"] for one in counting}
    finals = statuses & FINALS
    changed = [
        one
        for one in drawn
        if (one["disputed"], one["mode"], one["observed_in"])
        == (Dispute.OTHER_BODY, "test", "test")
    ]
    between = finals | ({one["status"] for one in changed} & FINALS if finals else set())
    if len(between) > 1:
        assert state.status == "contradiction"
    elif finals:
        assert {state.status} == finals
    elif statuses == {"created"}:
        assert state.status == "created"
    else:
        assert state.status in statuses - {"created"}
    assert state.is_final == bool(finals)
    differing = [contradiction.field for contradiction in state.contradictions]
    fees = {one["fee"] for one in (*counting, *changed)}
    assert ("fee" in differing) == (len(fees) > 1)
    assert state.fee in {one["fee"] for one in counting}
    codes = {one["failure_code"] for one in counting} - {None}
    every = codes | ({one["failure_code"] for one in changed} - {None})
    assert ("failure_code" in differing) == (len(every) > 1)
    assert (state.failure_code is None) == (not codes)
    assert ("mode" in differing) == (len(facts) > len(counting) + len(changed))
    assert ("event" in differing) == bool(changed)
