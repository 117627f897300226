"""Endpoints that reset the connection: every attempt is recorded, and nobody else is hurt.

On both event loops: what one of them passes over in silence is an exception on the other.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop
from tests.kusanya_service.helpers import Order, deliveries, process, register, wait_for
from tests.kusanya_service.resetting import BEFORE_ACCEPT, Cut, ResettingEndpoint, every_cut

from kusanya_service.delivery import address_policy, dispatcher, streams
from kusanya_service.simulation import faults as faults_module
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint

Loop = Callable[[], asyncio.AbstractEventLoop]

AT_ONCE = "255754000012"
"""The phone whose event goes out before the answer."""
AT_THE_START: list[Cut] = [("request", 0)]
ENDS = {"connection_lost", "connection_refused", "connect_error", "protocol_error"}
_SCHEDULE_S = (20, 60, 300, 1_800, 7_200, 21_600, 43_200)

both_loops = pytest.mark.parametrize(
    "loop",
    [
        pytest.param(asyncio.new_event_loop, id="asyncio"),
        pytest.param(uvloop.new_event_loop, id="uvloop"),
    ],
)


@contextmanager
def resetting(cuts: Iterable[Cut]) -> Iterator[ResettingEndpoint]:
    one = ResettingEndpoint(cuts)
    try:
        yield one
    finally:
        one.close()


def outcomes(found: Iterable[Any]) -> Counter[str]:
    return Counter(attempt["outcome"] for one in found for attempt in one["attempts"])


def check(service: PaymentService, bad: ResettingEndpoint, made: int) -> None:
    """Hold what must be true once time has gone past the last attempt of every delivery."""
    found = deliveries(service)
    honest = [one for one in found if one["url"] != bad.url]
    hostile = [one for one in found if one["url"] == bad.url]
    assert len(honest) == len(hostile) == made
    assert outcomes(honest) == {"succeeded": made}
    assert {one["status"] for one in honest} == {"succeeded"}
    # Nothing is overdue: each has had its seven attempts, or one of them came through.
    assert {one["status"] for one in hostile} <= {"failed", "succeeded"}
    assert all(len(one["attempts"]) == 7 for one in hostile if one["status"] == "failed")
    assert set(outcomes(hostile)) <= ENDS | {"succeeded"}


@both_loops
@pytest.mark.scale(40, 1, 1)
@pytest.mark.spec("delivery-1")
def test_an_endpoint_that_resets_at_every_byte_fails_and_an_honest_one_gets_every_event(
    start: Any, order: Order, endpoint: CapturingEndpoint, loop: Loop, rounds: int
) -> None:
    cuts = every_cut(rounds)
    made = -(-2 * len(cuts) // 7)
    with (
        resetting(cuts) as bad,
        start(loop=loop, allow_local=(endpoint.place, bad.place)) as service,
    ):
        register(service, bad.url)
        for _ in range(made):
            service.create(order)
        for seconds in _SCHEDULE_S:
            service.advance(seconds)
        service.advance(3_600)
        check(service, bad, made)
        assert bad.resets >= len(cuts)


@both_loops
@pytest.mark.scale(40, 700, 7_000)
def test_resets_before_the_first_byte_lose_no_delivery(
    start: Any, order: Order, endpoint: CapturingEndpoint, loop: Loop, rounds: int
) -> None:
    made = rounds
    with (
        resetting([*AT_THE_START * 9, BEFORE_ACCEPT]) as bad,
        start(loop=loop, allow_local=(endpoint.place, bad.place)) as service,
    ):
        register(service, bad.url)
        for _ in range(made):
            assert service.create(order | {"phone": AT_ONCE}).status == 202
        for seconds in _SCHEDULE_S:
            service.advance(seconds)
        service.advance(3_600)
        check(service, bad, made)


def closed_before(moment: str) -> Any:
    """Return a `connect` whose connection has been closed by the other side at a moment."""

    class ClosedStream(streams.Stream):
        def get_extra_info(self, info: str) -> Any:
            if info == "server_addr" and moment == "look at the peer":
                return None  # what uvloop says of a connection that was reset
            return super().get_extra_info(info)

        async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
            if moment == "write":
                self._writer.transport.abort()
                await asyncio.sleep(0.01)  # until the loop has closed it
            await super().write(buffer, timeout)

    async def connect(address: str, port: int, timeout: float | None) -> streams.Stream:  # noqa: ASYNC109
        opened = await streams.connect(address, port, timeout)
        return ClosedStream(opened._reader, opened._writer)

    return connect


@both_loops
@pytest.mark.parametrize("moment", ["look at the peer", "write"])
def test_a_connection_that_is_closed_already_is_a_lost_connection(
    start: Any, order: Order, monkeypatch: pytest.MonkeyPatch, loop: Loop, moment: str
) -> None:
    monkeypatch.setattr(address_policy, "connect", closed_before(moment))
    with start(loop=loop) as service:
        assert service.create(order | {"phone": AT_ONCE}).status == 202
        [failed] = outcomes(deliveries(service)).elements()
        assert failed in ENDS
        monkeypatch.undo()
        service.advance(60)
        assert outcomes(deliveries(service)) == {failed: 1, "succeeded": 1}


def test_an_error_that_nobody_foresaw_is_a_failed_attempt_with_its_name(
    start: Any, order: Order, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "whsec_" + "f" * 32

    async def connect(*_: object) -> streams.Stream:
        raise KeyError(secret)

    monkeypatch.setattr(address_policy, "connect", connect)
    with start() as service, caplog.at_level(logging.ERROR, "kusanya_service"):
        service.create(order)
        service.advance(20)
        [delivery] = deliveries(service)
        [attempt] = delivery["attempts"]
        assert attempt["outcome"] == "internal_error"
        assert attempt["error"] == "the attempt failed inside the service (KeyError)"
        assert delivery["next_attempt_at"] is not None
        monkeypatch.undo()
        service.advance(60)
        assert deliveries(service)[0]["status"] == "succeeded"
    assert "unexpected KeyError" in caplog.text
    assert "address_policy.py" in caplog.text
    assert secret not in caplog.text


def broken_for(delivery_number: int) -> Any:
    """Return a `payload_change` whose bug ends the first attempt of one delivery."""
    asked: list[str] = []

    def payload_change(faults: Any, delivery_id: str, attempt: int) -> Any:
        if not asked.count(delivery_id) and len(asked) == delivery_number:
            asked.append(delivery_id)
            raise KeyError(delivery_id)
        asked.append(delivery_id)
        return faults_module.payload_change(faults, delivery_id, attempt)

    return payload_change


def test_an_attempt_that_a_bug_ends_goes_back_on_the_schedule_and_the_others_are_made(
    start: Any, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "payload_change", broken_for(2))
    with start() as service:
        for _ in range(5):
            service.create(order)
        service.advance(20)
        assert Counter(one["status"] for one in deliveries(service)) == {
            "succeeded": 4,
            "pending": 1,
        }
        service.advance(60)
        assert outcomes(deliveries(service)) == {"succeeded": 5}


def test_a_bug_in_an_attempt_leaves_the_answer_of_a_create_whole_and_the_clock_running(
    start: Any, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "payload_change", broken_for(0))
    with start(clock="1000x") as service:
        assert service.create(order | {"phone": AT_ONCE}).status == 202
        wait_for(lambda: outcomes(deliveries(service)) == {"succeeded": 1})


@pytest.mark.merge
@pytest.mark.scale(30, 150, 1_500)
def test_a_process_on_uvloop_loses_no_delivery_to_an_endpoint_that_resets(
    tmp_path: Path, order: Order, endpoint: CapturingEndpoint, rounds: int
) -> None:
    with (
        resetting(AT_THE_START) as bad,
        process(tmp_path, "1000x", endpoint.place, bad.place) as service,
    ):
        for url in (bad.url, endpoint.url):
            body = {"url": url, "mode": "test"}
            service.post("/dashboard/endpoints", body).raise_for_status()
        for number in range(rounds):
            made = service.post("/v1/collections", order, **{"Idempotency-Key": str(number)})
            assert made.status_code == 202

        def each_has_gone_on() -> bool:
            found = service.get("/dashboard/deliveries?limit=1000")["data"]
            hostile = [one for one in found if one["url"] == bad.url]
            return len(hostile) >= min(rounds, 500) and all(
                len(one["attempts"]) >= 3 for one in hostile
            )

        wait_for(each_has_gone_on)
        wait_for(lambda: len({one.event["id"] for one in endpoint.deliveries}) == rounds)
