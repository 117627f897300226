"""The acceptance table of the verifier: one row, one case."""

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.privacy.secret import Secret
from kusanya.webhooks import (
    DuplicateSignature,
    MalformedSignature,
    MissingSignature,
    MissingV1,
    SignatureError,
    SignatureMismatch,
    SignatureTooLong,
    TimestampNotInteger,
    TimestampTooNew,
    TimestampTooOld,
    UnparseableEvent,
    check,
    sign,
    verify,
)

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())
SECRET = "whsec_" + "a" * 32
OTHER = "whsec_" + "b" * 32


def digest(payload: bytes, t: bytes | int = NOON, secret: str = SECRET) -> str:
    """Sign by the letter of the specification, without our own `sign`."""
    literal = t if isinstance(t, bytes) else str(t).encode()
    return hmac.new(secret.encode(), literal + b"." + payload, hashlib.sha256).hexdigest()


def header(payload: bytes, t: bytes | int = NOON, secret: str = SECRET) -> bytes:
    literal = t if isinstance(t, bytes) else str(t).encode()
    return b"t=" + literal + b",v1=" + digest(payload, t, secret).encode()


@pytest.mark.spec("signature-2")
def test_the_header_is_t_and_the_lowercase_hex_hmac_of_t_dot_body(payload: bytes) -> None:
    assert sign(payload, SECRET, NOON) == f"t={NOON},v1={digest(payload)}"
    # Worked out with openssl dgst -sha256 -hmac whsec_test over 1700000000.{}
    assert sign(b"{}", "whsec_test", 1_700_000_000) == (
        "t=1700000000,v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91"
    )


@pytest.mark.spec("signature-1")
@pytest.mark.parametrize("kind", [str, bytes], ids=["str", "bytes"])
def test_an_authentic_delivery_gives_its_event(payload: bytes, kind: type) -> None:
    value = header(payload)
    event = verify(payload, value.decode() if kind is str else value, SECRET, now=NOON)
    assert (event.id, event.type, event.data.id) == ("evt_1", "collection.succeeded", "col_1")
    assert event.raw == payload


@pytest.mark.spec("limits-timestamp-tolerance")
@pytest.mark.spec("signature-4")
@pytest.mark.parametrize(
    ("ahead", "error"),
    [
        pytest.param(0, None, id="now"),
        pytest.param(-300, None, id="300 s behind"),
        pytest.param(300, None, id="300 s ahead"),
        pytest.param(-301, TimestampTooOld, id="301 s behind"),
        pytest.param(301, TimestampTooNew, id="301 s ahead"),
        pytest.param(31_536_000, TimestampTooNew, id="a year ahead"),
        pytest.param(-31_536_000, TimestampTooOld, id="a year behind"),
    ],
)
@pytest.mark.parametrize("fraction", [0.0, 0.999])
def test_300_seconds_pass_both_ways_in_whole_seconds(
    payload: bytes, ahead: int, error: type[SignatureError] | None, fraction: float
) -> None:
    value = header(payload, NOON + ahead)
    if error is None:
        verify(payload, value, SECRET, now=NOON + fraction)
    else:
        with pytest.raises(error):
            verify(payload, value, SECRET, now=NOON + fraction)


def test_a_tolerance_of_0_is_the_same_second_and_none_is_no_check(payload: bytes) -> None:
    verify(payload, header(payload), SECRET, tolerance=0, now=NOON + 0.9)
    for late, error in ((1, TimestampTooOld), (-1, TimestampTooNew)):
        with pytest.raises(error):
            verify(payload, header(payload), SECRET, tolerance=0, now=NOON + late)
    verify(payload, header(payload, 1), SECRET, tolerance=None)


NO_INTEGERS = {
    "empty": b"",
    "a fraction": b"1.0",
    "an exponent": b"1e9",
    "hex": b"0x65",
    "hex digits": b"65ab",
    "negative": b"-5",
    "signed": b"+5",
    "a space in front": b" " + str(NOON).encode(),
    "a space within": b"17 00",
    "underscores": b"1_700_000_000",
    "Arabic-Indic digits": "١٧٠٠٠٠٠٠٠٠".encode(),
    "full-width digits": "１７００００００００".encode(),
    "5,000 digits": b"1" * 3000,
    "20 digits": b"1" * 20,
    "NUL": b"17\x0000",
}


