"""Where deliveries may go: the URL of an endpoint, and the local places that are allowed."""

import pytest
from tests.kusanya_service.helpers import endpoints

from kusanya_service.delivery.address_policy import (
    parse_numeric,
)
from kusanya_service.delivery.urls import parse_url
from kusanya_service.errors import ApiError, BadOption
from kusanya_service.options import parse_places
from kusanya_service.testing import PaymentService


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
    for mode, is_mentioned in (("test", True), ("live", False)):
        scheme = "http" if mode == "test" else "https"
        body = {"url": f"{scheme}://10.1.2.3:8099/hooks", "mode": mode}
        answer = shared.request("POST", "/dashboard/endpoints", body, key=shared.dashboard_token)
        assert answer.status == 422
        assert ("--allow-local 10.1.2.3:8099" in answer.json["error"]["message"]) is is_mentioned


def test_allow_local_takes_both_families() -> None:
    assert parse_places(["127.0.0.1:80", "[::1]:81"]) == (("127.0.0.1", 80), ("::1", 81))
