"""Creating once, whatever fails: the steps, for both clients.

prepared ▶ sent ▶ answered | refused | unknown ▶ settled. The key, the exact bytes, the reference
and the first attempt are durable, in one commit, before the first byte leaves, each further attempt
before it is sent. Only the same key with the same bytes is ever sent for an intent, and only within
its window.
"""

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from kusanya.client import requests
from kusanya.client.core import Core
from kusanya.client.effects import Effects, call, sleep
from kusanya.client.requests import CreateRequest
from kusanya.domain.roles import Role
from kusanya.errors import (
    ConfigurationError,
    IntentError,
    IntentReason,
    NoAnswer,
    NotSent,
    ServiceError,
    StoreError,
)
from kusanya.intents.leases import Lease, this_process
from kusanya.intents.log import log_lease_not_released
from kusanya.intents.polling import poll_collection
from kusanya.intents.recorded_attempts import IntentExists, RecordedAttempts
from kusanya.intents.resolving import OPEN, review
from kusanya.intents.send_target import SendTarget
from kusanya.store import Store
from kusanya.store.records import CollectionRow, IntentRow, NewIntent, Repeat
from kusanya.store.records.intent_rules import check_order, other_body
from kusanya.store.records.order import OVER, OrderFacts, OrderStatus, judge
from kusanya.telemetry.tracing import SpanName, is_on, record_span
from kusanya.text import plain
from kusanya.wire import Collection, Mode

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 0.5


class Creation(msgspec.Struct, frozen=True, kw_only=True):
    """A create that came to its end: the intent as it is kept, and the collection as it is now.

    `collection` is the present state as far as it is known: a replayed answer tells the past and
    was followed by a GET.
    """

    intent: IntentRow
    collection: Collection
    row: CollectionRow | None = None
    """The collection as the store had it with a first answer; None after any other end."""


def create(
    store: Store,
    core: Core,
    request: CreateRequest,
    *,
    order: OrderFacts | None = None,
) -> Effects[Creation]:
    """Open the intent of `request`, or find it again by its key, and bring it to an end.

    `order` is what the caller has just read of it; the transaction that opens it judges anew.
    """
    began = core.clock.monotonic()
    made: Creation | None = None
    failed: BaseException | None = None
    try:
        made = yield from _create(store, core, request, order)
    except BaseException as error:
        failed = error
        raise
    finally:
        if is_on():
            _trace(core, request, made, failed, took_s=core.clock.monotonic() - began)
    return made


def _trace(
    core: Core,
    request: CreateRequest,
    made: Creation | None,
    error: BaseException | None,
    *,
    took_s: float,
) -> None:
    record_span(
        SpanName.CREATE,
        mode="" if core.mode is None else core.mode.value,
        reference=request.reference,
        ended_at=core.clock.now(),
        took_s=took_s,
        error=error,
        attributes={
            "intent_id": None if made is None else made.intent.id,
            "collection_id": None if made is None else made.collection.id,
            "status": None if made is None else str(made.collection.status),
        },
    )


def _create(
    store: Store, core: Core, request: CreateRequest, order: OrderFacts | None
) -> Effects[Creation]:
    look = partial(_look, store, request, mode_of(core), request.body())
    found = yield from call(partial(look, known=order))
    if not isinstance(found, IntentRow):
        _check_name(request.reference)
        send_target = SendTarget(target=lambda: core.target, profile=request.profile)
        lease = Lease.new(store, core.clock, "")
        recorded = RecordedAttempts(lease, send_target=send_target, opening=found)
        try:
            return (yield from _exchange(store, core, recorded, found.idempotency_key, found.body))
        except IntentExists as existing:
            found = existing.intent
        except IntentError:
            if recorded.begun:
                raise
            # Between our look and our row the same call may have been made elsewhere.
            found = yield from call(look)
            if not isinstance(found, IntentRow):
                raise
    wait_s = core.retry_policy.timeout_s
    return (yield from proceed(store, core, found, profile=request.profile, wait_s=wait_s))


