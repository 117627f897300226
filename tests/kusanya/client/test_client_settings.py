"""What a client is set up with, and when it refuses to be used."""

import asyncio
import base64
import copy
import pickle
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kusanya.client import AsyncClient, Client
from kusanya.client.effects import Failure, Request, Response
from kusanya.errors import ConfigurationError, KusanyaError, NotSent
from kusanya.privacy.secret import Secret

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754000001", "reference": "order-1"}


@pytest.mark.parametrize("key", ["", " ", None, " svc_test_sk_1"])
def test_an_api_key_that_cannot_be_one_is_refused_in_words(driver: Any, key: Any) -> None:
    with pytest.raises(ConfigurationError, match="no usable API key"):
        driver.client(api_key=key)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_was_refused_half_way_can_still_be_shown(kind: Any, wire: Any) -> None:
    unfinished = kind.__new__(kind)
    with pytest.raises(ConfigurationError):
        unfinished.__init__("", base_url="http://127.0.0.1:9")
    assert repr(unfinished) == f"{kind.__name__}(mode=None)"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("move", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_says_that_it_cannot_be_pickled_and_what_to_do(
    kind: Any, move: Any, wire: Any
) -> None:
    client = kind(wire.test_key, base_url="http://127.0.0.1:9", transport=lambda *_: None)
    with pytest.raises(TypeError, match="make one in each process") as caught:
        move(client)
    assert wire.test_key not in str(caught.value)


def test_a_closed_client_refuses(wire: Any) -> None:
    def answer(request: Request, within_s: float) -> Response:
        return Response(status=200, headers=(), body=wire.collection())

    with Client(wire.test_key, base_url="http://127.0.0.1:9", transport=answer) as client:
        assert client.get_collection("col_1").id == "col_1"
    with pytest.raises(ConfigurationError, match="closed"):
        client.get_collection("col_1")

    async def later(request: Request, within_s: float) -> Response:
        return answer(request, within_s)

    async def use() -> None:
        async with AsyncClient(wire.test_key, base_url="http://[::1]:9", transport=later) as other:
            assert (await other.get_collection("col_1")).id == "col_1"
        with pytest.raises(ConfigurationError, match="closed"):
            await other.get_collection("col_1")

    asyncio.run(use())


def test_an_asynchronous_client_in_another_loop_is_refused_and_sends_nothing(
    server: Any, wire: Any
) -> None:
    server.answers(wire.answer(202, wire.collection()))
    client = AsyncClient(wire.test_key, base_url=server.url)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        assert first.run(client.create_collection(**ORDER)).id == "col_1"
        with pytest.raises(ConfigurationError, match="another event loop"):
            second.run(client.create_collection(**ORDER))
        first.run(client.aclose())
    assert len(server.requests) == 1


def test_the_hook_sees_each_request_once_and_stops_what_it_refuses(driver: Any, wire: Any) -> None:
    seen: list[str] = []
    sent: list[str] = []

    def lose(request: Request, within_s: float) -> Failure:
        sent.append(request.path)
        return Failure(left=False, why="no connection")

    client = driver.client(
        transport=lose, max_attempts=3, on_request=lambda request: seen.append(repr(request))
    )
    with pytest.raises(NotSent):
        client.create_collection(**ORDER)
    assert (seen, len(sent)) == (["Request(POST /v1/collections)"], 3)

    def refuse(request: Request) -> None:
        raise PermissionError("not on a Sunday")

    client = driver.client(transport=lose, on_request=refuse)
    with pytest.raises(PermissionError):
        client.create_collection(**ORDER)
    assert len(sent) == 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.create_collection(**ORDER, timeout=2.0),
        lambda client: client.get_collection("col_1", timeout=2.0),
        lambda client: client.get_event("evt_1", timeout=2.0),
        lambda client: client.whoami(timeout=2.0),
    ],
    ids=["create", "collection", "event", "whoami"],
)
def test_a_call_may_have_a_deadline_of_its_own(driver: Any, ask: Any) -> None:
    given: list[float] = []

    def silent(request: Request, within_s: float) -> Failure:
        given.append(within_s)
        return Failure(left=False, why="no connection")

    client = driver.client(transport=silent, timeout=60.0, max_attempts=9)
    with pytest.raises(KusanyaError):
        ask(client)
    # One second and a half of it is spent in the first two pauses.
    assert given == [2.0, 1.5, 0.5]
    with pytest.raises(ValueError, match="above 0"):
        client.whoami(timeout=0)


