"""Creating once, whatever fails: the steps, for both clients.

prepared ▶ sent ▶ answered | refused | unknown ▶ settled. The key, the exact bytes and the reference
are durable before the first byte leaves, each attempt before it is sent. Only the same key with the
same bytes is ever sent for an intent, and only within its window.
"""

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from kusanya.client import requests
from kusanya.client.core import Core
from kusanya.client.effects import Steps, do
from kusanya.client.observed import polled
from kusanya.clock import Clock
from kusanya.errors import (
    ConfigurationError,
    IntentError,
    NoAnswer,
    NotSent,
    ServiceError,
)
from kusanya.intents.claiming import Claim, this_process
from kusanya.intents.recording import Recorded
from kusanya.intents.settling import OPEN, review
from kusanya.store import Store
from kusanya.store.records import IntentRow, IntentState
from kusanya.wire import Collection, Mode

DEFAULT_PROFILE: Final = "default"


class Creation(msgspec.Struct, frozen=True, kw_only=True):
    """A create that came to its end: the intent as it is kept, and the collection as it is now.

    `collection` is the present state as far as it is known: a replayed answer tells the past and
    was followed by a GET.
    """

    intent: IntentRow
    collection: Collection


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be created, and under which key. Its repr shows nothing of the customer."""

    amount: int
    phone: str
    reference: str
    description: str | None = None
    metadata: Mapping[str, str] | None = None
    idempotency_key: str | None = None
    force_repeat_reason: str | None = None
    profile: str = DEFAULT_PROFILE
    phone_as_is: bool = False

    def __repr__(self) -> str:
        return f"Order(reference={self.reference!r}, amount={self.amount})"


def create(store: Store, core: Core, order: Order) -> Steps[Creation]:
    """Prepare the intent of `order`, or find it again by its key, and bring it to an end."""
    mode = _mode(core)
    body = requests.creation_body(
        amount=order.amount,
        phone=order.phone,
        reference=order.reference,
        description=order.description,
        metadata=order.metadata,
        phone_as_is=order.phone_as_is,
    )
    if order.idempotency_key is not None:
        requests.check_idempotency_key(order.idempotency_key)
    if order.force_repeat_reason is not None and not order.force_repeat_reason.strip():
        raise ValueError("a repeated reference is forced with a reason")
    intent = yield from do(partial(_prepare, store, core.clock, order, mode, body))
    return (yield from proceed(store, core, intent))


def proceed(store: Store, core: Core, intent: IntentRow) -> Steps[Creation]:
    """Bring an intent to its end, or find the end that it has already come to.

    Raises IntentError where it is over without a collection, may not be sent any more, or is being
    sent by another process; OutcomeUnknown and the errors of a create otherwise.
    """
    if intent.mode is not core.mode:
        raise ConfigurationError(f"this intent is for {intent.mode.value} mode, the API key is not")
    if intent.state in OPEN:
        claim = Claim.new(store, core.clock, intent.id)
        yield from do(claim.take)
        try:
            sent = yield from _send(store, core, claim)
        except Exception as error:
            error.add_note(f"intent {intent.id}")
            yield from do(claim.release)
            raise
        if isinstance(sent, Creation):
            return sent
        yield from do(claim.release)
        intent = sent
    return (yield from _present(store, core, intent))


def _send(store: Store, core: Core, claim: Claim) -> Steps[Creation | IntentRow]:
    """Send what is still open; return the intent where it was over meanwhile."""
    intent = yield from do(partial(_reread, claim))
    if intent.state not in OPEN:
        return intent
    recorded = yield from do(partial(Recorded, intent, claim))
    request = requests.creation(intent.body, idempotency_key=intent.idempotency_key)
    collection = yield from core.create(request, attempts=recorded)
    response = collection.response
    if response is not None and response.replayed:
        collection = yield from _now(store, core, collection)
    return Creation(intent=recorded.intent, collection=collection)


def _present(store: Store, core: Core, intent: IntentRow) -> Steps[Creation]:
    if intent.collection_id is None:
        raise IntentError(
            f"this intent is {intent.state.value}: {intent.outcome or 'no reason was kept'}",
            intent_id=intent.id,
        )
    heard = yield from do(partial(store.observations, intent.collection_id))
    finals = [fact.collection for fact in heard if fact.collection.is_final]
    if finals:
        return Creation(intent=intent, collection=finals[0])
    if heard:
        found = yield from _now(store, core, heard[-1].collection)
    else:
        found = yield from core.collection(intent.collection_id)
    return Creation(intent=intent, collection=found)


def _now(store: Store, core: Core, known: Collection) -> Steps[Collection]:
    """Ask for the present state and keep it; without an answer, what is known stays true."""
    try:
        found = yield from core.collection(known.id)
    except (NotSent, NoAnswer, ServiceError):
        return known
    yield from do(lambda: store.record(polled(found, at=core.clock.now())))
    return found


def _reread(claim: Claim) -> IntentRow:
    """Return the intent as it is under our claim, settled where its collection was seen."""
    intent = claim.store.intent(claim.intent_id)
    if intent is None:
        raise IntentError("there is no such intent", intent_id=claim.intent_id)
    return review(claim.store, intent, now=claim.clock.now())


def _prepare(store: Store, clock: Clock, order: Order, mode: Mode, body: bytes) -> IntentRow:
    """Make the intent durable, or return the one that the caller's key is tied to."""
    key = order.idempotency_key
    if key is not None and store.intent_by_key(mode, order.profile, key) is not None:
        return _keep(store, order, mode, body, key)
    same = store.intents_by_reference(mode, order.reference)
    standing = [intent for intent in same if _stands(intent)]
    if standing:
        if order.force_repeat_reason is None:
            raise _repeated(standing[0])
        store.add_audit(
            actor=this_process(),
            act="repeat reference",
            subject=standing[0].id,
            detail=order.force_repeat_reason,
        )
    # Without a key of the caller's, two calls at once derive the same and become one intent.
    kept = _keep(store, order, mode, body, key or _derived(store, order, mode, len(same)))
    if order.force_repeat_reason is None:
        others = store.intents_by_reference(mode, order.reference)
        rivals = [rival for rival in others if _stands(rival) and rival.id != kept.id]
        if rivals:
            # Prepared at the same moment under another key: whoever sees the other steps back.
            _step_back(Claim.new(store, clock, kept.id), rivals[0])
            raise _repeated(rivals[0])
    return kept


