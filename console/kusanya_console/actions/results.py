"""What an action of the console comes to: the line that says so, a new secret, a revealed phone.

Every action blocks, runs on a worker thread, and returns one of these or raises a KusanyaError.
"""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from kusanya.privacy.secret import Secret
from kusanya.say import Said

_OFF: Final = "off: {our_why}"


def off(why: str) -> Said:
    """Return why a command does nothing here, as its reason is shown."""
    return Said(_OFF).of(our_why=why)


def why_off(reason: str) -> str:
    """Return a reason alone: that of `off`, or the one that is given."""
    if isinstance(reason, Said) and reason.key == _OFF:
        return str(reason.values["our_why"])
    return reason


NO_KEY: Final = off("no API key in the profile; set KUSANYA_API_KEY and KUSANYA_BASE_URL")
PAST: Final = off("this console shows what was known then, and only looks")
READ_ONLY: Final = off("read-only; start with --allow-writes")
NO_ROLE: Final = off("read-only; you have no role here that may change anything, ask for one")
NO_SERVICE: Final = off(
    "only the embedded service has this; set KUSANYA_DASHBOARD_URL and "
    "KUSANYA_DASHBOARD_TOKEN to what kusanya service prints"
)


class ActionOutcome(StrEnum):
    """How an action ended, for programs: nobody reads the sentence to decide."""

    DONE = "done"
    ACKNOWLEDGED = "acknowledged"
    NOTHING_TO_DO = "nothing to do"
    FAILED = "failed"
    UNDER_WAY = "under way"
    DIFFERS = "differs"
    """What was asked for is done, and it found a difference that a person should see."""
    NOT_AUDITED = "not audited"
    """It has happened, and its audit row could not be written."""


_GOOD: Final = frozenset({ActionOutcome.DONE, ActionOutcome.ACKNOWLEDGED, ActionOutcome.UNDER_WAY})


class ActionResult(msgspec.Struct, frozen=True):
    """How an action ended, for the result line that stays until it is dismissed."""

    sentence: str
    outcome: ActionOutcome = ActionOutcome.DONE
    file: Path | None = None
    """What was written, where a browser has to be handed it."""

    @property
    def is_good(self) -> bool:
        """Return whether it did what was asked, or is still doing it."""
        return self.outcome in _GOOD


class RevealedPhone(msgspec.Struct, frozen=True):
    """A phone number for a person's eyes alone. Its repr shows nothing of it."""

    name: str
    """Whose it is: the reference of the payment."""
    phone: str

    def __repr__(self) -> str:
        return f"RevealedPhone(name={self.name!r})"


class NewSecret(msgspec.Struct, frozen=True):
    """A new secret, to be shown once in a dialog of its own and kept nowhere."""

    result: ActionResult
    label: str
    """What it is the secret of, in words."""
    secret: Secret
