"""Phones and secrets, kept out of where they do not belong."""

import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.privacy import (
    PhoneError,
    RedactingFilter,
    is_phone_like,
    is_wire_phone,
    mask_json,
    mask_phone,
    mask_text,
    normalise_phone,
    quiet_logs,
    redact,
)


@pytest.mark.parametrize(
    "spelling",
    [
        "0754 123 456",
        "754123456",
        "+255 754-123-456",
        "255754123456",
        "00255754123456",
        "(0754) 123.456",
        "+255\u00a0754\u2011123\u2011456",
    ],
)
def test_every_spelling_of_a_tanzanian_number_means_the_same(spelling: str) -> None:
    assert normalise_phone(spelling) == "255754123456"


@pytest.mark.parametrize(
    ("spelling", "why"),
    [
        ("", "only digits"),
        ("abc", "only digits"),
        ("+", "only digits"),
        ("07541234", "9 digits, not 7"),
        ("07541234567", "9 digits, not 10"),
        ("+254712345678", "not Tanzania"),
        ("00254712345678", "not Tanzania"),
        ("0254123456", "begins with 6 or 7"),
        ("255254123456", "begins with 6 or 7"),
        ("255123456", "begins with 6 or 7"),
        ("2557541234", "9 digits, not 7"),
        ("+255754123", "9 digits, not 6"),
        ("00255754", "9 digits, not 3"),
        ("٠٧٥٤١٢٣٤٥٦", "only digits"),
        ("0754123456 ext 1", "only digits"),
    ],
    ids=ascii,
)
def test_anything_else_is_refused_with_its_reason_and_never_repeated(
    spelling: str, why: str
) -> None:
    with pytest.raises(PhoneError, match=why) as caught:
        normalise_phone(spelling)
    assert not spelling or spelling == "+" or spelling not in str(caught.value)


@given(st.from_regex(r"[67][0-9]{8}", fullmatch=True))
def test_a_normal_form_is_its_own_normal_form(national: str) -> None:
    assert normalise_phone(national) == normalise_phone("255" + national) == "255" + national


@pytest.mark.parametrize(
    ("phone", "good"),
    [
        ("255754000001", True),
        ("+255754000001", True),
        ("12345678", True),
        ("123456789012345", True),
        ("1234567", False),
        ("1234567890123456", False),
        ("0754 123 456", False),
        ("٢٥٥٧٥٤٠٠٠٠٠١", False),
        ("++25575400000", False),
        ("", False),
    ],
    ids=ascii,
)
def test_the_service_takes_8_to_15_digits_with_an_optional_plus(phone: str, good: bool) -> None:
    assert is_wire_phone(phone) is good


@pytest.mark.parametrize(
    ("phone", "shown"),
    [
        ("255754000678", "+255•••••678"),
        ("+255 754 000 678", "+255•••••678"),
        ("0754000678", "•••••678"),
        ("25575400012", "+255•••••012"),
        ("2557540001", "•••••001"),
        ("25512345", "•••••345"),
        ("1234567", "•••••"),
        ("", "•••••"),
        ("not a phone", "•••••"),
    ],
)
def test_a_masked_phone_shows_its_end_and_a_known_country(phone: str, shown: str) -> None:
    assert mask_phone(phone) == shown


@given(st.from_regex(r"\+?[0-9]{8,15}", fullmatch=True))
def test_at_least_five_digits_stay_hidden(phone: str) -> None:
    digits = phone.removeprefix("+")
    shown = sum(character.isdigit() for character in mask_phone(phone))
    assert len(digits) - shown >= 5


