"""What a console may do beyond looking: ask the service, and act. Screens get these built, or None.

Every method blocks, runs on a worker thread, and returns a sentence for the result line or raises
a KusanyaError that is one.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from kusanya.store.records import DeliveryRow, IntentRow

NO_KEY: Final = "off: no API key in the profile; set KUSANYA_API_KEY and KUSANYA_BASE_URL"
READ_ONLY: Final = "off: read-only; start with --allow-writes"


class Ended(msgspec.Struct, frozen=True):
    """How something ended, for the result line that stays until it is dismissed."""

    sentence: str
    well: bool = True


class Revealed(msgspec.Struct, frozen=True):
    """A phone number for a person's eyes alone. Its repr shows nothing of it."""

    of: str
    phone: str

    def __repr__(self) -> str:
        return f"Revealed(of={self.of!r})"


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

    def why_no_replay(self, intent: IntentRow) -> str:
        """Return why an intent may not be replayed now, or nothing; reads no store."""
        ...

    def why_no_resend(self) -> str:
        """Return why deliveries cannot be sent again, or nothing."""
        ...

    def add_note(self, collection_id: str, text: str) -> Ended:
        """Keep a note on a collection."""
        ...

    def reveal_phone(self, collection_id: str, *, name: str) -> Revealed:
        """Return a whole phone number once the reveal is audited; `name` is for the screen."""
        ...

    def replay(self, intent: IntentRow) -> Ended:
        """Send an intent again as it was when its dialog opened: same key, same bytes."""
        ...

    def resend(self, row: DeliveryRow) -> Ended:
        """Let the sender deliver an event again."""
        ...