@pytest.mark.spec("signature-4")
@pytest.mark.parametrize("t", NO_INTEGERS.values(), ids=NO_INTEGERS.keys())
def test_a_t_that_is_no_plain_integer_is_refused_even_when_it_was_signed(
    payload: bytes, t: bytes
) -> None:
    with pytest.raises((TimestampNotInteger, MalformedSignature)) as caught:
        verify(payload, header(payload, t), SECRET, tolerance=None)
    assert caught.type is TimestampNotInteger or not t.isascii() or b"\x00" in t
    text = header(payload, t).decode()
    with pytest.raises((TimestampNotInteger, MalformedSignature)):
        verify(payload, text, SECRET, tolerance=None)


def test_a_header_of_5000_digits_is_refused_before_it_is_read(payload: bytes) -> None:
    with pytest.raises(SignatureTooLong):
        verify(payload, header(payload, b"1" * 5000), SECRET, tolerance=None)


@pytest.mark.spec("signature-4")
def test_a_header_without_t_is_refused(payload: bytes) -> None:
    with pytest.raises(TimestampNotInteger):
        verify(payload, "v1=" + digest(payload), SECRET, now=NOON)


@pytest.mark.spec("signature-3")
def test_the_literal_bytes_of_t_are_signed(payload: bytes) -> None:
    padded = b"0" + str(NOON).encode()
    verify(payload, header(payload, padded), SECRET, now=NOON)
    wrong = f"t={padded.decode()},v1={digest(payload)}"
    with pytest.raises(SignatureMismatch):
        verify(payload, wrong, SECRET, now=NOON)


def test_two_t_are_ambiguous_even_when_they_agree(payload: bytes) -> None:
    once = header(payload).decode()
    for twice in (f"t={NOON},{once}", f"{once},t={NOON}", f"{once}, {once}", f"{once},t=1"):
        with pytest.raises(DuplicateSignature):
            verify(payload, twice, SECRET, now=NOON)


def test_several_v1_are_all_tried_whatever_their_order(payload: bytes) -> None:
    good, bad = digest(payload), digest(payload, secret=OTHER)
    for values in ([bad, good], [good, bad], [bad] * 15 + [good], ["x", "", good]):
        value = f"t={NOON}," + ",".join(f"v1={one}" for one in values)
        assert check(payload, value, SECRET, now=NOON).secret_index == 0


def test_several_secrets_are_all_tried_whatever_their_order(payload: bytes) -> None:
    others = [f"whsec_{n}" for n in range(5)]
    for place in range(6):
        secrets: list[str | Secret] = [*others[:place], Secret(SECRET), *others[place:]]
        assert check(payload, header(payload), secrets, now=NOON).secret_index == place
    assert check(payload, header(payload), (*others, SECRET), now=NOON).secret_index == 5
    with pytest.raises(SignatureMismatch):
        check(payload, header(payload), others, now=NOON)


@pytest.mark.spec("signature-4")
def test_other_schemes_are_passed_over_but_do_not_replace_v1(payload: bytes) -> None:
    good = digest(payload)
    verify(payload, f"t={NOON},v0=zzz,v2={good},v1={good}", SECRET, now=NOON)
    for value in (f"t={NOON}", f"t={NOON},v0={good}", f"t={NOON},v2={good}", f"t={NOON},V1={good}"):
        with pytest.raises(MissingV1):
            verify(payload, value, SECRET, now=NOON)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("v1={v1},t={t}", id="v1 before t"),
        pytest.param("t={t}, v1={v1}", id="a space after the comma"),
        pytest.param("t={t},v1={v1},", id="a trailing comma"),
        pytest.param("t={t},,v1={v1}", id="an empty element"),
        pytest.param("  t={t},v1={v1}\t", id="outer white space"),
    ],
)
def test_harmless_spellings_of_the_header_are_accepted(payload: bytes, form: str) -> None:
    verify(payload, form.format(t=NOON, v1=digest(payload)), SECRET, now=NOON)


