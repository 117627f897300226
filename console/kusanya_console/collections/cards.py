"""A collection in words: the card beside the list and the whole story under the look-up's box.

Pure: lines from frozen values. Every text that came from outside passes `cell` or `safe`.
"""

from collections.abc import Sequence

from rich.cells import cell_len

from kusanya.lookup import (
    CreationTimeline,
    EventKind,
    Neighbours,
    Reason,
    ReceiptClaim,
    Timeline,
    TimelineEntry,
    advice,
    new_request,
    order_sentence,
)
from kusanya.privacy import mask_phone
from kusanya.say import Language
from kusanya.state.anomalies import Anomaly
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.text import safe
from kusanya.wording import Advice, Wording
from kusanya_console.collections.evidence import Evidence
from kusanya_console.ui import language, vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    fit,
    fit_id,
    format_duration,
    format_exact_instant,
    format_gap,
    format_moment,
    format_money,
    format_text,
    labelled,
    rule,
    spread,
    stamp,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, STRONG, WARN, Run

_BLANK: Line = ()
_CREATIONS_SHOWN = 10
_ODD_ON_CARD = 2
"""Oddities that the card beside a list tells; its own part tells all."""
_ROOMY = 96
"""From this width on a moment and its detail share a line."""
_GAP_CELLS = 13
_WORD_CELLS = 16
_SOURCE_CELLS = 12
_REQUESTS = {
    Reason.CONTRADICTION: ("≠", FAILED),
    Reason.CLAIMED: ("?", WARN),
    Reason.EARLIER_REQUEST: ("?", WARN),
    Reason.UNKNOWN_ON_PHONE: ("?", WARN),
    Reason.UNSEEN: ("?", WARN),
    Reason.PAID: ("", PLAIN),
    Reason.PAID_UNDER_REFERENCE: ("", WARN),
    Reason.CLAIMED_UNDER_REFERENCE: ("?", WARN),
    Reason.ORDER_UNCLEAR: ("≠", WARN),
    Reason.NOTHING_OPEN: ("", PLAIN),
}
"""How the reasons for and against a new request are marked; all others are open prompts."""
_FROM_OUTSIDE = {EventKind.NOTE, EventKind.RECEIPT}
"""Entries whose source is a person or a file, no word of ours."""
_GLYPHS = {
    EventKind.INTENT: ("○", MUTED),
    EventKind.SENT: ("·", MUTED),
    EventKind.ANSWERED: ("●", PLAIN),
    EventKind.REPEAT: ("↻", MUTED),
    EventKind.REFUSED: ("✕", FAILED),
    EventKind.NOTE: ("•", PLAIN),
    EventKind.OUTCOME: ("⇢", PLAIN),
    EventKind.RECEIPT: ("•", PLAIN),
}


def odd_lines(odd: Sequence[Anomaly | ReceiptClaim], width: int) -> list[Line]:
    """Return everything that is odd, a sentence each."""
    lines: list[Line] = []
    for one in odd:
        glyph, role = ("≠", FAILED) if one.urgent else ("!", WARN)
        lines += wrapped(f"{glyph} {safe(translate(one.sentence), 400)}", width, role=role)
    return lines


def collection_card(
    row: CollectionRow, found: Evidence | None, look: Look, width: int
) -> list[Line]:
    """Return the card beside the list; without evidence yet it tells what the row itself knows."""
    lines = [*_payment_lines(row, width), _BLANK, *_instant_lines(row, look), *_reason(row, width)]
    if found is not None:
        return [*lines, *_evidence_lines(found, look, width)]
    if row.missing_event:
        none = translate("∅ no event has reported this final state")
        lines += wrapped(none, width, role=WARN)
    return lines


def _payment_lines(row: CollectionRow, width: int) -> list[Line]:
    return [
        spread([cell(row.reference, STRONG, limit=60)], [vocabulary.status(row.status)], width),
        (cell(row.id, limit=130),),
        _BLANK,
        spread(
            [(format_money(row.amount, row.currency), STRONG)],
            [
                (vocabulary.channel(row.channel), PLAIN),
                ("  ", PLAIN),
                cell(row.channel, MUTED, limit=20),
            ],
            width,
        ),
        spread([_fee(row), ("   ", PLAIN), _net(row)], [(mask_phone(row.phone), PLAIN)], width),
    ]


def _instant_lines(row: CollectionRow, look: Look) -> list[Line]:
    lines = [labelled("created", (format_moment(row.created_at, look), PLAIN))]
    if row.completed_at is not None:
        after = format_duration(row.completed_at - row.created_at)
        lines.append(
            labelled(
                "completed",
                (format_moment(row.completed_at, look), PLAIN),
                (f"   {translate('after {length}', length=after)}", MUTED),
            )
        )
    if row.final_seen_at is not None:
        source = translate((row.learned_from or "an unknown source").replace("_", " "))
        by = f"   {translate('by {source}', source=source)}"
        lines.append(
            labelled(
                "learned", (format_moment(row.final_seen_at, look), PLAIN), (safe(by, 40), MUTED)
            )
        )
    return lines


