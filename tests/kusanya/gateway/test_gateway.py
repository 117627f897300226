"""A shop in any language asks for money and learns what came of it, over plain HTTP."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy
from typing import Any

import httpx
import pytest

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.gateway import Gateway, openapi
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService
from kusanya_service.testing.forwarding import serve_app

TOKEN = "a-token-of-tests"
PHONE = "0754 000 001"
Ask = Callable[..., httpx.Response]


@pytest.fixture
def store(tmp_path: Path, empty_store: Path, payment_service: PaymentService) -> Iterator[Store]:
    path = copy(empty_store, tmp_path / "store.db")
    with Store.open(path, clock=payment_service.clock) as opened:
        opened.outcomes.add("php", mode=Mode.TEST, begin=None, actor="asha")
        yield opened


@pytest.fixture
def ask(store: Store, payment_service: PaymentService) -> Iterator[Ask]:
    """Return what sends a request with the token and holds its answer to the description."""
    client = Client(
        payment_service.test_key,
        base_url=payment_service.base_url,
        clock=payment_service.clock,
        max_attempts=1,
    )
    gateway = Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN))
    server = serve_app(gateway)

    def send(
        method: str, path: str, json: Any = None, token: str = TOKEN, scheme: str = "Bearer "
    ) -> httpx.Response:
        answer = httpx.request(
            method,
            f"{server.url.rstrip('/')}{path}",
            json=json,
            headers={"authorization": f"{scheme}{token}"},
            timeout=60,
        )
        described(method, path, answer)
        return answer

    yield send
    server.close()
    client.close()


def described(method: str, path: str, answer: httpx.Response) -> None:
    """Hold that an answer is as the description says."""
    # Late: it takes a second to import, of every process that only looks for its tests.
    import jsonschema

    document = openapi()
    pieces = path.partition("?")[0].split("/")
    for template, operations in document["paths"].items():
        wanted = template.split("/")
        fits = len(wanted) == len(pieces) and all(
            one in (other, "{reference}", "{id}") for one, other in zip(wanted, pieces, strict=True)
        )
        if fits and method.lower() in operations:
            responses = operations[method.lower()]["responses"]
            said = responses.get(str(answer.status_code), responses["default"])
            if "content" in said:
                schema = said["content"]["application/json"]["schema"]
                jsonschema.validate(answer.json(), {**schema, "components": document["components"]})
            return
    assert path == "/openapi.json" or answer.status_code in {401, 404}


def pay(ask: Ask, reference: str = "INV-1", **more: Any) -> httpx.Response:
    return ask("PUT", f"/v1/orders/{reference}", {"amount": 5000, "phone": PHONE, **more})


@pytest.mark.merge
def test_an_order_is_paid_by_the_same_request_said_as_often_as_one_likes(
    ask: Ask, payment_service: PaymentService, store: Store
) -> None:
    first, again = pay(ask), pay(ask)
    assert (first.status_code, first.json()["status"]) == (200, "asked")
    assert first.json()["collection"]["id"] == again.json()["collection"]["id"]
    assert first.json()["customer"]["sw"]["sentence"]
    assert PHONE[1:] not in first.text
    payment_service.advance(20)
    for delivery in payment_service.deliveries:
        deliver(store, payment_service, delivery)
    assert ask("GET", "/v1/orders/INV-1").json()["status"] == "paid"
    assert pay(ask).json()["attempts"] == 1


def deliver(store: Store, payment_service: PaymentService, delivery: Any) -> None:
    from kusanya import receiver

    status, _ = receiver.handle(
        store, [payment_service.signing_secret], delivery.body, delivery.headers,
        mode=Mode.TEST, clock=payment_service.clock,
    )  # fmt: skip
    assert status == 200


@pytest.mark.parametrize("path", ["Caf%E9", "%ED%B3%BF", "x" * 257, "A%00"])
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_a_reference_that_could_be_taken_for_another_is_refused(
    ask: Ask, store: Store, method: str, path: str
) -> None:
    wanted = {"amount": 5000, "phone": PHONE} if method == "PUT" else None
    answer = ask(method, f"/v1/orders/{path}", wanted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert store.intents.page().rows == ()


@pytest.mark.parametrize("path", ["INV-1%20", "%0AINV-1", "INV-1%E2%80%8B"])
def test_a_reference_that_looks_like_another_is_not_asked_for(
    ask: Ask, store: Store, path: str
) -> None:
    answer = ask("PUT", f"/v1/orders/{path}", {"amount": 5000, "phone": PHONE})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    assert "looks like that of another order" in answer.json()["error"]["message"]
    assert store.intents.page().rows == ()


def test_workers_that_say_it_at_once_charge_once(ask: Ask) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: pay(ask).json(), range(16)))
    assert {one["status"] for one in found} <= {"asked", "unknown"}
    assert pay(ask).json()["attempts"] == 1


def test_who_waits_for_an_order_is_answered_when_its_end_is_known(
    ask: Ask, payment_service: PaymentService, store: Store
) -> None:
    pay(ask)
    assert ask("GET", "/v1/orders/INV-1?wait=0").json()["status"] == "asked"
    found: list[str] = []
    waiting = threading.Thread(
        target=lambda: found.append(ask("GET", "/v1/orders/INV-1?wait=30").json()["status"])
    )
    waiting.start()
    payment_service.advance(20)
    for delivery in payment_service.deliveries:
        deliver(store, payment_service, delivery)
    waiting.join()
    assert found == ["paid"]


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop that waits for nothing: its clock leaps to what comes next."""

    def __init__(self) -> None:
        super().__init__()
        self.leaps: list[float] = []
        self.at_leap: dict[int, Callable[[], object]] = {}

    def time(self) -> float:
        """Return the time of its clock."""
        return 1_000 + sum(self.leaps)

    def call_at(  # type: ignore[override] # its type says what no test needs
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Let the time come at once."""
        self.leaps.append(when - self.time())
        self.at_leap.get(len(self.leaps), int)()
        return super().call_at(self.time(), callback, *args, context=context)


@pytest.fixture
def called(store: Store, payment_service: PaymentService) -> Iterator[Callable[..., Any]]:
    """Return what lets a gateway answer a GET on a loop of the test's own."""
    client = Client(payment_service.test_key, base_url=payment_service.base_url)
    gateway = Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN))

    def call(loop: LeapingLoop, path: str, query: bytes) -> Any:
        said: list[dict[str, Any]] = []
        asked = iter([{"type": "http.request", "body": b""}])

        async def receive() -> dict[str, Any]:
            for message in asked:
                return message
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            said.append(message)

        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "query_string": query, "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        }  # fmt: skip
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(gateway(scope, receive, send))
        assert dict(said[0]["headers"])[b"cache-control"] == b"no-store"
        return json.loads(said[1]["body"])

    yield call
    client.close()


