"""What the client's logic asks of the outside: to send, to wait, to do something that blocks.

The logic is written once, as generators that yield these effects and are sent the outcome; `Client`
and `AsyncClient` only carry effects out. Nothing here knows a socket, a clock or a library.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

Result = TypeVar("Result")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, without the address and the API key, which the drivers add.

    `body` is sent as these exact bytes on every attempt. The repr shows neither body nor key.
    """

    method: str
    path: str
    idempotency_key: str | None = None
    body: bytes | None = None

    def __repr__(self) -> str:
        return f"Request({self.method} {self.path})"


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it crossed the wire."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    complete: bool = True
    """False where the body was longer than we read."""

    def header(self, name: str) -> str | None:
        """Return the first header of this name, or None."""
        wanted = name.lower().encode()
        for found, value in self.headers:
            if found.lower() == wanted:
                return value.decode("latin-1")
        return None

    def __repr__(self) -> str:
        return f"Response({self.status}, {len(self.body)} bytes)"


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """No answer. `why` is ours or the network library's sentence and holds no payload."""

    left: bool
    """False only where it is certain that not one byte of the request left this machine."""
    why: str


Reply: TypeAlias = Response | Failure


class Send(msgspec.Struct, frozen=True):
    """Send the request once and give up after `within_s` seconds, all parts included."""

    request: Request
    within_s: float


class Sleep(msgspec.Struct, frozen=True):
    """Wait."""

    seconds: float


class Call(msgspec.Struct, Generic[Result], frozen=True):
    """Call something that blocks, such as a store; its result or its error comes back."""

    function: Callable[[], Result]


class AwaitDurable(Call[Result], frozen=True):
    """Wait until what `queue` submits is durable; its result or its error comes back.

    On an event loop without a thread: thirty creates at once would otherwise take turns on a
    handful of threads, and share fewer commits than they could.
    """

    queue: Callable[[], "Future[Result]"]


Effect: TypeAlias = Send | Sleep | Call[Any]
Effects: TypeAlias = Generator[Effect, Any, Result]


def send(request: Request, *, within_s: float) -> Effects[Reply]:
    """Ask for one sending and return its outcome."""
    reply: Reply = yield Send(request, within_s)
    return reply


def sleep(seconds: float) -> Effects[None]:
    """Ask for a pause."""
    yield Sleep(seconds)


def call(function: Callable[[], Result]) -> Effects[Result]:
    """Ask for a blocking call and return its result."""
    result: Result = yield Call(function)
    return result


def await_durable(queue: Callable[[], "Future[Result]"]) -> Effects[Result]:
    """Ask for something to be made durable and return its result."""
    result: Result = yield AwaitDurable(lambda: queue().result(), queue)
    return result


async def carry_out(
    effects: Effects[Result], perform: Callable[[Effect], Awaitable[object]]
) -> Result:
    """Carry out effects one after the other: the one loop, for both clients."""
    try:
        effect = next(effects)
        while True:
            try:
                outcome = await perform(effect)
            except BaseException as error:  # noqa: BLE001 - the effects decide, and it goes on
                effect = effects.throw(error)
            else:
                effect = effects.send(outcome)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def run_blocking(work: Coroutine[None, None, Result]) -> Result:
    """Run a coroutine that never waits on an event loop, because all it awaits blocks instead."""
    try:
        work.send(None)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    raise RuntimeError("a blocking client waits for nothing on an event loop")


async def to_its_end(started: "asyncio.Future[Result]") -> Result:
    """Wait for what a store does, which goes on whatever becomes of its caller.

    A cancellation is passed on afterwards: then it is known what has been written.
    """
    cancelled: asyncio.CancelledError | None = None
    while not started.done():
        try:
            await asyncio.wait((started,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return started.result()
    if not started.cancelled():
        started.exception()  # it was looked at: the loop need not complain of it
    raise cancelled
