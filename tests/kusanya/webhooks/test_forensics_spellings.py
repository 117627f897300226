"""What forensics says where our own configuration is at fault."""

from datetime import UTC, datetime

from kusanya.webhooks import forensics, sign
from kusanya.webhooks.forensics import explain

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())
SECRET = "whsec_YWJjZGVmZ2hpamtsbW5vcA=="


def test_a_secret_that_was_copied_without_its_beginning_is_recognised(payload: bytes) -> None:
    header = sign(payload, SECRET, NOON)
    found = explain(payload, header, SECRET.removeprefix("whsec_"), now=NOON)
    assert (found.reason, found.cause) == ("no_match", "secret_spelling")
    assert "whole whsec_" in found.sentence


def test_a_secret_is_never_in_the_repr_of_what_forensics_tries() -> None:
    door = forensics._SecretOwner("shop", 0, SECRET.encode())
    assert repr(door) == "_SecretOwner('shop')"


def test_a_secret_that_is_no_base64_is_not_tried_decoded(payload: bytes) -> None:
    header = sign(payload, SECRET, NOON)
    found = explain(payload, header, "whsec_not base64!", now=NOON)
    assert (found.authentic, found.reason) == (False, "no_match")
