"""What becomes of intents, said to the log: never a reference, an amount or a phone number."""

import logging
from typing import Any, Final

from kusanya.client.attempts import Classification
from kusanya.store.records import IntentRow, IntentState

_log: Final = logging.getLogger("kusanya.intents")
_MESSAGES: Final = {
    IntentState.ANSWERED: (logging.INFO, "intent answered"),
    IntentState.SETTLED: (logging.INFO, "intent resolved without its answer"),
    IntentState.REFUSED: (logging.WARNING, "intent refused"),
    IntentState.PREPARED: (logging.WARNING, "intent not accepted yet"),
    IntentState.UNKNOWN: (logging.WARNING, "intent without an answer"),
    IntentState.SENT: (logging.INFO, "intent sent"),
}


def log_opened(intent: IntentRow) -> None:
    """Log that a new intent is durable, before its first byte leaves."""
    _log.info("intent opened", extra=_of(intent))


def log_sent(intent: IntentRow, *, attempt: int) -> None:
    """Log that an attempt is durable and leaves now."""
    _log.info("intent sent", extra=_of(intent) | {"attempt": attempt})


def log_attempt_end(intent: IntentRow, result: Classification[Any], *, attempt: int) -> None:
    """Log in which state an attempt has left its intent, durably."""
    level, message = _MESSAGES[intent.state]
    why = None if result.error is None else str(result.error)
    details = {
        "attempt": attempt,
        "outcome": result.outcome.value,
        "status": result.status,
        "request_id": result.request_id,
        "why": why,
    }
    _log.log(
        level, message, extra=_of(intent) | {k: v for k, v in details.items() if v is not None}
    )


def log_resolved(intent: IntentRow) -> None:
    """Log the state that an intent without an answer was brought to, by evidence or a person."""
    level, message = _MESSAGES[intent.state]
    _log.log(level, message, extra=_of(intent))


def log_window_closed(intent: IntentRow) -> None:
    """Log that an intent may not be sent again although its answer is not known."""
    _log.warning("intent may not be sent again", extra=_of(intent))


def log_lease_not_released(intent_id: str, *, why: str) -> None:
    """Log that a lease could not be given up: until it ends other calls are refused."""
    _log.warning("lease not released", extra={"intent_id": intent_id, "why": why})


def _of(intent: IntentRow) -> dict[str, Any]:
    known = {} if intent.collection_id is None else {"collection_id": intent.collection_id}
    return {"intent_id": intent.id, "mode": intent.mode.value, **known}
