"""The asynchronous driver."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from random import SystemRandom
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kusanya.client import requests
from kusanya.client.address import Address, address_of, mode_of
from kusanya.client.core import Core
from kusanya.client.effects import Call, Effect, Effects, Reply, Request, Send, Sleep
from kusanya.client.retry_policy import RetryPolicy
from kusanya.client.sync import DEFAULT_WAIT_S
from kusanya.clock import Clock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.secret import Secret
from kusanya.wire import Collection, Event, Mode, Principal

if TYPE_CHECKING:
    from kusanya.client.transport import AsyncTransport

Result = TypeVar("Result")


class AsyncClient:
    """The same as `Client`, for one event loop; its arguments and errors are the same.

    `transport` is an asynchronous callable here. Used as `async with AsyncClient(...)`, or closed
    with `aclose()`.
    """

    def __init__(
        self,
        api_key: str | Secret,
        *,
        base_url: str,
        mode: Mode | str | None = None,
        timeout: float = 30.0,
        max_attempts: int = 5,
        key_prefix: str | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] | None = None,
        transport: Callable[[Request, float], Awaitable[Reply]] | None = None,
    ) -> None:
        secret = Secret(api_key)
        self.mode: Final = mode_of(secret, expected=mode, prefix=key_prefix)
        self._clock = clock or SystemClock()
        address = address_of(base_url, mode=self.mode)
        self.core: Final = Core(
            mode=self.mode,
            clock=self._clock,
            chance=random or SystemRandom().random,
            retry_policy=RetryPolicy(timeout_s=timeout, attempts=max_attempts),
            origin=address.url,
        )
        self._network = None
        if transport is None:
            self._network = _network(address, secret)
            transport = self._network.send
        self._send = transport

    @property
    def origin(self) -> str:
        """Return the base address that requests go to, without a last slash."""
        return self.core.origin

    async def create_collection(
        self,
        *,
        amount: int,
        phone: str,
        reference: str,
        description: str | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        phone_as_is: bool = False,
    ) -> Collection:
        """Start a USSD push; see `Client.create_collection`. Source: POST /v1/collections."""
        body = requests.creation_body(
            amount=amount,
            phone=phone,
            reference=reference,
            description=description,
            metadata=metadata,
            phone_as_is=phone_as_is,
        )
        key = requests.new_idempotency_key() if idempotency_key is None else idempotency_key
        return await self.run(self.core.create(requests.creation(body, idempotency_key=key)))

    async def get_collection(self, collection_id: str) -> Collection:
        """Return a collection as it is now. Source: GET /v1/collections/{id}."""
        return await self.run(self.core.collection(collection_id))

    async def get_event(self, event_id: str) -> Event:
        """Return an event, to double-check a delivery. Source: GET /v1/events/{id}."""
        return await self.run(self.core.event(event_id))

    async def whoami(self) -> Principal:
        """Return whose API key this is and in which mode. Source: GET /v1/whoami."""
        return await self.run(self.core.whoami())

    async def wait(
        self,
        collection_id: str,
        *,
        timeout: float = DEFAULT_WAIT_S,  # noqa: ASYNC109 - part of the contract of both clients
    ) -> Collection:
        """Poll until the collection is final; see `Client.wait`."""
        return await self.run(self.core.wait(collection_id, timeout_s=timeout))

    async def run(self, steps: Effects[Result]) -> Result:
        """Carry out steps; what blocks runs in a thread, so that the loop stays free."""
        try:
            effect = next(steps)
            while True:
                try:
                    outcome = await self._perform(effect)
                except BaseException as error:  # noqa: BLE001 - the steps decide, and it goes on
                    effect = steps.throw(error)
                else:
                    effect = steps.send(outcome)
        except StopIteration as stop:
            result: Result = stop.value
            return result

    async def _perform(self, effect: Effect) -> object:
        match effect:
            case Send(request, within_s):
                return await self._send(request, within_s)
            case Sleep(seconds):
                await self._clock.asleep(seconds)
                return None
            case Call(function):
                return await asyncio.to_thread(function)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._network is not None:
            await self._network.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={None if self.mode is None else self.mode.value!r})"


def _network(address: Address, api_key: Secret) -> "AsyncTransport":
    # aiohttp costs a third of a second to import, which users of the blocking client save; they
    # need not install it either.
    try:
        from kusanya.client.transport import AsyncTransport
    except ImportError as error:
        raise ConfigurationError(
            "AsyncClient needs aiohttp and httpx-aiohttp: pip install 'kusanya[async]'"
        ) from error
    return AsyncTransport(address, api_key)
