"""An intent in words: how far a creation has come, how long it may be replayed, what is safe.

Pure: lines from frozen values. The idempotency key is shown by its ends: who has it whole
could replay it elsewhere.
"""

from collections.abc import Sequence
from hashlib import sha256

from kusanya.alarms.stalled_intents import count_stalled, format_count, is_stalled
from kusanya.domain.assumptions import REPLAY_WINDOW
from kusanya.intents import Candidate, replay_left, window_ends
from kusanya.intents.outcome import outcome_sentence
from kusanya.privacy import mask_json, mask_phone
from kusanya.say import Said
from kusanya.store.records import AttemptRow, IntentRow, IntentState
from kusanya.text import safe
from kusanya_console.collections.detail import parts_line
from kusanya_console.intents.reader import IntentDetails
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    fit,
    format_duration,
    format_elapsed,
    format_instant,
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

INTENT_PARTS = ("card", "body")
_BLANK: Line = ()
_BAR = 6
REPLAY_WARNING = (
    "The service gives its first answer again, or takes the request now if it never arrived: then "
    "the customer is prompted now. Tell them before."
)
REPLAY_ALL_WARNING = (
    "The service took none of them, so no customer was asked. Each is asked now, with its own key: "
    "who bought elsewhere meanwhile is asked too. Tell them before."
)
_NO_ANSWER = "no answer in time"
"""What a client says when its time was up; the attempts below say whether anything had left."""
UNSEEN = "unseen"
"""Typed to decide on a collection that nobody could look at."""
_WAITING = frozenset({IntentState.SENT, IntentState.UNKNOWN})


def intent_figures(rows: tuple[IntentRow, ...], look: Look) -> list[Line]:
    """Return how many outcomes are unknown or stalled, and when the next replay window closes."""
    stalled = format_count(count_stalled(rows, now=look.now).count)
    unknown = [row for row in rows if row.state is IntentState.UNKNOWN]
    # Of the same rows as the list's column speaks of: sent, and without an answer.
    sent = [row for row in rows if row.state in _WAITING and window_ends(row) is not None]
    ahead = [left for row in sent if (left := replay_left(row, now=look.now))]
    line: list[Run] = [
        (f" {translate('unknown')} ", MUTED),
        (f"{len(unknown):,}", WARN if unknown else PLAIN),
        *([(f"   {translate('stalled')} ", MUTED), (stalled, WARN)] if stalled != "0" else ()),
        (f"   {translate('next window closes')} ", MUTED),
        (translate("in {time}", time=format_duration(min(ahead))) if ahead else "—", PLAIN),
        (f"   {translate('window closed')} ", MUTED),
        (f"{len(sent) - len(ahead):,}", FAILED if len(sent) > len(ahead) else PLAIN),
    ]
    return [tuple(line)]


def window_left(row: IntentRow, look: Look) -> Run:
    """Return what is left of the replay window, as a bar and in words."""
    if row.state is IntentState.PREPARED and is_stalled(row, now=look.now):
        return translate("no customer was asked"), WARN
    if row.state not in _WAITING or window_ends(row) is None:
        return format_text(translate(row.outcome or ""), 80), MUTED
    left = replay_left(row, now=look.now)
    if not left:
        return f"{'·' * _BAR} {translate('closed: decide')}", FAILED
    full = max(1, round(left / REPLAY_WINDOW * _BAR))
    said = translate("{time} left", time=format_duration(left))
    return f"{'█' * full}{'·' * (_BAR - full)} {said}", WARN


def intent_part(
    row: IntentRow,
    details: IntentDetails | None,
    look: Look,
    width: int,
    *,
    part: int,
    unread: Line,
) -> list[Line]:
    """Return one of the `INTENT_PARTS` under the line that names them."""
    head = parts_line(INTENT_PARTS, part, 0, width)
    if INTENT_PARTS[part] == "card":
        return [head, *intent_card(row, details, look, width, unread=unread)]
    name = spread([cell(row.reference, STRONG, limit=60)], [vocabulary.intent(row.state)], width)
    said = "exactly these bytes are sent on every attempt; phone masked; J copies"
    body = safe(mask_json(row.body), 8_000)
    return [
        head,
        name,
        _BLANK,
        *wrapped(translate(said), width, role=MUTED),
        _BLANK,
        *wrapped(body, width),
    ]