def test_requests_go_through_the_proxy_with_its_own_password(
    driver: Any, server: Any, wire: Any
) -> None:
    server.answers(wire.answer(200, wire.collection()))
    proxy = f"http://till:p%40ss@127.0.0.1:{server.port}"
    client = driver.client("http://127.0.0.1:9/api", proxy=proxy, max_attempts=1)
    assert client.get_collection("col_1").id == "col_1"
    [request] = server.requests
    assert request.startswith(b"GET http://127.0.0.1:9/api/v1/collections/col_1 HTTP/1.1\r\n")
    word = base64.b64encode(b"till:p@ss").lower()
    assert b"proxy-authorization: basic " + word in request.lower()
    assert b"\r\nhost: 127.0.0.1:9\r\n" in request.lower()


def test_a_proxy_that_refuses_a_tunnel_is_a_request_that_was_not_sent(
    driver: Any, server: Any, wire: Any
) -> None:
    server.answers(wire.raw(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"))
    client = driver.client("https://pay.example", proxy=server.url, max_attempts=1)
    with pytest.raises(NotSent):
        client.create_collection(**ORDER)
    [request] = server.requests
    assert request.startswith(b"CONNECT pay.example:443 HTTP/1.1\r\n")
    assert b"Bearer" not in request


@pytest.mark.parametrize(
    "changed",
    [
        {"proxy": "socks5://127.0.0.1:9"},
        {"proxy": "127.0.0.1:9"},
        {"verify": False},
        {"verify": "/nowhere/ca.pem"},
        {"cert": "/nowhere/client.pem"},
    ],
    ids=str,
)
def test_settings_that_cannot_be_used_are_refused_in_words(
    driver: Any, changed: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match=r"proxy is|verify"):
        driver.client("https://pay.example", **changed)


@pytest.fixture
def mutual(self_signed: Path, wire: Any) -> Iterator[int]:
    """Serve TLS to whoever shows the certificate that it shows itself; give the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed)
    context.load_verify_locations(self_signed)
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(5)
                try:
                    with context.wrap_socket(peer, server_side=True) as secured:
                        if secured.recv(65536):
                            secured.sendall(wire.bytes(200, wire.collection()))
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


@pytest.mark.parametrize("form", ["path", "context"])
def test_an_authority_and_a_certificate_of_ones_own_are_used(
    driver: Any, mutual: int, self_signed: Path, form: str
) -> None:
    pem = str(self_signed)
    verify = pem if form == "path" else ssl.create_default_context(cafile=pem)
    client = driver.client(f"https://127.0.0.1:{mutual}", verify=verify, cert=pem, max_attempts=1)
    assert client.get_collection("col_1").id == "col_1"
    stranger = driver.client(
        f"https://127.0.0.1:{mutual}", verify=ssl.create_default_context(cafile=pem), max_attempts=1
    )
    with pytest.raises(KusanyaError):
        stranger.get_collection("col_1")


def test_a_connection_shows_neither_key_nor_proxy() -> None:
    from kusanya.client.transport.address import address_of
    from kusanya.client.transport.connection import Connection

    connection = Connection(
        address=address_of("https://pay.example"),
        api_key=Secret("svc_test_sk_1"),
        proxy="http://till:word@127.0.0.1:9",
    )
    assert repr(connection) == "Connection(https://pay.example)"
