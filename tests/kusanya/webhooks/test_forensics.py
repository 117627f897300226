"""Why a delivery was rejected, in a word and in a sentence."""

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.webhooks import SignatureError, check, sign
from kusanya.webhooks.forensics import explain

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())
SECRET = "whsec_YWJjZGVmZ2hpamtsbW5vcA=="
OTHER = "whsec_" + "b" * 32


def hexed(key: bytes, message: bytes) -> str:
    return hmac.new(key, message, "sha256").hexdigest()


def test_an_authentic_delivery_is_called_so(payload: bytes) -> None:
    found = explain(payload, sign(payload, SECRET, NOON - 7), [OTHER, SECRET], now=NOON)
    assert found.authentic
    assert (found.reason, found.cause) == ("authentic", "authentic")
    assert (found.skew_s, found.secret_index) == (-7, 1)


def test_a_good_signature_over_no_event_is_authentic_and_unparseable() -> None:
    found = explain(b'{"id":"x"}', sign(b'{"id":"x"}', SECRET, NOON), SECRET, now=NOON)
    assert (found.authentic, found.reason) == (True, "unparseable")
    assert "missing required field" in found.sentence


def test_an_event_and_a_collection_of_different_modes_are_pointed_out(payload: bytes) -> None:
    mixed = payload.replace(b'"mode":"test"', b'"mode":"live"', 1)
    found = explain(mixed, sign(mixed, SECRET, NOON), SECRET, now=NOON)
    assert found.authentic
    assert "differ in mode" in found.sentence


HELD_UP = "it was held up or sent again by somebody else, or this machine's clock is ahead."


@pytest.mark.parametrize(
    ("ahead", "reason", "says"),
    [
        (-400, "too_old", f"400 s behind the time of receipt: {HELD_UP}"),
        (4000, "too_new", "4,000 s ahead of the time of receipt: this machine's clock is behind."),
    ],
)
def test_a_delivery_that_is_only_late_or_early_is_reported_with_its_seconds(
    payload: bytes, ahead: int, reason: str, says: str
) -> None:
    found = explain(payload, sign(payload, SECRET, NOON + ahead), SECRET, now=NOON)
    assert (found.authentic, found.reason, found.cause) == (False, reason, "clock")
    assert (found.skew_s, found.secret_index) == (ahead, 0)
    assert says in found.sentence


def test_a_late_delivery_with_another_fault_is_reported_with_both(payload: bytes) -> None:
    found = explain(payload + b"\n", sign(payload, SECRET, NOON - 400), SECRET, now=NOON)
    assert (found.reason, found.cause) == ("no_match", "newline_added")
    assert "400 s behind" in found.sentence
    early = explain(payload + b"\n", sign(payload, SECRET, NOON + 301), SECRET, now=NOON)
    assert "301 s ahead of" in early.sentence


@pytest.mark.parametrize("skew", [-300, 0, 300])
def test_a_delivery_within_the_tolerance_is_not_called_late(payload: bytes, skew: int) -> None:
    found = explain(payload + b"\n", sign(payload, SECRET, NOON + skew), SECRET, now=NOON)
    assert (found.skew_s, found.cause) == (skew, "newline_added")
    assert "time of receipt" not in found.sentence


def test_the_secret_of_another_endpoint_is_named(payload: bytes) -> None:
    header = sign(payload, OTHER, NOON)
    found = explain(payload, header, SECRET, now=NOON, also={"test till": [OTHER]})
    assert (found.authentic, found.reason, found.cause) == (False, "no_match", "other_endpoint")
    assert found.endpoint == "test till"
    assert "test till" in found.sentence


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "line break added": (lambda b: b + b"\n", "newline_added"),
    "CRLF added": (lambda b: b + b"\r\n", "newline_added"),
    "byte order mark added": (lambda b: b"\xef\xbb\xbf" + b, "bom_added"),
    "white space around": (lambda b: b"  " + b + b" ", "space_around"),
    "spaces after separators": (
        lambda b: json.dumps(json.loads(b), ensure_ascii=False).encode(),
        "reserialised",
    ),
    "indented": (lambda b: json.dumps(json.loads(b), indent=2).encode(), "reserialised"),
    "escaped to ASCII": (
        lambda b: json.dumps(json.loads(b), separators=(",", ":")).encode(),
        "reserialised",
    ),
    "slashes escaped": (lambda b: b.replace(b"/", b"\\/"), "reserialised"),
    "read as Latin-1 and written as UTF-8": (
        lambda b: b.decode("latin-1").encode("utf-8"),
        "reencoded",
    ),
}


@pytest.mark.spec("signature-3")
@pytest.mark.parametrize(("change", "cause"), CHANGES.values(), ids=CHANGES.keys())
def test_what_was_done_to_the_body_is_named(
    payload: bytes, change: Callable[[bytes], bytes], cause: str
) -> None:
    header, changed = sign(payload, SECRET, NOON), change(payload)
    found = explain(changed, header, [OTHER, SECRET], now=NOON)
    assert (found.authentic, found.reason, found.cause) == (False, "no_match", cause)
    assert found.secret_index == 1
    with pytest.raises(SignatureError):
        check(changed, header, [OTHER, SECRET], now=NOON)


