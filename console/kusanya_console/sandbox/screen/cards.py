"""The Service screen in words: its clock, the card of what the cursor points at, what was tried.

Pure: lines from frozen values.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.domain.status import OPEN
from kusanya.privacy import mask_phone
from kusanya.say import plural
from kusanya.store.records import CollectionRow, IntentRow
from kusanya_console.sandbox.dashboard.phones import ScriptedPhone
from kusanya_console.sandbox.dashboard.records import ServiceKey, ServicePicture
from kusanya_console.sandbox.screen.parsing import FAULTS
from kusanya_console.sandbox.screen.tables import Fault, ServiceTab, Thing, fuse, mode, state
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
from kusanya_console.ui.language import translate
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
    tab: ServiceTab,
    look: Look,
    width: int,
) -> list[Line]:
    """Return the service's clock, then the lists with what each one holds."""
    if picture is None:
        said = (translate("asking the service"), MUTED)
        if lost is not None:
            said = (translate(lost[0]), FAILED)
        return [((" ", PLAIN), said), _BLANK]
    keys = (f"{translate('[ ] lists · d card')} ", MUTED)
    lines: list[Line] = [
        spread([(f" {translate('clock')} ", MUTED), *_clock(picture, look)], [keys], width)
    ]
    if lost is not None:
        at = format_instant(lost[1], look)
        since = translate("last known shown; since {at}", at=at)
        lines.append(((" ", PLAIN), (f"{since} {translate(lost[0])}", FAILED)))
    line: list[Run] = [(" ", PLAIN)]
    for one in ServiceTab:
        here = one is tab
        line += [(f"{'▸' if here else ' '}{translate(one.value)} ", ACCENT if here else MUTED)]
        line += [*_counts(one, picture), ("    ", PLAIN)]
    return [*lines, tuple(line)]


def _clock(picture: ServicePicture, look: Look) -> list[Run]:
    time = picture.time
    now = (format_exact_instant(time.now, look)[:-4], PLAIN)
    if time.is_virtual:
        return [now, (f"   {translate('virtual: it stands still until C moves it')}", MUTED)]
    if time.kind == "real":
        return [(translate("real"), PLAIN), (translate(", the machine's own"), MUTED)]
    fast = ""
    if time.speed is not None:
        fast = translate(", {speed} times as fast", speed=f"{time.speed:g}")
    return [now, ("   ", PLAIN), cell(time.kind, MUTED, limit=20), (fast, MUTED)]


def _counts(tab: ServiceTab, picture: ServicePicture) -> list[Run]:
    match tab:
        case ServiceTab.ENDPOINTS:
            off = sum(one.is_disabled for one in picture.endpoints)
            counted: list[Run] = [(f"{len(picture.endpoints):,}", PLAIN)]
            said = translate("✕ {count} disabled", count=off)
            return [*counted, (f" {said}", FAILED)] if off else counted
        case ServiceTab.PHONES:
            return [("15", PLAIN)]
        case ServiceTab.FAULTS:
            count = sum(rule.left != 0 for rule in picture.faults)
            said = translate("{count} in force", count=count)
            return [(said, WARN)] if count else [(translate("none"), PLAIN)]
        case ServiceTab.KEYS:
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
            return [((translate("j and k move"), MUTED),)]


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
                (f"{translate('to come')} ", MUTED),
                (fit(translate(trial.phone.outcome), 22 if wide else 20), PLAIN),
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
        (translate("being sent"), MUTED)
        if trial.intent is None
        else vocabulary.intent(trial.intent.state)
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
        lines += wrapped(translate(said), width, role=MUTED)
    if one.is_disabled:
        said = "Nothing is sent to it. Its deliveries are held, and resume when it is enabled."
        lines += wrapped(translate(said), width, role=WARN)
    return lines


def _phone(one: ScriptedPhone, width: int) -> list[Line]:
    stays = one.outcome in OPEN
    said = "A test collection on this phone stays created: {what}."
    money = "Test mode never moves money."
    if not stays:
        said = "A test collection on this phone comes to {outcome}: {what}."
        money = "Test mode never moves money. It ends within 10 to 20 s."
    said = translate(said, outcome=translate(one.outcome), what=translate(one.what))
    return [
        ((mask_phone(one.number), STRONG),),
        _BLANK,
        *wrapped(said, width),
        _BLANK,
        *wrapped(translate(money), width, role=MUTED),
    ]


def _fault(one: Fault, width: int) -> list[Line]:
    what = translate(FAULTS.get(one.kind, "a fault that this console does not know"))
    lines = [(cell(one.kind, STRONG, limit=40),), *wrapped(what, width), _BLANK]
    if one.rule is None:
        return [*lines, labelled("state", (translate("· off"), MUTED))]
    lasts = span_of(one.rule.seconds)
    state = (translate("· spent"), MUTED)
    if one.rule.left != 0:
        state = (translate("● in force"), WARN)
    return [
        *lines,
        labelled("state", state),
        labelled("strikes", (translate(one.rule.frequency), PLAIN)),
        labelled("lasts", (lasts, PLAIN), (f"   {translate('where it lasts')}", MUTED)),
        labelled("struck", (translate(plural(one.rule.struck, "once", "{count} times")), PLAIN)),
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
        said = translate(
            "{at}, {age} ago",
            at=format_instant(one.revoked_at, look),
            age=format_duration(look.now - one.revoked_at, parts=1),
        )
        lines.append(labelled("revoked", (said, FAILED)))
    return [
        *lines,
        _BLANK,
        *wrapped(translate("The key itself was shown once."), width, role=MUTED),
    ]
