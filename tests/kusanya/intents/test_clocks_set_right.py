"""A clock that was ahead when something was sent, and is set right afterwards."""

from datetime import timedelta
from typing import Any

import pytest
from tests.kit.intents import begin_intent
from tests.kusanya.intents.orders import NewClient, the_intent

from kusanya.errors import IntentError, IntentReason
from kusanya.intents import decide, replay_left, resolve_waiting, resume
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode


@pytest.mark.parametrize("seen_by", ["a sweep", "a resume"])
def test_what_a_clock_ahead_sent_is_never_sent_again_once_that_was_seen(
    store: Store, new_client: NewClient, clock: Any, lose_the_answer: Any, seen_by: str
) -> None:
    clock.at += timedelta(days=1, hours=2)
    lose_the_answer()
    clock.at -= timedelta(days=1, hours=2)
    if seen_by == "a sweep":
        assert resolve_waiting(store, now=clock.now()) == 0
    else:
        with pytest.raises(IntentError, match="clock was set back"):
            resume(store, new_client(), the_intent(store))
    assert replay_left(the_intent(store), now=clock.now()) == timedelta()
    # By what is written it was sent a moment ago; by the service's clock it is 27 hours.
    clock.pass_by(timedelta(hours=27))
    with pytest.raises(IntentError, match="clock was set back"):
        resume(store, new_client(), the_intent(store))
    assert len(store.intents.attempts(the_intent(store).id)) == 1
    assert the_intent(store).state is IntentState.UNKNOWN
    decided = decide(
        store, the_intent(store).id, actor="asha", why="in the statement", collection_id="col_1",
        now=clock.now(), unseen=True,
    )  # fmt: skip
    assert decided.state is IntentState.SETTLED


def test_a_lease_of_a_clock_ahead_keeps_no_window_open(store: Store, clock: Any) -> None:
    ahead = clock.now() + timedelta(hours=30)
    begun = begin_intent(store,
        idempotency_key="kus_ahead", body=b"{}", mode=Mode.TEST, profile="main",
        reference="order-1", amount=5000, phone="255754000001", at=ahead, by="elsewhere:1",
        until=ahead + timedelta(seconds=60),
    ).result().intent  # fmt: skip
    resolve_waiting(store, now=clock.now())
    seen = the_intent(store)
    assert (seen.id, seen.window_closed_at) == (begun.id, clock.now())
    assert seen.state is IntentState.UNKNOWN


def test_two_clocks_a_little_apart_close_no_window(
    store: Store, new_client: NewClient, service: Any, clock: Any, lose_the_answer: Any
) -> None:
    lose_the_answer()
    resolve_waiting(store, now=clock.now() - timedelta(minutes=4))
    assert resume(store, new_client(), the_intent(store)).collection.id == "col_1"
    assert len(service.collections) == 1


def test_a_window_that_was_seen_closed_never_opens_again(
    store: Store, new_client: NewClient, service: Any, clock: Any, lose_the_answer: Any,
    *, store_url: str,
) -> None:  # fmt: skip
    lose_the_answer()
    clock.at += timedelta(hours=25)
    with pytest.raises(IntentError, match="23 hours is over") as caught:
        resume(store, new_client(), the_intent(store))
    assert caught.value.reason is IntentReason.WINDOW_CLOSED
    closed_at = clock.now()
    clock.at -= timedelta(hours=24)
    with Store.open(store_url, clock=clock) as restarted:
        for opened in (store, restarted):
            assert the_intent(opened).window_closed_at == closed_at
            with pytest.raises(IntentError, match="window was closed") as caught:
                resume(opened, new_client(), the_intent(opened))
            assert caught.value.reason is IntentReason.WINDOW_CLOSED
    assert len(service.arrived) == 1
    assert the_intent(store).state is IntentState.UNKNOWN
