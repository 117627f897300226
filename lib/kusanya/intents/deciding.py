"""A person decides what became of an intent, and is stopped where what is known says otherwise.

The collection that is named is compared with the intent: in the store, and at the service where a
client is there to ask. A decision on something that nobody could look at takes a word of its own.
"""

from datetime import datetime, timedelta

import msgspec

from kusanya.client import Client
from kusanya.client.observations import poll_observation
from kusanya.errors import IntentError, IntentReason, KusanyaError, NotFound, StoreError
from kusanya.intents.log import log_resolved
from kusanya.intents.resolving import OPEN, intent_of, is_being_sent, seen_under
from kusanya.intents.window import CLOCKS_APART, replay_left
from kusanya.say import Said, joined
from kusanya.store import Store
from kusanya.store.records import CollectionRow, Decision, IntentRow, IntentState
from kusanya.store.records.intent_rules import differences
from kusanya.text import claimed, safe
from kusanya.wire import is_collection_id


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the collection that a person names for an intent."""

    collection_id: str
    seen: CollectionRow | None
    """The collection as the store knows it now; None where nobody could look at it."""
    asked: bool
    """True where the service was asked and answered."""
    differs: tuple[str, ...]
    """Why it cannot be this intent's, a clause each; a decision on it is refused."""
    trouble: str | None = None
    """Why the service could not be asked; None where it was, or where there is nobody to ask."""


def examine(
    store: Store,
    intent: IntentRow,
    collection_id: str,
    *,
    now: datetime,
    client: Client | None = None,
) -> Candidate:
    """Compare the collection that a person names with an intent.

    With `client` the service is asked, and its answer is kept as an observation: durable on return.
    Raises IntentError for what is no identifier of a collection, StoreError when the store cannot
    be read or written.
    """
    if not is_collection_id(collection_id):
        raise IntentError(
            Said(
                "{id} is no id of a collection: it begins with col_ and goes on with letters and "
                "digits, as in the service's answer or its statement"
            ).of(id=safe(collection_id, 60) or "nothing"),
            reason=IntentReason.OTHER_COLLECTION,
            intent_id=intent.id,
        )
    asked, trouble, missing = False, None, False
    if client is not None and client.mode is intent.mode:
        try:
            found = client.get_collection(collection_id)
        except NotFound:
            asked = missing = True
        except StoreError:
            raise
        except (KusanyaError, ValueError) as error:
            trouble = Said("the service could not be asked: {why}").of(why=str(error))
        else:
            asked = True
            store.record(poll_observation(found, at=now, observed_in=client.mode))
    seen = store.collections.get(collection_id, intent.mode)
    differs = [] if seen is None else [*differences(intent, seen), *_taken(store, intent, seen)]
    if missing:
        differs.append(
            Said("the service knows no {id} in {mode} mode").of(
                id=safe(collection_id, 60), mode=intent.mode.value
            )
        )
    return Candidate(
        collection_id=collection_id,
        seen=seen,
        asked=asked,
        differs=tuple(differs),
        trouble=trouble,
    )


def _taken(store: Store, intent: IntentRow, seen: CollectionRow) -> list[str]:
    found: list[str] = [
        Said("it belongs to the creation {id}").of(id=other.id)
        for other in store.intents.by_reference(seen.mode, seen.reference)
        if other.id != intent.id and other.collection_id == seen.id
    ]
    first = intent.first_sent_at
    if first is not None and seen.created_at < first - CLOCKS_APART:
        found.append("it was created before this creation was first sent")
    return found


