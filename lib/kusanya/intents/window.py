"""How long an intent may still be sent. Pure: instants come in, nothing here reads a clock.

Past IDEMPOTENCY_RETENTION (limits.py) the service has forgotten the key and would charge the
customer again. We stop earlier, after REPLAY_WINDOW, because clocks differ. Assumes
REPLAY_STOPS_EARLY (assumptions.py).
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kusanya.client.attempts import AttemptOutcome
from kusanya.domain.assumptions import REPLAY_HOURS, REPLAY_WINDOW
from kusanya.errors import IntentError, IntentReason
from kusanya.say import Said
from kusanya.store.records import AttemptRow, IntentRow

CLOCK_SLACK: Final = timedelta(seconds=5)
"""How far apart the clocks of two of our own machines may be."""
CLOCKS_APART: Final = timedelta(minutes=5)
"""How far apart two clocks may be before what they say together means nothing."""
_SERVER_FAILED: Final = 500


def effect_possible(attempts: Iterable[AttemptRow]) -> bool:
    """Return whether the service may have acted on any of these attempts.

    An attempt without an end was being sent when its process died. A 5xx tells nothing; only a
    refusal, a "not now" and a connection that was never made say that nothing happened.
    """
    return any(
        attempt.outcome in (None, AttemptOutcome.LOST, AttemptOutcome.ANSWERED)
        or (attempt.outcome == AttemptOutcome.RETRYABLE and (attempt.status or 0) >= _SERVER_FAILED)
        for attempt in attempts
    )


def replay_left(intent: IntentRow, *, now: datetime) -> timedelta:
    """Return how long the intent may still be sent; zero where it may not.

    Counted from the first sending, or from the preparation of one that was never sent: a push
    that comes a day late finds a customer who no longer expects it.
    """
    if intent.window_closed_at is not None:
        return timedelta()
    began = intent.first_sent_at or intent.prepared_at
    return max(began + REPLAY_WINDOW - now, timedelta())


def window_ends(intent: IntentRow) -> datetime | None:
    """Return when the intent may no longer be sent; None where it never was."""
    if intent.window_closed_at is not None or intent.first_sent_at is None:
        return intent.window_closed_at
    return intent.first_sent_at + REPLAY_WINDOW


def clock_was_set_back(intent: IntentRow, *, now: datetime) -> bool:
    """Return whether the intent was first sent at an instant that is still to come.

    One of the two clocks was wrong. If it was the one of the sending, its window began earlier than
    is written, nobody knows when, and will look open when the service has long forgotten the key.
    """
    return intent.first_sent_at is not None and now < intent.first_sent_at - CLOCKS_APART


def latest(intent: IntentRow, attempts: Iterable[AttemptRow]) -> datetime:
    """Return the last instant at which something is known to have happened to the intent."""
    known = [attempt.ended_at or attempt.sent_at for attempt in attempts]
    return max([intent.prepared_at, *known])


def check_window(intent: IntentRow, *, latest_at: datetime, now: datetime) -> None:
    """Raise IntentError where the intent may not be sent at `now`.

    Also where `now` lies before `latest_at`: then the time since the first sending is not known,
    and neither is the window.
    """
    if intent.window_closed_at is not None:
        raise IntentError(
            "its replay window was closed, because it was over or the clock was set back after it "
            "was sent, and the service may charge again: wait for an event with its reference, or "
            "decide it by hand",
            reason=IntentReason.WINDOW_CLOSED,
            intent_id=intent.id,
        )
    if now < latest_at - CLOCK_SLACK:
        raise IntentError(
            "the clock shows a time before this intent's last attempt: set it right first, "
            "for its replay window cannot be known",
            reason=IntentReason.CLOCK_BEHIND,
            intent_id=intent.id,
        )
    if not replay_left(intent, now=now):
        raise IntentError(
            Said(
                "its replay window of {hours} hours is over, and the service may charge again: "
                "wait for an event with its reference, or decide it by hand"
            ).of(hours=REPLAY_HOURS),
            reason=IntentReason.WINDOW_CLOSED,
            intent_id=intent.id,
        )
