"""A ruling chooses among final states that contradict each other, and no more than it had seen."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.payments import by_event, polled

from kusanya.domain.status import CONTRADICTION
from kusanya.errors import RulingRefused
from kusanya.intents.ruling import ruled
from kusanya.state.anomalies import AnomalyKind, anomalies
from kusanya.state.fold import fold
from kusanya.state.observation import Dispute, Observation
from kusanya.store.tables.payload import pack, unpack
from kusanya.wire import Mode

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def event(status: str, at: datetime = NOON, key: str = "1") -> Observation:
    """Return an event that tells an end of the payment, observed then."""
    fact = by_event(key, NOON - MINUTE, status=status, failure_code=None)
    fact = msgspec.structs.replace(fact, source_id=f"evt-{status}-{at.minute}", observed_at=at)
    return msgspec.structs.replace(
        fact, collection=msgspec.structs.replace(fact.collection, id="col_1")
    )


def answer(status: str, at: datetime = NOON) -> Observation:
    """Return what a poll says."""
    fact = polled("1", NOON - MINUTE, status=status, failure_code=None)
    return msgspec.structs.replace(fact, source_id=f"poll-{at.minute}", observed_at=at)


def rule(status: str, *seen: Observation, at: datetime = NOON + MINUTE) -> Observation:
    """Return a ruling by this answer over what was seen."""
    return ruled(answer(status).collection, seen, mode=Mode.LIVE, now=at)


EXPIRED, PAID = event("expired"), event("succeeded", NOON + MINUTE)


def test_a_success_after_an_expiry_is_ruled_paid_and_says_so() -> None:
    assert fold([EXPIRED, PAID]).status == CONTRADICTION
    state = fold([EXPIRED, PAID, rule("succeeded", EXPIRED, PAID)])
    assert (state.status, state.contradictions, state.is_ruled) == ("succeeded", (), True)
    assert state.statuses == ("expired", "succeeded")
    assert state.observations == 3
    kinds = {one.kind for one in anomalies(state, [EXPIRED, PAID])}
    assert AnomalyKind.RULED in kinds
    assert AnomalyKind.TWO_FINALS not in kinds


@pytest.mark.parametrize("order", list(permutations(range(5))))
def test_it_does_not_matter_in_which_order_facts_and_rulings_came(order: tuple[int, ...]) -> None:
    facts = [
        EXPIRED, PAID, rule("expired", EXPIRED, PAID),
        rule("succeeded", EXPIRED, PAID, rule("expired", EXPIRED, PAID), at=NOON + 2 * MINUTE),
        answer("succeeded", NOON + 3 * MINUTE),
    ]  # fmt: skip
    state = fold([facts[n] for n in order])
    assert (state.status, state.is_ruled) == ("succeeded", True), "the last ruling holds"


def test_what_the_ruling_had_not_seen_and_denies_it_is_a_contradiction_again() -> None:
    ruling = rule("succeeded", EXPIRED, PAID)
    later = event("failed", NOON + 5 * MINUTE)
    assert fold([EXPIRED, PAID, ruling, later]).status == CONTRADICTION
    again = rule("succeeded", EXPIRED, PAID, later, at=NOON + 6 * MINUTE)
    assert fold([EXPIRED, PAID, ruling, later, again]).status == "succeeded"


def test_what_agrees_with_the_ruling_later_changes_nothing() -> None:
    ruling = rule("succeeded", EXPIRED, PAID)
    agrees = answer("succeeded", NOON + 5 * MINUTE)
    state = fold([EXPIRED, PAID, ruling, agrees])
    assert (state.status, state.is_ruled) == ("succeeded", True)


def test_an_expiry_that_comes_again_with_another_event_denies_the_ruling() -> None:
    ruling = rule("succeeded", EXPIRED, PAID)
    assert fold([EXPIRED, PAID, ruling, EXPIRED]).status == "succeeded", "the same saying"
    another = event("expired", NOON + 7 * MINUTE)
    assert fold([EXPIRED, PAID, ruling, another]).status == CONTRADICTION


@pytest.mark.parametrize("status", ["failed", "created", "refunded"])
def test_an_answer_that_agrees_with_no_fact_rules_nothing(status: str) -> None:
    with pytest.raises(RulingRefused, match=status):
        rule(status, EXPIRED, PAID)


def test_an_event_with_two_bodies_is_not_ruled() -> None:
    other = msgspec.structs.replace(event("failed"), disputed=Dispute.OTHER_BODY)
    assert fold([PAID, other]).status == CONTRADICTION
    with pytest.raises(RulingRefused, match="two bodies"):
        rule("succeeded", EXPIRED, PAID, other)


def test_a_ruling_of_the_other_mode_decides_nothing() -> None:
    ruling = msgspec.structs.replace(rule("succeeded", EXPIRED, PAID), observed_in=Mode.TEST)
    assert fold([EXPIRED, PAID, ruling], mode=Mode.LIVE).status == CONTRADICTION


def test_a_ruling_is_kept_with_what_it_overrules_and_other_facts_are_the_bytes_they_were() -> None:
    ruling = rule("succeeded", EXPIRED, PAID)
    assert unpack(pack(ruling)[1]) == ruling
    assert ruling.overrules == (EXPIRED.name,)
    assert unpack(pack(EXPIRED)[1]) == EXPIRED
    assert pack(EXPIRED)[0] != pack(ruling)[0]


@given(st.lists(st.sampled_from(["expired", "succeeded", "failed"]), min_size=1, max_size=6))
def test_only_a_ruling_ends_a_contradiction_and_only_to_a_state_that_was_reported(
    statuses: list[str],
) -> None:
    facts = [event(status, NOON + n * MINUTE) for n, status in enumerate(statuses)]
    state = fold(facts)
    assert not state.is_ruled
    for status in set(statuses):
        found = fold([*facts, rule(status, *facts, at=NOON + 9 * MINUTE)])
        assert found.status == status
        assert found.is_ruled == (len(set(statuses)) > 1)
