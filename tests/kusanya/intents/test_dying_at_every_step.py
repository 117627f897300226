"""A process that dies at any step of a creation, before or after it, charges once."""

from datetime import timedelta
from typing import Any

import pytest

from kusanya.intents import create_safely, resume, settle_waiting
from kusanya.intents.creating import Order, create
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.wire import Mode

NewClient = Any  # the conftest's maker of clients


@pytest.mark.parametrize(
    ("done", "lost"),
    [(False, 0), (True, 0), (False, 1), (True, 1)],
    ids=["before it", "after it", "before it, first answer lost", "after it, first answer lost"],
)
def test_dying_at_any_step_leaves_one_collection_after_a_restart(
    store: Store, new_client: NewClient, play: Any, done: bool, lost: int
) -> None:
    service = new_client.service
    survived = 0
    for step in range(40):
        reference = f"order-{step}"
        service.faults = [play.Fault.LOST_ANSWER] * lost
        order = Order(amount=5000, phone="0754000001", reference=reference)
        client = new_client()
        try:
            play.run_killed(client, create(store, client.core, order), after=step, done=done)
        except play.Killed:
            survived += 1
        else:
            break
        service.clock.pass_by(timedelta(minutes=2))
        service.faults = []
        known = store.intents_by_reference(Mode.TEST, reference)
        if known:
            made = resume(store, new_client(), known[0])
        else:
            made = create_safely(
                store, new_client(), amount=5000, phone="0754000001", reference=reference
            )
        assert made.intent.state in (IntentState.ANSWERED, IntentState.SETTLED)
        assert [c["reference"] for c in service.collections.values()].count(reference) == 1
    else:
        pytest.fail("the creation has more steps than this test expects")
    assert survived >= 6
    by_reference: dict[str, set[tuple[str, bytes]]] = {}
    for sent in service.arrived:
        by_reference.setdefault(sent.body.decode(), set()).add((sent.key, sent.body))
    assert all(len(distinct) == 1 for distinct in by_reference.values())
    assert settle_waiting(store, now=service.clock.now()) == 0
