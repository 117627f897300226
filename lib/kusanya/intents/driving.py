"""Waiting for what becomes durable: without a thread per waiter where there is an event loop.

A create waits for its store twice. Thirty of them at once would otherwise take turns on a handful
of threads, and share fewer commits than they could.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from kusanya.client import AsyncClient
from kusanya.client.effects import Call, Effect, Effects

Result = TypeVar("Result")


class Keep(Call[Result], frozen=True):
    """Wait until what `queue` submits is durable; its result or its error comes back.

    For whoever knows nothing of it, this is an act that blocks.
    """

    queue: Callable[[], "Future[Result]"]


def keep(queue: Callable[[], "Future[Result]"]) -> Effects[Result]:
    """Ask for something to be made durable and return its result."""
    result: Result = yield Keep(lambda: queue().result(), queue)
    return result


async def run(client: AsyncClient, steps: Effects[Result]) -> Result:
    """Carry out steps as `client.run` does, and wait on the loop for what becomes durable.

    Requests and pauses are cancelled at once, the store's acts after they have ended.
    """
    try:
        effect = next(steps)
        while True:
            try:
                outcome = await _perform(client, effect)
            except BaseException as error:  # noqa: BLE001 - the steps decide, and it goes on
                effect = steps.throw(error)
            else:
                effect = steps.send(outcome)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def _perform(client: AsyncClient, effect: Effect) -> object:
    if isinstance(effect, Keep):
        return await _to_its_end(asyncio.wrap_future(effect.queue()))
    if isinstance(effect, Call):
        return await _to_its_end(asyncio.ensure_future(asyncio.to_thread(effect.function)))
    return await client.run(_alone(effect))


async def _to_its_end(started: "asyncio.Future[Result]") -> Result:
    """Wait for what the store does, which goes on whatever becomes of its caller.

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


def _alone(effect: Effect) -> Effects[object]:
    return (yield effect)
