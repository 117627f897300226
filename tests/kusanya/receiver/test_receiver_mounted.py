"""The receiver inside another program: mounted, with and without lifespan events."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kusanya.receiver.lost_answers import unanswered
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.clock import Clock
from kusanya.receiver import Receiver, app
from kusanya.receiver.double_check import DoubleCheck, DoubleCheckPolicy
from kusanya.store import Store
from kusanya.store.records import (
    IntentState,
)
from kusanya.wire import Collection, Event, Mode, decode_event

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.anyio


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0)


async def test_it_mounts_below_a_path_of_another_program(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    program = Starlette(routes=[Mount("/hooks", app=app(store, SECRET, mode="test", clock=clock))])
    payload = body()
    assert (await ask(program, payload, sign_headers(payload), path="/hooks/till")).status == 200
    answer = await ask(program, method="GET", path="/hooks/healthz")
    assert (answer.status, answer.text) == (200, "ok")


async def test_lifespan_is_answered_and_websockets_are_closed(store: Store) -> None:
    receiver = app(store, SECRET, mode="test")
    for kind, messages, expected in (
        (
            "lifespan",
            ["lifespan.startup", "lifespan.shutdown"],
            ["lifespan.startup.complete", "lifespan.shutdown.complete"],
        ),
        ("websocket", ["websocket.connect"], ["websocket.close"]),
    ):
        incoming, sent = iter(messages), list[str]()

        async def receive(incoming: Any = incoming) -> dict[str, Any]:
            return {"type": next(incoming)}

        async def send(message: Any, sent: list[str] = sent) -> None:
            sent.append(message["type"])

        await receiver({"type": kind}, receive, send)
        assert sent == expected
    with pytest.raises(ValueError, match="HTTP"):
        await receiver({"type": "smtp"}, receive, send)


class Service:
    """A service that knows one event."""

    def __init__(self, body: bytes) -> None:
        self._event = decode_event(body)

    def get_event(self, event_id: str, /) -> Event:
        """Return the event."""
        return self._event

    def get_collection(self, collection_id: str, /) -> Collection:
        """Return its collection."""
        return self._event.data


async def test_a_mounted_receiver_resolves_a_lost_creation_and_double_checks_without_lifespan(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    intent, payload = unanswered(store), body()
    checks = DoubleCheck(
        store, {Mode.TEST: Service(payload)}, policy=DoubleCheckPolicy.ALWAYS, clock=clock
    )
    receiver = app(store, SECRET, mode="test", clock=clock, double_check=checks)
    program = Starlette(routes=[Mount("/hooks", app=receiver)])
    assert (await ask(program, payload, sign_headers(payload), path="/hooks/")).status == 200

    def resolved() -> bool:
        found, event = store.intents.get(intent.id), store.events.get("evt_1")
        assert found is not None
        assert event is not None
        return found.state is IntentState.SETTLED and event.checked_at is not None

    await until(resolved)
    found = store.intents.get(intent.id)
    assert found is not None
    assert found.collection_id == "col_1"
    await lifespan(receiver, "lifespan.shutdown")
    followers = receiver._handler._followers
    assert [vars(follower)["_thread"] for follower in followers] == [None, None]


async def test_a_lost_creation_whose_event_came_before_the_start_is_resolved_by_the_start(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    intent = unanswered(store)
    payload, quiet = body(), app(store, SECRET, mode="test", clock=clock, resolve_intents=False)
    assert (await ask(quiet, payload, sign_headers(payload))).status == 200
    receiver = app(store, SECRET, mode="test", clock=clock)
    await lifespan(receiver, "lifespan.startup")

    def resolved() -> bool:
        found = store.intents.get(intent.id)
        assert found is not None
        return found.state is IntentState.SETTLED

    await until(resolved)
    await lifespan(receiver, "lifespan.shutdown")


async def lifespan(receiver: Receiver, *kinds: str) -> None:
    incoming, sent = iter(kinds), list[str]()

    async def receive() -> dict[str, Any]:
        try:
            return {"type": next(incoming)}
        except StopIteration:
            raise asyncio.CancelledError from None

    async def send(message: Any) -> None:
        sent.append(message["type"])

    with contextlib.suppress(asyncio.CancelledError):
        await receiver({"type": "lifespan"}, receive, send)
    assert sent == [f"{kind}.complete" for kind in kinds]
