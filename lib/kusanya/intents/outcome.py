"""What is recorded of a creation's outcome, as a sentence. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from kusanya.intents.window import effect_possible
from kusanya.say import Said
from kusanya.store.records import AttemptRow, IntentRow, IntentState

_WAITING: Final = frozenset({IntentState.SENT, IntentState.UNKNOWN})


def outcome_sentence(intent: IntentRow, attempts: Sequence[AttemptRow]) -> str | None:
    """Return what is recorded of the outcome; None where nothing is.

    The intent keeps the sentence of its last attempt alone. While the outcome is unknown, "nothing
    was sent" of that one must not be read of all: the sentence names its attempt, and first those
    that may have reached the service.
    """
    if intent.state not in _WAITING or intent.window_closed_at is not None:
        return intent.outcome
    ended = [one for one in attempts if one.ended_at is not None]
    if intent.outcome is None or not ended:
        return None
    last = max(ended, key=lambda one: one.number)
    doubtful = [one.number for one in attempts if effect_possible((one,))]
    if last.number in doubtful or not doubtful:
        return intent.outcome
    number, outcome = last.number, intent.outcome
    if len(doubtful) == 1:
        first = doubtful[0]
        return Said(
            "attempt {first} may have reached the service; attempt {number}: {our_outcome}"
        ).of(first=first, number=number, our_outcome=outcome)
    numbers = _numbers(doubtful)
    return Said(
        "attempts {numbers} may have reached the service; attempt {number}: {our_outcome}"
    ).of(numbers=numbers, number=number, our_outcome=outcome)


def _numbers(numbers: Iterable[int]) -> str:
    """Return numbers as a list in which neighbours are joined: 1-3, 7."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