def _step_back(claim: Claim, rival: IntentRow) -> None:
    claim.take()
    kept = claim.store.intent(claim.intent_id)
    if kept is not None and kept.state is IntentState.PREPARED and not kept.attempts:
        claim.store.settle_intent(
            kept.id,
            collection_id=None,
            sentence=f"its reference was taken by {rival.id} at the same moment; nothing was sent",
            state=IntentState.REFUSED,
        )
    claim.release()


def _keep(store: Store, order: Order, mode: Mode, body: bytes, key: str) -> IntentRow:
    sent = msgspec.json.decode(body)
    return store.prepare_intent(
        idempotency_key=key,
        body=body,
        mode=mode,
        profile=order.profile,
        reference=order.reference,
        amount=order.amount,
        phone=sent["phone"],
    )


def _derived(store: Store, order: Order, mode: Mode, ordinal: int) -> str:
    parts = (store.store_id, mode.value, order.profile, order.reference, str(ordinal))
    return f"kus_{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]}"


def _stands(intent: IntentRow) -> bool:
    """Tell whether the intent took its reference: it became a collection, or still may."""
    nothing_happened = intent.collection_id is None and intent.state in (
        IntentState.REFUSED,
        IntentState.SETTLED,
    )
    return not nothing_happened


def _repeated(intent: IntentRow) -> IntentError:
    return IntentError(
        f"this reference was used before, by {intent.id} ({intent.state.value}): resume that one, "
        "or force a repeat with a reason",
        intent_id=intent.id,
    )


def _mode(core: Core) -> Mode:
    if core.mode is None:
        raise ConfigurationError("the API key's form does not tell its mode: pass mode=")
    return core.mode
