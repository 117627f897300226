"""What is refused before a byte leaves, and what may not be configured."""

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.client import AsyncClient
from kusanya.client.requests import CreateRequest, check_idempotency_key
from kusanya.client.transport.address import address_of, mode_of
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret
from kusanya.wire import Mode, is_idempotency_key

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754000001", "reference": "order-1"}


@pytest.mark.spec("limits-key-length")
@pytest.mark.parametrize(
    "key", ["", "k" * 256, "a\tb", "a\x7f", "clé", " a", "a ", "a\n", "a\r\nX: y"], ids=repr
)
def test_a_key_that_could_not_arrive_as_it_is_is_refused(driver: Any, key: str) -> None:
    client = driver.client(transport=_forbidden)
    with pytest.raises(ValueError, match="1 to 255 printable ASCII"):
        client.create_collection(**ORDER, idempotency_key=key)


@pytest.mark.spec("limits-key-length")
@pytest.mark.parametrize("key", ["k", "k" * 255, "a b", '"quoted"', "~!"], ids=lambda k: k[:9])
def test_a_key_in_the_limits_passes(key: str) -> None:
    assert check_idempotency_key(key) == key


@given(st.text(max_size=260))
def test_the_key_rule_is_the_specifications(key: str) -> None:
    allowed = 1 <= len(key) <= 255 and all(" " <= c <= "~" for c in key)
    assert is_idempotency_key(key) == (allowed and key == key.strip(" "))


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"amount": True}, TypeError),
        ({"amount": 5000.0}, TypeError),
        ({"amount": "5000"}, TypeError),
        ({"amount": 0}, ValueError),
        ({"amount": -1}, ValueError),
        ({"amount": 2**63}, ValueError),
        ({"phone": "0854000001"}, ValueError),
        ({"phone": "+1 212 555 0100"}, ValueError),
        ({"phone": 754000001}, TypeError),
        ({"phone": "12345", "phone_as_is": True}, ValueError),
        ({"reference": ""}, ValueError),
        ({"reference": 7}, TypeError),
        ({"reference": "\ud800"}, ValueError),
        ({"description": b"x"}, TypeError),
        ({"metadata": {"a": 1}}, TypeError),
        ({"metadata": {1: "a"}}, TypeError),
        ({"metadata": ["a"]}, TypeError),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_meant_is_refused(
    driver: Any, changed: dict[str, Any], kind: type[Exception]
) -> None:
    client = driver.client(transport=_forbidden)
    with pytest.raises(kind) as caught:
        client.create_collection(**{**ORDER, **changed})
    assert "212 555" not in str(caught.value)


@pytest.mark.parametrize(
    "spelling",
    ["0754 000 001", "754000001", "+255 754-000-001", "255754000001", "00255754000001"],
)
def test_every_tanzanian_spelling_is_sent_as_one(spelling: str) -> None:
    body = CreateRequest(amount=1, phone=spelling, reference="r").body()
    assert body == b'{"amount":1,"phone":"255754000001","reference":"r"}'


def test_another_country_is_sent_only_when_asked_for() -> None:
    body = CreateRequest(amount=1, phone="+12125550100", reference="r", phone_as_is=True).body()
    assert b'"phone":"+12125550100"' in body


@pytest.mark.parametrize("bad", ["col_", "evt_1", "col_1/../x", "col_1?x", "col_\n1", ""])
def test_an_id_that_is_none_never_becomes_a_path(driver: Any, bad: str) -> None:
    with pytest.raises(ValueError, match="a collection id"):
        driver.client(transport=_forbidden).get_collection(bad)
    with pytest.raises(ValueError, match="an event id"):
        driver.client(transport=_forbidden).get_event("col_1")


@pytest.mark.spec("authentication-2")
@pytest.mark.parametrize(("key", "mode"), [("svc_live_sk_1", "test"), ("svc_test_sk_1", "live")])
def test_a_key_of_the_other_mode_is_refused(driver: Any, key: str, mode: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        driver.client("https://pay.example", api_key=key, mode=mode)
    assert key not in str(caught.value)


def test_the_mode_is_the_keys_or_what_the_profile_says() -> None:
    assert mode_of(Secret("svc_test_sk_1"), expected=None, prefix=None) is Mode.TEST
    assert mode_of(Secret("other-form"), expected="live", prefix=None) is Mode.LIVE
    assert mode_of(Secret("other-form"), expected=None, prefix=None) is None
    with pytest.raises(ConfigurationError, match="form acme_"):
        mode_of(Secret("svc_test_sk_1"), expected=None, prefix="acme")
    with pytest.raises(ConfigurationError, match="printable"):
        mode_of(Secret("svc_test_sk_1\r\nX: y"), expected=None, prefix=None)


@pytest.mark.parametrize(
    "url",
    [
        "http://pay.example",
        "http://10.0.0.1:8000",
        "ftp://pay.example",
        "pay.example",
        "https://",
        "https://user:word@pay.example",
        "https://pay.example?x=1",
        "https://pay.example/a b",
        "https://pay.example:99999",
        "https://páy.example",
    ],
)
def test_an_address_that_would_show_the_key_or_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        address_of(url)
    assert "user:word" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("https://pay.example/", "https://pay.example"),
        ("https://pay.example:443/api/", "https://pay.example/api"),
        ("https://pay.example:8443", "https://pay.example:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_an_address_is_taken_apart_and_written_again(url: str, written: str) -> None:
    assert address_of(url).url == written


def test_a_client_shows_no_secret(driver: Any) -> None:
    assert "sk_" not in repr(driver.client())


def _forbidden(*arguments: Any) -> Any:
    raise AssertionError(f"something was sent: {arguments}")


def test_an_asynchronous_client_without_its_packages_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "kusanya.client.transport.async_transport", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'kusanya\[async\]'"):
        AsyncClient("shop_test_sk_1", base_url="http://127.0.0.1:9")
