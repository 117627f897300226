"""The lines of a receiver's log: one for each delivery, and nothing in them that it held."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kusanya.receiver.looking import logged
from tests.kusanya.receiver.peers import SignHeaders
from tests.kusanya.receiver.slow_journal import FaultyJournal

from kusanya.clock import Clock
from kusanya.receiver import app
from kusanya.store import Store

SECRET = "whsec_" + "a" * 32
Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]
pytestmark = pytest.mark.anyio


async def test_every_refusal_is_one_line_in_the_log_without_what_it_held(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), body()
    await ask(receiver, payload, sign_headers(payload, secret="whsec_forged"))
    await ask(receiver, b" " * 262_145)
    busy = app(FaultyJournal(busy=True), SECRET, mode="test", clock=clock)
    await ask(busy, payload, sign_headers(payload))
    said = [(line.message, vars(line)["status"]) for line in logged(caplog)]
    assert said == [("delivery refused", 400), ("request refused", 413), ("request refused", 503)]
    everything = " ".join(str(vars(line)) for line in logged(caplog))
    assert not any(text in everything for text in ("255754000001", "whsec_", "v1=", "evt_1"))


async def test_a_delivery_that_was_taken_is_a_line_on_a_logger_of_its_own(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), body()
    await ask(receiver, payload, sign_headers(payload))
    assert logged(caplog) == []
    caplog.set_level(logging.INFO, "kusanya.receiver.accepted")
    await ask(receiver, payload, sign_headers(payload))
    [line] = [one for one in caplog.records if one.name == "kusanya.receiver.accepted"]
    assert (line.message, vars(line)["event_id"]) == ("delivery received", "evt_1")
    assert vars(line)["verdict"] == "repeat"


async def test_lines_name_the_peer_and_the_request_and_repeat_nothing_that_is_no_id(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), body()
    caplog.set_level(logging.INFO, "kusanya.receiver.accepted")
    for name in (b"5f1e-77", b'x" level="error', b"a" * 65):
        await ask(receiver, payload, [*sign_headers(payload), (b"x-request-id", name)])
    await ask(receiver, b"x" * 300_000, [(b"x-request-id", b"5f1e-78")])
    mine = [one for one in caplog.records if one.name.startswith("kusanya.receiver")]
    taken, odd, long, refused = map(vars, mine)
    assert (taken["request_id"], taken["peer"]) == ("5f1e-77", "192.0.2.7")
    assert "request_id" not in odd | long
    assert (refused["message"], refused["request_id"]) == ("request refused", "5f1e-78")
