"""The parts of a payment's detail: its card, what to say, what is odd, the service's own words.

Pure: lines from frozen values. Every text that came from outside passes `cell` or `safe`.
"""

from collections.abc import Sequence

from kusanya.lookup import advice
from kusanya.store.records import CollectionRow
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.collections.cards import (
    collection_card,
    odd_lines,
    safety,
    sentences,
    story_lines,
)
from kusanya_console.collections.evidence import Evidence
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import Line, Look, cell, format_instant, rule, spread, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG, WARN, Run

PARTS = ("card", "say", "odd", "JSON")
STORY_PARTS = ("story", "odd", "JSON")
_BLANK: Line = ()
_JSON_LONGEST = 8_000


def part_of(
    row: CollectionRow, found: Evidence | None, look: Look, width: int, *, part: int
) -> list[Line]:
    """Return one of the `PARTS` of a collection's detail, under the line that names them all."""
    head = parts_line(PARTS, part, 0 if found is None else len(found.odd), width)
    if found is None or PARTS[part] == "card":
        return [head, *collection_card(row, found, look, width)]
    name = spread([cell(row.reference, STRONG, limit=60)], [vocabulary.status(row.status)], width)
    lines = [head, name, _BLANK]
    if PARTS[part] == "say":
        said, role = safety(found.story)
        return [
            *lines,
            *sentences(advice(found.story), width),
            _BLANK,
            *wrapped(said, width, role=role),
        ]
    if PARTS[part] == "odd":
        return [
            *lines,
            *(odd_lines(found.odd, width) or [((translate("nothing is odd about it"), MUTED),)]),
        ]
    return [*lines, *json_lines(found, width)]


def story_part(found: Evidence, look: Look, width: int, *, part: int) -> list[Line]:
    """Return one of the `STORY_PARTS`: the whole story, or what lies behind it."""
    if STORY_PARTS[part] == "story":
        return story_lines(found, look, width)
    row = found.story.row
    name = spread([cell(row.reference, STRONG, limit=60)], [vocabulary.status(row.status)], width)
    lines = [parts_line(STORY_PARTS, part, len(found.odd), width), name, _BLANK]
    if STORY_PARTS[part] == "odd":
        return [
            *lines,
            *(odd_lines(found.odd, width) or [((translate("nothing is odd about it"), MUTED),)]),
        ]
    return [*lines, *json_lines(found, width)]


def parts_line(parts: Sequence[str], part: int, odd: int, width: int) -> Line:
    """Return the names of the parts, the one in view named loudly."""
    left: list[Run] = []
    for place, name in enumerate(parts):
        count = f" {odd}" if name == "odd" and odd else ""
        loud = ACCENT if place == part else WARN if count else MUTED
        left.append((f"{'▸' if place == part else ' '}{translate(name)}{count} ", loud))
    return spread(left, [("[ ]", MUTED)], width)


def json_lines(found: Evidence, width: int) -> list[Line]:
    """Return the newest JSON of a collection as it was received, over as many lines as it needs."""
    if not found.said:
        return [((translate("its bytes are not kept any more"), MUTED),)]
    head = wrapped(
        translate(
            "newest words, by {source}; phone masked; J copies", source=translate(found.said_by)
        ),
        width,
        role=MUTED,
    )
    return [*head, _BLANK, *wrapped(safe(found.said, _JSON_LONGEST), width)]


def card_head(what: str, look: Look, mode: Mode, *, author: str, store: str) -> list[Line]:
    """Return what stands above everything that is kept or sent on: which mode, when, by whom."""
    word, _ = vocabulary.mode_words(mode)
    zone, at = look.zone.tzname(None), format_instant(look.now, look)
    return [
        ((f"{translate(what)}, {word}", STRONG),),
        ((translate("made {at} {zone} by {who}", at=at, zone=zone, who=safe(author, 60)), PLAIN),),
        ((translate("from {store}; times are {zone}", store=safe(store, 400), zone=zone), PLAIN),),
        _BLANK,
    ]


def evidence_lines(found: Evidence, look: Look, width: int) -> list[Line]:
    """Return the whole evidence card: the story, what is odd, and the service's latest words."""
    lines = story_lines(found, look, width)
    return [*lines, _BLANK, rule("JSON", width), *json_lines(found, width)]