def intent_card(
    row: IntentRow,
    details: IntentDetails | None,
    look: Look,
    width: int,
    *,
    unread: Line = (),
) -> list[Line]:
    """Return the card of one intent: its attempts, its key, and the things that are safe.

    Before its details are read `unread` stands in the place of its attempts.
    """
    attempts = () if details is None else details.attempts
    notes = () if details is None else details.notes
    lines: list[Line] = [
        spread([cell(row.reference, STRONG, limit=60)], [vocabulary.intent(row.state)], width),
        spread([(f"TZS {row.amount:,}", STRONG)], [(mask_phone(row.phone), PLAIN)], width),
        _BLANK,
        labelled("key", (_key(row), PLAIN)),
        labelled(
            "body", (translate("{count} bytes, kept exactly", count=f"{len(row.body):,}"), PLAIN)
        ),
        labelled("", (f"sha256 {sha256(row.body).hexdigest()[:12]}…", MUTED)),
        labelled("prepared", (format_moment(row.prepared_at, look), PLAIN)),
        labelled("profile", cell(row.profile, limit=40)),
    ]
    outcome = outcome_sentence(row, attempts)
    if outcome is not None and outcome != _NO_ANSWER:
        said = format_text(translate(outcome), 300)
        lines += wrapped(said, width, label="outcome")
    if row.claimed_by is not None and row.claimed_until is not None:
        lines += wrapped(
            translate("held by {who}", who=safe(row.claimed_by, 60)), width, indent=12, role=MUTED
        )
    lines += [_BLANK, rule("attempts", width)]
    lines += [_attempt(one, look) for one in attempts]
    if details is None:
        lines.append(unread)
    elif not attempts:
        lines.append(((translate("nothing has left this machine"), MUTED),))
    if row.state in _WAITING:
        lines += [_BLANK, rule("what is safe", width), *_safe(row, look, width)]
    elif is_stalled(row, now=look.now):
        lines += [_BLANK, rule("what is safe", width), *_not_taken(row, look, width)]
    if notes:
        lines += [_BLANK, rule("notes", width)]
    for note in notes:
        by = translate("by {who}", who=safe(note.author, 40))
        lines.append(((f"{format_instant(note.at, look)}  {by}", MUTED),))
        lines += wrapped(format_text(note.words, 500), width, indent=2)
    return lines


def replay_facts(row: IntentRow, look: Look) -> tuple[tuple[str, Run], ...]:
    """Return what the dialog of a replay names: its reference first, its window last."""
    end = window_ends(row)
    until = translate("not sent before")
    if end:
        until = translate("until {at}", at=format_instant(end, look))
    return (*_facts(row), ("window", (until, PLAIN)))


def replay_all_facts(rows: Sequence[IntentRow]) -> tuple[tuple[str, Run], ...]:
    """Return what the dialog of several replays names: how many, their money and their phones."""
    return (
        ("marked", (f"{len(rows):,}", STRONG)),
        ("amount", (format_money(sum(row.amount for row in rows), "TZS"), PLAIN)),
        ("phones", (f"{len({row.phone for row in rows}):,}", PLAIN)),
    )


def decision_facts(row: IntentRow, look: Look) -> tuple[tuple[str, Run], ...]:
    """Return what the dialog of a decision names: its reference first, its window last."""
    end = window_ends(row)
    over = translate("it was never sent")
    if end:
        over = translate("over since {at}", at=format_instant(end, look))
    return (*_facts(row), ("window", (over, PLAIN)))