def _evidence_lines(found: Evidence, look: Look, width: int) -> list[Line]:
    lines = _oddities(found.odd, width, most=_ODD_ON_CARD)
    order = order_sentence(found.story.around, found.story.row.id)
    lines += [_BLANK, *wrapped(translate(order), width)] if order else []
    lines += [_BLANK, rule("story", width)]
    for entry in found.story.entries:
        glyph, word = _entry_word(entry)
        lines.append(((stamp(entry.at, look), MUTED), ("  ", PLAIN), glyph, word))
        if entry.detail:
            lines += wrapped(_detail(entry, 256), width, indent=13, role=MUTED)
    lines += [_BLANK, rule("say", width)]
    return [*lines, *wrapped(spoken(advice(found.story).in_language(language.chosen())), width)]


def story_lines(found: Evidence, look: Look, width: int) -> list[Line]:
    """Return the whole story: every recorded fact with its time, its gap and its source."""
    story = found.story
    row = story.row
    figures: list[Run] = [
        (format_money(row.amount, row.currency), STRONG), ("   ", PLAIN), _fee(row),
        ("   ", PLAIN), _net(row), ("   ", PLAIN), (vocabulary.channel(row.channel), PLAIN),
        ("   ", PLAIN), (mask_phone(row.phone), PLAIN),
    ]  # fmt: skip
    finality = _finality(row, look)
    lines: list[Line] = [
        spread(
            [cell(row.reference, STRONG, limit=60), ("   ", PLAIN), cell(row.id, limit=130)],
            [vocabulary.status(row.status), *_code(row)],
            width,
        )
    ]
    if width < _ROOMY:
        lines += [tuple(figures), (finality,)]
    else:
        lines.append(spread(figures, [finality], width))
    order = order_sentence(story.around, row.id)
    lines += wrapped(translate(order), width) if order else []
    lines += _oddities(found.odd, width, most=len(found.odd))
    said, role = safety(story)
    say = [_BLANK, rule("say to the customer", width), *sentences(advice(story), width)]
    say += [_BLANK, *wrapped(said, width, role=role)]
    lines += say  # what support says comes before how it came about
    zone = look.zone.tzname(None)
    lines += [_BLANK, rule(translate("story, our clock, {zone}", zone=zone), width)]
    lines += moment_lines(story.entries, look, width)
    lines += around_lines(story.around, look, width)
    return lines


def moment_lines(moments: Sequence[TimelineEntry], look: Look, width: int) -> list[Line]:
    """Return what happened, each moment with its time, its gap to the one before and its source."""
    cells = max((len(format_exact_instant(entry.at, look)) for entry in moments), default=0)
    previous = None
    lines: list[Line] = []
    for entry in moments:
        gap = "" if previous is None else format_gap(entry.at - previous)
        previous = entry.at
        at = fit(format_exact_instant(entry.at, look), cells)
        lines += _entry_lines(entry, (at, gap), width)
    return lines


def around_lines(around: Neighbours, look: Look, width: int) -> list[Line]:
    """Return open creations beside a payment, and what else was asked of its phone."""
    lines: list[Line] = []
    if around.creations:
        lines += [_BLANK, rule("open creations of this phone or reference", width)]
        lines += [_open_creation(one, look) for one in around.creations[:_CREATIONS_SHOWN]]
    if len(around.creations) > _CREATIONS_SHOWN:
        more = len(around.creations) - _CREATIONS_SHOWN
        lines.append(((translate("and {more} more", more=f"{more:,}"), WARN),))
    lines += [_BLANK, rule("also on this phone, last 24 h", width)]
    if not around.also:
        lines.append(((translate("nothing else"), MUTED),))
    return lines + [_also(other, look) for other in around.also]


def sentences(found: Advice, width: int) -> list[Line]:
    """Return what to say in English and in Swahili, and what support itself does next."""
    lines: list[Line] = []
    both = [("EN", found.english), ("SW", found.swahili)]
    if language.chosen() is Language.SWAHILI:
        both.reverse()
    for label, said in both:
        lines += wrapped(spoken(said), width, label=label, indent=4)
    return [
        *lines,
        *wrapped(
            f"{translate('Next')}: {translate(found.support_step)}",
            width,
            indent=4,
            role=MUTED,
        ),
    ]


def spoken(said: Wording) -> str:
    """Return a sentence with its next step, as it is said or copied."""
    return safe(f"{said.sentence} {said.next_step}".strip(), 400)


def safety(timeline: Timeline | CreationTimeline) -> Run:
    """Return whether a new request is safe, and why, as a sentence."""
    verdict = new_request(timeline)
    glyph, role = _REQUESTS.get(verdict.reason, ("○", WARN))
    return f"{glyph} {translate(verdict.sentence)}".strip(), role


