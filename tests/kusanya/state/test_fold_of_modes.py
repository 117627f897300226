"""What was heard in the other mode, or under a known event id, is evidence and decides nothing."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from kusanya.state import Dispute, Observation, Source, fold
from kusanya.wire import Mode

Fact = Callable[..., Observation]
TEST, LIVE = Mode.TEST, Mode.LIVE

STRANGERS: dict[str, dict[str, Any]] = {
    "heard through a live key or secret": {"observed_in": LIVE},
    "live by its own words": {"mode": LIVE},
    "of the live collection with the same id": {"mode": LIVE, "observed_in": LIVE},
    "delivered to an endpoint of the other mode": {"disputed": Dispute.OTHER_MODE},
}


@pytest.mark.parametrize("said", STRANGERS.values(), ids=STRANGERS.keys())
@pytest.mark.parametrize("after", [-1, 0, 3])
def test_a_fact_of_the_other_mode_is_an_anomaly_and_sets_nothing(
    fact: Fact, said: dict[str, Any], after: float
) -> None:
    own = [fact("answer"), fact("poll", after=2)]
    strange = fact("event", status="succeeded", after=after, amount=1, fee=9, **said)
    alone = fold(own, mode=TEST)
    for order in permutations([*own, strange, strange]):
        state = fold(order, mode=TEST)
        [doubt] = state.contradictions
        assert doubt.field == "mode"
        assert set(doubt.values) == {"test", "live"}
        assert replace(state, contradictions=()) == alone


def test_each_mode_has_a_state_of_its_own(fact: Fact) -> None:
    test = fact("event", status="succeeded")
    live = fact("answer", mode=LIVE, observed_in=LIVE, amount=7000)
    for facts in permutations([test, live]):
        one, other = fold(facts, mode=TEST), fold(facts, mode=LIVE)
        assert (one.mode, one.status, one.amount) == (TEST, "succeeded", 5000)
        assert (other.mode, other.status, other.amount) == (LIVE, "created", 7000)
        assert [c.field for c in (*one.contradictions, *other.contradictions)] == ["mode", "mode"]
        with pytest.raises(ValueError, match="name the one to fold in"):
            fold(facts)


def test_of_facts_that_do_not_count_nothing_follows(fact: Fact) -> None:
    for said in STRANGERS.values():
        with pytest.raises(ValueError, match="counts in its mode"):
            fold([fact("event", status="succeeded", **said)], mode=TEST)
    with pytest.raises(ValueError, match="counts in its mode"):
        fold([fact("event", observed_in=LIVE)])
    with pytest.raises(ValueError, match="one collection"):
        fold([fact("answer"), fact("event", id="col_2", disputed=Dispute.OTHER_MODE)])


def test_another_body_under_a_known_event_id_is_an_anomaly_with_all_that_differs(
    fact: Fact,
) -> None:
    first = fact("event", status="succeeded", after=3)
    other = fact("event", status="succeeded", after=4, amount=9000, disputed=Dispute.OTHER_BODY)
    for order in permutations([first, other, other]):
        state = fold(order)
        assert (state.status, state.amount, state.observations) == ("succeeded", 5000, 1)
        found = {doubt.field: doubt for doubt in state.contradictions}
        assert set(found) == {"amount", "event"}
        assert found["amount"].values == ("5000", "9000")
        assert (found["event"].values, found["event"].sources) == (("evt_1",), (Source.EVENT,))


def test_nobody_chooses_between_two_final_states_under_one_event_id(fact: Fact) -> None:
    first = fact("event", status="succeeded", after=3)
    other = fact("event", status="failed", after=1, disputed=Dispute.OTHER_BODY)
    for order in permutations([first, other]):
        state = fold(order)
        assert state.status == "contradiction"
        assert state.final_seen_at == first.observed_at
        assert {doubt.field for doubt in state.contradictions} >= {"status", "event"}


def test_another_body_under_a_known_event_id_ends_nothing_that_is_open(fact: Fact) -> None:
    other = fact("event", status="succeeded", after=1, disputed=Dispute.OTHER_BODY)
    state = fold([fact("answer"), other])
    assert (state.status, state.final_seen_at, state.event_ids) == ("created", None, ())
    assert [doubt.field for doubt in state.contradictions] == ["event"]


def test_another_body_may_name_another_collection_of_either_mode(fact: Fact) -> None:
    other = fact("event", status="failed", amount=1, id="col_2", disputed=Dispute.OTHER_BODY)
    state = fold([fact("event", status="succeeded"), other])
    assert (state.status, state.amount) == ("succeeded", 5000)
    assert [doubt.field for doubt in state.contradictions] == ["event"]
    strange = fact(
        "event", status="failed", id="col_2", observed_in=LIVE, disputed=Dispute.OTHER_BODY
    )
    state = fold([fact("event", status="succeeded"), strange], mode=TEST)
    assert [doubt.field for doubt in state.contradictions] == ["mode"]
