"""The receiver as an ASGI application: what is durable before its 2xx, and when it says 503."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kusanya.receiver.looking import kept, logged, until
from tests.kusanya.receiver.peers import SignHeaders
from tests.kusanya.receiver.slow_journal import FaultyJournal

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.receiver import Limits, app
from kusanya.store import Store
from kusanya.store.records import DeliveryCommit, Verdict
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32
Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]
pytestmark = pytest.mark.anyio


@pytest.mark.spec("delivery-1")
async def test_a_delivery_is_durable_before_its_2xx(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    seen: list[bytes | None] = []

    def look() -> None:
        with Store.open(store.url_shown, read_only=True) as other:
            for row in other.deliveries.page(Mode.TEST).rows:
                found = other.deliveries.body(row.id)
                seen.append(None if found is None else found.body)

    answer = await ask(
        app(store, SECRET, mode="test", clock=clock),
        payload,
        sign_headers(payload),
        before_answer=look,
    )
    assert (answer.status, answer.text) == (200, "")
    assert seen == [payload]
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert (state.status, state.event_ids) == ("succeeded", ("evt_1",))
    assert state.first_seen_at == NOON


async def test_nothing_is_answered_while_the_commit_is_under_way(
    clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    journal, payload = FaultyJournal(), body()
    task = asyncio.ensure_future(
        ask(app(journal, SECRET, mode="test", clock=clock), payload, sign_headers(payload))
    )
    await until(lambda: bool(journal.submitted))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not task.done()
    arrival, future = journal.submitted[0]
    commit = DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.REPEAT, seq=1)
    threading.Thread(target=future.set_result, args=(commit,)).start()
    assert (await task).status == 200
    assert arrival.verdict is Verdict.VERIFIED


@pytest.mark.spec("delivery-4")
async def test_a_repeat_is_acknowledged_and_changes_nothing(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, receiver = body(), app(store, SECRET, mode="test", clock=clock)
    for _ in range(3):
        assert (await ask(receiver, payload, sign_headers(payload))).status == 200
    assert [row.verdict for row in kept(store)] == [
        Verdict.REPEAT,
        Verdict.REPEAT,
        Verdict.VERIFIED,
    ]
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.observations == 1


async def test_one_event_id_with_two_contents_is_acknowledged_and_flagged(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    receiver, first, other = (
        app(store, SECRET, mode="test", clock=clock),
        body(),
        body(data={"fee": 60}),
    )
    assert (await ask(receiver, first, sign_headers(first))).status == 200
    assert (await ask(receiver, other, sign_headers(other))).status == 200
    assert [row.verdict for row in kept(store)] == [Verdict.CONFLICT, Verdict.VERIFIED]
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.fee == 50


@pytest.mark.spec("signature-4")
async def test_a_forged_delivery_is_recorded_refused_and_changes_nothing(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    answer = await ask(
        app(store, SECRET, mode="test", clock=clock),
        payload,
        sign_headers(payload, secret="whsec_forged"),
    )
    assert (answer.status, answer.text) == (400, "no_match")
    row = kept(store)[0]
    assert (row.verdict, row.reason, row.answer) == (Verdict.REJECTED, "no_match", 400)
    assert [store.collections.get("col_1", mode) for mode in Mode] == [None, None]
    assert store.events.get("evt_1") is None


async def test_what_is_authentic_but_cannot_be_read_is_acknowledged_kept_and_logged(
    store: Store,
    clock: Clock,
    sign_headers: SignHeaders,
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), b"\xff\x00"
    assert (await ask(receiver, payload, sign_headers(payload))).status == 200
    assert [row.verdict for row in kept(store)] == [Verdict.UNPARSEABLE]
    assert [store.collections.get("col_1", mode) for mode in Mode] == [None, None]
    [line] = logged(caplog)
    assert (line.name, line.levelname) == ("kusanya.receiver", "WARNING")
    assert line.message == "delivery kept unread: its body is no event"
    assert (vars(line)["endpoint"], vars(line)["reason"]) == ("webhooks", "not_json")


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"mode": "live", "data": {"mode": "live"}}, id="an event of the other mode"),
        pytest.param({"mode": "test", "data": {"mode": "live"}}, id="a collection of the other"),
    ],
)
async def test_a_delivery_of_the_wrong_mode_is_recorded_refused_counted_and_logged(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    ask: Ask,
    caplog: pytest.LogCaptureFixture,
    said: dict[str, Any],
) -> None:
    receiver, payload = app(store, SECRET, mode="test", clock=clock), body(**said)
    answer = await ask(receiver, payload, sign_headers(payload))
    assert answer.status == 400
    assert answer.text.startswith("wrong_mode: this endpoint and its signing secret are for test")
    [row] = kept(store)
    assert (row.verdict, row.reason, row.answer) == (Verdict.WRONG_MODE, "wrong_mode", 400)
    assert [store.collections.get("col_1", mode) for mode in Mode] == [None, None]
    [line] = logged(caplog)
    assert line.message == "delivery of the wrong mode refused"
    assert (vars(line)["mode"], vars(line)["event_id"]) == ("test", "evt_1")
    metrics = await ask(receiver, method="GET", path="/metrics")
    counted = 'kusanya_deliveries_total{endpoint="webhooks",verdict="wrong_mode"} 1.0'
    assert counted in metrics.text


async def test_a_full_queue_is_503_at_once(
    clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload = body()
    receiver = app(FaultyJournal(busy=True), SECRET, mode="test", clock=clock)
    assert (await ask(receiver, payload, sign_headers(payload))).status == 503


async def test_what_could_not_be_committed_is_503(
    clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    journal, payload = FaultyJournal(), body()
    task = asyncio.ensure_future(
        ask(app(journal, SECRET, mode="test", clock=clock), payload, sign_headers(payload))
    )
    await until(lambda: bool(journal.submitted))
    journal.submitted[0][1].set_exception(StoreUnavailable("the disk is full"))
    answer = await task
    assert answer.status == 503
    assert "disk" not in answer.text


async def test_a_closed_store_is_503(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, receiver = body(), app(store, SECRET, mode="test", clock=clock)
    store.close()
    assert (await ask(receiver, payload, sign_headers(payload))).status == 503


async def test_a_commit_that_hangs_is_503_before_the_sender_gives_up(
    clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    assert Limits().receipt_s < 10
    payload = body()
    receiver = app(FaultyJournal(), SECRET, mode="test", clock=clock, limits=Limits(receipt_s=0.05))
    assert (await ask(receiver, payload, sign_headers(payload))).status == 503


async def test_more_deliveries_at_once_than_allowed_are_503(
    clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    journal, payload = FaultyJournal(), body()
    receiver = app(journal, SECRET, mode="test", clock=clock, limits=Limits(in_flight=2))
    waiting = [
        asyncio.ensure_future(ask(receiver, payload, sign_headers(payload))) for _ in range(2)
    ]
    await until(lambda: len(journal.submitted) == 2)
    assert (await ask(receiver, payload, sign_headers(payload))).status == 503
    for _, future in journal.submitted:
        future.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
    assert [one.status for one in await asyncio.gather(*waiting)] == [200, 200]


async def test_the_callback_comes_after_the_answer(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, order = body(), list[str]()
    receiver = app(
        store,
        SECRET,
        mode="test",
        clock=clock,
        on_receipt=lambda arrival, commit: order.append(f"{arrival.event_id} {commit.verdict}"),
    )
    await ask(
        receiver, payload, sign_headers(payload), before_answer=lambda: order.append("answer")
    )
    assert order == ["answer", "evt_1 verified"]
