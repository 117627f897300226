"""What the Intents screen reads of the store and, for a decision, of the service.

Every function blocks and belongs on a worker thread.
"""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.alarms.stalled_intents import stalled_intents
from kusanya.errors import IntentError
from kusanya.intents import Candidate
from kusanya.store import Store
from kusanya.store.records import AttemptRow, IntentRow, IntentState, NoteRow
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.intents.decide import DecisionInput

_UNKNOWN_LISTED: Final = 200
_OTHERS_LISTED: Final = 200


class IntentList(msgspec.Struct, frozen=True):
    """What the screen lists: unknown outcomes first, the shortest window first among them."""

    rows: tuple[IntentRow, ...]
    more: bool = False
    """True when there are older ones, which are not listed."""


class IntentDetails(msgspec.Struct, frozen=True):
    """The attempts of one intent, and what people noted on it."""

    intent_id: str
    attempts: tuple[AttemptRow, ...]
    notes: tuple[NoteRow, ...]


def load_details(store: Store, intent: IntentRow) -> IntentDetails:
    """Return what stands beside an intent."""
    notes = store.notes.of(intent.id, intent.mode)
    return IntentDetails(intent.id, store.intents.attempts(intent.id), notes)


class DecisionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says became of an intent, and what is known of the collection they name."""

    intent: IntentRow
    said: DecisionInput
    candidate: Candidate | None = None
    refused: bool = False


def check_decision(actions: StoreActions, row: IntentRow, said: DecisionInput) -> DecisionCheck:
    """Compare the collection that is named with the intent; raises StoreError."""
    if said.collection_id is None:
        return DecisionCheck(intent=row, said=said)
    try:
        candidate = actions.examine(row, said.collection_id)
    except IntentError:
        return DecisionCheck(intent=row, said=said, refused=True)
    return DecisionCheck(intent=row, said=said, candidate=candidate)


def load_intents(store: Store, mode: Mode, *, now: datetime) -> IntentList:
    """Return the unknown ones, then those stalled, then the newest of the rest."""
    unknown = store.intents.page(mode, states=(IntentState.UNKNOWN,), limit=_UNKNOWN_LISTED)
    newest = store.intents.page(mode, limit=_OTHERS_LISTED)
    first = sorted(unknown.rows, key=lambda row: row.first_sent_at or row.prepared_at)
    stalled = sorted(
        stalled_intents(store, mode, now=now), key=lambda row: row.state is IntentState.PREPARED
    )
    named = {row.id for row in (*first, *stalled)}
    rest = (row for row in newest.rows if row.id not in named)
    return IntentList((*first, *stalled, *rest), more=unknown.more or newest.more)
