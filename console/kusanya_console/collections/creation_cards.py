"""The story of a creation without a known collection, as Lookup tells it.

Pure: lines from frozen values. Every text that came from outside passes `cell` or `safe`.
"""

from kusanya.lookup import CreationTimeline, creation_advice
from kusanya.privacy import mask_phone
from kusanya.store.records import IntentState
from kusanya_console.collections.cards import around_lines, moment_lines, safety, sentences
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    format_duration,
    format_instant,
    format_text,
    rule,
    spread,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, STRONG, WARN, Run, first_sent_words

_BLANK: Line = ()
_SAID = {
    IntentState.PREPARED: (
        "not taken by the service yet: no customer was asked, and it may still be sent"
    ),
    IntentState.SENT: "it left and no answer was kept: the customer may have been asked to pay",
    IntentState.UNKNOWN: "its answer was lost: the customer may have been asked to pay",
    IntentState.REFUSED: "the service refused it: no customer was asked",
    IntentState.SETTLED: "it is over",
    IntentState.ANSWERED: "the service answered it",
}


def creation_story_lines(timeline: CreationTimeline, look: Look, width: int) -> list[Line]:
    """Return the story: what it is, what to say, whether a new request is safe, what happened."""
    intent = timeline.intent
    state, role = vocabulary.intent(intent.state)
    lines: list[Line] = [
        spread(
            [cell(intent.reference, STRONG, limit=60), ("   ", PLAIN), cell(intent.id, limit=60)],
            [(state, role)],
            width,
        ),
        spread(
            [
                (f"TZS {intent.amount:,}", STRONG),
                ("   ", PLAIN),
                (mask_phone(intent.phone), PLAIN),
            ],
            [_first_sent(timeline, look)],
            width,
        ),
        *wrapped(translate(_SAID[intent.state]), width, role=WARN if timeline.is_open else PLAIN),
    ]
    said, role = safety(timeline)
    lines += [_BLANK, rule("say to the customer", width)]
    lines += sentences(creation_advice(timeline), width)
    lines += [_BLANK, *wrapped(said, width, role=role)]
    if timeline.is_open:
        lines += _replay(timeline, look, width)
    zone = look.zone.tzname(None)
    lines += [_BLANK, rule(translate("story, our clock, {zone}", zone=zone), width)]
    lines += moment_lines(timeline.entries, look, width)
    if timeline.outcome is not None:
        said = format_text(translate(timeline.outcome), 300)
        lines += wrapped(said, width, label="outcome")
    return lines + around_lines(timeline.around, look, width)


def _first_sent(timeline: CreationTimeline, look: Look) -> Run:
    first = timeline.intent.first_sent_at
    if first is None:
        at = format_instant(timeline.intent.prepared_at, look)
        return translate("never sent, kept {at}", at=at), MUTED
    return first_sent_words(timeline.intent, format_instant(first, look)), MUTED


def _replay(timeline: CreationTimeline, look: Look, width: int) -> list[Line]:
    until = timeline.replay_until
    if until is None or until <= look.now:
        over = "replay: its window is over, the service may charge again; a person decides (5, D)"
        return wrapped(translate(over), width, role=FAILED)
    left = format_duration(until - look.now)
    said = translate(
        "replay: safe until {at}, {left} left: same key, same bytes, never a second charge (5, R)",
        at=format_instant(until, look),
        left=left,
    )
    return wrapped(said, width, role=MUTED)
