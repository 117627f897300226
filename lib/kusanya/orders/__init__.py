"""Orders: `pay` says that an order is to be paid, and may be said again at any time, from anywhere.

An order is everything under one reference of one mode. `pay` sends a prompt only where nothing that
is known can charge the customer twice; whatever came before, the same call again is right. `get`
and `wait` read the store and ask nobody.
"""

from collections.abc import Mapping

from kusanya.client import AsyncClient, Client
from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.intents import check_pair
from kusanya.orders.order import NotAsked, Order, read
from kusanya.orders.paying import Limits, Wish, paying
from kusanya.orders.waiting import waiting
from kusanya.store import Store, check_store
from kusanya.store.records.order import Attempt, OrderReason, OrderStatus
from kusanya.wire import Mode

__all__ = [
    "Attempt",
    "Limits",
    "NotAsked",
    "Order",
    "OrderReason",
    "OrderStatus",
    "get",
    "pay",
    "pay_async",
    "wait",
    "wait_async",
]
_USUAL_LIMITS = Limits()


def pay(
    store: Store,
    client: Client,
    reference: str,
    *,
    amount: int,
    phone: str,
    description: str | None = None,
    metadata: Mapping[str, str] | None = None,
    profile: str = DEFAULT_PROFILE,
    limits: Limits = _USUAL_LIMITS,
    unless_down: bool = False,
) -> Order:
    """Have an order paid, and return what it has come to.

    `amount` is in whole shillings, `phone` a Tanzanian number in any usual spelling. Where the
    order is paid, or a prompt is open, nothing is sent. A creation without an answer is sent again
    first, with its own key, inside its window. An attempt that ended without money is followed by
    another one, on this phone, under a key of its own. `limits` bound the attempts of an order and
    the prompts of a phone; where they hold one back `not_asked` says which. With `unless_down` none
    is sent into a channel that is down, see `kusanya.channels`: the order stays unpaid then.

    On return all of it is durable. Raises AmountChanged for another amount while an attempt may
    charge or has charged, the errors of a create for what the service refuses, StoreError where the
    store cannot be read or written, ValueError for what cannot be sent and for a reference of more
    than 256 characters. No answer is no error: the
    order is then `unknown`, and the same call again goes on.
    Source: POST /v1/collections; assumptions REPLAY_STOPS_EARLY and REPEATED_REFERENCE.
    """
    check_pair(store, client, Client)
    wish = Wish(
        reference=reference,
        amount=amount,
        phone=phone,
        description=description,
        metadata=metadata,
        profile=profile,
        unless_down=unless_down,
    )
    return client.run(paying(store, client.core, wish, limits))


async def pay_async(
    store: Store,
    client: AsyncClient,
    reference: str,
    *,
    amount: int,
    phone: str,
    description: str | None = None,
    metadata: Mapping[str, str] | None = None,
    profile: str = DEFAULT_PROFILE,
    limits: Limits = _USUAL_LIMITS,
    unless_down: bool = False,
) -> Order:
    """Do what `pay` does, with `amount` in whole shillings; the store is used from threads."""
    check_pair(store, client, AsyncClient)
    wish = Wish(
        reference=reference,
        amount=amount,
        phone=phone,
        description=description,
        metadata=metadata,
        profile=profile,
        unless_down=unless_down,
    )
    return await client.run(paying(store, client.core, wish, limits))


def get(store: Store, reference: str, *, mode: Mode) -> Order:
    """Return what an order has come to, as the store knows it, by the store's clock.

    Raises StoreError, ValueError for a reference of more than 256 characters.
    """
    check_store(store)
    return read(store, mode, reference, now=store.clock.now())


def wait(store: Store, client: Client, reference: str, *, timeout_s: float = 120.0) -> Order:
    """Wait up to `timeout_s` seconds until an order is neither asked nor unknown; return it.

    The store is read again when something was committed to it; the service is not asked. Where the
    time runs out the order is returned as it is. Raises StoreError.
    """
    check_pair(store, client, Client)
    return client.run(waiting(store, client.core, reference, timeout_s))


async def wait_async(
    store: Store, client: AsyncClient, reference: str, *, timeout_s: float = 120.0
) -> Order:
    """Do what `wait` does, for at most `timeout_s` seconds; the store is read from threads."""
    check_pair(store, client, AsyncClient)
    return await client.run(waiting(store, client.core, reference, timeout_s))
