"""Where deliveries may go: the table of addresses."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis.strategies import ip_addresses

from kusanya_service.delivery.address_policy import (
    is_public,
    unmap,
)

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
