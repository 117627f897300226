"""The receiver's own pages: is it healthy, and what it has counted."""

import errno
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from tests.kusanya.receiver.peers import SignHeaders
from tests.kusanya.receiver.slow_journal import FaultyJournal

from kusanya.clock import Clock, ManualClock
from kusanya.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)
from kusanya.receiver import EndpointSecrets, Limits, app
from kusanya.store import Store
from kusanya.wire import Mode, decode_event

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.anyio


async def test_healthz_says_whether_the_store_can_be_read_and_written(
    store: Store, ask: Ask
) -> None:
    answer = await ask(app(store, SECRET, mode="test"), method="GET", path="/healthz")
    assert (answer.status, answer.text) == (200, "ok")

    def broken() -> None:
        raise StoreUnavailable("gone")

    answer = await ask(
        app(FaultyJournal(prove_writable=broken), SECRET, mode="test"),
        method="GET",
        path="/healthz",
    )
    assert answer.status == 503


async def test_a_receiver_whose_store_was_removed_is_unhealthy_and_acknowledges_nothing(
    *, store: Store, clock: Clock, tmp_path: Path, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    receiver = app(store, SECRET, mode="test", clock=clock)
    payload = body()
    assert (await ask(receiver, payload, sign_headers(payload))).status == 200
    for name in ("store.db", "store.db-wal", "store.db-shm"):
        (tmp_path / name).unlink()
    assert (await ask(receiver, method="GET", path="/healthz")).status == 503
    for _ in range(3):
        assert (await ask(receiver, payload, sign_headers(payload))).status == 503


async def test_a_receiver_that_cannot_write_is_unhealthy_until_it_can(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    full = True

    def begin(_connection: object) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")

    event.listen(store._engines.writer, "begin", begin)
    receiver = app(store, SECRET, mode="test", clock=clock)
    # Nothing has arrived yet: it is asked for by writing.
    assert (await ask(receiver, method="GET", path="/healthz")).status == 503
    payload = body()
    assert (await ask(receiver, payload, sign_headers(payload))).status == 503
    full = False
    assert (await ask(receiver, method="GET", path="/healthz")).status == 200
    assert (await ask(receiver, payload, sign_headers(payload))).status == 200


async def test_healthz_does_not_wait_for_a_store_that_hangs_nor_ask_it_twice(ask: Ask) -> None:
    asked, release = list[int](), threading.Event()

    def hang() -> None:
        asked.append(1)
        release.wait(30)

    receiver = app(
        FaultyJournal(prove_writable=hang), SECRET, mode="test", limits=Limits(health_s=0.02)
    )
    for _ in range(3):
        assert (await ask(receiver, method="GET", path="/healthz")).status == 503
    release.set()
    assert asked == [1]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (StoreUnavailable("the store cannot write: database or disk is full"), "the disk of"),
        (StoreUnavailable("cannot write: database is locked"), "another program holds"),
        (StoreUnavailable("connection to 10.0.0.7 refused"), "cannot be read or written"),
        (StoreTooNew("revision 99"), "of a newer version"),
        (StoreDamaged("row 5"), "is damaged"),
        (StoreBusy("queue"), "more to write than it can"),
    ],
)
async def test_readyz_says_why_a_store_cannot_be_used_and_names_no_address(
    ask: Ask, trouble: StoreError, reason: str
) -> None:
    def broken() -> None:
        raise trouble

    receiver = app(FaultyJournal(prove_writable=broken), SECRET, mode="test")
    answer = await ask(receiver, method="GET", path="/readyz")
    assert answer.status == 503
    assert reason in answer.text
    assert "10.0.0.7" not in answer.text
    # The process itself is well: starting it again would help nobody.
    assert (await ask(receiver, method="GET", path="/livez")).status == 200


async def test_a_receiver_that_is_about_to_end_is_not_ready_and_goes_on_receiving(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), body()
    assert (await ask(receiver, method="GET", path="/readyz")).status == 200
    receiver.drain()
    answer = await ask(receiver, method="GET", path="/readyz")
    assert (answer.status, answer.text) == (503, "about to end: send to another one")
    delivered = await ask(receiver, payload, sign_headers(payload))
    assert (delivered.status, delivered.headers["connection"]) == (200, "close")
    assert (await ask(receiver, method="GET", path="/livez")).status == 200


async def test_an_answer_has_a_type_where_it_says_something(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    receiver = app(store, [EndpointSecrets("till", Mode.TEST, SECRET)], clock=clock)
    taken = await ask(receiver, payload, sign_headers(payload))
    assert (taken.status, taken.headers) == (200, {"content-length": "0"})
    refused = await ask(receiver, payload, [])
    assert refused.headers["content-type"] == "text/plain; charset=utf-8"
    assert refused.headers["content-length"] == str(len(refused.text))


async def test_metrics_count_deliveries_by_verdict_and_refusals_by_status(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    receiver = app(store, [EndpointSecrets("till", Mode.TEST, SECRET)], clock=clock)
    for headers in (sign_headers(payload), sign_headers(payload), []):
        await ask(receiver, payload, headers)
    await ask(receiver, b"x" * 300_000)
    await ask(receiver, payload, sign_headers(payload), ends="disconnect")
    answer = await ask(receiver, method="GET", path="/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    lines = set(answer.text.splitlines())
    assert lines >= {
        'kusanya_deliveries_total{endpoint="till",verdict="verified"} 1.0',
        'kusanya_deliveries_total{endpoint="till",verdict="repeat"} 1.0',
        'kusanya_deliveries_total{endpoint="till",verdict="rejected"} 1.0',
        'kusanya_refused_requests_total{status="413"} 1.0',
        "kusanya_discarded_requests_total 1.0",
        "kusanya_ack_seconds_count 3.0",
        'kusanya_ack_seconds_bucket{le="+Inf"} 3.0',
        "kusanya_requests_in_flight 0.0",
        "kusanya_journal_queue_rows 0.0",
    }


async def test_a_public_receiver_can_keep_its_metrics_to_itself(
    store: Store, clock: Clock, ask: Ask
) -> None:
    answer = await ask(
        app(store, SECRET, mode="test", clock=clock, metrics=False), method="GET", path="/metrics"
    )
    assert (answer.status, "kusanya" in answer.text) == (405, False)


async def test_metrics_show_how_late_and_how_silent_an_endpoint_is(
    store: Store, clock: ManualClock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    endpoints = [
        EndpointSecrets("till", Mode.TEST, SECRET),
        EndpointSecrets("web", Mode.TEST, "whsec_of_web"),
    ]
    receiver = app(store, endpoints, clock=clock)
    clock.sleep(60)
    payload = body()
    await ask(receiver, payload, sign_headers(payload))
    clock.sleep(7)
    await ask(receiver, payload, [])
    answer = await ask(receiver, method="GET", path="/metrics")
    lines = answer.text.splitlines()
    assert 'kusanya_silence_seconds{endpoint="till"} 7.0' in lines
    assert 'kusanya_silence_seconds{endpoint="web"} 67.0' in lines
    (lag,) = (line for line in lines if line.startswith("kusanya_delivery_lag_seconds{"))
    created_at = decode_event(payload).created_at
    assert float(lag.split()[1]) == (clock.now() - created_at).total_seconds() - 7
