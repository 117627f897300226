"""What is recorded of a creation's outcome, in words: no "nothing was sent" is read of all."""

from datetime import UTC, datetime
from pathlib import Path
from shutil import copy

import pytest
from msgspec.structs import replace
from tests.kit.intents import prepare_intent

from kusanya.intents.outcome import outcome_sentence
from kusanya.store import Store
from kusanya.store.records import AttemptRow, IntentRow, IntentState
from kusanya.wire import Mode

AT = datetime(2026, 3, 2, tzinfo=UTC)
LAST = "nothing was sent"


@pytest.fixture(scope="module")
def intent(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> IntentRow:
    """Return a creation whose outcome is not known."""
    path = copy(empty_store, tmp_path_factory.mktemp("words") / "store.db")
    with Store.open(path) as store:
        made = prepare_intent(
            store, idempotency_key="key", body=b"{}", mode=Mode.TEST, profile="main",
            reference="order-1", amount=5_000, phone="255754000001",
        )  # fmt: skip
    return replace(made, state=IntentState.UNKNOWN, outcome=LAST)


def sent(intent: IntentRow, outcomes: str) -> list[AttemptRow]:
    """Return attempts: l for lost, n for not sent, 5 for a 503, 4 for a 429, and . in flight."""
    words = {"l": "lost", "n": "not_sent", "5": "retryable", "4": "retryable", ".": None}
    return [
        AttemptRow(
            intent_id=intent.id, number=number, sent_at=AT, outcome=words[mark],
            ended_at=None if mark == "." else AT, request_id=None, took_us=None,
            status={"5": 503, "4": 429}.get(mark),
        )
        for number, mark in enumerate(outcomes, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ("", None),
        (".", None),
        ("l", LAST),
        ("n", LAST),
        ("nnn", LAST),
        ("nl", LAST),
        ("ln", f"attempt 1 may have reached the service; attempt 2: {LAST}"),
        ("5n", f"attempt 1 may have reached the service; attempt 2: {LAST}"),
        ("4n", LAST),
        ("nln4", f"attempt 2 may have reached the service; attempt 4: {LAST}"),
        ("lln", f"attempts 1-2 may have reached the service; attempt 3: {LAST}"),
        ("lnln", f"attempts 1, 3 may have reached the service; attempt 4: {LAST}"),
        ("lllnlln", f"attempts 1-3, 5-6 may have reached the service; attempt 7: {LAST}"),
        ("n.", f"attempt 2 may have reached the service; attempt 1: {LAST}"),
    ],
)
def test_attempts_that_may_have_reached_the_service_are_named_before_the_last_one(
    intent: IntentRow, outcomes: str, sentence: str | None
) -> None:
    assert outcome_sentence(intent, sent(intent, outcomes)) == sentence


def test_what_is_over_says_its_own_outcome(intent: IntentRow) -> None:
    attempts = sent(intent, "ln")
    for state in (IntentState.PREPARED, IntentState.REFUSED, IntentState.SETTLED):
        assert outcome_sentence(replace(intent, state=state), attempts) == LAST
    assert outcome_sentence(replace(intent, window_closed_at=AT), attempts) == LAST
    assert outcome_sentence(replace(intent, outcome=None), attempts) is None
