"""One function that receives: the same answers as the application, for programs with a server."""

import http.client
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from tests.kusanya.receiver.lost_answers import begun
from tests.kusanya.receiver.peers import Headers, SignHeaders

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError, StoreBusy, StoreUnavailable
from kusanya.receiver import EndpointSecrets, Limits, app, handle
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, IntentState, Verdict
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Ask = Callable[..., Awaitable[Any]]
Make = Callable[[Body, SignHeaders], tuple[bytes, Headers]]


def genuine(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), sign_headers(body())


def forged(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), sign_headers(body(), secret="whsec_forged")


def unsigned(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), sign_headers(body())[:-1]


def signed_twice(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), [*sign_headers(body()), sign_headers(body())[-1]]


def too_old(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), sign_headers(body(), at=NOON - timedelta(seconds=301))


def of_the_wrong_mode(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    payload = body(mode="live", data={"mode": "live"})
    return payload, sign_headers(payload)


def unreadable(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return b"hello", sign_headers(b"hello")


def too_large(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return b" " * 262_145, sign_headers(b"")


def announced_as_too_large(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return b"", [(b"content-length", b"262145")]


def compressed(body: Body, sign_headers: SignHeaders) -> tuple[bytes, Headers]:
    return body(), [*sign_headers(body()), (b"content-encoding", b"gzip")]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "make",
    [
        genuine,
        forged,
        unsigned,
        signed_twice,
        too_old,
        of_the_wrong_mode,
        unreadable,
        too_large,
        announced_as_too_large,
        compressed,
    ],
    ids=lambda make: make.__name__.replace("_", " "),
)
@pytest.mark.parametrize("spelled", [True, False], ids=["str", "bytes"])
async def test_it_answers_and_keeps_what_the_application_does(  # noqa: PLR0917 - fixtures
    tmp_path: Path,
    empty_store: Path,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    ask: Ask,
    make: Make,
    spelled: bool,
) -> None:
    payload, headers = make(body, sign_headers)
    given: list[Any] = list(headers)
    if spelled:
        given = [(name.decode().title(), value.decode()) for name, value in headers]
    seen: list[Any] = []
    for name in ("application", "function"):
        with Store.open(copy(empty_store, tmp_path / f"{name}.db"), clock=clock) as store:
            if name == "application":
                application = app(store, SECRET, mode="test", clock=clock, resolve_intents=False)
                answer = await ask(application, payload, headers)
                answered = answer.status, answer.text
            else:
                answered = handle(
                    store, SECRET, payload, given, mode="test", clock=clock, resolve_intents=False
                )
            rows = store.deliveries.page(Mode.TEST).rows
            bodies = [store.deliveries.body(row.id) for row in rows]
            kept = [(row.verdict, row.reason, row.answer, row.event_id) for row in rows]
            seen.append((answered, kept, bodies, store.collections.get("col_1", Mode.TEST)))
    assert seen[0] == seen[1]


def test_a_2xx_is_durable(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    answered = handle(store, SECRET, payload, dict(sign_headers(payload)), mode="test", clock=clock)
    assert answered == (200, "")
    with Store.open(store.url_shown, read_only=True) as other:
        [row] = other.deliveries.page(Mode.TEST).rows
        found = other.deliveries.body(row.id)
    assert (row.verdict, found and found.body) == (Verdict.VERIFIED, payload)


def test_a_name_that_repeats_in_a_mapping_is_a_list(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    value = sign_headers(body())[-1][1].decode()
    headers = {"Service-Signature": [value, value]}
    answered = handle(store, SECRET, body(), headers, mode="test", clock=clock)
    assert answered == (400, "duplicate_header")


class Unable:
    """A store that cannot keep anything now."""

    def __init__(self, fault: Exception | None) -> None:
        self._fault = fault

    def submit(self, item: Arrival) -> "Future[DeliveryCommit]":
        """Refuse, fail, or never end."""
        if isinstance(self._fault, StoreBusy):
            raise self._fault
        future: Future[DeliveryCommit] = Future()
        if self._fault is not None:
            future.set_exception(self._fault)
        return future


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (StoreBusy("full"), "cannot be made durable now"),
        (StoreUnavailable("the disk is gone"), "cannot be made durable now"),
        (None, "not made durable in time"),
    ],
)
def test_what_is_not_durable_is_not_acknowledged(
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    fault: Exception | None,
    text: str,
) -> None:
    store: Any = Unable(fault)
    answered = handle(
        store,
        SECRET,
        body(),
        sign_headers(body()),
        mode="test",
        clock=clock,
        limits=Limits(receipt_s=0.02),
    )
    assert answered == (503, text)


def test_wrong_arguments_are_refused_at_once(
    store: Store, body: Body, sign_headers: SignHeaders
) -> None:
    anything: Any = "not what it should be"
    with pytest.raises(TypeError, match="exact bytes"):
        handle(store, SECRET, anything, [], mode="test")
    with pytest.raises(TypeError, match=r"kusanya\.Store\.open"):
        handle(anything, SECRET, b"", [], mode="test")
    with pytest.raises(ConfigurationError, match="mode='test' or mode='live'"):
        handle(store, SECRET, b"", [])


def test_an_event_resolves_a_lost_creation(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    intent = begun(store)
    endpoint = EndpointSecrets("till", Mode.TEST, SECRET)
    assert handle(store, endpoint, body(), sign_headers(body()), clock=clock) == (200, "")
    while (found := store.intents.get(intent.id)) is None or found.collection_id is None:
        pass
    assert (found.state, found.collection_id) == (IntentState.SETTLED, "col_1")


class QuietHandler(WSGIRequestHandler):
    """A server that writes no log of its own."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def wsgi(store: Store, clock: Clock) -> Iterator[int]:
    """Return the port of a WSGI program whose one view is the function."""

    def program(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        headers = [
            (name.removeprefix("HTTP_").replace("_", "-"), value)
            for name, value in environ.items()
            if name.startswith("HTTP_") or name in {"CONTENT_TYPE", "CONTENT_LENGTH"}
        ]
        status, text = handle(
            store,
            SECRET,
            environ["wsgi.input"].read(length),
            headers,
            mode="test",
            clock=clock,
            path=environ["PATH_INFO"],
        )
        start_response(f"{status} said", [("content-type", "text/plain")])
        return [text.encode()]

    with make_server("127.0.0.1", 0, program, handler_class=QuietHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join(10)


def test_it_receives_behind_a_wsgi_server(
    store: Store, wsgi: int, body: Body, sign_headers: SignHeaders
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", wsgi, timeout=10)
    answers = []
    for secret, repeated in ((SECRET, 1), ("whsec_forged", 1), (SECRET, 2)):
        connection.putrequest("POST", "/hooks")
        for name, value in sign_headers(body(), secret=secret)[1:]:
            times = repeated if name == b"service-signature" else 1
            for _ in range(times):
                connection.putheader(name.decode(), value.decode())
        connection.endheaders(body())
        answer = connection.getresponse()
        answers.append((answer.status, answer.read()))
        connection.close()
    assert answers == [(200, b""), (400, b"no_match"), (400, b"duplicate_header")]
    verdicts = [row.verdict for row in store.deliveries.page(Mode.TEST).rows]
    assert sorted(verdicts) == [Verdict.REJECTED, Verdict.REJECTED, Verdict.VERIFIED]
