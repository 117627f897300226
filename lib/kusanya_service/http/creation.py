"""Create a collection: its key, its row and its plan in one transaction.

A crash leaves all of it or nothing, and two requests with one key meet in the one writer: the
second finds the first and replays it. Source: POST /v1/collections, Rules 1 and 2; assumption
SAME_KEY_IN_FLIGHT.
"""

from typing import Final

import msgspec

from kusanya.domain.assumptions import CURRENCY
from kusanya.wire import Mode
from kusanya_service.http.idempotency import RETENTION_MS, KeyUse, is_kept
from kusanya_service.http.requests import NewCollection
from kusanya_service.simulation.clock import iso
from kusanya_service.simulation.resources import Collection, Status, encode
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.tariff import channel_of, fee_of
from kusanya_service.storage import changes, queries
from kusanya_service.storage.database import Connection

_PURGE_EVERY: Final = 32


class CreateAnswer(msgspec.Struct, frozen=True):
    """The 202 of a key: its exact bytes, and what is new where it is the first."""

    body: bytes
    replayed: bool
    number: int = 0
    due_at: int | None = None


class KeyConflict(msgspec.Struct, frozen=True):
    """The key was used with another body."""


def earlier_answer(
    connection: Connection, use: KeyUse, monotonic_ms: int
) -> CreateAnswer | KeyConflict | None:
    """Return what a key was answered with, or None for one that is free."""
    found = queries.key_answer(connection, use.scope)
    if found is None:
        return None
    body, received_at, answer = found
    if not is_kept(received_at, monotonic_ms):
        return None
    return CreateAnswer(answer, replayed=True) if body == use.body else KeyConflict()


def create(
    connection: Connection,
    use: KeyUse,
    new: NewCollection,
    *,
    mode: str,
    now_ms: int,
    monotonic_ms: int,
    rules: Rules,
) -> CreateAnswer | KeyConflict:
    """Create the collection of a key, or replay what the key was answered with."""
    earlier = earlier_answer(connection, use, monotonic_ms)
    if earlier is not None:
        return earlier
    number = changes.next_number(connection, "collection")
    plan = rules.networks.plan(new.phone, mode, number)
    channel = channel_of(new.phone)
    body = Collection(
        id=rules.random.identifier("col", number),
        object="collection",
        status=Status.CREATED,
        amount=new.amount,
        fee=fee_of(new.amount, channel, rules.tariff),
        currency=CURRENCY,
        channel=channel,
        phone=new.phone,
        reference=new.reference,
        description=msgspec.UNSET if new.description is None else new.description,
        metadata=msgspec.UNSET if new.metadata is None else new.metadata,
        mode=Mode(mode),
        created_at=iso(now_ms),
    )
    encoded = encode(body)
    due_at = None if plan.after_ms is None else monotonic_ms + plan.after_ms
    changes.add_collection(
        connection,
        seq=number,
        collection_id=body.id,
        mode=mode,
        outcome=plan.outcome,
        twice=rules.networks.script_of(new.phone, mode).twice,
        due_at=due_at,
        body=encoded,
    )
    changes.add_key_use(connection, use.scope, use.body, number, monotonic_ms)
    if number % _PURGE_EVERY == 0:
        changes.purge_key_uses(connection, received_until=monotonic_ms - RETENTION_MS)
    return CreateAnswer(encoded, replayed=False, number=number, due_at=due_at)