def test_what_was_removed_from_the_body_is_named(payload: bytes) -> None:
    for sent, arrived, cause in (
        (payload + b"\n", payload, "newline_removed"),
        (payload + b"\r\n", payload, "newline_removed"),
        (b"\xef\xbb\xbf" + payload, payload, "bom_removed"),
        (b"{\n}\n", b"{\r\n}\r\n", "line_endings"),
        (b"{\r\n}", b"{\n}", "line_endings"),
        (b'{"a":1,"b":2}', b'{"b": 2, "a": 1}', "reserialised"),
        (b'{"a":"\\/"}', b'{"a": "/"}', "reserialised"),
    ):
        found = explain(arrived, sign(sent, SECRET, NOON), SECRET, now=NOON)
        assert (found.reason, found.cause) == ("no_match", cause)


def test_what_is_wrong_with_the_header_alone_is_named(payload: bytes) -> None:
    message = str(NOON).encode() + b"." + payload
    v1 = hexed(SECRET.encode(), message)
    in_base64 = base64.b64encode(bytes.fromhex(v1)).decode()
    fraction = hexed(SECRET.encode(), f"{NOON}.0.".encode() + payload)
    for header, reason, cause in (
        (f"t={NOON},v1={v1[:40]}", "no_match", "truncated"),
        (f"t={NOON},v1={v1.upper()}", "no_match", "uppercase"),
        (f"t={NOON},v1={in_base64}", "no_match", "base64"),
        (f"t={NOON},v1={in_base64.rstrip('=')}", "no_match", "base64"),
        (f"t={NOON},v2={v1}", "missing_v1", "other_scheme"),
        (f"t={NOON},v1={v1}, t={NOON},v1={v1}", "duplicate_header", "duplicated"),
        (f't="{NOON}";v1="{v1}"', "timestamp_not_integer", "timestamp_form"),
        (f"t={NOON}.0,v1={fraction}", "timestamp_not_integer", "timestamp_form"),
        (f"t={NOON},v1={v1},garbage", "malformed", "rewritten_header"),
        (f"t={NOON},v1={hexed(SECRET.encode(), payload)}", "no_match", "body_alone"),
    ):
        found = explain(payload, header, SECRET, now=NOON)
        assert (found.authentic, found.reason, found.cause) == (False, reason, cause), header


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(SECRET.encode() + b"\n", id="with a line break"),
        pytest.param(SECRET.encode() + b"\r\n", id="with a line break of Windows"),
        pytest.param(SECRET.encode() + b" ", id="with a space"),
        pytest.param(SECRET.removeprefix("whsec_").encode(), id="without its prefix"),
        pytest.param(b"abcdefghijklmnop", id="decoded from base64"),
    ],
)
def test_the_right_secret_in_another_spelling_is_named(payload: bytes, key: bytes) -> None:
    v1 = hexed(key, str(NOON).encode() + b"." + payload)
    found = explain(payload, f"t={NOON},v1={v1}", SECRET, now=NOON)
    assert (found.reason, found.cause) == ("no_match", "secret_spelling")
    bare = hexed(b"whsec_abc", str(NOON).encode() + b"." + payload)
    assert explain(payload, f"t={NOON},v1={bare}", "abc", now=NOON).cause == "secret_spelling"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "missing"),
        ("", "missing"),
        ("garbage", "malformed"),
        ("t=1,t=2,v1=00", "duplicate_header"),
        ("t=x,v1=00", "timestamp_not_integer"),
        (f"t={NOON}", "missing_v1"),
        (f"t={NOON},v1=00", "no_match"),
        (f"t={NOON},v1=" + "0" * 5000, "too_long"),
    ],
    ids=str,
)
def test_where_nothing_more_is_known_the_reason_is_the_cause_and_still_a_sentence(
    payload: bytes, header: str | None, reason: str
) -> None:
    found = explain(payload, header, SECRET, now=NOON)
    assert (found.authentic, found.reason, found.cause) == (False, reason, reason)
    assert found.sentence.endswith(".")


def test_the_callers_own_mistakes_stay_theirs(payload: bytes) -> None:
    with pytest.raises(TypeError):
        explain(payload.decode(), "t=1,v1=0", SECRET)  # type: ignore[arg-type] # the point
    with pytest.raises(ValueError, match="at least one"):
        explain(payload, "t=1,v1=0", [])


@given(st.binary(max_size=120), st.text(max_size=80) | st.binary(max_size=80))
def test_no_delivery_makes_it_raise_and_none_is_called_authentic_that_is_not(
    body: bytes, header: str | bytes
) -> None:
    found = explain(body, header, SECRET, now=NOON, also={"x": OTHER})
    assert not found.authentic
    assert found.sentence


def test_hostile_bodies_cost_no_recursion_error_and_quote_nothing() -> None:
    for body in (b"[" * 100_000, b'{"a":"\\ud800/canary"}', b"\xff" * 50, b"1" * 5000):
        found = explain(body, f"t={NOON},v1={'0' * 64}", SECRET, now=NOON)
        assert found.cause == "no_match"
        assert "canary" not in found.sentence
        assert SECRET not in repr(found)
