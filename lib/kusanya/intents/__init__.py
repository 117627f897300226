"""Creating safely: a program may die at any instruction and no customer is charged twice.

`create_safely` keeps an intent durably before its first byte leaves: one commit before the sending
and one after its answer, both shared by all that create at the same time. After a crash or a lost
answer `resume` sends the same key and the same bytes again, within the replay window;
past that, an event or a poll with its reference resolves it, or a person does (`decide`).
"""

from collections.abc import Mapping
from typing import Final

from kusanya.client import AsyncClient, Client
from kusanya.client.requests import CreateRequest
from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.errors import IntentError, IntentReason
from kusanya.intents.creating import Creation, create, proceed
from kusanya.intents.deciding import Candidate, decide, examine
from kusanya.intents.resolving import (
    open_intents,
    resolve_by_reference,
    resolve_waiting,
    review,
)
from kusanya.intents.restored import RestoreAnswers, resolve_restore
from kusanya.intents.window import replay_left, window_ends
from kusanya.platform.arguments import plain_text
from kusanya.store import Store, check_store
from kusanya.store.records import IntentRow

__all__ = [
    "Candidate",
    "Creation",
    "RestoreAnswers",
    "create_safely",
    "create_safely_async",
    "decide",
    "examine",
    "open_intents",
    "replay_left",
    "resolve_by_reference",
    "resolve_restore",
    "resolve_waiting",
    "resume",
    "resume_async",
    "review",
    "window_ends",
]

_OTHER: Final = {Client: AsyncClient, AsyncClient: Client}


def create_safely(
    store: Store,
    client: Client,
    *,
    amount: int,
    phone: str,
    reference: str,
    description: str | None = None,
    metadata: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
    force_repeat_reason: str | None = None,
    profile: str = DEFAULT_PROFILE,
    phone_as_is: bool = False,
) -> Creation:
    """Start a USSD push exactly once and return the intent and its collection.

    `amount` is in whole shillings; `phone` is a Tanzanian number in any usual spelling, sent as
    255 and nine digits, or as it stands with `phone_as_is`. `reference` is the order's own name,
    `description` what the customer may read, `metadata` text by text, kept with the collection.
    The same call again returns the same collection, and goes on where the one before was cut
    short: with the same `idempotency_key`, or without one with the same contents. A `reference`
    names one sale: other contents are refused, unless every attempt ended without money and
    `force_repeat_reason` says why there is another, which is audited. Keys belong to `profile` and
    mode. Where the same call is being made elsewhere at this moment, its end is waited for, at
    most as long as the client's `timeout`.

    On return the answer is durable. Raises IntentError where the reference was used, the key
    belongs to other contents or was sent to another address or merchant, another call is still
    sending the intent, or its window is over: `reason` tells which;
    OutcomeUnknown, NotSent and the rest of a create's errors, after which the intent says what is
    known and `resume` may be called; StoreError where something could not be made durable: before
    the first byte nothing was sent, after it the intent tells.
    Source: POST /v1/collections; assumptions REPLAY_STOPS_EARLY and REPEATED_REFERENCE.
    """
    check_pair(store, client, Client)
    request = CreateRequest(
        amount=amount,
        phone=phone,
        reference=reference,
        description=description,
        metadata=metadata,
        idempotency_key=idempotency_key,
        force_repeat_reason=force_repeat_reason,
        profile=profile,
        phone_as_is=phone_as_is,
    )
    return client.run(create(store, client.core, request))


async def create_safely_async(
    store: Store,
    client: AsyncClient,
    *,
    amount: int,
    phone: str,
    reference: str,
    description: str | None = None,
    metadata: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
    force_repeat_reason: str | None = None,
    profile: str = DEFAULT_PROFILE,
    phone_as_is: bool = False,
) -> Creation:
    """Do what `create_safely` does; the store is used from threads.

    As there, `amount` is in whole shillings and `phone` is read in any usual spelling.
    Cancelled at any point, it raises CancelledError once the store says how far it came: an attempt
    that may have left is of unknown outcome, and the next call for the order begins at once.
    """
    check_pair(store, client, AsyncClient)
    request = CreateRequest(
        amount=amount,
        phone=phone,
        reference=reference,
        description=description,
        metadata=metadata,
        idempotency_key=idempotency_key,
        force_repeat_reason=force_repeat_reason,
        profile=profile,
        phone_as_is=phone_as_is,
    )
    return await client.run(create(store, client.core, request))


def resume(
    store: Store, client: Client, intent: IntentRow | str, *, profile: str | None = None
) -> Creation:
    """Bring an intent to its end: with the same key and the same bytes, or not at all.

    `profile` names the profile that `client` is made from; an intent of another one is refused.
    Without it the intent is only sent where it was sent first.
    An intent that has come to its end already is not sent; its collection is returned as it is
    now. Raises what `create_safely` does.
    """
    check_pair(store, client, Client)
    return client.run(proceed(store, client.core, _found(store, intent), profile=profile))


async def resume_async(
    store: Store, client: AsyncClient, intent: IntentRow | str, *, profile: str | None = None
) -> Creation:
    """Do what `resume` does; the store is used from threads."""
    check_pair(store, client, AsyncClient)
    return await client.run(proceed(store, client.core, _found(store, intent), profile=profile))


def _found(store: Store, intent: IntentRow | str) -> IntentRow:
    if isinstance(intent, IntentRow):
        return intent
    found = store.intents.get(plain_text("an intent's id", intent))
    if found is None:
        raise IntentError(
            "there is no such intent", reason=IntentReason.UNKNOWN_INTENT, intent_id=intent
        )
    return found


def check_pair(store: object, client: object, kind: type[Client | AsyncClient]) -> None:
    """Raise TypeError in words for what would fail strangely, or only when it is too late."""
    check_store(store)
    if not hasattr(client, "core") or isinstance(client, _OTHER[kind]):
        raise TypeError(
            f"this takes {kind.__name__}, not {type(client).__name__}: functions whose names end "
            "in _async go with AsyncClient, the others with Client"
        )
