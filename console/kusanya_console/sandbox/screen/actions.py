"""What can be done on the Service screen, by its key, and why it does nothing here.

Pure. The keys that act and the card that lists them ask the same functions.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.say import Said
from kusanya_console.actions.results import READ_ONLY, off
from kusanya_console.sandbox.dashboard.phones import ScriptedPhone
from kusanya_console.sandbox.dashboard.records import ServiceKey, ServicePicture
from kusanya_console.sandbox.screen.tables import Fault, ServiceTab, Thing
from kusanya_console.ui.format import Line, cell, fit, rule, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN


class ServiceAction(StrEnum):
    """What can be done here, by the key that does it."""

    USE = "enter"
    ADD = "A"
    ENABLE = "E"
    ROTATE = "R"
    DELETE = "X"
    ADVANCE = "C"
    NO_FAULTS = "F"


class ActionContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where a key is pressed: the list, what the cursor points at, and how the service stands."""

    tab: ServiceTab
    thing: Thing | None
    picture: ServicePicture
    no_trial: str = ""
    """Why no test collection can be created, or nothing."""


def disabled_reason(action: ServiceAction, at: ActionContext) -> str:
    """Return why an act does nothing here, or nothing."""
    return _WHY[action](at)


def action_lines(at: ActionContext, width: int, *, read_only: bool) -> list[Line]:
    """Return the keys that act here, each with its reason where it is off."""
    lines: list[Line] = [(), rule("acts", width)]
    for action, label in _labels(at):
        why = READ_ONLY if read_only else disabled_reason(action, at)
        head = (fit(action.value, 7), MUTED if why else ACCENT)
        lines.append((head, (translate(label), MUTED if why else PLAIN)))
        if why and not read_only:
            lines += wrapped(translate(why), width, indent=7, role=MUTED)
    return [*lines, *wrapped(translate(READ_ONLY), width, role=MUTED)] if read_only else lines


def _use(at: ActionContext) -> str:
    if isinstance(at.thing, ScriptedPhone):
        return at.no_trial
    return "" if isinstance(at.thing, Fault) else "enter works on phones and on faults"


def _add(at: ActionContext) -> str:
    return (
        ""
        if at.tab in {ServiceTab.ENDPOINTS, ServiceTab.KEYS}
        else "endpoints and keys can be added"
    )


def _enable(at: ActionContext) -> str:
    if not isinstance(at.thing, SenderEndpoint):
        return "an endpoint can be enabled, and the cursor points at none"
    return "" if at.thing.is_disabled else off("this endpoint is enabled")


def _rotate(at: ActionContext) -> str:
    return "" if isinstance(at.thing, SenderEndpoint) else "only an endpoint has a signing secret"


def _delete(at: ActionContext) -> str:
    if isinstance(at.thing, ServiceKey):
        return "" if at.thing.revoked_at is None else off("this key is revoked already")
    return "" if isinstance(at.thing, SenderEndpoint) else "endpoints and keys can be deleted"


def _advance(at: ActionContext) -> str:
    if at.picture.time.is_virtual:
        return ""
    return off(
        Said("this clock is {our_kind}, it runs by itself").of(
            our_kind=cell(at.picture.time.kind, limit=20)[0]
        )
    )


def _no_faults(at: ActionContext) -> str:
    return "" if at.picture.faults else off("no fault is in force")


_WHY: Final[Mapping[ServiceAction, Callable[[ActionContext], str]]] = {
    ServiceAction.USE: _use,
    ServiceAction.ADD: _add,
    ServiceAction.ENABLE: _enable,
    ServiceAction.ROTATE: _rotate,
    ServiceAction.DELETE: _delete,
    ServiceAction.ADVANCE: _advance,
    ServiceAction.NO_FAULTS: _no_faults,
}


def _labels(at: ActionContext) -> list[tuple[ServiceAction, str]]:
    clock = (ServiceAction.ADVANCE, "advance the clock…")
    match at.tab:
        case ServiceTab.ENDPOINTS:
            mine = [(ServiceAction.ENABLE, "enable…"), (ServiceAction.ROTATE, "rotate its secret…")]
            held = [*mine, (ServiceAction.DELETE, "delete it…")] if at.thing is not None else []
            return [*held, (ServiceAction.ADD, "add an endpoint…"), clock]
        case ServiceTab.PHONES:
            return [(ServiceAction.USE, "create a test collection…"), clock]
        case ServiceTab.FAULTS:
            on = isinstance(at.thing, Fault) and at.thing.rule is not None
            put = "end this fault…" if on else "put it in force…"
            return [(ServiceAction.USE, put), (ServiceAction.NO_FAULTS, "end all faults…"), clock]
        case ServiceTab.KEYS:
            mine = [(ServiceAction.DELETE, "revoke it…")] if at.thing is not None else []
            return [*mine, (ServiceAction.ADD, "make a key of this mode…"), clock]
