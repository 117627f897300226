"""The sender's own log beside what we inferred: only the embedded service gives it away.

Pure. Attempts and arrivals are matched by their times, each arrival at most once. What differs is
named in words; that the real service's log would read the same is exactly what cannot be known.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from kusanya.health.delivery_plan import DeliveryPlan, attempt_of
from kusanya.say import Said
from kusanya.store.records import DeliveryRow
from kusanya_console.sandbox.dashboard.records import SentAttempt, SentDelivery
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    fit,
    format_due,
    format_duration,
    format_instant,
    labelled,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, STRONG, WARN, Run

_APART: Final = timedelta(seconds=2)
"""Two clocks and a queue: an arrival lies so close to its attempt, or is another one's."""
_DUE_APART: Final = timedelta(seconds=30)
_LONG_MS: Final = 10_000
_STATUS: Final = {
    "pending": ("◌", "pending", PLAIN),
    "held": ("!", "held: the endpoint is disabled", WARN),
    "succeeded": ("●", "succeeded", PLAIN),
    "failed": ("✕", "failed: given up", FAILED),
}


class AttemptMatch(msgspec.Struct, frozen=True):
    """One attempt of the sender, the arrival that it was here, and how the two differ."""

    attempt: SentAttempt
    arrival: DeliveryRow | None
    differs: str = ""


class DeliveryComparison(msgspec.Struct, frozen=True):
    """One delivery in the sender's log."""

    delivery: SentDelivery
    attempts: tuple[AttemptMatch, ...]


class SenderComparison(msgspec.Struct, frozen=True):
    """Everything that the sender says about an event, against everything that arrived."""

    deliveries: tuple[DeliveryComparison, ...]
    strangers: tuple[DeliveryRow, ...]
    """Arrivals that no attempt of the sender explains."""

    @property
    def differences(self) -> int:
        """Count what differs."""
        marked = sum(bool(one.differs) for each in self.deliveries for one in each.attempts)
        return marked + len(self.strangers)


def compare(sent: Sequence[SentDelivery], arrivals: Sequence[DeliveryRow]) -> SenderComparison:
    """Match attempts with arrivals; of several that fit the nearest in time is taken."""
    left = sorted(arrivals, key=lambda row: row.arrived_at)
    deliveries = []
    for delivery in sent:
        attempts = []
        for attempt in delivery.attempts:
            row = _nearest(attempt, left)
            if row is not None:
                left.remove(row)
            attempts.append(AttemptMatch(attempt, row, _differs(attempt, row)))
        deliveries.append(DeliveryComparison(delivery, tuple(attempts)))
    return SenderComparison(tuple(deliveries), tuple(left))


def _nearest(attempt: SentAttempt, rows: Sequence[DeliveryRow]) -> DeliveryRow | None:
    begin, end = attempt.started_at - _APART, attempt.ended_at + _APART
    fitting = [row for row in rows if begin <= row.arrived_at <= end]
    return min(fitting, key=lambda row: abs(row.arrived_at - attempt.started_at), default=None)


def _differs(attempt: SentAttempt, row: DeliveryRow | None) -> str:
    if row is None:
        if attempt.status_code is None:
            return ""  # it reached nobody, and nobody saw it
        return Said("answered {code}, but not kept by this receiver").of(code=attempt.status_code)
    if attempt.status_code is None:
        return Said("we answered {code}; the sender received no answer").of(code=row.answer)
    if attempt.status_code != row.answer:
        return Said("we answered {code}").of(code=row.answer)
    number = attempt_of(row)
    if attempt.manual or number == attempt.number:
        return ""
    return Said("inferred here as try {number}").of(number=number or "?")


def sender_lines(
    found: SenderComparison, plan: DeliveryPlan | None, look: Look, width: int
) -> list[Line]:
    """Return the sender's log, each line with what differs under it."""
    if not found.deliveries:
        said = "The sender has no delivery of this event: it knows no such event, or no endpoint."
        return wrapped(translate(said), width, role=WARN)
    count = found.differences + sum(_next_differs(one.delivery, plan) for one in found.deliveries)
    head = translate("agrees with what arrived here")
    if count:
        head = translate("≠ differs in {count} from ours", count=count)
    lines: list[Line] = [((head, WARN if count else MUTED),)]
    for each in found.deliveries:
        lines += [(), *_delivery(each, plan, look, width)]
    for row in found.strangers:
        at = format_instant(row.arrived_at, look)
        said = "≠ arrived {at}, answered {code}: no attempt of the sender explains it"
        lines += [(), *wrapped(translate(said, at=at, code=row.answer), width, role=WARN)]
    return lines


def _delivery(
    each: DeliveryComparison, plan: DeliveryPlan | None, look: Look, width: int
) -> list[Line]:
    one = each.delivery
    glyph, word, role = _STATUS.get(one.status, ("?", cell(one.status, limit=30)[0], WARN))
    lines: list[Line] = [
        *wrapped(cell(one.url, limit=200)[0], width, role=STRONG),
        ((f"{glyph} {translate(word)}", role),),
    ]
    for sent in each.attempts:
        lines.append(_attempt(sent, look))
        if sent.differs:
            said = f"≠ {translate(sent.differs)}"
            lines += wrapped(said, width, indent=3, role=WARN)
    if not each.attempts:
        lines.append(((translate("no attempt yet"), MUTED),))
    if one.next_attempt_at is not None:
        lines.append(labelled("next", (format_due(one.next_attempt_at, look), PLAIN)))
        if _next_differs(one, plan):
            inferred = None if plan is None else plan.next_at
            ours = translate("none") if inferred is None else format_instant(inferred, look)
            said = translate("≠ inferred here: {at}", at=ours)
            lines += wrapped(said, width, indent=3, role=WARN)
    return lines


def _next_differs(one: SentDelivery, plan: DeliveryPlan | None) -> bool:
    inferred = None if plan is None else plan.next_at
    if one.next_attempt_at is None:
        return False  # over, or held: its state says so
    return inferred is None or abs(inferred - one.next_attempt_at) > _DUE_APART


def _attempt(sent: AttemptMatch, look: Look) -> Line:
    one = sent.attempt
    glyph: Run = ("·", WARN)
    if sent.arrival is not None:
        glyph = ("●", PLAIN) if one.outcome == "succeeded" else ("✕", FAILED)
    answer = cell(one.error, limit=18) if one.status_code is None else (f"{one.status_code}", PLAIN)
    lasted = f"{one.duration_ms:,} ms" if one.duration_ms < _LONG_MS else format_duration(one.took)
    tail: tuple[Run, ...] = ((lasted, MUTED),)
    if one.manual:
        tail = ((lasted, MUTED), (f"  {translate('by hand')}", MUTED))
    elif sent.arrival is None:
        tail = ((translate("not seen"), WARN),)
    return (
        (f"{one.number:>2} ", MUTED), glyph, (" ", PLAIN),
        (fit(format_instant(one.started_at, look), 10), PLAIN), answer, ("  ", PLAIN), *tail,
    )  # fmt: skip
