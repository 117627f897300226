"""What the screens share: the store, the clock, what may be asked and done, how times stand."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kusanya.alarms.sender import SenderEndpoint
from kusanya.clock import Clock
from kusanya.lookup import LookupResult
from kusanya.say import Said
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya_console.actions.results import (
    NO_KEY,
    NO_SERVICE,
    PAST,
    READ_ONLY,
    ActionOutcome,
    ActionResult,
    RevealedPhone,
    off,
)
from kusanya_console.actions.saved_views import SavedView
from kusanya_console.commands import COMMANDS, Command, CommandKind, keys_shown
from kusanya_console.feed import Snapshot
from kusanya_console.ui import vocabulary
from kusanya_console.ui.arrangement import Arrangements
from kusanya_console.ui.format import Look, TimeFormat

if TYPE_CHECKING:  # the first paint needs none of them
    from kusanya_console.actions.forensics import Forensics
    from kusanya_console.actions.queries import ServiceQueries
    from kusanya_console.actions.store_actions import StoreActions
    from kusanya_console.sandbox.dashboard.reader import ServiceReader
    from kusanya_console.sandbox.service_admin import ServiceAdmin

REVEALED_S: Final = 30.0


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What the cursor points at: its name for people, and what the service can be asked for."""

    name: str
    collection_id: str | None = None
    event_id: str | None = None
    intent_id: str | None = None
    copied: str = ""
    """What is copied of it, where that is not its name."""


class AppContext(msgspec.Struct, kw_only=True):
    """What the screens share: sources arrive built; what is shown of them moves on."""

    store: Store
    mode: Mode
    clock: Clock
    queries: "ServiceQueries | None" = None
    actions: "StoreActions | None" = None
    service: "ServiceReader | None" = None
    """The embedded service from its own side; None with the real one."""
    service_admin: "ServiceAdmin | None" = None
    forensics: "Forensics | None" = None
    """Explains why a delivery was rejected, where the endpoints' secrets are known."""
    payees: tuple[str, ...] = ()
    """Our names as customers' confirmation messages show them."""
    home: Mode | None = None
    """The mode of the profile and its key, where another one is looked at now."""
    profile: str = ""
    profiles: tuple[str, ...] = ()
    """Profiles of config.toml that one can go to."""
    monotonic: Callable[[], float] = time.monotonic
    """Tells when a phone is masked again."""
    read_only_reason: str = READ_ONLY
    """Why there are no actions."""
    past: bool = False
    """True where the store is shown as it was: there is nobody to ask and nothing to change."""
    folder: Path = msgspec.field(default_factory=Path.cwd)
    """Where exports and saved cards go: by default the one that the console was started in."""
    result: ActionResult | None = None
    """The result of what was asked or done last, until it is dismissed."""
    stop: Callable[[], None] | None = None
    """Lets what is under way leave its rest alone; None where nothing is that can."""
    revealed: RevealedPhone | None = None
    masked_at: float = 0.0
    times: TimeFormat = TimeFormat.EAT
    snapshot: Snapshot | None = None
    sender: tuple[SenderEndpoint, ...] = ()
    """Our endpoints as the embedded service listed them last; empty without a dashboard."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for a cursor to rest."""
    views: tuple[SavedView, ...] = ()
    """Saved filters, as they were read last."""
    claimed: set[tuple[Mode, str]] = set()
    """Collections of which a pasted confirmation may be, by mode and id: every screen says so."""
    drafts: dict[str, Note] = {}
    """Notes that could not be kept, by whom they are about: they are offered again."""
    lists: Arrangements = msgspec.field(default_factory=Arrangements)
    """How a person has arranged the columns of each list."""
    keys: Mapping[str, str] = {}
    """Keys that a person has put in place of a command's own, by its id."""

    @property
    def can_be_stopped(self) -> bool:
        """Return whether the result line says how far something has come that can be stopped."""
        result = self.result
        under_way = result is not None and result.outcome is ActionOutcome.UNDER_WAY
        return under_way and self.stop is not None

    def claim(self, found: LookupResult) -> None:
        """Remember which payments a pasted confirmation may be of, wherever they are opened."""
        if found.is_claim:
            self.claimed.update((match.row.mode, match.row.id) for match in found.matches)

    def is_claimed(self, collection_id: str) -> bool:
        """Return whether a pasted confirmation may be of this payment, see `load_timeline`."""
        return (self.mode, collection_id) in self.claimed

    @property
    def query_disabled_reason(self) -> str:
        """Return why the service cannot be asked, or nothing where it can."""
        if self.past:
            return PAST
        if self.queries is None:
            return NO_KEY
        if self.home not in {None, self.mode}:
            word, _ = vocabulary.mode_words(self.home or self.mode)
            return off(
                Said("the profile's key is of {mode}; start the console with the other key").of(
                    mode=word
                )
            )
        return ""

    @property
    def action_disabled_reason(self) -> str:
        """Return why nothing can be changed, where no actions were built."""
        return PAST if self.past else self.read_only_reason

    @property
    def service_disabled_reason(self) -> str:
        """Return why there is no service to look at, or nothing."""
        if self.service is not None:
            return ""
        return PAST if self.past else NO_SERVICE

    def disabled_reason(self, command: Command) -> str:
        """Return why a command does nothing here, or nothing where it works."""
        if command.id == "go.service":
            return self.service_disabled_reason
        if command.kind is CommandKind.ASK:
            return self.query_disabled_reason
        if command.kind is not CommandKind.ACT:
            return ""
        if self.actions is None:
            return self.action_disabled_reason
        why = self.actions.role_disabled_reason(command.id)
        if command.id == "act.resend":
            why = why or self.actions.resend_disabled_reason()
        return why

    def is_here(self, command: Command) -> bool:
        """Return whether the key bar names a command: no screen that cannot be gone to."""
        return command.id != "go.service" or self.service is not None

    def shown(self, command: Command) -> str:
        """Return a command's keys as people read them, a remapped one as it is now."""
        return keys_shown(command, self.keys)

    def key(self, command_id: str) -> str:
        """Return the keys of a command as a sentence names them."""
        return next(self.shown(one) for one in COMMANDS if one.id == command_id)

    def show(self, result: ActionResult | RevealedPhone | None) -> None:
        """Set what the result line says from now on."""
        self.result = self.revealed = None
        if isinstance(result, RevealedPhone):
            self.revealed, self.masked_at = result, self.monotonic() + REVEALED_S
        else:
            self.result = result

    def mask(self, *, now: bool = False) -> None:
        """Mask a revealed phone once its time is over, or at once."""
        if self.revealed is not None and (now or self.monotonic() >= self.masked_at):
            self.show(
                ActionResult(
                    Said("the phone of {name} is masked again").of(name=self.revealed.name)
                )
            )

    def views_of(self, name: str) -> dict[str, str]:
        """Return the saved filters of a list, by their names."""
        return {view.name: view.text for view in self.views if view.of == name}

    @property
    def look(self) -> Look:
        """Return the present instant and the way to write it."""
        return Look(self.clock.now(), self.times)

    @property
    def dated_look(self) -> Look:
        """Return the way to write what is kept or sent on: every instant with its date."""
        return Look(self.clock.now(), self.times, is_dated=True)
