"""Mutated deliveries against the verifier: none is accepted, none raises another error."""

import hashlib
import hmac
import random
from datetime import UTC, datetime

import pytest

from kusanya.webhooks import SignatureError, check, sign

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())
SECRET = "whsec_" + "a" * 32
SPARE = "whsec_" + "b" * 32
PIECES = (b"t=", b"v1=", b",", b"=", b" ", b"\t", b"v0=", b"t", b"\xc3\xa9", b"\x00", b"-", b"_")


def mutated(chance: random.Random, data: bytes) -> bytes:
    """Return `data` after one to three small accidents."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(5):
            case 0 if found:
                found[at % len(found)] ^= 1 << chance.randrange(8)
            case 1:
                found[at:at] = chance.choice(PIECES)
            case 2:
                del found[at : at + chance.randint(1, 8)]
            case 3:
                found[at:at] = found[chance.randrange(len(found) + 1) :][: chance.randint(1, 80)]
            case _:
                found[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(found)


def is_authentic(payload: bytes, header: bytes) -> bool:
    """Decide by the letter: exactly one t of ASCII digits, and a v1 that is its digest."""
    elements = [e.strip(b" \t") for e in header.strip(b" \t").split(b",")]
    pairs = [e.split(b"=", 1) for e in elements if e]
    stamps = [p[1] for p in pairs if p[0] == b"t" and len(p) == 2]
    if len(stamps) != 1 or not stamps[0].isdigit() or abs(int(stamps[0]) - NOON) > 300:
        return False
    expected = {
        hmac.new(key.encode(), stamps[0] + b"." + payload, hashlib.sha256).hexdigest().encode()
        for key in (SECRET, SPARE)
    }
    return any(p[0] == b"v1" and len(p) == 2 and p[1] in expected for p in pairs)


@pytest.mark.timeout(3600)
@pytest.mark.scale(200_000, 2_000_000, 10_000_000)
@pytest.mark.spec("signature-4")
def test_no_mutated_delivery_is_accepted_and_only_signature_errors_leave(
    payload: bytes, rounds: int
) -> None:
    chance = random.Random(20260302)  # noqa: S311 - a test repeats itself
    header = sign(payload, SECRET, NOON).encode()
    accepted = refused = 0
    for number in range(rounds):
        body, value = payload, mutated(chance, header)
        if number % 3 == 0:
            body = mutated(chance, payload)
            value = header if number % 2 else value
        try:
            check(body, value, [SPARE, SECRET], now=NOON)
        except SignatureError:
            refused += 1
        else:
            accepted += 1
            assert is_authentic(body, value), (body, value)
    assert refused > rounds * 0.5
    assert accepted < rounds * 0.5
