"""What people left behind: notes on a subject, the audit of their acts, who looks after what."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.store.records.paging import Key
from kusanya.wire import Mode

NOT_DONE: Final = ("failed", "refused", "unknown")
"""What the outcome of an act that changed nothing begins with."""


class Note(msgspec.Struct, frozen=True):
    """What a person writes on a collection or an intent.

    Every place that a note passes, from the dialog to the story, takes it as it is declared here.
    """

    text: str
    """Searched by the lookup."""

    @property
    def words(self) -> str:
        """Return what a reader sees of it; a person's own words."""
        return self.text

    @property
    def outline(self) -> str:
        """Return what the audit keeps of it: none of its words."""
        return f"{len(self.text)} characters"


class NoteRow(Note, frozen=True, kw_only=True):
    """A note as it is kept."""

    id: str
    seq: int
    subject: str
    """The id it belongs to."""
    mode: Mode
    author: str
    at: datetime


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """An act of a person: what, on what, why, how it ended."""

    id: str
    seq: int
    at: datetime
    actor: str
    act: str
    subject: str | None
    detail: str
    outcome: str

    @property
    def key(self) -> Key:
        """Return this record's place in the journal, for paging."""
        return Key(self.seq, self.id)

    @property
    def is_done(self) -> bool:
        """Return whether the act neither failed nor was refused."""
        return not self.outcome.startswith(NOT_DONE)


class Acknowledgement(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks after an alarm, or has muted it, and what they said."""

    alarm: str
    """The id of one outbreak; of what is muted its name in every outbreak."""
    at: datetime
    actor: str
    until: datetime | None = None
    """When a mute ends; None where somebody looks after the alarm, for as long as it stands."""
    reason: str


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which acts a list holds: terms are joined by AND, the values of one term by OR.

    An empty term does not restrict.
    """

    actors: tuple[str, ...] = ()
    """Parts of the names of those who acted, in any case."""
    acts: tuple[str, ...] = ()
    """Parts of what they did, in any case; a space also finds an underscore."""
    exactly: tuple[str, ...] = ()
    """Whole names of what they did: these and no others."""
    but: tuple[str, ...] = ()
    """Whole names of what is left out."""
    subjects: tuple[str, ...] = ()
    """Whole ids of what it was done to."""
    since: datetime | None = None
    until: datetime | None = None
    """Up to, not including."""
    unwell: bool = False
    """Keep only what failed or was refused."""