@pytest.mark.parametrize("wait_s", [0, 1, 10])
def test_who_waits_in_vain_is_answered_when_the_time_is_over_and_the_store_is_seldom_asked(
    ask: Ask, called: Callable[..., Any], wait_s: int
) -> None:
    pay(ask)
    loop = LeapingLoop()
    found = called(loop, "/v1/orders/INV-1", f"wait={wait_s}".encode())
    assert found["status"] == "asked"
    assert sum(loop.leaps) == pytest.approx(wait_s)
    doubling = [0.05, 0.1, 0.2, 0.4, 0.8, *[1.0] * 9]
    assert loop.leaps[:-1] == pytest.approx(doubling[: max(len(loop.leaps) - 1, 0)])


def test_who_waits_is_answered_by_the_commit_that_ends_the_order(
    ask: Ask, called: Callable[..., Any], payment_service: PaymentService, store: Store
) -> None:
    pay(ask)
    loop = LeapingLoop()

    def end() -> None:
        payment_service.advance(20)
        for delivery in payment_service.deliveries:
            deliver(store, payment_service, delivery)

    loop.at_leap[3] = end
    assert called(loop, "/v1/orders/INV-1", b"wait=30")["status"] == "paid"
    assert loop.leaps == pytest.approx([0.05, 0.1, 0.2])


def test_a_commit_of_another_order_ends_no_waiting(
    ask: Ask, called: Callable[..., Any], payment_service: PaymentService, store: Store
) -> None:
    pay(ask)
    loop = LeapingLoop()
    loop.at_leap[2] = lambda: store.notes.add("col_9", Note("x"), author="a", mode=Mode.TEST)
    assert called(loop, "/v1/orders/INV-1", b"wait=2")["status"] == "asked"
    # After a commit the next one may be near: it looks again soon.
    assert loop.leaps[:4] == pytest.approx([0.05, 0.1, 0.05, 0.1])
    assert sum(loop.leaps) == pytest.approx(2)


