"""How long an intent may be sent and what may have happened to it, at each edge; no store."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kusanya.errors import IntentError
from kusanya.intents.window import (
    check_window,
    clock_was_set_back,
    effect_possible,
    latest,
    replay_left,
    window_ends,
)
from kusanya.store.records import AttemptRow, IntentRow, IntentState
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WINDOW = timedelta(hours=23)


def intent(**said: Any) -> IntentRow:
    first = {"prepared_at": NOON, "first_sent_at": NOON + SECOND}
    return IntentRow(
        id="int_1", seq=1, idempotency_key="kus_1", body=b"{}", mode=Mode.TEST, profile="shop",
        reference="order-1", amount=5000, phone="255754000001", state=IntentState.UNKNOWN,
        collection_id=None, outcome=None, attempts=1, **{**first, **said},
    )  # fmt: skip


def attempt(outcome: str | None, status: int | None = None, **said: Any) -> AttemptRow:
    first = {"sent_at": NOON, "ended_at": NOON + SECOND}
    return AttemptRow(
        intent_id="int_1", number=1, outcome=outcome, status=status, request_id=None, took_us=None,
        **{**first, **said},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "status", "possible"),
    [
        (None, None, True),
        ("lost", None, True),
        ("lost", 408, True),
        ("answered", 202, True),
        ("retryable", 500, True),
        ("retryable", 503, True),
        ("retryable", 499, False),
        ("retryable", 429, False),
        ("retryable", None, False),
        ("refused", 422, False),
        ("not_sent", None, False),
    ],
)
def test_what_an_attempt_may_have_done(
    outcome: str | None, status: int | None, possible: bool
) -> None:
    refused = attempt("refused", 422)
    assert effect_possible([attempt(outcome, status)]) is possible
    assert effect_possible([refused, attempt(outcome, status), refused]) is possible
    assert not effect_possible([])


def test_the_window_is_23_hours_from_the_first_sending_or_the_preparation() -> None:
    sent, prepared = intent(), intent(first_sent_at=None)
    for one, began in ((sent, NOON + SECOND), (prepared, NOON)):
        assert replay_left(one, now=began) == WINDOW
        assert replay_left(one, now=began + WINDOW - SECOND) == SECOND
        assert replay_left(one, now=began + WINDOW) == timedelta()
        assert replay_left(one, now=began + WINDOW + SECOND) == timedelta()
    assert window_ends(sent) == NOON + SECOND + WINDOW
    assert window_ends(prepared) is None


def test_a_window_that_was_closed_is_over_whatever_its_length() -> None:
    closed = intent(window_closed_at=NOON + 5 * SECOND)
    assert replay_left(closed, now=NOON) == timedelta()
    assert window_ends(closed) == NOON + 5 * SECOND
    assert window_ends(intent(first_sent_at=None, window_closed_at=NOON)) == NOON
    with pytest.raises(IntentError, match="closed"):
        check_window(closed, latest_at=NOON, now=NOON)


def test_a_first_sending_more_than_five_minutes_ahead_was_another_clocks() -> None:
    sent = intent(first_sent_at=NOON)
    assert not clock_was_set_back(sent, now=NOON)
    assert not clock_was_set_back(sent, now=NOON - timedelta(minutes=5))
    assert clock_was_set_back(sent, now=NOON - timedelta(minutes=5) - SECOND)
    assert not clock_was_set_back(intent(first_sent_at=None), now=NOON - WINDOW)


def test_the_last_thing_known_is_the_latest_end_or_the_sending_of_what_never_ended() -> None:
    ended = attempt("lost", ended_at=NOON + 3 * SECOND)
    open_ = attempt(None, sent_at=NOON + 4 * SECOND, ended_at=None)
    assert latest(intent(), []) == NOON
    assert latest(intent(), [ended]) == NOON + 3 * SECOND
    assert latest(intent(), [open_, ended]) == NOON + 4 * SECOND
    assert latest(intent(prepared_at=NOON + WINDOW), [ended]) == NOON + WINDOW


def test_a_clock_five_seconds_behind_may_send_and_six_may_not() -> None:
    check_window(intent(), latest_at=NOON, now=NOON - 5 * SECOND)
    with pytest.raises(IntentError, match="set it right"):
        check_window(intent(), latest_at=NOON, now=NOON - 6 * SECOND)


def test_the_last_second_of_the_window_sends_and_its_end_does_not() -> None:
    end = NOON + SECOND + WINDOW
    check_window(intent(), latest_at=NOON, now=end - SECOND)
    with pytest.raises(IntentError, match="23 hours is over"):
        check_window(intent(), latest_at=NOON, now=end)
