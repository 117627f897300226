"""Where deliveries may go: the table of addresses, the URL, the connect hook."""

import ipaddress
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpcore
import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses
from tests.kusanya_service.helpers import Order, deliveries, endpoints, register

from kusanya_service.delivery.address_policy import (
    AddressBlocked,
    AddressPolicy,
    GuardedNetwork,
    is_public,
    parse_numeric,
    unmap,
)
from kusanya_service.delivery.urls import parse_url
from kusanya_service.errors import ApiError, BadOption
from kusanya_service.options import parse_places
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint

REFUSED = [
    "0.0.0.0",  # noqa: S104 - judged, not bound
    "0.255.255.255",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.1.1",
    "192.175.48.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:100.64.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::a00:1",
    "100::1",
    "2001::1",
    "2001:20::1",
    "2001:1ff::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]
ALLOWED = [
    "1.1.1.1",
    "8.8.8.8",
    "9.9.9.9",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "128.0.0.1",
    "168.63.129.15",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "197.255.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "::ffff:8.8.8.8",
    "2606:4700::1111",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "2620:4f:8001::1",
    "3ffe::1",
]


@pytest.mark.spec("delivery-6")
@pytest.mark.parametrize("text", REFUSED)
def test_a_private_or_internal_address_is_refused(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.spec("delivery-6")
@pytest.mark.parametrize("text", ALLOWED)
def test_a_public_address_passes(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(ip_addresses())
def test_whatever_python_knows_to_be_private_is_refused(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    # One way only: Python's own list passes several internal ranges, and calls every IPv4 address
    # inside an IPv6 one reserved.
    inside = unmap(address)
    if inside.is_private or inside.is_multicast or inside.is_reserved:
        assert not is_public(address)


@given(ip_addresses(v=4))
def test_a_mapped_address_is_judged_as_the_one_inside(address: ipaddress.IPv4Address) -> None:
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    assert is_public(mapped) == is_public(address)


@pytest.mark.parametrize("text", ["fe80::1%eth0", "2606:4700::1111%1", "127.1", "1", "x", ""])
def test_what_is_no_strict_number_is_no_address(text: str) -> None:
    assert parse_numeric(text) is None


FORMS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://0177.1/",
    "http://0/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://127。0。0。1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1:8080/",
    "http://192.168.0.1/",
    "http://[fd00::1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
]


@pytest.mark.spec("delivery-6")
@pytest.mark.parametrize("url", FORMS)
@pytest.mark.parametrize("mode", ["test", "live"])
def test_no_spelling_of_an_internal_address_is_registered(
    shared: PaymentService, url: str, mode: str
) -> None:
    url = url if mode == "test" else url.replace("http:", "https:")
    answer = shared.request(
        "POST", "/dashboard/endpoints", {"url": url, "mode": mode}, key=shared.dashboard_token
    )
    assert answer.status == 422
    assert answer.json["error"]["param"] == "url"
    assert endpoints(shared) == []


@pytest.mark.spec("delivery-6")
def test_a_live_endpoint_uses_https(shared: PaymentService) -> None:
    answer = shared.request(
        "POST",
        "/dashboard/endpoints",
        {"url": "http://9.9.9.9/", "mode": "live"},
        key=shared.dashboard_token,
    )
    assert (answer.status, answer.json["error"]["message"]) == (422, "a live endpoint uses https")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https://",
        "ftp://example.com/",
        "//example.com/",
        "file:///etc/passwd",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com/",
        "https://example.com/#part",
        "https://example.com/#",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:port/",
        "https://exa mple.com/",
        "https://example.com\\@127.0.0.1/",
        "https://example.com/\r\nHost: x",
        "https://example.com/\x00",
        "https://[fe80::1%25eth0]/",
        "https://ex%61mple.com/",
        "https://[::1/",
        "https://" + "a" * 254 + "/",
        "https://example.com/" + "a" * 2048,
        "https://a" + "é" * 70 + ".com/",
        "https://" + "a" * 64 + ".com/",
        "https://localhost../",
        "https://shop..example/",
        "https://./",
    ],
)
def test_a_url_that_no_delivery_goes_to_is_refused(url: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_url(url, "test")
    assert (caught.value.status, caught.value.param) == (422, "url")


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1",
        "receiver",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "receiver:",
        "receiver:8o",
        "127.0.0.0/8:80",
        "127.1:80",
        "10.0.0.*:80",
        "::1:80",
        "[receiver]:80",
        "-x:80",
        "a b:80",
        "http://receiver:80",
    ],
)
def test_allow_local_takes_nothing_but_an_exact_host_and_port(text: str) -> None:
    with pytest.raises(BadOption, match=r"--allow-local .*HOST:PORT"):
        parse_places([text])


def test_allow_local_takes_names_as_a_url_has_them() -> None:
    found = parse_places(["localhost:80", "Receiver.shop_1:8099"])
    assert found == (("localhost", 80), ("receiver.shop_1", 8099))


def test_the_refusal_of_a_local_endpoint_names_the_option_in_test_mode(
    shared: PaymentService,
) -> None:
    for mode, told in (("test", True), ("live", False)):
        scheme = "http" if mode == "test" else "https"
        body = {"url": f"{scheme}://10.1.2.3:8099/hooks", "mode": mode}
        answer = shared.request("POST", "/dashboard/endpoints", body, key=shared.dashboard_token)
        assert answer.status == 422
        assert ("--allow-local 10.1.2.3:8099" in answer.json["error"]["message"]) is told


def test_allow_local_takes_both_families() -> None:
    assert parse_places(["127.0.0.1:80", "[::1]:81"]) == (("127.0.0.1", 80), ("::1", 81))


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
