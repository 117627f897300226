"""The timeline of one creation that no collection is known of: how far it came and what is safe."""

from datetime import datetime

import msgspec

from kusanya.lookup.around import Neighbours, around
from kusanya.lookup.entries import TimelineEntry, intent_entries, note_entries
from kusanya.store import Store
from kusanya.store.records import AttemptRow, IntentRow, IntentState


class CreationTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """All that is recorded about one creation without a known collection."""

    intent: IntentRow
    at: datetime
    """When the store was read."""
    attempts: tuple[AttemptRow, ...]
    entries: tuple[TimelineEntry, ...]
    around: Neighbours
    replay_until: datetime | None
    """Until when the same key and bytes may be sent again; None where they may not."""
    outcome: str | None
    """What is recorded of its outcome, of all attempts together; None where nothing is."""

    @property
    def is_open(self) -> bool:
        """Return whether it is not known yet what becomes of it."""
        return self.intent.state in {
            IntentState.PREPARED,
            IntentState.SENT,
            IntentState.UNKNOWN,
        }

    @property
    def contradicts(self) -> bool:
        """Say whether facts contradict each other: of a creation alone there are none that can."""
        return False

    @property
    def may_have_charged(self) -> bool:
        """Return whether the customer may have been asked to pay, as far as is recorded."""
        return self.intent.state in {IntentState.SENT, IntentState.UNKNOWN}


def load_creation_timeline(
    store: Store, intent_id: str, *, now: datetime
) -> CreationTimeline | None:
    """Return the timeline of one creation, or None when the store does not know it.

    Raises StoreError when the store cannot be read.
    """
    # Late: it brings the client with it, which nothing needs before the first paint.
    from kusanya.intents.outcome import outcome_sentence
    from kusanya.intents.window import replay_left

    intent = store.intents.get(intent_id)
    if intent is None:
        return None
    attempts = store.intents.attempts(intent_id)
    entries = [
        *intent_entries(intent, attempts),
        *note_entries(store.notes.of(intent_id, intent.mode)),
    ]
    left = replay_left(intent, now=now)
    timeline = CreationTimeline(
        intent=intent,
        at=now,
        attempts=attempts,
        entries=tuple(sorted(entries, key=lambda entry: entry.at)),
        around=around(
            store,
            intent.mode,
            phone=intent.phone,
            reference=intent.reference,
            but=intent.id,
            now=now,
        ),
        replay_until=now + left if left else None,
        outcome=outcome_sentence(intent, attempts),
    )
    return timeline if timeline.is_open else msgspec.structs.replace(timeline, replay_until=None)
