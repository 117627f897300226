"""However a header is spelled and secrets are given, the same rules hold to the second."""

from collections.abc import Callable
from typing import Any

import pytest

from kusanya.privacy.secret import Secret
from kusanya.webhooks import SignatureError, check, sign
from kusanya.webhooks.signature import _good_at_once

NOON = 1_772_452_800
ONE = "whsec_" + "1" * 32
TWO = "whsec_" + "2" * 32

SPELLINGS: dict[str, Callable[[str], str | bytes]] = {
    "as it is sent": lambda header: header,
    "as bytes": str.encode,
    "v1 first": lambda header: ",".join(reversed(header.split(","))),
    "with a space": lambda header: header.replace(",", ", "),
    "with another scheme": lambda header: f"{header},v2=00",
}
SECRETS = {
    "a text": ONE,
    "a secret": Secret(ONE),
    "a tuple of one": (Secret(ONE),),
    "a list": [ONE],
    "two, ours first": (Secret(ONE), Secret(TWO)),
}


@pytest.mark.spec("signature-4")
@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=list(SPELLINGS))
@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_300_seconds_pass_and_301_do_not(
    payload: bytes, spelled: Callable[[str], str | bytes], secret: str
) -> None:
    for age in (-300, -1, 0, 1, 300):
        header = spelled(sign(payload, ONE, NOON - age))
        found = check(payload, header, secret, now=NOON)
        assert (found.timestamp, found.secret_index) == (NOON - age, 0)
    for age in (-301, 301):
        header = spelled(sign(payload, ONE, NOON - age))
        with pytest.raises(SignatureError) as refused:
            check(payload, header, secret, now=NOON)
        assert refused.value.reason == ("too_new" if age < 0 else "too_old")


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=list(SPELLINGS))
@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_a_changed_byte_is_refused_in_every_spelling(
    payload: bytes, spelled: Callable[[str], str | bytes], secret: str
) -> None:
    header = sign(payload, ONE, NOON)
    wrong = header[:-1] + ("0" if header[-1] != "0" else "1")
    for body, value in ((payload + b" ", header), (payload, wrong), (payload, header[:-1])):
        with pytest.raises(SignatureError):
            check(body, spelled(value), secret, now=NOON)


def test_where_two_secrets_have_signed_the_first_of_ours_is_named(payload: bytes) -> None:
    both = f"{sign(payload, TWO, NOON)},{sign(payload, ONE, NOON).partition(',')[2]}"
    assert check(payload, both, [ONE, TWO], now=NOON).secret_index == 0
    assert check(payload, both, [TWO, ONE], now=NOON).secret_index == 0
    assert check(payload, sign(payload, TWO, NOON), [ONE, TWO], now=NOON).secret_index == 1


@pytest.mark.parametrize("header", [None, "", b"", " ", "\t", b" \t "], ids=repr)
def test_a_header_without_a_word_is_missing(payload: bytes, header: str | bytes | None) -> None:
    with pytest.raises(SignatureError) as refused:
        check(payload, header, ONE, now=NOON)
    assert refused.value.reason == "missing"


def test_white_space_around_a_header_is_nobodys_word(payload: bytes) -> None:
    header = f"\t {sign(payload, ONE, NOON)} \t"
    assert check(payload, header, ONE, now=NOON).timestamp == NOON


def test_nothing_but_blanks_and_tabs_is_taken_off_a_header(payload: bytes) -> None:
    header = sign(payload, ONE, NOON)
    for mark in "x;\n\r\0":
        for value in (header + mark, mark + header):
            with pytest.raises(SignatureError):
                check(payload, value, [ONE], now=NOON)


# What the service sends is judged without a list or an object: that road must not fall asleep.
@pytest.mark.parametrize("spelled", [str, str.encode], ids=["text", "bytes"])
@pytest.mark.parametrize("secret", [ONE, Secret(ONE), (ONE,)], ids=repr)
def test_the_usual_delivery_takes_the_short_road(
    payload: bytes, spelled: Callable[[str], str | bytes], secret: str
) -> None:
    for age in (-300, 0, 300):
        header = spelled(sign(payload, ONE, NOON - age))
        assert _good_at_once(payload, header, secret, 300, NOON + 0.9) == NOON - age
    for age in (-301, 301):
        header = spelled(sign(payload, ONE, NOON - age))
        assert _good_at_once(payload, header, secret, 300, NOON + 0.9) is None
        assert _good_at_once(payload, header, secret, None, NOON) == NOON - age


def test_the_short_road_reads_as_many_digits_as_the_long_one(payload: bytes) -> None:
    longest = 10**19 - 1
    header = sign(payload, ONE, longest)
    assert _good_at_once(payload, header, ONE, None, NOON) == longest
    assert check(payload, header, [ONE], tolerance=None, now=NOON).timestamp == longest
    beyond = sign(payload, ONE, longest + 1)
    assert _good_at_once(payload, beyond, ONE, None, NOON) is None
    with pytest.raises(SignatureError):
        check(payload, beyond, [ONE], tolerance=None, now=NOON)


UNUSUAL: dict[str, tuple[Any, Callable[[bytes], Any], Callable[[str], str]]] = {
    "a list of secrets": ([ONE], bytes, str),
    "two secrets": ((ONE, TWO), bytes, str),
    "a body that is no bytes": (ONE, bytearray, str),
    "another name for t": (ONE, bytes, lambda header: header.replace("t=", "T=")),
    "no t": (ONE, bytes, lambda header: header.replace("t=", "")),
    "another scheme": (ONE, bytes, lambda header: f"{header},v2=00"),
    "a short digest": (ONE, bytes, lambda header: header[:-1]),
    "no v1": (ONE, bytes, lambda header: header.replace(",v1", ",v2")),
}


@pytest.mark.parametrize(("secret", "body", "change"), UNUSUAL.values(), ids=list(UNUSUAL))
def test_anything_unusual_is_left_to_the_long_road(
    payload: bytes, secret: Any, body: Callable[[bytes], Any], change: Callable[[str], str]
) -> None:
    header = change(sign(payload, ONE, NOON))
    assert _good_at_once(body(payload), header, secret, 300, NOON) is None