def _check_name(reference: str) -> None:
    """Refuse a name that looks like another order's: the customer would be asked to pay both."""
    if reference != plain(reference).strip():
        raise ValueError(
            "reference looks like that of another order: give it without characters that nobody "
            "sees, and without white space at its ends"
        )


def proceed(
    store: Store,
    core: Core,
    intent: IntentRow,
    *,
    profile: str | None = None,
    wait_s: float = 0.0,
) -> Effects[Creation]:
    """Bring an intent to its end, or find the end that it has already come to.

    Where another call is sending it, that one's end is waited for, up to `wait_s` seconds.
    Raises IntentError where it belongs to another profile or was sent elsewhere, is over without a
    collection, may not be sent any more, or is still being sent by another call; OutcomeUnknown and
    the errors of a create otherwise.
    """
    if intent.mode is not core.mode:
        raise ConfigurationError(f"this intent is for {intent.mode.value} mode, the API key is not")
    send_target = SendTarget(target=lambda: core.target, profile=profile)
    send_target.check_profile(intent)
    if intent.state in OPEN:
        send_target.check(intent)
        lease = Lease.new(store, core.clock, intent.id)
        try:
            yield from _take(lease, wait_s)
            recorded = yield from call(partial(_reopened, lease, send_target))
        except GeneratorExit:
            raise  # nobody carries out steps any more
        except BaseException:
            yield from call(partial(_release, lease, lease.release))
            raise
        intent = recorded.intent
        if intent.state in OPEN:
            key, body = intent.idempotency_key, intent.body
            return (yield from _exchange(store, core, recorded, key, body))
        yield from call(lease.release)
    return (yield from _present(store, core, intent))


def _take(lease: Lease, wait_s: float) -> Effects[None]:
    """Take the lease; while another call holds it, try again for up to `wait_s` seconds."""
    until = lease.clock.monotonic() + wait_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            yield from call(lease.take)
        except IntentError as error:
            left_s = until - lease.clock.monotonic()
            if error.reason is not IntentReason.BEING_SENT or left_s <= 0:
                raise
        else:
            return
        yield from sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _release(lease: Lease, act: Callable[[], None]) -> None:
    """Give a lease up on the way out of a call that failed, whose own error is the one to raise."""
    try:
        act()
    except StoreError as error:
        # The lease ends by itself; until then another call is refused.
        log_lease_not_released(lease.intent_id, why=str(error))


def _exchange(
    store: Store, core: Core, recorded: RecordedAttempts, key: str, body: bytes
) -> Effects[Creation]:
    """Send until there is an answer or an end; the lease ends with it."""
    request = requests.creation(body, idempotency_key=key)
    try:
        collection = yield from core.create(request, attempts=recorded)
        row = recorded.answered
        response = collection.response
        if response is not None and response.replayed:
            collection, row = (yield from _now(store, core, collection)), None
    except GeneratorExit:
        raise  # nobody carries out steps any more
    except Exception as error:
        if recorded.begun:
            error.add_note(f"intent {recorded.intent.id}")
            yield from call(partial(_release, recorded.lease, recorded.lease.release))
        raise
    except BaseException:
        # Cancelled or interrupted, at any point.
        yield from call(partial(_release, recorded.lease, recorded.cut_short))
        raise
    return Creation(intent=recorded.intent, collection=collection, row=row)


def _present(store: Store, core: Core, intent: IntentRow) -> Effects[Creation]:
    if intent.collection_id is None:
        raise IntentError(
            f"this intent is {intent.state.value}: {intent.outcome or 'no reason was kept'}",
            reason=IntentReason.NOTHING_CREATED,
            intent_id=intent.id,
        )
    facts = yield from call(
        partial(store.collections.observations, intent.collection_id, intent.mode)
    )
    finals = [fact.collection for fact in facts if fact.collection.is_final]
    if finals:
        return Creation(intent=intent, collection=finals[0])
    if facts:
        found = yield from _now(store, core, facts[-1].collection)
    else:
        found = yield from core.collection(intent.collection_id)
    return Creation(intent=intent, collection=found)