@pytest.mark.spec("signature-4")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(str.upper, id="uppercase"),
        pytest.param(lambda v1: v1 + "=x", id="something appended"),
        pytest.param(lambda v1: v1 + "0", id="longer"),
        pytest.param(lambda v1: v1[:-1], id="cut"),
        pytest.param(lambda v1: "", id="empty"),
        pytest.param(lambda v1: v1[:32], id="half"),
        pytest.param(lambda v1: "0" * 64, id="zeroes"),
        pytest.param(lambda v1: v1[:-1] + ("0" if v1[-1] != "0" else "1"), id="the last digit"),
        pytest.param(lambda v1: f'"{v1}"', id="quoted"),
    ],
)
def test_a_v1_that_is_not_exactly_the_digest_is_no_match(payload: bytes, change: Any) -> None:
    with pytest.raises(SignatureMismatch):
        verify(payload, f"t={NOON},v1={change(digest(payload))}", SECRET, now=NOON)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("t={t},v1=é", id="an accent"),
        pytest.param("t={t},v1={v1},v1=é", id="beside a good one"),
        pytest.param("t={t},v1={v1},x=\N{SNOWMAN}", id="in another element"),
        pytest.param("t={t},v1={v1},garbage", id="an element without a value"),
        pytest.param("garbage", id="garbage"),
        pytest.param("t={t};v1={v1};=", id="an element without a name"),
        pytest.param("t={t},v1={v1},x=\x1b[2J", id="a terminal escape"),
        pytest.param("t={t},v1={v1}\udc80", id="a lone surrogate"),
    ],
)
def test_what_is_not_name_and_value_in_ascii_is_malformed_and_never_a_type_error(
    payload: bytes, value: str
) -> None:
    text = value.format(t=NOON, v1=digest(payload))
    with pytest.raises((MalformedSignature, TimestampNotInteger)):
        verify(payload, text, SECRET, now=NOON)
    with pytest.raises((MalformedSignature, TimestampNotInteger)):
        verify(payload, text.encode("utf-8", "surrogatepass"), SECRET, now=NOON)


@pytest.mark.parametrize("value", [None, "", b"", " ", "\t", b"  "], ids=repr)
def test_a_missing_or_empty_header_has_its_own_reason(
    payload: bytes, value: str | bytes | None
) -> None:
    with pytest.raises(MissingSignature):
        check(payload, value, SECRET, now=NOON)


def test_a_header_is_bounded_in_bytes_and_in_v1(payload: bytes) -> None:
    good = digest(payload)
    long = f"t={NOON},v1={good},x="
    verify(payload, long + "y" * (4096 - len(long)), SECRET, now=NOON)
    with pytest.raises(SignatureTooLong):
        verify(payload, long + "y" * (4097 - len(long)), SECRET, now=NOON)
    verify(payload, f"t={NOON}" + ",v1=00" * 15 + f",v1={good}", SECRET, now=NOON)
    with pytest.raises(SignatureTooLong):
        verify(payload, f"t={NOON}" + ",v1=00" * 16 + f",v1={good}", SECRET, now=NOON)


@pytest.mark.spec("signature-3")
def test_a_body_as_text_is_the_callers_mistake(payload: bytes) -> None:
    with pytest.raises(TypeError):
        verify(payload.decode(), header(payload), SECRET, now=NOON)  # type: ignore[arg-type] # the point
    with pytest.raises(TypeError):
        sign(payload.decode(), SECRET, NOON)  # type: ignore[arg-type] # the point


@pytest.mark.spec("signature-3")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body.replace(b",", b", "), id="re-serialised"),
        pytest.param(lambda body: body.replace(b"5000", b"5001"), id="one byte"),
        pytest.param(lambda body: body + b"\n", id="a line break"),
        pytest.param(lambda body: b"\xef\xbb\xbf" + body, id="a byte order mark"),
        pytest.param(lambda body: body[:-1], id="cut"),
        pytest.param(lambda body: b"", id="nothing"),
    ],
)
def test_a_changed_body_is_no_match(payload: bytes, change: Any) -> None:
    with pytest.raises(SignatureMismatch):
        verify(change(payload), header(payload), SECRET, now=NOON)


NOT_EVENTS = {
    "not UTF-8": b'{"id":"\xff"}',
    "byte order mark": b"\xef\xbb\xbf{}",
    "a list": b"[]",
    "deep": b"[" * 200_000,
    "deep in an unknown field": b'{"x":' + b"[" * 200_000,
    "NaN": b'{"amount":NaN}',
    "empty": b"",
    "UTF-16": "{}".encode("utf-16"),
}


@pytest.mark.parametrize("body", NOT_EVENTS.values(), ids=NOT_EVENTS.keys())
def test_the_signature_of_a_body_that_is_no_event_is_still_good(body: bytes) -> None:
    assert check(body, header(body), SECRET, now=NOON).timestamp == NOON
    with pytest.raises(UnparseableEvent) as caught:
        verify(body, header(body), SECRET, now=NOON)
    assert caught.value.reason == "unparseable"


