"""Intents without an answer, resolved by what was seen of their collection.

A collection that carries the reference of an intent is that intent's only where nothing else can
be meant: same mode, amount and phone, created after the first sending, and one candidate on each
side. Anything less is left to a person.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kusanya.intents.leases import LEASE_TIME
from kusanya.intents.log import log_resolved, log_window_closed
from kusanya.intents.window import CLOCKS_APART, clock_was_set_back, replay_left
from kusanya.say import Said
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow, IntentState
from kusanya.wire import Collection, Mode

_WAITING: Final = (IntentState.SENT, IntentState.UNKNOWN)
OPEN: Final = (IntentState.PREPARED, *_WAITING)
"""The states in which an intent is neither answered nor over."""
_EVERY: Final = 1_000_000
"""Of one reference: the right one may be the oldest."""


def resolve_by_reference(
    store: Store, seen: Collection | CollectionRow, *, now: datetime
) -> IntentRow | None:
    """Resolve the intent that `seen` answers and return it, or None where there is none.

    Called with whatever a webhook, a poll or a catch-up brought. Durable on return. An intent that
    a process is sending at this moment is left to that process.
    """
    found = intent_of(store, seen)
    if found is None or is_being_sent(found, now=now):
        return None
    resolved = _resolve(store, found, seen)
    # It may have been answered between our look and our word.
    return resolved if resolved.state is IntentState.SETTLED else None


def resolve_waiting(store: Store, *, now: datetime, mode: Mode | None = None) -> int:
    """Review every open intent that nobody is sending; return how many were resolved.

    Those that were sent by a clock which has been set back since lose their window, sent now or
    not: the sooner it is seen, the surer.
    """
    known = [
        _close_window_if_clock_was_set_back(store, i, now=now) for i in open_intents(store, mode)
    ]
    waiting = [intent for intent in known if not is_being_sent(intent, now=now)]
    reviewed = [review(store, intent, now=now) for intent in waiting]
    return sum(intent.state is IntentState.SETTLED for intent in reviewed)


def review(store: Store, intent: IntentRow, *, now: datetime) -> IntentRow:
    """Say of an open intent that nobody else is sending what can be said, and return it.

    Resolved where the store knows its collection. UNKNOWN where its process is gone. Closed as
    REFUSED where its window is over and it never left: nothing happened. Without a window from now
    on where the clock was set back after it was sent.
    """
    intent = _close_window_if_clock_was_set_back(store, intent, now=now)
    if intent.state in _WAITING:
        for seen in seen_under(store, intent):
            found = intent_of(store, seen)
            if found is not None and found.id == intent.id:
                return _resolve(store, found, seen)
    if intent.state is IntentState.SENT:
        sentence = "the process that sent it is gone and its answer was not seen"
        return _mark(store, intent, IntentState.UNKNOWN, sentence)
    if intent.state is IntentState.PREPARED and not replay_left(intent, now=now):
        sentence = "the service never took it; nothing happened"
        return _mark(store, intent, IntentState.REFUSED, sentence)
    return intent


def seen_under(store: Store, intent: IntentRow) -> tuple[CollectionRow, ...]:
    """Return every collection of an intent's reference, newest first, however many there are."""
    return store.collections.by_reference(intent.mode, intent.reference, limit=_EVERY)


def open_intents(
    store: Store, mode: Mode | None = None, profile: str | None = None
) -> Iterator[IntentRow]:
    """Yield every intent that is neither answered nor over, newest first; of one profile or all."""
    page = store.intents.page(mode, states=OPEN, profile=profile)
    while True:
        yield from page.rows
        if not page.more:
            return
        page = store.intents.page(mode, states=OPEN, profile=profile, older_than=page.rows[-1].key)


def intent_of(store: Store, seen: Collection | CollectionRow) -> IntentRow | None:
    """Return the one waiting intent that `seen` can only belong to, or None."""
    same = store.intents.by_reference(seen.mode, seen.reference)
    if any(intent.collection_id == seen.id for intent in same):
        return None
    fitting = [i for i in same if i.state in _WAITING and _fits(i, seen)]
    return fitting[0] if len(fitting) == 1 else None


def _resolve(store: Store, intent: IntentRow, seen: Collection | CollectionRow) -> IntentRow:
    resolved = store.intents.resolve(
        intent.id,
        collection_id=seen.id,
        sentence=Said("its answer was lost; {id} with its reference was seen later").of(id=seen.id),
        only_from=_WAITING,
    )
    log_resolved(resolved)
    return resolved


def _mark(store: Store, intent: IntentRow, state: IntentState, sentence: str) -> IntentRow:
    # Only from the state that was looked at: meanwhile it may have been sent or answered.
    marked = store.intents.resolve(
        intent.id,
        collection_id=None,
        sentence=sentence,
        state=state,
        only_from=(intent.state,),
    )
    log_resolved(marked)
    return marked


def _close_window_if_clock_was_set_back(
    store: Store, intent: IntentRow, *, now: datetime
) -> IntentRow:
    """Close the window of an intent whose first sending lies ahead of us, and return it."""
    if intent.window_closed_at is not None or not clock_was_set_back(intent, now=now):
        return intent
    sentence = (
        "the clock was set back after it was sent: how long ago that was cannot be known, so it is "
        "not sent again"
    )
    closed = store.intents.close_window(intent.id, at=now, sentence=sentence, only_from=OPEN)
    log_window_closed(closed)
    return closed


def is_being_sent(intent: IntentRow, *, now: datetime) -> bool:
    """Return whether a process is sending the intent at this moment."""
    # A lease that ends later than any that is given now was given by a clock that is set right.
    until = intent.claimed_until
    return until is not None and now < until <= now + LEASE_TIME + CLOCKS_APART


def _fits(intent: IntentRow, seen: Collection | CollectionRow) -> bool:
    return (
        intent.amount == seen.amount
        and intent.phone.removeprefix("+") == seen.phone.removeprefix("+")
        and intent.first_sent_at is not None
        and seen.created_at >= intent.first_sent_at - CLOCKS_APART
    )
