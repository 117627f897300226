"""What becomes of an intent is said to the log, a line an event."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya.intents.orders import ORDER, NewClient, the_intent

from kusanya.errors import KusanyaError
from kusanya.intents import create_safely, decide, log, resolve_waiting, resume
from kusanya.store import Store
from kusanya.store.records import IntentState


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """Return the level and the message of each line about intents, and check what stands in it."""
    lines = [one for one in caplog.records if one.name == "kusanya.intents"]
    for one in lines:
        logged = str(vars(one))
        assert vars(one)["intent_id"].startswith("int_")
        assert "order-1" not in logged
        assert "754000001" not in logged
    return [(one.levelno, one.getMessage()) for one in lines]


@pytest.fixture(autouse=True)
def _everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="kusanya.intents")


def test_a_creation_is_opened_sent_and_answered(
    store: Store, new_client: NewClient, caplog: pytest.LogCaptureFixture
) -> None:
    made = create_safely(store, new_client(), **ORDER)
    assert said(caplog) == [
        (logging.INFO, "intent opened"),
        (logging.INFO, "intent sent"),
        (logging.INFO, "intent answered"),
    ]
    assert vars(caplog.records[-1])["collection_id"] == made.collection.id


def test_a_lost_answer_is_a_warning_and_so_is_each_failed_attempt(
    store: Store,
    new_client: NewClient,
    lose_the_answer: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lose_the_answer()
    warned = [line for line in said(caplog) if line[0] == logging.WARNING]
    assert warned
    assert set(warned) == {(logging.WARNING, "intent without an answer")}
    caplog.clear()
    resume(store, new_client(), the_intent(store))
    assert said(caplog)[-1] == (logging.INFO, "intent answered")


def test_a_refused_creation_is_a_warning(
    store: Store,
    new_client: NewClient,
    service: Any,
    play: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    service.faults = [play.Fault.WENT_ASTRAY] * 9
    with pytest.raises(KusanyaError):
        create_safely(store, new_client(), **ORDER)
    assert said(caplog)[-1] == (logging.WARNING, "intent refused")


def test_a_creation_is_resolved_by_what_was_seen(
    store: Store,
    service: Any,
    lose_the_answer: Any,
    clock: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lose_the_answer()
    store.record(service.event("col_1"))
    caplog.clear()
    clock.pass_by(timedelta(hours=1))
    assert resolve_waiting(store, now=clock.now()) == 1
    assert said(caplog) == [(logging.INFO, "intent resolved without its answer")]


def test_a_person_s_decision_leaves_a_line(
    store: Store, lose_the_answer: Any, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    lose_the_answer()
    clock.pass_by(timedelta(hours=25))
    caplog.clear()
    intent = the_intent(store)
    decide(store, intent.id, actor="asha", why="statement", collection_id=None, now=clock.now())
    assert said(caplog)[-1] == (logging.INFO, "intent resolved without its answer")


def test_every_state_has_its_line() -> None:
    assert set(log._MESSAGES) == set(IntentState)