@pytest.mark.parametrize("secret", ["", " ", SECRET + "\n", " " + SECRET])
def test_an_empty_or_padded_secret_is_refused(payload: bytes, secret: str) -> None:
    for given_as in (secret, [SECRET, secret]):
        with pytest.raises(ValueError, match="secret"):
            verify(payload, header(payload), given_as, now=NOON)
    with pytest.raises(ValueError, match="secret"):
        sign(payload, secret, NOON)


def test_no_secret_at_all_is_the_callers_mistake(payload: bytes) -> None:
    with pytest.raises(ValueError, match="at least one"):
        verify(payload, header(payload), [], now=NOON)


@pytest.mark.spec("authentication-4")
def test_the_secret_of_the_other_mode_is_no_match(payload: bytes) -> None:
    with pytest.raises(SignatureMismatch):
        verify(payload, header(payload, secret=OTHER), SECRET, now=NOON)


@pytest.mark.spec("signature-4")
def test_a_retry_is_signed_afresh_and_a_stored_delivery_is_judged_at_its_receipt(
    payload: bytes,
) -> None:
    verify(payload, header(payload, NOON + 301), SECRET, now=NOON + 301)
    with pytest.raises(TimestampTooOld):
        verify(payload, header(payload), SECRET, now=NOON + 301)
    verify(payload, header(payload), SECRET, now=NOON)


def test_every_reason_is_a_word_of_its_own() -> None:
    reasons = {kind.__name__: kind.reason for kind in SignatureError.__subclasses__()}
    assert reasons == {
        "MissingSignature": "missing",
        "DuplicateSignature": "duplicate_header",
        "SignatureTooLong": "too_long",
        "MalformedSignature": "malformed",
        "TimestampNotInteger": "timestamp_not_integer",
        "MissingV1": "missing_v1",
        "TimestampTooOld": "too_old",
        "TimestampTooNew": "too_new",
        "SignatureMismatch": "no_match",
        "UnparseableEvent": "unparseable",
    }


@given(st.binary(max_size=300), st.integers(0, 2**40), st.text("abc_", min_size=1))
def test_what_sign_makes_verifies_for_any_bytes(body: bytes, t: int, secret: str) -> None:
    signed = sign(body, secret, t)
    assert check(body, signed, secret, now=t).timestamp == t
    assert check(bytearray(body), signed, secret, now=t).timestamp == t  # type: ignore[arg-type] # what frameworks hand over


@given(st.text(max_size=120) | st.binary(max_size=120))
def test_no_header_raises_anything_but_a_signature_error(value: str | bytes) -> None:
    with pytest.raises(SignatureError) as caught:
        check(b"{}", value, SECRET, now=NOON)
    said = str(caught.value)
    assert not said or str(value) not in said or len(value) < 4


def test_no_error_carries_the_payload_the_header_or_the_secret(payload: bytes) -> None:
    marked = payload.replace(b"col_1", b"col_canary")
    for value in ("canary", f"t=canary,v1={digest(marked)}", f"t={NOON},v1=canary"):
        with pytest.raises(SignatureError) as caught:
            verify(marked, value, SECRET, now=NOON)
        assert "canary" not in str(caught.value)
        assert SECRET not in str(caught.value)
    unreadable = b'{"id":"evt_canary","mode":"canary"}'
    with pytest.raises(UnparseableEvent) as refused:
        verify(unreadable, header(unreadable), SECRET, now=NOON)
    assert "canary" not in str(refused.value)


@given(
    st.sampled_from(["t=", "v1=", ",", "0", "00", " ", "a", "F", "t=1,", "é", ""]),
    st.integers(0, 90),
    st.integers(0, 2),
    st.sampled_from([0, 300, 301, -300, -301]),
    st.booleans(),
)
def test_the_short_road_judges_a_header_as_the_long_one_does(
    put: str, at: int, taken: int, skew: int, as_bytes: bool
) -> None:
    body = b'{"id":"evt_1"}'
    genuine = sign(body, SECRET, NOON - skew)
    spoiled = genuine[:at] + put + genuine[at + taken :]
    value = spoiled.encode() if as_bytes else spoiled

    def judged(secret: str | list[str]) -> object:
        try:
            return check(body, value, secret, now=NOON)
        except SignatureError as error:
            return type(error)

    # A list of secrets always takes the long road.
    assert judged(SECRET) == judged([SECRET])