def test_a_body_that_says_nothing_of_more_is_whole(
    store: Store, payment_service: PaymentService
) -> None:
    client = Client(payment_service.test_key, base_url=payment_service.base_url)
    gateway = Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN))
    said: list[dict[str, Any]] = []
    body = json.dumps({"amount": 5000, "phone": PHONE}).encode()
    asked = iter([{"type": "http.request", "body": body}])

    async def receive() -> dict[str, Any]:
        return next(asked, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        said.append(message)

    path = "/v1/orders/INV-1"
    asyncio.run(gateway({
        "type": "http", "method": "PUT", "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
    }, receive, send))  # fmt: skip
    client.close()
    assert said[0]["status"] == 200


@pytest.mark.merge
def test_a_cron_shop_pulls_what_it_has_to_do_and_says_what_is_done(
    ask: Ask, payment_service: PaymentService, store: Store
) -> None:
    assert ask("GET", "/v1/outcomes?consumer=php").json() == []
    pay(ask)
    payment_service.advance(20)
    for delivery in payment_service.deliveries:
        deliver(store, payment_service, delivery)
    [event] = ask("GET", "/v1/outcomes?consumer=php&wait=5").json()
    assert (event["type"], event["subject"]) == ("kusanya.order.paid", "INV-1")
    assert ask("GET", "/v1/outcomes?consumer=php").json() == [], "it is leased"
    payment_service.advance(121)
    [again] = ask("GET", "/v1/outcomes?consumer=php").json()
    assert again["id"] == event["id"], "who took it died"
    for _ in range(2):
        done = ask("POST", f"/v1/outcomes/{event['id']}/done?consumer=php")
        assert done.status_code == 204
    payment_service.advance(121)
    assert ask("GET", "/v1/outcomes?consumer=php").json() == []
    [row] = store.outcomes.consumers()
    assert (row.waiting, row.parked) == (0, 0)


def test_who_went_away_while_waiting_is_given_nothing(
    ask: Ask, payment_service: PaymentService, store: Store
) -> None:
    pay(ask)
    payment_service.advance(20)
    came: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": b""}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        message = next(came)
        if message["type"] == "http.disconnect":
            for delivery in payment_service.deliveries:
                deliver(store, payment_service, delivery)
        return message

    async def send(message: Any) -> None:
        """Nobody reads it."""

    client = Client(payment_service.test_key, base_url=payment_service.base_url)
    gone = Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN))
    asyncio.run(gone({
        "type": "http", "method": "GET", "path": "/v1/outcomes", "raw_path": b"/v1/outcomes",
        "query_string": b"consumer=php&wait=2",
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
    }, receive, send))  # fmt: skip
    client.close()
    [event] = ask("GET", "/v1/outcomes?consumer=php").json()
    assert event["subject"] == "INV-1"


def test_an_outcome_that_a_shop_cannot_act_on_is_left_to_a_person(
    ask: Ask, payment_service: PaymentService, store: Store
) -> None:
    pay(ask)
    payment_service.advance(20)
    for delivery in payment_service.deliveries:
        deliver(store, payment_service, delivery)
    [event] = ask("GET", "/v1/outcomes?consumer=php").json()
    why = {"why": "no such order, ask 255754000001"}
    assert ask("POST", f"/v1/outcomes/{event['id']}/parked?consumer=php", why).status_code == 204
    [parked] = store.outcomes.work("php", parked=True)
    assert parked.why.startswith("no such order")
    assert "255754000001" not in parked.why


def test_the_channels_are_told(ask: Ask) -> None:
    found = ask("GET", "/v1/channels").json()
    assert {one["state"] for one in found} == {"ok"}
    assert "M-Pesa" in {one["label"] for one in found}


