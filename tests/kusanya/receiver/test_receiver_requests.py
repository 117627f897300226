"""What a request must be to be read as a delivery: its method, its size, its pieces, its end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kusanya.receiver.looking import kept
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.clock import Clock
from kusanya.receiver import Limits, app
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.handler import DeliveryHandler
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict

SECRET = "whsec_" + "a" * 32
Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]
pytestmark = pytest.mark.anyio


async def test_a_body_in_pieces_is_verified_as_one(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    pieces = [payload[:1], b"", payload[1:200], payload[200:]]
    answer = await ask(app(store, SECRET, mode="test", clock=clock), pieces, sign_headers(payload))
    assert answer.status == 200
    assert kept(store)[0].verdict is Verdict.VERIFIED


@pytest.mark.parametrize("pieces", [1, 2])
async def test_a_body_of_more_than_256_kib_is_refused_and_one_byte_less_is_read(
    store: Store, clock: Clock, sign_headers: SignHeaders, ask: Ask, pieces: int
) -> None:
    receiver = app(store, SECRET, mode="test", clock=clock)
    for size, status in ((262_144, 200), (262_145, 413)):
        payload = b" " * size
        parts = [payload] if pieces == 1 else [payload[:200_000], payload[200_000:]]
        unannounced = [pair for pair in sign_headers(payload) if pair[0] != b"content-length"]
        answer = await ask(receiver, parts, unannounced)
        assert answer.status == status
    assert answer.headers["connection"] == "close"
    assert len(kept(store)) == 1


async def test_a_body_announced_as_too_large_is_refused_before_it_is_read(
    store: Store, ask: Ask
) -> None:
    for length in (b"262145", b"9" * 5000):
        answer = await ask(
            app(store, SECRET, mode="test"), b"", [(b"content-length", length)], ends="silence"
        )
        assert answer.status == 413
    assert kept(store) == ()


async def test_a_header_that_names_no_length_announces_none(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, receiver = body(), app(store, SECRET, mode="test", clock=clock)
    for header in ((b"x-amount", b"262145"), (b"content-length", b"many")):
        assert (await ask(receiver, payload, [*sign_headers(payload), header])).status == 200


async def test_a_compressed_body_is_refused(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, receiver = body(), app(store, SECRET, mode="test", clock=clock)
    answer = await ask(receiver, payload, [*sign_headers(payload), (b"content-encoding", b"gzip")])
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "identity")
    for spelled in (b"Identity", b" "):
        plain = [*sign_headers(payload), (b"content-encoding", spelled)]
        assert (await ask(receiver, payload, plain)).status == 200


def test_one_receiver_works_on_one_event_loop_after_another(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    receiver = app(store, SECRET, mode="test", clock=clock)
    for number in range(2):
        payload = body(id=f"evt_{number}")

        async def twice(payload: bytes = payload) -> list[int]:
            return [(await ask(receiver, payload, sign_headers(payload))).status for _ in range(2)]

        assert asyncio.run(twice()) == [200, 200]
    assert len(kept(store)) == 4


class Follower:
    """Notes what it is asked to do."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def start(self) -> None:
        """Note that it began."""
        self.seen.append("start")

    def close(self) -> None:
        """Note that it ended."""
        self.seen.append("close")

    def offer(self, arrival: Arrival, _commit: DeliveryCommit) -> None:
        """Note which event came."""
        self.seen.append(arrival.event_id or "")


@pytest.mark.parametrize("is_started", [True, False], ids=["by its server", "by nobody"])
async def test_what_works_in_the_background_is_started_once_and_again_after_its_end(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, *, is_started: bool
) -> None:
    follower = Follower()
    handler = DeliveryHandler(
        store,
        Endpoints.of(SECRET, mode="test"),
        clock=clock,
        limits=Limits(),
        followers=[follower],
    )
    if is_started:
        handler.start()
    for name in ("evt_1", "evt_2", "evt_3"):
        payload = body(id=name)

        async def read(payload: bytes = payload) -> bytes:
            return payload

        handler.acknowledged(await handler.handle(sign_headers(payload), "/", read))
        if name == "evt_2":
            handler.close()
    assert follower.seen == ["start", "evt_1", "evt_2", "close", "start", "evt_3"]


async def test_an_answer_took_as_long_as_from_its_request_to_its_end(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    readings = iter([10.0, 10.02, 10.2])
    handler = DeliveryHandler(
        store,
        Endpoints.of(SECRET, mode="test"),
        clock=clock,
        limits=Limits(),
        stopwatch=lambda: next(readings),
    )

    async def read() -> bytes:
        return body()

    durable = await handler.handle(sign_headers(body()), "/", read)
    handler.acknowledged(durable)
    assert durable.arrival.took_us == pytest.approx(20_000, abs=1)
    taken = handler.metrics.acknowledgements
    assert taken.sum == pytest.approx(0.2)
    assert next(float(bound) for bound, count in taken.buckets if count) == 0.25


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
async def test_only_post_is_a_delivery_and_nothing_is_ever_redirected(
    store: Store, ask: Ask, method: str
) -> None:
    for path in ("", "/", "/hooks", "/hooks/"):
        answer = await ask(app(store, SECRET, mode="test"), method=method, path=path)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
        assert "location" not in answer.headers


async def test_any_path_takes_a_delivery(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    receiver = app(store, SECRET, mode="test", clock=clock)
    for number, path in enumerate(("/", "", "/a/b/", "/healthz")):
        payload = body(number)
        assert (await ask(receiver, payload, sign_headers(payload), path=path)).status == 200
    assert len(kept(store)) == 4


async def test_a_sender_that_leaves_within_the_body_leaves_no_trace(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    receiver = app(store, SECRET, mode="test", clock=clock)
    answer = await ask(receiver, payload, sign_headers(payload), ends="disconnect")
    assert answer.sent == []
    assert kept(store) == ()


async def test_a_body_that_never_ends_is_cut_and_never_parsed(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    receiver = app(store, SECRET, mode="test", clock=clock, limits=Limits(receipt_s=0.05))
    answer = await ask(receiver, payload, sign_headers(payload), ends="silence")
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert kept(store) == ()
