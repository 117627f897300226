"""The receiver as an ASGI application: when it says 2xx, and what it says otherwise."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kusanya.receiver.peers import SignHeaders
from tests.kusanya.receiver.slow_journal import FaultyJournal

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError, StoreUnavailable
from kusanya.receiver import EndpointSecrets, Limits, app
from kusanya.store import Store
from kusanya.store.records import (
    Arrival,
    DeliveryCommit,
    DeliveryRow,
    Verdict,
)
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]

pytestmark = pytest.mark.anyio


def kept(store: Store, mode: Mode = Mode.TEST) -> tuple[DeliveryRow, ...]:
    return store.deliveries.page(mode).rows


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [line for line in caplog.records if line.name == "kusanya.receiver"]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0)


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


def test_the_mode_of_bare_secrets_is_never_guessed(store: Store) -> None:
    with pytest.raises(ConfigurationError, match="mode='test' or mode='live'"):
        app(store, [SECRET])
    with pytest.raises(ConfigurationError, match="'test' or 'live', not 'prod'"):
        app(store, [SECRET], mode="prod")
    with pytest.raises(ConfigurationError, match="'till' is for test events and mode says live"):
        app(store, EndpointSecrets("till", Mode.TEST, SECRET), mode="live")


@pytest.mark.parametrize(
    "secrets",
    [None, "", [], [None], "whsec_", " whsec_a", "abc", b"whsec_a", ["whsec_a", ""]],
)
def test_what_cannot_be_a_signing_secret_is_refused_without_repeating_it(
    store: Store, secrets: Any
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        app(store, secrets, mode="test")
    assert "abc" not in str(caught.value)
    assert "whsec_a" not in str(caught.value)


async def _later(arrival: Arrival, commit: DeliveryCommit) -> None:
    """Never called."""


class _Later:
    async def __call__(self, arrival: Arrival, commit: DeliveryCommit) -> None:
        """Never called."""


@pytest.mark.parametrize("callback", [_later, _Later()])
def test_a_callback_that_nobody_would_await_is_refused(store: Store, callback: Any) -> None:
    with pytest.raises(TypeError, match="on_receipt is a plain function"):
        app(store, SECRET, mode="test", on_receipt=callback)


def test_a_path_in_place_of_a_store_is_refused() -> None:
    path: Any = "kusanya.sqlite"
    with pytest.raises(TypeError, match=r"kusanya\.Store\.open"):
        app(path, SECRET, mode="test")


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


async def test_a_compressed_body_is_refused(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, ask: Ask
) -> None:
    payload, receiver = body(), app(store, SECRET, mode="test", clock=clock)
    answer = await ask(receiver, payload, [*sign_headers(payload), (b"content-encoding", b"gzip")])
    assert (answer.status, answer.headers["accept-encoding"]) == (415, "identity")
    plain = await ask(
        receiver, payload, [*sign_headers(payload), (b"content-encoding", b"Identity")]
    )
    assert plain.status == 200


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