@pytest.mark.parametrize(
    ("method", "path", "json", "status", "code"),
    [
        ("PUT", "/v1/orders/INV-1", {"amount": 5000}, 422, "invalid"),
        ("PUT", "/v1/orders/INV-1", {"amount": "5000", "phone": PHONE}, 422, "invalid"),
        ("PUT", "/v1/orders/INV-1", {"amount": 5000, "phone": "12"}, 422, "invalid"),
        ("PUT", "/v1/orders/INV-1", {"amount": -1, "phone": PHONE}, 422, "invalid"),
        ("PUT", "/v1/orders/INV-1", {"amount": 1, "phone": PHONE, "x": 1}, 422, "invalid"),
        ("PUT", "/v1/orders/INV-1", {"amount": 1, "phone": "0" * 20_000}, 413, "too_large"),
        ("GET", "/v1/orders/INV-1?wait=31", None, 422, "invalid"),
        ("GET", "/v1/orders/INV-1?wait=-1", None, 422, "invalid"),
        ("GET", "/v1/outcomes", None, 422, "invalid"),
        ("GET", "/v1/outcomes?consumer=nobody", None, 422, "store"),
        ("POST", "/v1/outcomes/out_1/done?consumer=nobody", None, 422, "store"),
        ("POST", "/v1/outcomes/out_1/parked?consumer=nobody", {"why": "x"}, 422, "store"),
        ("POST", "/v1/orders/INV-1", None, 404, "not_found"),
        ("GET", "/", None, 404, "not_found"),
    ],
)
def test_what_cannot_be_carried_out_is_said_in_words(
    ask: Ask, method: str, path: str, json: Any, *, status: int, code: str
) -> None:
    answer = ask(method, path, json)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["message"]
    assert PHONE not in answer.text


def test_another_amount_while_one_may_be_charged_is_refused(ask: Ask) -> None:
    pay(ask)
    answer = pay(ask, amount=6000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "amount_changed")


def test_without_the_token_nothing_is_told_but_what_there_is(ask: Ask) -> None:
    for token in ("x", "b" + TOKEN, TOKEN[:-1]):
        answer = ask("GET", "/v1/channels", token=token)
        assert answer.status_code == 401
        assert TOKEN not in answer.text
    for scheme in ("", "Basic ", "Bearer", "Token "):
        answer = ask("GET", "/v1/channels", scheme=scheme)
        assert answer.status_code == 401
        assert "Authorization: Bearer TOKEN" in answer.json()["error"]["message"]
    # The name of a scheme has no case: RFC 9110, section 11.1.
    for scheme in ("bearer ", "BEARER ", "Bearer  "):
        assert ask("GET", "/v1/channels", scheme=scheme).status_code == 200
    assert ask("GET", "/openapi.json", token="x").json()["openapi"] == "3.1.0"


def test_a_reference_with_a_slash_and_a_blank_is_one_reference(ask: Ask) -> None:
    assert pay(ask, "INV%2F1%20b").json()["reference"] == "INV/1 b"


@pytest.mark.merge
def test_while_the_service_does_not_answer_orders_and_outcomes_are_read_all_the_same(
    store: Store, payment_service: PaymentService
) -> None:
    silent = threading.Event()

    def transport(*_: Any) -> Failure:
        silent.wait(60)
        return Failure(left=True, why="no answer in time")

    client = Client(
        payment_service.test_key, base_url=payment_service.base_url, transport=transport,
        clock=payment_service.clock, max_attempts=1,
    )  # fmt: skip
    server = serve_app(Gateway(store, client, mode=Mode.TEST, token=Secret(TOKEN)))
    asked = {"headers": {"authorization": f"Bearer {TOKEN}"}, "timeout": 60}

    def put(number: int) -> None:
        body = {"amount": 1000, "phone": f"0754 000 1{number:02}"}
        httpx.put(f"{server.url}v1/orders/R-{number}", json=body, **asked)  # type: ignore[arg-type] # as given

    with ThreadPoolExecutor(20) as threads:
        paying = [threads.submit(put, number) for number in range(20)]
        for _ in range(3):
            read = httpx.get(f"{server.url}v1/orders/R-1", **asked)  # type: ignore[arg-type] # as given
            assert read.status_code == 200
            pulled = httpx.get(f"{server.url}v1/outcomes?consumer=php", **asked)  # type: ignore[arg-type] # as given
            assert pulled.status_code == 200
        assert not all(one.done() for one in paying)
        silent.set()
    server.close()
    client.close()