def _now(store: Store, core: Core, known: Collection) -> Effects[Collection]:
    """Ask for the present state and record it; without an answer, what is known stays true."""
    try:
        poll = yield from poll_collection(store, core, known.id, mode=known.mode)
    except (NotSent, NoAnswer, ServiceError):
        return known
    return poll.collection


def _reopened(lease: Lease, send_target: SendTarget) -> RecordedAttempts:
    """Return the record of an intent under our lease, resolved where its collection was seen."""
    intent = lease.store.intents.get(lease.intent_id)
    if intent is None:
        raise IntentError(
            "there is no such intent",
            reason=IntentReason.UNKNOWN_INTENT,
            intent_id=lease.intent_id,
        )
    intent = review(lease.store, intent, now=lease.clock.now())
    return RecordedAttempts(
        lease, intent, lease.store.intents.attempts(intent.id), send_target=send_target
    )


def _look(
    store: Store,
    request: CreateRequest,
    mode: Mode,
    body: bytes,
    *,
    known: OrderFacts | None = None,
) -> IntentRow | NewIntent:
    """Return the intent that this call made before, here or elsewhere, or how a new one is opened.

    Raises IntentError for a key with other contents, and where the order may not be asked for.
    """
    named = _under_own_key(store, request, mode, body)
    if named is not None:
        return named
    order = known or store.intents.order(mode, request.reference)
    repeat = _repeat(store, request)
    try:
        check_order(order, repeat)
    except IntentError:
        # The same call may have begun elsewhere since we looked for the key.
        same = _under_own_key(store, request, mode, body) or _same_call(order, request, body)
        if same is None:
            raise
        return same
    # Without a key of the caller's, two calls at once derive the same and become one intent.
    key = request.idempotency_key or _derived(store, request, mode, len(order.intents))
    return NewIntent(
        idempotency_key=key,
        body=body,
        mode=mode,
        profile=request.profile,
        reference=request.reference,
        amount=request.amount,
        phone=msgspec.json.decode(body)["phone"],
        repeat=repeat,
    )


def _under_own_key(
    store: Store, request: CreateRequest, mode: Mode, body: bytes
) -> IntentRow | None:
    if request.idempotency_key is None:
        return None
    known = store.intents.by_key(mode, request.profile, request.idempotency_key)
    if known is not None and known.body != body:
        raise other_body(known)
    return known


def _same_call(order: OrderFacts, request: CreateRequest, body: bytes) -> IntentRow | None:
    """Return the creation that a call without a key repeats, or None.

    That is the newest of its order, with the same contents and of the same profile; with a reason
    for another attempt only while that one has no end, for the reason may be meant of it.
    """
    standing = (one for one in order.intents if one.collection_id or one.state not in OVER)
    newest = next(standing, None)
    if request.idempotency_key is not None or newest is None:
        return None
    if (newest.body, newest.profile) != (body, request.profile):
        return None
    is_open = judge(order).status in {OrderStatus.UNKNOWN, OrderStatus.ASKED}
    return newest if is_open or request.force_repeat_reason is None else None


def _repeat(store: Store, request: CreateRequest) -> Repeat | None:
    """Return why the order is asked for again. Raises IntentError for who may not overrule."""
    overruled = request.although_paid is not None
    reason = request.although_paid or request.force_repeat_reason
    if reason is None:
        return None
    role = store.roles.of(store.audit.actor) if overruled else None
    if role is not None and not role.includes(Role.DECIDE):
        raise IntentError(
            "only a login of the role kusanya_decide overrules that an order is paid",
            reason=IntentReason.REFERENCE_USED,
        )
    return Repeat(actor=this_process(), reason=reason, although_paid=overruled)


def _derived(store: Store, request: CreateRequest, mode: Mode, ordinal: int) -> str:
    parts = (store.store_id, mode.value, request.profile, request.reference, str(ordinal))
    return f"kus_{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]}"


def mode_of(core: Core) -> Mode:
    """Return the mode of a client's API key. Raises ConfigurationError where it tells none."""
    if core.mode is None:
        raise ConfigurationError("the API key's form does not tell its mode: pass mode=")
    return core.mode
