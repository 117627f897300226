"""What a console may do beyond looking: ask the service, and act. Screens get these built, or None.

Every method blocks, runs on a worker thread, and returns a sentence for the result line or raises
a KusanyaError that is one.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from kusanya.secret import Secret

if TYPE_CHECKING:  # the first paint needs none of them
    from kusanya.intents import Candidate
    from kusanya.store.records import DeliveryBody, DeliveryRow, IntentRow
    from kusanya.webhooks.forensics import Finding
    from kusanya.wire import Mode
    from kusanya_console.dashboard.phones import ScriptedPhone
    from kusanya_console.dashboard.records import (
        Endpoint,
        FaultRule,
        SentDelivery,
        ServiceKey,
        ServicePicture,
    )

NO_KEY: Final = "off: no API key in the profile; set KUSANYA_API_KEY and KUSANYA_BASE_URL"
PAST: Final = "off: this console shows what was known then, and only looks"
READ_ONLY: Final = "off: read-only; start with --allow-writes"
NO_SERVICE: Final = (
    "off: only the embedded service has this; set KUSANYA_DASHBOARD_URL and "
    "KUSANYA_DASHBOARD_TOKEN to what kusanya service prints"
)


class Ended(msgspec.Struct, frozen=True):
    """How something ended, for the result line that stays until it is dismissed."""

    sentence: str
    well: bool = True
    file: Path | None = None
    """What was written, where a browser has to be handed it."""


class Revealed(msgspec.Struct, frozen=True):
    """A phone number for a person's eyes alone. Its repr shows nothing of it."""

    of: str
    phone: str

    def __repr__(self) -> str:
        return f"Revealed(of={self.of!r})"


class Minted(msgspec.Struct, frozen=True):
    """A new secret, to be shown once in a dialog of its own and kept nowhere."""

    ended: Ended
    what: str
    """What it is the secret of, in words."""
    secret: Secret


Deed = Callable[[], "Ended | Revealed"]


class Asking(Protocol):
    """GETs whose answers are kept as observations."""

    def ask_collection(self, collection_id: str) -> Ended:
        """Ask for a collection as it is now."""
        ...

    def ask_event(self, event_id: str) -> Ended:
        """Ask for an event, to double-check a delivery."""
        ...

    def catch_up(self) -> Ended:
        """Ask for what is not final and for events not yet double-checked."""
        ...


class Acting(Protocol):
    """What changes something; each act leaves an audit row."""

    def why_no_replay(self, intent: "IntentRow") -> str:
        """Return why an intent may not be replayed now, or nothing; reads no store."""
        ...

    def why_no_resend(self) -> str:
        """Return why deliveries cannot be sent again, or nothing."""
        ...

    def why_no_decision(self, intent: "IntentRow") -> str:
        """Return why a person may not decide an intent now, or nothing; reads no store."""
        ...

    def add_note(self, subject: str, text: str, *, mode: "Mode") -> Ended:
        """Keep a note on a collection or an intent."""
        ...

    def examine(self, intent: "IntentRow", collection_id: str) -> "Candidate":
        """Compare the collection that a person names with the intent; asks where it can."""
        ...

    def decide(
        self, intent: "IntentRow", *, collection_id: str | None, why: str, unseen: bool = False
    ) -> Ended:
        """Record what a person found out about a creation; None says that nothing was created."""
        ...

    def acknowledge(self, alarm: str, *, name: str, why: str) -> Ended:
        """Record that a person looks after an alarm; `name` is for the screen."""
        ...

    def reveal_phone(self, collection_id: str, mode: "Mode", *, name: str) -> Revealed:
        """Return a whole phone number once the reveal is audited; `name` is for the screen."""
        ...

    def replay(self, intent: "IntentRow") -> Ended:
        """Send an intent again as it was when its dialog opened: same key, same bytes."""
        ...

    def resend(self, row: "DeliveryRow") -> Ended:
        """Let the sender deliver an event again."""
        ...


class Watching(Protocol):
    """Looking at the embedded service, where a dashboard is known. Raises DashboardError."""

    def look(self) -> "ServicePicture":
        """Return clock, endpoints, keys and faults."""
        ...

    def sent(self, event_id: str) -> "tuple[SentDelivery, ...]":
        """Return the sender's own log of one event."""
        ...


class Serving(Protocol):
    """What changes the embedded service; each act leaves an audit row.

    An endpoint or a key is the one that a dialog named: it is looked at again before it is touched.
    """

    def why_no_trial(self) -> str:
        """Return why no test collection can be created, or nothing."""
        ...

    def trial_reference(self, phone: "ScriptedPhone") -> str:
        """Return a reference that nothing has had yet."""
        ...

    def try_phone(self, phone: "ScriptedPhone", reference: str) -> Ended:
        """Create a test collection on a scripted phone, crash-safe."""
        ...

    def add_key(self, mode: "Mode") -> Minted:
        """Make an API key."""
        ...

    def revoke_key(self, key: "ServiceKey") -> Ended:
        """Let a key open nothing any more."""
        ...

    def add_endpoint(self, url: str, mode: "Mode") -> Minted:
        """Register an endpoint."""
        ...

    def enable(self, endpoint: "Endpoint") -> Ended:
        """Enable a disabled endpoint; what it held goes on."""
        ...

    def rotate(self, endpoint: "Endpoint") -> Minted:
        """Give an endpoint a new signing secret."""
        ...

    def delete(self, endpoint: "Endpoint") -> Ended:
        """Delete an endpoint; what waited for it is given up."""
        ...

    def advance(self, length: timedelta) -> Ended:
        """Move a virtual clock; returns when everything due has happened."""
        ...

    def begin_fault(self, rule: "FaultRule") -> Ended:
        """Put a fault in force beside the others, in place of one of its kind."""
        ...

    def end_faults(self, rules: "tuple[FaultRule, ...]") -> Ended:
        """End these faults and leave any others in force."""
        ...


class Explaining(Protocol):
    """Saying why a delivery was rejected, where the endpoint's secrets are known."""

    def explain(self, row: "DeliveryRow", body: "DeliveryBody") -> "Finding | None":
        """Return what is the matter, or None where nothing more can be told."""
        ...
