"""The asynchronous client."""

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from kusanya.client import requests
from kusanya.client.base import ClientBase
from kusanya.client.blocking_client import DEFAULT_WAIT_S
from kusanya.client.effects import (
    AwaitDurable,
    Call,
    Effect,
    Effects,
    Send,
    Sleep,
    carry_out,
    to_its_end,
)
from kusanya.client.transport.connection import Connection
from kusanya.errors import ConfigurationError
from kusanya.wire import Collection, Event, Principal

if TYPE_CHECKING:
    from kusanya.client.transport.async_transport import AsyncTransport

Result = TypeVar("Result")
# ruff: noqa: ASYNC109 - `timeout` is part of the contract of both clients


class AsyncClient(ClientBase):
    """The same as `Client`, for one event loop; its arguments and errors are the same.

    `transport` is an asynchronous callable here. Used as `async with AsyncClient(...)`, or closed
    with `aclose()`. In another event loop than that of its first call it raises ConfigurationError.
    """

    def _open_network(self, connection: Connection) -> "AsyncTransport":
        # aiohttp costs a third of a second to import, which users of the blocking client save;
        # they need not install it either.
        try:
            from kusanya.client.transport.async_transport import AsyncTransport
        except ImportError as error:
            raise ConfigurationError(
                "AsyncClient needs aiohttp: pip install 'kusanya[async]'"
            ) from error
        return AsyncTransport(connection)

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
        timeout: float | None = None,
    ) -> Collection:
        """Start a USSD push of `amount` whole shillings; see `Client.create_collection`.

        Source: POST /v1/collections.
        """
        create = requests.CreateRequest(
            amount=amount,
            phone=phone,
            reference=reference,
            description=description,
            metadata=metadata,
            idempotency_key=idempotency_key,
            phone_as_is=phone_as_is,
        )
        return await self.run(self.core.create_collection(create, timeout_s=timeout))

    async def get_collection(
        self, collection_id: str, *, timeout: float | None = None
    ) -> Collection:
        """Return a collection as it is now. Source: GET /v1/collections/{id}."""
        deadline = self.core.deadline(timeout)
        return await self.run(self.core.collection(collection_id, deadline=deadline))

    async def get_event(self, event_id: str, *, timeout: float | None = None) -> Event:
        """Return an event, to double-check a delivery. Source: GET /v1/events/{id}."""
        return await self.run(self.core.event(event_id, deadline=self.core.deadline(timeout)))

    async def whoami(self, *, timeout: float | None = None) -> Principal:
        """Return whose API key this is and in which mode. Source: GET /v1/whoami."""
        return await self.run(self.core.whoami(deadline=self.core.deadline(timeout)))

    async def wait(self, collection_id: str, *, timeout: float = DEFAULT_WAIT_S) -> Collection:
        """Poll until the collection is final; see `Client.wait`."""
        return await self.run(self.core.wait(collection_id, timeout_s=timeout))

    async def run(self, effects: Effects[Result]) -> Result:
        """Carry out effects; what blocks runs in a thread, so that the loop stays free.

        Requests and pauses are cancelled at once, a store's calls after they have ended.
        """
        self._check_open()
        if self._network is not None:
            self._network.check_loop()
        return await carry_out(effects, self._perform)

    async def _perform(self, effect: Effect) -> object:
        match effect:
            case Send(request, within_s):
                return await self._send(request, within_s)
            case Sleep(seconds):
                await self._clock.asleep(seconds)
                return None
            case AwaitDurable(_, queue):
                return await to_its_end(asyncio.wrap_future(queue()))
            case Call(function):
                return await to_its_end(asyncio.ensure_future(asyncio.to_thread(function)))

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
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