@pytest.mark.parametrize(
    ("text", "canary"),
    [
        ("Authorization: Bearer svc_live_sk_canary", "canary"),
        ("key svc_test_sk_canary1, next", "canary1"),
        ("secret=whsec_canary+/=", "canary"),
        ("token dash_canary1234", "canary1234"),
        ("phone 255754000001 called", "255754000001"),
        ("phone +255754000001", "255754000001"),
        ("it was 0754123456.", "0754123456"),
        ('{"phone":"255754000001"}', "255754000001"),
        ("(0754123456)", "0754123456"),
        ("unexpected 0754 000 002 here", "000 002"),
        ("+255 754-000-001", "754-000-001"),
        ("no 754123456!", "754123456"),
        ("00255754123456", "754123456"),
        ("x-255754000001", "255754000001"),
        ("255754000001_", "255754000001"),
        ("%2B255754000001", "255754000001"),
        ("my_svc_live_sk_canary", "canary"),
        ("svc_test_sk_ab+canary/ef==", "canary"),
    ],
)
def test_secrets_and_phones_are_redacted_from_text(text: str, canary: str) -> None:
    assert canary not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "amount 5000",
        "col_123456789012",
        "evt_0000712345678",
        "int_eafd194d29459c61000000047",
        "took 0.123456789 s",
        "2026-03-02T12:00:00Z",
        "2026-03-02 12:00:00",
        "127.0.0.1:46511",
        "INV-482917",
        "TZS 750,000,000",
    ],
)
def test_amounts_ids_fractions_and_times_are_left_alone(text: str) -> None:
    assert redact(text) == text


def test_the_filter_redacts_arguments_and_tracebacks(caplog: pytest.LogCaptureFixture) -> None:
    record_filter = RedactingFilter()
    try:
        int("no such phone 255754000001")
    except ValueError:
        record = logging.LogRecord(
            "x", logging.ERROR, __file__, 1, "called %s", ("255754000002",), sys.exc_info()
        )
    assert record_filter.filter(record)
    shown = logging.Formatter().format(record)
    assert "2557540000" not in shown
    assert "called (phone)" in shown
    assert "ValueError" in shown


def test_quieting_sets_levels_and_filters_every_handler_once() -> None:
    root, handler = logging.getLogger(), logging.NullHandler()
    levels = {name: logging.getLogger(name).level for name in ("httpx", "httpcore", "aiohttp")}
    root.addHandler(handler)
    try:
        quiet_logs()
        quiet_logs()
        assert [type(one) for one in handler.filters] == [RedactingFilter]
        assert all(logging.getLogger(name).level == logging.WARNING for name in levels)
    finally:
        root.removeHandler(handler)
        for other in root.handlers:
            for one in [f for f in other.filters if isinstance(f, RedactingFilter)]:
                other.removeFilter(one)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize(
    "text",
    [
        "t=1763796000,v1=5257a869e7",
        "amount is an integer of 1 to 10000000 whole shillings",
        "1763796000",
        "1763796000123",
        "26495371373758",
        "order 20260304 of 20260304122407",
    ],
)
def test_unix_times_limits_and_receipts_are_no_phones(text: str) -> None:
    assert redact(text) == text
    assert mask_text(text) == text
    assert not is_phone_like(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0754000002", "•••••002"),
        ("INV-255754000002-A", "INV-+255•••••002-A"),
        ("call +255 754 000 002 or 254712345678", "call +255•••••002 or •••••678"),
        ("+44 7700 900123", "•••••123"),
    ],
)
def test_every_phone_in_free_text_is_masked_and_keeps_its_end(text: str, shown: str) -> None:
    assert mask_text(text) == shown


def test_a_json_body_keeps_all_but_its_phones() -> None:
    body = (
        b'{ "phone": "12345678", "amount":754000001, "created_at": 1763796000,\n'
        b'  "reference": "0754000002", "description": "for +255754000003 \\u00e9",\n'
        b'  "metadata": {"0754000004": "0754000005", "msisdn": 255754000006}, "note": "\\u00e9"}'
    )
    assert mask_json(body) == (
        '{ "phone": "•••••678", "amount":754000001, "created_at": 1763796000,\n'
        '  "reference": "•••••002", "description": "for +255•••••003 é",\n'
        '  "metadata": {"•••••004": "•••••005", "msisdn": "+255•••••006"}, "note": "\\u00e9"}'
    )
    assert mask_json(b"no json, 0754000001") == "no json, •••••001"