def candidate_facts(candidate: Candidate | None, why: str) -> tuple[tuple[str, Run], ...]:
    """Return what the confirmation of a decision names beside the intent: the other side."""
    reason = ("because", cell(why, limit=200))
    if candidate is None:
        nothing = translate("nothing: no collection was created")
        return (("it became", (nothing, STRONG)), reason)
    became = ("it became", cell(candidate.collection_id, STRONG, limit=60))
    seen = candidate.seen
    if seen is None:
        why = candidate.trouble or "there is no API key to ask the service with"
        why = format_text(translate(why), 160)
        said = translate("with nothing: {why}", why=why)
        return (became, ("compared", (said, WARN)), reason)
    same = "same reference, amount and phone, by the store; the service was not asked"
    if candidate.asked:
        same = "same reference, amount and phone, by the service, just now"
    return (
        became,
        ("", cell(seen.reference, limit=60)),
        ("", (f"TZS {seen.amount:,}   {mask_phone(seen.phone)}   {safe(seen.status, 40)}", PLAIN)),
        ("compared", (translate(same), PLAIN)),
        reason,
    )


def decision_warning(candidate: Candidate | None) -> str:
    """Return what a person reads before a decision counts."""
    if candidate is not None and candidate.seen is None:
        return Said(
            "Nobody could look at this collection: a wrong id settles the wrong order, for good. "
            "Type {word} only with the network's statement before you."
        ).of(word=UNSEEN)
    return (
        "Nothing is sent to the service. The creation counts as settled from now on, under your "
        "name: compare the network's statement first."
    )


def _facts(row: IntentRow) -> tuple[tuple[str, Run], ...]:
    return (
        ("reference", cell(row.reference, STRONG, limit=60)),
        ("amount", (f"TZS {row.amount:,}", STRONG)),
        ("phone", (mask_phone(row.phone), PLAIN)),
        ("key", (_kept(row), PLAIN)),
        ("profile", cell(row.profile, limit=40)),
    )


def _kept(row: IntentRow) -> str:
    size = f"{len(row.body):,}"
    return translate("{key}, {count} bytes, unchanged", key=_key(row), count=size)


def _key(row: IntentRow) -> str:
    key = row.idempotency_key
    return safe(f"{key[:4]}…{key[-2:]}" if len(key) > 12 else "…")  # noqa: PLR2004 - short keys tell all


def _attempt(one: AttemptRow, look: Look) -> Line:
    outcome = "in flight" if one.outcome is None else one.outcome.replace("_", " ")
    outcome = safe(translate(outcome), 20)
    status = "" if one.status is None else f"{one.status}"
    lasted = "" if one.took_us is None else format_elapsed(one.took_us)
    lost = one.outcome == "lost"
    return (
        (f"{one.number:>2}  ", MUTED), (stamp(one.sent_at, look), PLAIN),
        ("  ", PLAIN), (fit(f"{'✕ ' if lost else ''}{outcome}", 10), FAILED if lost else PLAIN),
        (fit(status, 4, right=True), PLAIN), ("  ", PLAIN), (lasted, MUTED),
    )  # fmt: skip


def _not_taken(row: IntentRow, look: Look, width: int) -> list[Line]:
    said = "nothing has happened: the service took no attempt, so no customer was asked"
    lines = wrapped(translate(said), width, label="so far")
    if not replay_left(row, now=look.now):
        over = "its window is over: kusanya intents resume closes it, then the order is free"
        return lines + wrapped(translate(over), width, label="send")
    send = (
        "R, or kusanya intents resume for all: same key, same bytes; the customer is prompted then"
    )
    lines += wrapped(translate(send), width, label="send")
    never = translate("a second creation for the same order: this one may still go")
    return lines + wrapped(never, width, label="never", role=FAILED)


def _safe(row: IntentRow, look: Look, width: int) -> list[Line]:
    end = window_ends(row)
    wait = translate("an event with this reference settles it, whenever it arrives")
    lines = wrapped(wait, width, label="wait")
    if end is not None and replay_left(row, now=look.now):
        replay = (
            "same key, same bytes, until {at}: the first answer again, never a second charge. If "
            "the first request never arrived, the customer is prompted now: tell them before. R "
            "replays, or kusanya intents resume."
        )
        said = translate(replay, at=format_instant(end, look))
        lines += wrapped(said, width, label="replay")
    else:
        over = translate("the window is over: the service may charge again")
        compare = "a person compares statements and records what they saw with D, under their name"
        lines += wrapped(over, width, label="replay")
        lines += wrapped(translate(compare), width, label="decide")
    never = translate("a new key for this intent: that could charge twice")
    return lines + wrapped(never, width, label="never", role=FAILED)
