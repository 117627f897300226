"""What the alarm rules judge: one reading of a store, and what the sender says of its endpoints."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.alarms.silence import Silence, load_silence
from kusanya.alarms.stalled_intents import StalledIntents, count_stalled, stalled_intents
from kusanya.health import Health, health
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Mode

_UNKNOWN_READ: Final = 100


class AlarmInputs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the rules judge, as of one instant, in one mode."""

    mode: Mode
    at: datetime
    health: Health
    silence: Silence | None
    stalled: StalledIntents
    unknown: tuple[IntentRow, ...]
    """Intents whose outcome is unknown, the newest 100."""
    sender: tuple[SenderEndpoint, ...] = ()
    """What the sender says of the endpoints of this mode, where it can be asked."""

    def with_sender(self, endpoints: Iterable[SenderEndpoint]) -> "AlarmInputs":
        """Return these inputs and what the sender says; it keeps the endpoints of both modes."""
        mine = tuple(one for one in endpoints if one.mode == self.mode.value)
        return msgspec.structs.replace(self, sender=mine)


def load(store: Store, mode: Mode, *, now: datetime) -> AlarmInputs:
    """Return what a store tells of one mode; bounded lists and rollups alone. Raises StoreError."""
    return AlarmInputs(
        mode=mode,
        at=now,
        health=health(store, mode, now=now),
        silence=load_silence(store, mode, now=now),
        stalled=count_stalled(stalled_intents(store, mode, now=now), now=now),
        unknown=unknown_intents(store, mode),
    )


def unknown_intents(store: Store, mode: Mode) -> tuple[IntentRow, ...]:
    """Return the newest intents whose outcome is unknown. Raises StoreError."""
    return store.intents.page(mode, states=(IntentState.UNKNOWN,), limit=_UNKNOWN_READ).rows
