"""The Service screen in words: its clock, the card of what the cursor points at, what was tried.

Pure: lines from frozen values.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow, IntentRow
from kusanya_console.dashboard.phones import ScriptedPhone
from kusanya_console.dashboard.records import ServiceKey, ServicePicture
from kusanya_console.service.tables import Fault, Tab, Thing, fuse, mode, state
from kusanya_console.service.words import FAULTS
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    fit,
    format_due,
    format_duration,
    format_exact_instant,
    format_instant,
    labelled,
    spread,
    wrapped,
)
from kusanya_console.ui.vocabulary import ACCENT, FAILED, MUTED, PLAIN, STRONG, WARN, Run

_BLANK: Line = ()
_WIDE = 100


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A test collection that was asked for here, and what the store knows of it by now."""

    reference: str
    at: datetime
    phone: ScriptedPhone
    intent: IntentRow | None = None
    collection: CollectionRow | None = None


def figures(
    picture: ServicePicture | None,
    lost: tuple[str, datetime] | None,
    tab: Tab,
    look: Look,
    width: int,
) -> list[Line]:
    """Return the service's clock, then the lists with what each one holds."""
    if picture is None:
        said = ("asking the service", MUTED) if lost is None else (lost[0], FAILED)
        return [((" ", PLAIN), said), _BLANK]
    keys = ("[ ] lists · d card ", MUTED)
    lines: list[Line] = [spread([(" clock ", MUTED), *_clock(picture, look)], [keys], width)]
    if lost is not None:
        at = format_instant(lost[1], look)
        lines.append(((" ", PLAIN), (f"last known shown; since {at} {lost[0]}", FAILED)))
    line: list[Run] = [(" ", PLAIN)]
    for one in Tab:
        here = one is tab
        line += [(f"{'▸' if here else ' '}{one.value} ", ACCENT if here else MUTED)]
        line += [*_held(one, picture), ("    ", PLAIN)]
    return [*lines, tuple(line)]


def _clock(picture: ServicePicture, look: Look) -> list[Run]:
    time = picture.time
    now = (format_exact_instant(time.now, look)[:-4], PLAIN)
    if time.is_virtual:
        return [now, ("   virtual: it stands still until C moves it", MUTED)]
    if time.kind == "real":
        return [("real", PLAIN), (", the machine's own", MUTED)]
    fast = "" if time.speed is None else f", {time.speed:g} times as fast"
    return [now, ("   ", PLAIN), cell(time.kind, MUTED, limit=20), (fast, MUTED)]


def _held(tab: Tab, picture: ServicePicture) -> list[Run]:
    match tab:
        case Tab.ENDPOINTS:
            off = sum(one.is_disabled for one in picture.endpoints)
            counted: list[Run] = [(f"{len(picture.endpoints):,}", PLAIN)]
            return [*counted, (f" ✕ {off} disabled", FAILED)] if off else counted
        case Tab.PHONES:
            return [("15", PLAIN)]
        case Tab.FAULTS:
            count = sum(rule.left != 0 for rule in picture.faults)
            return [(f"{count} in force", WARN)] if count else [("none", PLAIN)]
        case Tab.KEYS:
            return [(f"{sum(key.revoked_at is None for key in picture.keys):,}", PLAIN)]


def card(thing: Thing | None, look: Look, width: int) -> list[Line]:
    """Return what is known of what the cursor points at."""
    match thing:
        case SenderEndpoint():
            return _endpoint(thing, look, width)
        case ScriptedPhone():
            return _phone(thing, width)
        case Fault():
            return _fault(thing, width)
        case ServiceKey():
            return _key(thing, look, width)
        case None:
            return [(("j and k move", MUTED),)]


