"""The four lists of the Service screen: what stands in each, and what each line says.

Pure: items from the picture of the service. An item's `seq` changes with what its line says, so
that a table draws it again exactly when it reads differently.
"""

from enum import StrEnum
from typing import Final
from zlib import crc32

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.domain.status import Status
from kusanya.privacy import mask_phone
from kusanya.wire import Mode
from kusanya_console.sandbox.dashboard.phones import SCRIPTED, ScriptedPhone
from kusanya_console.sandbox.dashboard.records import FaultRule, ServiceKey, ServicePicture
from kusanya_console.sandbox.screen.parsing import FAULTS
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_duration, format_instant
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, LIVE, MUTED, PLAIN, WARN, Run, role_of


class ServiceTab(StrEnum):
    """The lists, in their order."""

    ENDPOINTS = "endpoints"
    PHONES = "phones"
    FAULTS = "faults"
    KEYS = "keys"


class Fault(msgspec.Struct, frozen=True):
    """A kind of fault, and its rule where it is in force."""

    kind: str
    rule: FaultRule | None


Thing = SenderEndpoint | ScriptedPhone | Fault | ServiceKey


class Item(msgspec.Struct, frozen=True):
    """One line of a list: what it is about, and what its columns say."""

    id: str
    seq: int
    cells: tuple[Run, ...]
    of: Thing


def _column(number: int, title: str, width: int, **options: int | bool) -> Column[Item]:
    return Column(title, width, lambda item, _look: item.cells[number], **options)  # type: ignore[arg-type] # the options of Column


COLUMNS: Final[dict[ServiceTab, tuple[Column[Item], ...]]] = {
    ServiceTab.ENDPOINTS: (
        _column(0, "sent to", 24, grows=40),
        _column(1, "mode", 4),
        _column(2, "state", 10),
        _column(3, "disable fuse, 72 h", 22, grows=20, rank=1),
    ),
    ServiceTab.PHONES: (
        _column(0, "phone", 12),
        _column(1, "comes to", 21),
        _column(2, "what happens", 30, grows=20, rank=1),
    ),
    ServiceTab.FAULTS: (
        _column(0, "fault", 18),
        _column(1, "state", 10),
        _column(2, "strikes", 25, grows=10),
        _column(3, "struck", 6, right=True),
        _column(4, "what goes wrong", 20, grows=20, rank=1),
    ),
    ServiceTab.KEYS: (
        _column(0, "key", 20, grows=18, names=True),
        _column(1, "mode", 4),
        _column(2, "access", 6),
        _column(3, "ends in", 8),
        _column(4, "made", 9, rank=1),
        _column(5, "state", 19),
    ),
}


def items(tab: ServiceTab, picture: ServicePicture, look: Look) -> tuple[Item, ...]:
    """Return the lines of one list; a key that works stands before a revoked one."""
    match tab:
        case ServiceTab.ENDPOINTS:
            return tuple(_endpoint(one, look) for one in picture.endpoints)
        case ServiceTab.PHONES:
            return tuple(_phone(one) for one in SCRIPTED)
        case ServiceTab.FAULTS:
            return tuple(_fault(one) for one in all_faults(picture))
        case ServiceTab.KEYS:
            ranked = sorted(picture.keys, key=lambda key: key.revoked_at is not None)
            return tuple(_key(one, look) for one in ranked)


def all_faults(picture: ServicePicture) -> list[Fault]:
    """Return every fault that is known or in force."""
    rules = {rule.kind: rule for rule in picture.faults}
    known = [Fault(kind, rules.get(kind)) for kind in FAULTS]
    return [*known, *(Fault(kind, rule) for kind, rule in rules.items() if kind not in FAULTS)]


def state(endpoint: SenderEndpoint) -> Run:
    """Return whether the sender delivers to an endpoint, as glyph and word."""
    if endpoint.is_disabled:
        return translate("✕ disabled"), FAILED
    if endpoint.failing_since is not None:
        return translate("✕ failing"), FAILED
    return (
        (translate("● enabled"), PLAIN)
        if endpoint.status == "enabled"
        else cell(endpoint.status, WARN)
    )


def fuse(endpoint: SenderEndpoint, look: Look) -> Run:
    """Return what the sender's own fuse says."""
    if endpoint.is_disabled:
        if endpoint.disabled_at is None:
            return translate("blown"), FAILED
        return translate("blown {at}", at=format_instant(endpoint.disabled_at, look)), FAILED
    at = endpoint.disables_at
    if at is None:
        return translate("not lit"), MUTED
    return f"{format_instant(at, look)}, {format_duration(at - look.now)}", WARN


def mode(word: str) -> Run:
    """Return a mode; live is loud, because its money is real."""
    return (word, LIVE) if word == Mode.LIVE else cell(word, limit=8)


def _item(name: str, of: Thing, *cells: Run) -> Item:
    return Item(name, crc32(repr(cells).encode()), cells, of)


def _endpoint(one: SenderEndpoint, look: Look) -> Item:
    return _item(one.id, one, cell(one.url, limit=200), mode(one.mode), state(one), fuse(one, look))


_ENDS: Final[dict[str, str]] = {status: role_of(status) for status in Status}


def _phone(one: ScriptedPhone) -> Item:
    return _item(
        one.number,
        one,
        (mask_phone(one.number), PLAIN),
        (translate(one.outcome), _ENDS.get(one.outcome, FAILED)),
        (translate(one.what), MUTED),
    )


def _fault(one: Fault) -> Item:
    rule = one.rule
    what = translate(FAULTS.get(one.kind, "a fault that this console does not know"))
    if rule is None:
        off = ((translate("· off"), MUTED), ("—", MUTED), ("—", MUTED))
        return _item(one.kind, one, (one.kind, MUTED), *off, (what, MUTED))
    spent = rule.left == 0
    state = (translate("· spent"), MUTED) if spent else (translate("● in force"), WARN)
    cells = (
        state,
        (translate(rule.frequency), PLAIN),
        (f"{rule.struck:,}", PLAIN),
        (what, MUTED),
    )
    return _item(one.kind, one, cell(one.kind, limit=40), *cells)


def _key(one: ServiceKey, look: Look) -> Item:
    works = one.revoked_at is None
    state = (translate("● works"), PLAIN)
    if not works:
        state = translate("✕ revoked {at}", at=format_instant(one.revoked_at, look)), MUTED
    return _item(
        one.id, one, cell(one.id, limit=80), mode(one.mode), cell(one.access, limit=8),
        cell(one.hint, MUTED, limit=8), (format_instant(one.created_at, look), MUTED), state,
    )  # fmt: skip
