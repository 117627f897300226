"""A fact that was heard in another mode than it tells is a contradiction wherever it stands."""

import pytest

from kusanya.state import Observation, fold
from kusanya.wire import Mode


@pytest.mark.parametrize("turned", [False, True])
def test_one_fact_heard_in_the_other_mode_is_a_contradiction(fact: object, turned: bool) -> None:
    assert callable(fact)
    facts: list[Observation] = [
        fact("answer"),
        fact("event", status="succeeded", after=3, heard_in=Mode.LIVE),
    ]
    state = fold(facts[::-1] if turned else facts)
    assert [one.field for one in state.contradictions] == ["mode"]
    assert fold(facts[:1]).contradictions == ()