def decide(
    store: Store,
    intent_id: str,
    *,
    actor: str,
    why: str,
    collection_id: str | None,
    now: datetime,
    client: Client | None = None,
    unseen: bool = False,
) -> IntentRow:
    """Let a person decide an intent whose outcome nothing else can tell; the act is audited.

    `collection_id` names the collection that it became, None says that nothing was created. It is
    compared with the intent in the store, and at the service with `client`; another mode,
    reference, amount or phone is refused. `actor` is kept beside the name that the store knows the
    person by. Where neither the store nor the service knows the collection, `unseen` says that the
    person decides all the same. While the intent may still be replayed, the replay resolves it:
    until then a person may decide only where the store knows the named collection under the
    intent's reference.
    Raises IntentError where it is not waiting for a decision or the collection is not its own,
    ValueError without a reason.
    """
    if not why.strip() or not actor.strip():
        raise ValueError("a decision needs a person and a reason")
    intent = _waiting_intent(store, intent_id, now=now)
    if collection_id is None:
        candidate = None
        _check_nothing(store, intent)
    else:
        candidate = examine(store, intent, collection_id, now=now, client=client)
    _check_window(intent, candidate, now=now)
    if candidate is not None:
        _check_candidate(intent, candidate, unseen=unseen)
    who = store.audit.actor
    seen = "" if candidate is None or candidate.seen is not None else ", seen by nobody"
    decided = store.intents.resolve(
        intent_id,
        collection_id=collection_id,
        sentence=Said("decided by {who}: {why}").of(
            who=claimed(who, who=who, actor=actor), why=why
        ),
        only_from=OPEN,
        decided=Decision(
            actor=actor, detail=f"{collection_id or 'nothing was created'}{seen}: {why}"
        ),
    )
    if decided.state is not IntentState.SETTLED:
        raise _over(decided)
    log_resolved(decided)
    return decided


def _waiting_intent(store: Store, intent_id: str, *, now: datetime) -> IntentRow:
    """Return an intent that a person may decide. Raises IntentError for any other."""
    intent = store.intents.get(intent_id)
    if intent is None:
        raise IntentError(
            "there is no such intent", reason=IntentReason.UNKNOWN_INTENT, intent_id=intent_id
        )
    if intent.state not in OPEN:
        raise _over(intent)
    if is_being_sent(intent, now=now):
        raise IntentError(
            "this intent is being sent now: wait for its end",
            reason=IntentReason.BEING_SENT,
            intent_id=intent_id,
        )
    return intent


def _over(intent: IntentRow) -> IntentError:
    return IntentError(
        Said("this intent is {our_state} already").of(our_state=intent.state.value),
        reason=IntentReason.OVER,
        intent_id=intent.id,
    )


def _check_window(intent: IntentRow, candidate: Candidate | None, *, now: datetime) -> None:
    left = replay_left(intent, now=now)
    seen = None if candidate is None else candidate.seen
    if not left or (seen is not None and seen.reference == intent.reference):
        return
    raise IntentError(
        Said(
            "its window is open for {length} more: resume it, the same key and bytes tell what "
            "happened; a person decides when the window is over, or sooner for a collection that "
            "was seen under its reference"
        ).of(length=_hours(left)),
        reason=IntentReason.WINDOW_OPEN,
        intent_id=intent.id,
    )


def _check_candidate(intent: IntentRow, candidate: Candidate, *, unseen: bool) -> None:
    name = safe(candidate.collection_id, 60)
    if candidate.differs:
        raise IntentError(
            Said("{id} is not what became of this creation: {our_why}").of(
                id=name, our_why=joined("; ", candidate.differs)
            ),
            reason=IntentReason.OTHER_COLLECTION,
            intent_id=intent.id,
        )
    if candidate.seen is None and not unseen:
        why = candidate.trouble or "there is no API key to ask the service with"
        raise IntentError(
            Said(
                "the store has never seen {id}, and {our_why}. Ask the service first; if you know "
                "it from a statement alone, say so (--unseen)"
            ).of(id=name, our_why=why),
            reason=IntentReason.UNSEEN_COLLECTION,
            intent_id=intent.id,
        )


def _check_nothing(store: Store, intent: IntentRow) -> None:
    for seen in seen_under(store, intent):
        match = intent_of(store, seen)
        if match is not None and match.id == intent.id:
            raise IntentError(
                Said(
                    "something was created: the store knows {id} of this reference, amount and "
                    "phone"
                ).of(id=safe(seen.id, 60)),
                reason=IntentReason.OTHER_COLLECTION,
                intent_id=intent.id,
            )


def _hours(left: timedelta) -> str:
    minutes = -(-left // timedelta(minutes=1))
    return f"{minutes // 60} h {minutes % 60} min"
