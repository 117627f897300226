"""What the screens are given: the store, the clock, what may be asked and done, how times stand."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kusanya.clock import Clock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.results import (
    NO_KEY,
    NO_SERVICE,
    PAST,
    READ_ONLY,
    Acting,
    Asking,
    Ended,
    Explaining,
    Revealed,
    Serving,
    Watching,
)
from kusanya_console.commands import COMMANDS, Command, Kind, keys_shown
from kusanya_console.dashboard.records import Endpoint
from kusanya_console.feed import Snapshot
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import Look, TimeFormat

REVEALED_S: Final = 30.0


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the cursor points at: its name for people, and what the service can be asked for."""

    name: str
    collection_id: str | None = None
    event_id: str | None = None
    intent_id: str | None = None


class Desk(msgspec.Struct, kw_only=True):
    """What the screens are given: sources arrive built; what is shown of them moves on."""

    store: Store
    mode: Mode
    clock: Clock
    asks: Asking | None = None
    acts: Acting | None = None
    service: Watching | None = None
    """The embedded service from its own side; None with the real one."""
    serving: Serving | None = None
    explaining: Explaining | None = None
    home: Mode | None = None
    """The mode of the profile and its key, where another one is looked at now."""
    monotonic: Callable[[], float] = time.monotonic
    past: bool = False
    """True where the store is shown as it was: there is nobody to ask and nothing to change."""
    folder: Path = Path()
    """Where exports and saved cards go."""
    ended: Ended | None = None
    """The result of what was asked or done last, until it is dismissed."""
    revealed: Revealed | None = None
    masked_at: float = 0.0
    times: TimeFormat = TimeFormat.EAT
    snapshot: Snapshot | None = None
    sender: tuple[Endpoint, ...] = ()
    """Our endpoints as the embedded service told of them last; empty without a dashboard."""
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    keys: Mapping[str, str] = {}
    """Keys that a person has put in place of a command's own, by its id."""

    @property
    def why_no_ask(self) -> str:
        """Return why the service cannot be asked, or nothing where it can."""
        if self.past:
            return PAST
        if self.asks is None:
            return NO_KEY
        if self.home not in {None, self.mode}:
            word, _ = vocabulary.mode_words(self.home or self.mode)
            return f"off: the profile's key is of {word}; start the console with the other key"
        return ""

    @property
    def why_no_act(self) -> str:
        """Return why nothing can be changed, where no acts were built."""
        return PAST if self.past else READ_ONLY

    @property
    def why_no_service(self) -> str:
        """Return why there is no service to look at, or nothing."""
        if self.service is not None:
            return ""
        return PAST if self.past else NO_SERVICE

    def why_off(self, command: Command) -> str:
        """Return why a command does nothing here, or nothing where it works."""
        if command.id == "go.service":
            return self.why_no_service
        if command.kind is Kind.ASK:
            return self.why_no_ask
        if command.kind is not Kind.ACT:
            return ""
        if self.acts is None:
            return self.why_no_act
        return self.acts.why_no_resend() if command.id == "act.resend" else ""

    def is_here(self, command: Command) -> bool:
        """Tell whether the key bar names a command: no screen that cannot be gone to."""
        return command.id != "go.service" or self.service is not None

    def shown(self, command: Command) -> str:
        """Return a command's keys as people read them, a remapped one as it is now."""
        return keys_shown(command, self.keys)

    def key(self, command_id: str) -> str:
        """Return the keys of a command as a sentence names them."""
        return next(self.shown(one) for one in COMMANDS if one.id == command_id)

    def tell(self, ended: Ended | Revealed | None) -> None:
        """Take what the result line says from now on."""
        self.ended = self.revealed = None
        if isinstance(ended, Revealed):
            self.revealed, self.masked_at = ended, self.monotonic() + REVEALED_S
        else:
            self.ended = ended

    def mask(self, *, now: bool = False) -> None:
        """Mask a revealed phone once its time is over, or at once."""
        if self.revealed is not None and (now or self.monotonic() >= self.masked_at):
            self.tell(Ended(f"the phone of {self.revealed.of} is masked again"))

    @property
    def look(self) -> Look:
        """Return the present instant and the way to write it."""
        return Look(self.clock.now(), self.times)
