"""What is asked of the one box, and what was found: every match with the way that led to it."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.lookup.search.by_message import MessageMatch
from kusanya.store.records import CollectionRow, IntentRow
from kusanya.wire import Mode


class MatchKind(StrEnum):
    """How a collection was found; in the order in which matches are ranked."""

    ID = "id"
    CREATION = "creation"
    """The id of the creation that became it."""
    EVENT = "event"
    CLAIM = "claimed by a delivery"
    REFERENCE = "reference"
    RECEIPT = "receipt of the operator"
    PHONE_AND_AMOUNT = "phone and amount"
    PHONE = "phone"
    PREFIX = "beginning of a reference"
    NOTE = "note"
    PART = "part of a reference"
    SPELLING = "reference in another spelling"
    PHONE_END = "end of a phone"
    AMOUNT = "amount"
    METADATA = "metadata"
    DESCRIPTION = "description"
    MESSAGE = "the customer's message"


_UNNAMED: Final = frozenset({MatchKind.AMOUNT, MatchKind.PHONE_END})
"""What is found so may be another customer's."""


class Match(msgspec.Struct, frozen=True):
    """One collection and how the text led to it."""

    row: CollectionRow
    kind: MatchKind


class CreationMatch(msgspec.Struct, frozen=True):
    """One creation that no collection is known of, and how the text led to it."""

    intent: IntentRow
    kind: MatchKind


class LookupResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a text may mean in one mode, best first."""

    text: str
    creations: tuple[CreationMatch, ...] = ()
    """Creations without a known collection: their customers may have been asked to pay."""
    matches: tuple[Match, ...] = ()
    more: bool = False
    """True when more begin with this text than are listed."""
    elsewhere: int = 0
    """How many match in the other mode; counted only when none does in this one."""
    looked_at: str = ""
    """Which amount and time were looked for, or which words of the text, safe to show; empty where
    the text was looked for whole."""
    phones: int = 0
    """How many phone numbers the text was read as; of several none is looked up."""
    phone_end_in: str = ""
    """Among which collections the text was looked for as the end of a phone, in words."""
    words: tuple[str, ...] = ()
    """Which words of the text were looked for in vain, each alone; safe to show, no phones."""
    trouble: str | None = None
    """Why a text that looks like a phone number cannot be one, or a message no confirmation."""
    messages: tuple[MessageMatch, ...] = ()
    """What a pasted confirmation says, and which payment it can be."""
    is_message: bool = False
    """True where the text was read as a message, not as something to look up as it is."""
    is_unread: bool = False
    """True where it may be a confirmation, in a form that we do not know: what is found is what its
    words name."""

    @property
    def is_claim(self) -> bool:
        """Return whether the customer says with an operator's message that one of these is paid."""
        read = any(message.rows or message.creations for message in self.messages)
        return read or (self.is_unread and self.count > 0)

    @property
    def is_unsure(self) -> bool:
        """Return whether a message led here and does not tell for sure which payment is its own.

        Nothing is said to the customer about any of them before a person has chosen one.
        """
        doubtful = any(message.row is None or message.is_doubtful for message in self.messages)
        unnamed = self.is_unread and self.kinds <= _UNNAMED
        return self.is_claim and (doubtful or unnamed)

    @property
    def count(self) -> int:
        """Count everything that was found in this mode."""
        return len(self.creations) + len(self.matches)

    @property
    def kinds(self) -> frozenset[MatchKind]:
        """Return every way in which anything was found."""
        of_creations = {match.kind for match in self.creations}
        return frozenset(of_creations | {match.kind for match in self.matches})


class Candidates(msgspec.Struct, frozen=True):
    """What one way of reading a text leads to."""

    matches: list[Match] = []
    creations: list[CreationMatch] = []
    looked_at: str = ""
    phone_end_in: str = ""
    words: tuple[str, ...] = ()


class LookupQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, in one mode."""

    text: str
    mode: Mode
    now: datetime
    day: Callable[[datetime], datetime]
    limit: int
