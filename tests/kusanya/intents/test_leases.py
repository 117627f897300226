"""Who may send: one process at a time, and a dead one holds nothing."""

import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from tests.kit.intents import begin_intent, prepare_intent
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.client.effects import Failure
from kusanya.errors import IntentError, OutcomeUnknown
from kusanya.intents import create_safely, resolve_waiting
from kusanya.intents.leases import LEASE_TIME, Lease, is_gone, this_process
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode


def _intent(store: Store) -> str:
    return prepare_intent(
        store,
        idempotency_key="k",
        body=b"{}",
        mode=Mode.TEST,
        profile="main",
        reference="order-1",
        amount=5000,
        phone="255754000001",
    ).id


def test_a_living_process_keeps_its_lease_until_it_ends(store: Store, clock: Any) -> None:
    intent_id = _intent(store)
    held, other = (Lease.new(store, clock, intent_id) for _ in range(2))
    held.take()
    held.take()
    with pytest.raises(IntentError, match="another call"):
        other.take()
    clock.pass_by(LEASE_TIME - timedelta(microseconds=1))
    with pytest.raises(IntentError, match="another call"):
        other.take()
    # At the very instant of its end it is over.
    clock.pass_by(timedelta(microseconds=1))
    other.take()
    held.release()
    with pytest.raises(IntentError, match="another call"):
        held.take()


def test_a_lease_is_prolonged_before_each_later_attempt(
    store: Store, new_client: NewClient, service: Any, clock: Any
) -> None:
    ends: list[timedelta] = []

    def slow(request: Any, within_s: float) -> Any:
        until = the_intent(store).claimed_until
        assert until is not None
        ends.append(until - clock.now())
        # Longer than a third of the lease, and each attempt is lost.
        clock.at += timedelta(seconds=25)
        return Failure(left=True, why="no answer in time")

    with pytest.raises(OutcomeUnknown):
        create_safely(store, new_client(transport=slow, max_attempts=4), **ORDER)
    assert ends == [LEASE_TIME] * 4


def test_an_intent_is_left_to_its_sender_until_the_lease_ends(store: Store, clock: Any) -> None:
    begun = begin_intent(store,
        idempotency_key="k", body=b"{}", mode=Mode.TEST, profile="main", reference="order-1",
        amount=5000, phone="255754000001", at=clock.now(), by="elsewhere:1",
        until=clock.now() + LEASE_TIME,
    ).result().intent  # fmt: skip
    resolve_waiting(store, now=clock.now() + LEASE_TIME - timedelta(microseconds=1))
    assert the_intent(store).state is IntentState.SENT
    resolve_waiting(store, now=clock.now() + LEASE_TIME)
    assert (the_intent(store).id, the_intent(store).state) == (begun.id, IntentState.UNKNOWN)


def test_the_lease_of_a_process_that_is_gone_is_taken_over_at_once(
    store: Store, clock: Any
) -> None:
    intent_id = _intent(store)
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        pass
    dead = this_process().replace(f":{os.getpid()}@", f":{ended.pid}@") + ":0"
    assert store.intents.take_lease(intent_id, by=dead, until=clock.now() + LEASE_TIME)
    Lease.new(store, clock, intent_id).take()


@pytest.mark.parametrize(
    "holder",
    [
        "",
        "host:1",
        "host:999999999@",
        "host:999999999@otherboot-4026531836:0",
        "host:x@" + this_process().partition("@")[2] + ":0",
        this_process() + ":0",
    ],
    # Named by us: a process id in a test's name differs from one test process to the next.
    ids=["nobody", "no start", "no boot", "another boot", "no number", "this process"],
)
def test_whoever_cannot_be_seen_to_be_gone_is_not(holder: str) -> None:
    assert not is_gone(holder)