def _oddities(odd: Sequence[Anomaly | ReceiptClaim], width: int, *, most: int) -> list[Line]:
    lines = odd_lines(odd[:most], width)
    if len(odd) > most:
        more = translate("and {more} more: ] shows them", more=len(odd) - most)
        lines += wrapped(more, width, role=WARN)
    return [_BLANK, *lines] if lines else []


def _entry_word(entry: TimelineEntry) -> tuple[Run, Run]:
    if entry.kind in {EventKind.STATUS, EventKind.SAME}:
        word, role = vocabulary.status(entry.word)
        glyph, _, name = word.partition(" ")
        is_same = entry.kind is EventKind.SAME
        said = translate("still {status}", status=name) if is_same else name
        return (f"{glyph} ", role), (said, role)
    glyph, role = _GLYPHS[entry.kind]
    return (f"{glyph} ", role), (format_text(translate(entry.word), 60), role)


def _detail(entry: TimelineEntry, limit: int) -> str:
    # A note is a person's; a receipt comes from a file, and our words stand around it.
    said = entry.detail if entry.kind is EventKind.NOTE else translate(entry.detail)
    return format_text(said, limit)


def _entry_lines(entry: TimelineEntry, stamped: tuple[str, str], width: int) -> list[Line]:
    glyph, word = _entry_word(entry)
    at, gap = stamped
    head: list[Run] = [
        (at, PLAIN),
        (fit(gap, _GAP_CELLS, right=True), MUTED),
        ("  ", PLAIN),
        glyph,
    ]
    indent = len(at) + _GAP_CELLS + 4
    is_ours = entry.kind not in _FROM_OUTSIDE
    source = (safe(translate(entry.source) if is_ours else entry.source, 20), MUTED)
    # A person wrote a note: it is read, where the rest is skimmed.
    is_note = entry.kind is EventKind.NOTE
    detail = _detail(entry, 500 if is_note else 256)
    role = PLAIN if is_note else MUTED
    if width < _ROOMY:
        under = wrapped(detail, width, indent=indent, role=role) if detail else []
        return [spread([*head, word], [source], width), *under]
    indent += _WORD_CELLS + 2
    source_cells = max(_SOURCE_CELLS, cell_len(source[0]) + 2)
    pieces = wrapped(detail, width - indent - source_cells, role=role) if detail else [()]
    first = [*head, (fit(word[0], _WORD_CELLS), word[1]), ("  ", PLAIN), *pieces[0]]
    rest = [((" " * indent, PLAIN), *piece) for piece in pieces[1:]]
    return [spread(first, [source], width), *rest]


def _also(row: CollectionRow, look: Look) -> Line:
    reference, _ = cell(row.reference, limit=24)
    return (
        (stamp(row.created_at, look), MUTED), ("  ", PLAIN),
        (fit_id(reference, 16), PLAIN), ("  ", PLAIN),
        (fit(format_money(row.amount, row.currency), 14, right=True), PLAIN), ("  ", PLAIN),
        vocabulary.status(row.status), *_code(row),
    )  # fmt: skip


def _open_creation(row: IntentRow, look: Look) -> Line:
    reference, _ = cell(row.reference, limit=24)
    return (
        (stamp(row.first_sent_at or row.prepared_at, look), MUTED), ("  ", PLAIN),
        (fit_id(reference, 16), PLAIN), ("  ", PLAIN),
        (fit(format_money(row.amount, "TZS"), 14, right=True), PLAIN), ("  ", PLAIN),
        vocabulary.intent(row.state), ("   ", PLAIN), (safe(row.id, 40), MUTED),
    )  # fmt: skip


def _fee(row: CollectionRow) -> Run:
    return f"{translate('fee')} {row.fee:,}", PLAIN


def _net(row: CollectionRow) -> Run:
    net = translate("net")
    return (f"{net} —", MUTED) if row.net is None else (f"{net} {row.net:,}", PLAIN)


def _code(row: CollectionRow) -> tuple[Run, ...]:
    return () if row.failure_code is None else (("   ", PLAIN), cell(row.failure_code, limit=40))


def _finality(row: CollectionRow, look: Look) -> Run:
    if row.final_seen_at is None:
        age = format_duration(look.now - row.created_at)
        return translate("not final, {age} old", age=age), MUTED
    at = format_moment(row.completed_at or row.final_seen_at, look)
    return translate("final since {at}", at=at), MUTED


def _reason(row: CollectionRow, width: int) -> list[Line]:
    if row.failure_code is None and row.failure_message is None:
        return []
    lines = [_BLANK, labelled("reason", cell(row.failure_code, limit=60))]
    if row.failure_message is not None:
        lines += wrapped(format_text(row.failure_message, 200), width, indent=12, role=MUTED)
    return lines
