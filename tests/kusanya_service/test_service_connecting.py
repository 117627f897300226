"""Where deliveries may go: the connect hook, which judges every address that a name leads to."""

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpcore
import pytest
from tests.kusanya_service.helpers import Order, deliveries, register

from kusanya_service.delivery.address_policy import (
    AddressBlocked,
    AddressPolicy,
    GuardedNetwork,
)
from kusanya_service.delivery.urls import parse_url
from kusanya_service.options import parse_places
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("https://example.com", "example.com", "/"),
        ("https://EXAMPLE.com:443/a", "example.com", "/a"),
        ("http://example.com:8080/a?b=c", "example.com:8080", "/a?b=c"),
        ("https://bücher.example/ü?q=ü", "xn--bcher-kva.example", "/%C3%BC?q=%C3%BC"),
        ("https://[2606:4700::1111]:444/", "[2606:4700::1111]:444", "/"),
        ("https://example.com/a%2Fb", "example.com", "/a%2Fb"),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, path: str) -> None:
    target = parse_url(url, "test")
    assert (target.authority, target.path) == (authority, path)


async def answers(addresses: list[str]) -> list[str]:
    return addresses


@pytest.mark.spec("delivery-6")
@pytest.mark.anyio
@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["8.8.8.8", "10.0.0.1"],
        ["::1", "8.8.8.8"],
        ["8.8.8.8"] * 999 + ["169.254.169.254"],
        ["fe80::1%eth0"],
        ["not-a-number"],
    ],
    ids=["bad", "good then bad", "bad then good", "one of 1000", "zone", "nonsense"],
)
async def test_a_name_is_refused_whole_for_any_bad_address(addresses: list[str]) -> None:
    with pytest.raises(AddressBlocked):
        await AddressPolicy().resolve_public(
            "example.com", 443, "test", lambda _host, _port: answers(addresses)
        )


@pytest.mark.anyio
async def test_a_local_socket_is_never_connected_to() -> None:
    guard = GuardedNetwork(AddressPolicy(), "test", lambda _host, _port: answers([]))
    with pytest.raises(AddressBlocked):
        await guard.connect_unix_socket("/run/anything")


@pytest.mark.spec("delivery-6")
@pytest.mark.anyio
async def test_a_connection_that_ends_elsewhere_than_was_judged_is_closed_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[bool] = []

    class Astray(httpcore.AsyncNetworkStream):
        """A connection that a rewriting router took to another machine."""

        def get_extra_info(self, info: str) -> Any:
            return ("10.0.0.7", 443) if info == "server_addr" else None

        async def aclose(self) -> None:
            closed.append(True)

    async def astray(*_: object) -> Astray:
        return Astray()

    monkeypatch.setattr("kusanya_service.delivery.address_policy.connect", astray)
    guard = GuardedNetwork(AddressPolicy(), "test", lambda _host, _port: answers(["8.8.8.8"]))
    with pytest.raises(AddressBlocked, match="another address"):
        await guard.connect_tcp("example.com", 443)
    assert closed == [True]


@pytest.mark.spec("delivery-6")
@pytest.mark.anyio
async def test_allow_local_is_the_exact_pair_in_test_mode_alone() -> None:
    policy = AddressPolicy(allow_local=[("127.0.0.1", 8099)])

    async def local(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    assert await policy.resolve_public("127.1", 8099, "test", local) == ["127.0.0.1"]
    for port, mode in ((8098, "test"), (5432, "test"), (8099, "live")):
        with pytest.raises(AddressBlocked):
            await policy.resolve_public("name.example", port, mode, local)
    policy.refuse(("127.0.0.1", 8099))
    with pytest.raises(AddressBlocked):
        await policy.resolve_public("127.0.0.1", 8099, "test", local)


@pytest.mark.spec("delivery-6")
@pytest.mark.anyio
async def test_an_allowed_name_may_be_private_in_test_mode_alone_and_never_the_service_itself() -> (
    None
):
    policy = AddressPolicy(allow_local=parse_places(["Receiver:8099"]))

    async def private(_host: str, _port: int) -> list[str]:
        return ["172.18.0.3"]

    assert await policy.resolve_public("receiver", 8099, "test", private) == ["172.18.0.3"]
    for host, port, mode in (
        ("receiver", 8098, "test"),
        ("receiver", 8099, "live"),
        ("other", 8099, "test"),
        ("172.18.0.3", 8099, "test"),
    ):
        with pytest.raises(AddressBlocked):
            await policy.resolve_public(host, port, mode, private)
    policy.refuse(("172.18.0.3", 8099))
    with pytest.raises(AddressBlocked):
        await policy.resolve_public("receiver", 8099, "test", private)


@pytest.mark.spec("delivery-6")
def test_the_service_never_delivers_to_itself(start: Any, order: Order) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own = ("127.0.0.1", port)
    with start(port=port, allow_local=(own,), registered=False) as service:
        answer = service.request(
            "POST",
            "/dashboard/endpoints",
            {"url": f"http://127.0.0.1:{port}/v1/collections", "mode": "test"},
            key=service.dashboard_token,
        )
        assert answer.status == 422


@pytest.mark.spec("delivery-6")
def test_a_name_rebound_after_registration_is_refused_at_the_attempt(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    addresses = ["9.9.9.9"]
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> list[str]:
        asked.append(host)
        return addresses

    with start(resolve=resolve, allow_local=(), registered=False) as service:
        url = f"http://merchant.example:{endpoint.place[1]}/"
        register(service, url)
        addresses[:] = ["127.0.0.1"]
        service.create(order)
        service.advance(20)
        [delivery] = deliveries(service)
        assert delivery["attempts"][0]["outcome"] == "blocked_address"
        service.advance(60)
    assert endpoint.deliveries == []
    assert asked == ["merchant.example"] * 3  # once to register, once for each attempt


def test_a_name_without_an_address_is_a_failed_attempt(start: Any, order: Order) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    with start(resolve=resolve, registered=False) as service:
        register(service, "https://gone.example/", "live")
        service.create(order, key=service.live_key)
        service.advance(120)
        [delivery] = deliveries(service)
        assert delivery["attempts"][0]["outcome"] == "dns_error"
        assert delivery["status"] == "pending"


def test_the_environment_names_no_proxy(
    start: Any, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with start() as service:
        service.create(order)
        service.advance(20)
        assert len(service.deliveries) == 1


def can_unshare() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None or shutil.which("ip") is None:
        return False
    tried = subprocess.run([unshare, "--net", "ip", "link"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.root
@pytest.mark.spec("delivery-6")
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "control without the guard"])
def test_canaries_on_internal_addresses_are_never_connected_to(
    guarded: bool,
) -> None:
    if not can_unshare():
        pytest.skip("no network namespace can be made here")
    program = Path(__file__).with_name("canaries.py")
    command = ["unshare", "--net", sys.executable, str(program), str(guarded)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    hits, public = done.stdout.split()
    assert int(public) == 1  # the positive control: 9.9.9.9 is delivered to
    assert int(hits) == 0 if guarded else int(hits) >= 9