def tried(trials: Sequence[Trial], look: Look, width: int) -> list[Line]:
    """Return the test collections asked for here, newest first, expected beside found."""
    wide = width >= _WIDE
    lines: list[Line] = []
    for trial in reversed(trials):
        found = _became(trial)
        phone: Line = ((fit(mask_phone(trial.phone.number), 14), MUTED),) if wide else ()
        lines.append(
            (
                (fit(f" {format_instant(trial.at, look)}", 11), MUTED),
                (fit(trial.reference, 17), PLAIN),
                *phone,
                ("to come ", MUTED),
                (fit(trial.phone.outcome, 22 if wide else 20), PLAIN),
                *found,
            )
        )
    return lines


def _became(trial: Trial) -> list[Run]:
    if trial.collection is not None:
        found = [vocabulary.status(trial.collection.status)]
        if trial.collection.failure_code:
            found += [(" ", PLAIN), cell(trial.collection.failure_code, FAILED, limit=40)]
        return found
    return [
        ("being sent", MUTED) if trial.intent is None else vocabulary.intent(trial.intent.state)
    ]


def _endpoint(one: SenderEndpoint, look: Look, width: int) -> list[Line]:
    lines = [
        *wrapped(cell(one.url, limit=200)[0], width, role=STRONG),
        labelled("id", cell(one.id, limit=60)),
        labelled("mode", mode(one.mode)),
        labelled("state", state(one)),
        labelled("made", (format_instant(one.created_at, look), PLAIN)),
        _BLANK,
        labelled("fuse", fuse(one, look)),
    ]
    if one.disables_at is not None:
        lines.pop()  # said with more below
    if one.failing_since is not None:
        lines.append(labelled("fails since", (format_instant(one.failing_since, look), FAILED)))
    if one.disables_at is not None:
        lines.append(labelled("disables", (format_due(one.disables_at, look), WARN)))
        said = "A failure at or after that instant disables it; one 2xx puts the fuse out."
        lines += wrapped(said, width, role=MUTED)
    if one.is_disabled:
        said = "Nothing is sent to it. Its deliveries are held, and resume when it is enabled."
        lines += wrapped(said, width, role=WARN)
    return lines


def _phone(one: ScriptedPhone, width: int) -> list[Line]:
    stays = one.outcome == "created"
    end = "stays created" if stays else f"comes to {one.outcome}"
    said = f"A test collection on this phone {end}: {one.what}."
    when = "" if stays else " It ends within 10 to 20 s."
    return [
        ((mask_phone(one.number), STRONG),),
        _BLANK,
        *wrapped(said, width),
        _BLANK,
        *wrapped(f"Test mode never moves money.{when}", width, role=MUTED),
    ]


def _fault(one: Fault, width: int) -> list[Line]:
    what = FAULTS.get(one.kind, "a fault that this console does not know")
    lines = [(cell(one.kind, STRONG, limit=40),), *wrapped(what, width), _BLANK]
    if one.rule is None:
        return [*lines, labelled("state", ("· off", MUTED))]
    lasts = span_of(one.rule.seconds)
    return [
        *lines,
        labelled("state", ("● in force", WARN) if one.rule.left != 0 else ("· spent", MUTED)),
        labelled("strikes", (one.rule.frequency, PLAIN)),
        labelled("lasts", (lasts, PLAIN), ("   where it lasts", MUTED)),
        labelled("struck", (f"{one.rule.struck:,} times", PLAIN)),
    ]


def span_of(seconds: float) -> str:
    """Return a fault's seconds, which may be negative for a clock that is behind."""
    return f"{seconds:g} s"


def _key(one: ServiceKey, look: Look, width: int) -> list[Line]:
    lines = [
        *wrapped(cell(one.id, limit=80)[0], width, role=STRONG),
        labelled("mode", mode(one.mode)),
        labelled("access", cell(one.access, limit=20)),
        labelled("ends in", cell(one.hint, limit=12)),
        labelled("made", (format_instant(one.created_at, look), PLAIN)),
    ]
    if one.revoked_at is not None:
        ago = format_duration(look.now - one.revoked_at, parts=1)
        lines.append(
            labelled("revoked", (f"{format_instant(one.revoked_at, look)}, {ago} ago", FAILED))
        )
    return [*lines, _BLANK, *wrapped("The key itself was shown once.", width, role=MUTED)]
