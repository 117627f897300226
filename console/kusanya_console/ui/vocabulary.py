"""The console's vocabulary: for each state a glyph, a word and a role, in that order of weight.

Pure. A role names a meaning ("k.failed"), the theme gives it a colour; without colour glyph and
word still say everything. What the specification does not name is shown as it was received, behind
a question mark.
"""

from typing import Final

from kusanya.domain.channels import channel_label
from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME
from kusanya.domain.status import CONTRADICTION, EVENT_TYPES, NO_CODE, Status
from kusanya.health.delivery_plan import attempt_of, is_extra_attempt
from kusanya.store.records import (
    CollectionRow,
    DeliveryRow,
    IntentRow,
    IntentState,
    SortOrder,
    Verdict,
)
from kusanya.text import safe
from kusanya.webhooks.refusals import REFUSAL_REASONS
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya.wire import Mode
from kusanya_console.ui.language import translate

PLAIN: Final = ""
MUTED: Final = "k.muted"
RULE: Final = "k.rule"
FAILED: Final = "k.failed"
WARN: Final = "k.warn"
ACCENT: Final = "k.accent"
STRONG: Final = "k.strong"
LIVE: Final = "k.live"
TEST: Final = "k.test"
MATCH: Final = "k.match"
"""Stands beside another role: what a filter or a search has met, underlined in its own colour."""

Run = tuple[str, str]
"""A piece of text that is safe to show, and the role it is shown in."""


def role_of(status: Status) -> str:
    """Return the role that a status is shown in."""
    return f"k.{status.facts.colour}" if status.facts.colour else PLAIN


_STATUS: Final[dict[str, tuple[str, str]]] = {
    **{status: (status.facts.glyph, role_of(status)) for status in Status},
    CONTRADICTION: ("≠", FAILED),
}

_ORDERS: Final = {
    SortOrder.CREATED: ("newest first", "oldest first"),
    SortOrder.FINAL: ("open, then latest final first", "earliest final first, then open"),
    SortOrder.AMOUNT: ("largest first", "smallest first"),
}

_VERDICT: Final[dict[Verdict, tuple[str, str, str]]] = {
    Verdict.VERIFIED: ("●", "verified", PLAIN),
    Verdict.REPEAT: ("↻", "repeat", MUTED),
    Verdict.REJECTED: ("✕", "rejected", FAILED),
    Verdict.UNPARSEABLE: ("?", "unreadable", WARN),
    Verdict.WRONG_MODE: ("≠", "wrong mode", FAILED),
    Verdict.CONFLICT: ("≠", "conflict", FAILED),
}

_INTENT: Final[dict[IntentState, tuple[str, str]]] = {
    IntentState.PREPARED: ("◌", MUTED),
    IntentState.SENT: ("·", MUTED),
    IntentState.ANSWERED: ("○", PLAIN),
    IntentState.REFUSED: ("✕", FAILED),
    IntentState.UNKNOWN: ("?", WARN),
    IntentState.SETTLED: ("●", PLAIN),
}


def mode_words(mode: Mode) -> Run:
    """Return the two words that no screen is ever without."""
    return ("LIVE MODE", LIVE) if mode is Mode.LIVE else ("TEST MODE", TEST)


def order_words(order: SortOrder, *, ascending: bool = False) -> str:
    """Return in words by what a list is sorted."""
    return _ORDERS[order][ascending]


def status(word: str) -> Run:
    """Return a status as glyph and word."""
    glyph, role = _STATUS.get(word, ("?", WARN))
    return f"{glyph} {translate(word) if word in _STATUS else safe(word, 40)}", role


def status_of(row: CollectionRow) -> Run:
    """Return the status of a collection, marked where its facts contradict each other."""
    word, role = status(row.status)
    if not row.contradictions or row.status == CONTRADICTION:
        return word, role
    return f"≠ {word.partition(' ')[2]}", FAILED


def with_code(said: Run, row: CollectionRow) -> Run:
    """Return a status with the code of its failure behind it, where it has one."""
    word, role = said
    return (f"{word} {safe(row.failure_code, 40)}", role) if row.failure_code else said


def code_alone(said: str) -> str:
    """Return a status and code without the status's word: its glyph and its colour say it too.

    Where facts contradict each other the word stays, and the code goes: it is one side's.
    """
    glyph, _, rest = said.partition(" ")
    word, blank, code = rest.rpartition(" ")
    if not blank:
        return said
    return f"{glyph} {word if glyph == '≠' else code}"


def channel(code: str) -> str:
    """Return the name customers know a channel by, or the code as received."""
    return safe(channel_label(code), 40)


def verdict(row: DeliveryRow) -> Run:
    """Return what became of a delivery; a 2xx after the sender's ten seconds is `late`."""
    if row.verdict in {Verdict.VERIFIED, Verdict.REPEAT} and is_late(row):
        return f"! {translate('late')}", WARN
    glyph, word, role = _VERDICT[row.verdict]
    return f"{glyph} {translate(word)}", role


def is_late(row: DeliveryRow) -> bool:
    """Return whether our answer came after the sender had stopped waiting."""
    return row.took_us > ACKNOWLEDGEMENT_TIME.total_seconds() * 1_000_000


def accepted(row: DeliveryRow) -> bool:
    """Return whether the sender saw a success: any 2xx in time."""
    return row.answer // 100 == 2 and not is_late(row)  # noqa: PLR2004 - the 2xx class


def attempt_sign(row: DeliveryRow) -> Run:
    """Return the number of an attempt; one more than were planned is +1, an unknown one ?."""
    number = attempt_of(row)
    if number is None:
        return ("+1", PLAIN) if is_extra_attempt(row) else ("?", WARN)
    return f"{number}", MUTED


def first_sent_words(row: IntentRow, at: str) -> str:
    """Return when a creation was first sent, `at`; one that was not taken was only tried."""
    if row.first_sent_at is None:
        return translate("never sent")
    if row.state is IntentState.PREPARED:
        return translate("first tried {at}, not taken", at=at)
    return translate("first sent {at}", at=at)


def attempt_words(row: DeliveryRow) -> str:
    """Return which attempt an arrival was, in words."""
    number = attempt_of(row)
    if number is not None:
        return translate("attempt {number} of {many}", number=number, many=ATTEMPTS)
    if is_extra_attempt(row):
        return translate("outside the plan, by hand or very late")
    return translate("an attempt that fits no slot of the plan")


def event_type(kind: str | None) -> str:
    """Return the short word of an event type, or the type as received."""
    if kind is None:
        return "—"
    return translate(EVENT_TYPES[kind].value) if kind in EVENT_TYPES else safe(kind, 40)


def cause(known: Status) -> str:
    """Return what a status counts as among the causes: itself, or no code, in brackets."""
    return translate(NO_CODE) if known.facts.coded else f"({translate(known.value)})"


def intent(state: IntentState) -> Run:
    """Return how far a creation has come, as glyph and word."""
    glyph, role = _INTENT[state]
    return f"{glyph} {translate(state.value)}", role


def reason(word: str | None) -> str:
    """Return a sentence for why a delivery was not accepted, or the word itself."""
    known = REFUSAL_REASONS.get(word or "")
    return safe(word or "", 120) if known is None else known.sentence


def to_do(word: str | None) -> str:
    """Return what a person can do about a rejected delivery, or nothing."""
    known = REFUSAL_REASONS.get(word or "")
    return "" if known is None else known.next_step
