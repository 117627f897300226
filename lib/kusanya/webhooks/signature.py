"""Sign a delivery, and tell whether one is authentic.

The header is `t=<unix seconds>,v1=<hex>`, where `v1` is the lowercase hex HMAC-SHA256, keyed with
the endpoint's signing secret, of `<t>.<raw body>`. Everything here works on the exact bytes that
crossed the wire; nothing decodes the body before its signature is known to be good.
Source: specification, Events, Signature. Assumes SIGNING_KEY.

    SignatureError
    ├── MissingSignature        no header, or an empty one
    ├── DuplicateSignature      two headers, or two t: ambiguous
    ├── SignatureTooLong        over 4 KiB or over 16 v1
    ├── MalformedSignature      an element that is not name=value in ASCII
    ├── TimestampNotInteger     t is absent or not ASCII digits
    ├── MissingV1               no v1 among the elements
    ├── TimestampTooOld         authentic or not, it is more than the tolerance behind
    ├── TimestampTooNew         or ahead
    ├── SignatureMismatch       no v1 matches any of the secrets
    └── UnparseableEvent        the signature is good, the body is not an event
"""

import hmac
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar, Final

import msgspec

from kusanya.clock import SystemClock
from kusanya.domain.assumptions import SIGNATURE_HEADER_MAX_BYTES, SIGNATURE_MAX_V1
from kusanya.domain.limits import SIGNATURE_TOLERANCE_S
from kusanya.errors import KusanyaError, WireError
from kusanya.privacy.secret import SIGNING_PREFIX, Secret
from kusanya.wire import Event, decode_event

AnySecret = str | Secret

# Tuples, because `isinstance(x, A | B)` builds its union anew on every call.
_RAW: Final = (bytes, bytearray, memoryview)
_ONE_SECRET: Final = (str, Secret)


class SignatureError(KusanyaError):
    """A delivery was refused; `reason` is a stable word for records and metrics.

    Carries neither the payload nor the header.
    """

    reason: ClassVar[str] = "invalid"


class MissingSignature(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The signature header is missing or empty."""

    reason = "missing"


class DuplicateSignature(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The signature header came twice, or names two timestamps."""

    reason = "duplicate_header"


class SignatureTooLong(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The signature header is longer than any genuine one."""

    reason = "too_long"


class MalformedSignature(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The signature header is not a list of name=value elements in ASCII."""

    reason = "malformed"


class TimestampNotInteger(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The header's t is absent or not an integer in ASCII digits."""

    reason = "timestamp_not_integer"


class MissingV1(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The header has no v1 signature."""

    reason = "missing_v1"


class TimestampTooOld(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The header's t lies too far in the past."""

    reason = "too_old"


class TimestampTooNew(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The header's t lies too far in the future; check this machine's clock."""

    reason = "too_new"


class SignatureMismatch(SignatureError):  # noqa: N818 - one class per cause, named after it
    """No v1 matches any signing secret; the body was changed or the secret is another's."""

    reason = "no_match"


class UnparseableEvent(SignatureError):  # noqa: N818 - one class per cause, named after it
    """The signature is good but the body is not an event."""

    reason = "unparseable"


class SignatureParts(msgspec.Struct, frozen=True):
    """The two parts of a header that matter: the literal bytes of t, and every v1."""

    timestamp: bytes
    signatures: tuple[bytes, ...]


class SignatureMatch(msgspec.Struct, frozen=True):
    """What a good signature proves: when it was made and with which of the secrets."""

    timestamp: int
    secret_index: int


_DIGEST_LENGTH: Final = 64
_STAMP_LENGTH: Final = 19
_DIGITS: Final = re.compile(rb"[0-9]{1,19}")
_ELEMENT: Final = re.compile(rb"([A-Za-z0-9_\-]+)=([\x20-\x7e]*)")


def sign(payload: bytes, secret: AnySecret, timestamp: int) -> str:
    """Return the header's value for `payload` signed at `timestamp` (unix seconds).

    Raises TypeError for a str payload: only the exact bytes can be signed.
    """
    if not isinstance(payload, _RAW):
        raise TypeError("the payload is the exact bytes, not a str")
    t = str(int(timestamp))
    message = t.encode() + b"." + payload
    return f"t={t},v1={_hexdigest(secret, message)}"


def verify(  # the contract's order and names
    payload: bytes,
    header: str | bytes | None,
    secret: AnySecret | Sequence[AnySecret],
    *,
    tolerance: int | None = SIGNATURE_TOLERANCE_S,
    now: float | None = None,
) -> Event:
    """Return the event of an authentic delivery.

    `payload` is the raw body and `header` the signature header's value, None for none. Several
    secrets may be given, for a rotation; all are tried. `tolerance` is in seconds, both ways,
    exactly that much passing; None turns the check off and is for replaying stored deliveries
    alone. `now` is unix seconds, the machine's clock by default.
    Raises a subclass of SignatureError, TypeError for a str payload or a secret that is None,
    ValueError for no secret or one of which only the prefix is there.
    """
    present = SystemClock().now().timestamp() if now is None else now
    if _good_at_once(payload, header, secret, tolerance, present) is None:
        check(payload, header, secret, tolerance=tolerance, now=present)
    try:
        return decode_event(payload)
    except WireError as error:
        raise UnparseableEvent(f"the signature is good but the body is {error}") from None


def check(
    payload: bytes,
    header: str | bytes | None,
    secret: AnySecret | Sequence[AnySecret],
    *,
    tolerance: int | None = SIGNATURE_TOLERANCE_S,
    now: float | None = None,
) -> SignatureMatch:
    """Check the signature alone and leave the body unread; see `verify` for the arguments."""
    if not isinstance(payload, _RAW):
        raise TypeError("the payload is the exact bytes, not a str: never decode before verifying")
    present = int(SystemClock().now().timestamp() if now is None else now)
    signed_at = _good_at_once(payload, header, secret, tolerance, present)
    if signed_at is not None:
        return SignatureMatch(signed_at, 0)
    secrets = _every(secret)
    parsed = parse(header)
    timestamp = int(parsed.timestamp)
    message = parsed.timestamp + b"." + payload
    matched = -1
    for index, one in enumerate(secrets):
        expected = _hexdigest(one, message).encode()
        for signature in parsed.signatures:
            # Every pair is compared, so that the time taken tells nothing about which matched.
            if hmac.compare_digest(expected, signature) and matched < 0:
                matched = index
    if matched < 0:
        raise SignatureMismatch(
            "no v1 matches: the body was changed on its way, or the signing secret is another's"
        )
    # Last: that the time is wrong is worth saying only of what our own secret has signed.
    if tolerance is not None and not -tolerance <= present - timestamp <= tolerance:
        raise _out_of_time(timestamp - present, tolerance)
    return SignatureMatch(timestamp, matched)


def parse(header: str | bytes | None) -> SignatureParts:
    """Split a header into its timestamp and its v1 signatures; raises SignatureError.

    Elements of other schemes (v0, v2) are passed over; a repeated t is ambiguous and refused.
    """
    raw = _ascii(header)
    timestamps: list[bytes] = []
    signatures: list[bytes] = []
    for part in raw.split(b","):
        element = part.strip(b" \t")
        if not element:
            continue
        found = _ELEMENT.fullmatch(element)
        if found is None:
            raise MalformedSignature("an element of the signature header is not name=value")
        if found[1] == b"t":
            timestamps.append(found[2])
        elif found[1] == b"v1":
            signatures.append(found[2])
    return _signature_parts(timestamps, signatures)


def _good_at_once(
    payload: bytes,
    header: str | bytes | None,
    secret: AnySecret | Sequence[AnySecret],
    tolerance: int | None,
    present: float,
) -> int | None:
    """Return when a delivery was signed if all is as usual and good, else None.

    The usual is one secret and t=digits,v1=64 characters. None proves nothing: the whole check
    says why, and accepts whatever this accepts.
    """
    only = secret[0] if type(secret) is tuple and len(secret) == 1 else secret
    if type(header) is bytes and header.isascii():
        header = header.decode()
    if type(header) is not str or type(payload) is not bytes or not isinstance(only, _ONE_SECRET):
        return None
    stamp, _, signature = header.partition(",v1=")
    digits = stamp[2:]
    if (
        len(signature) != _DIGEST_LENGTH
        or stamp[:2] != "t="
        or not digits.isdigit()
        or len(digits) > _STAMP_LENGTH
        or not header.isascii()
    ):
        return None
    timestamp = int(digits)
    if tolerance is not None and not -tolerance <= int(present) - timestamp <= tolerance:
        return None
    expected = _hexdigest(only, digits.encode() + b"." + payload)
    return timestamp if hmac.compare_digest(expected, signature) else None


def _signature_parts(timestamps: list[bytes], signatures: list[bytes]) -> SignatureParts:
    if len(timestamps) > 1:
        raise DuplicateSignature("the signature header names two timestamps")
    if not timestamps or not _DIGITS.fullmatch(timestamps[0]):
        raise TimestampNotInteger("the signature header's t is not an integer")
    if not signatures:
        raise MissingV1("the signature header has no v1")
    if len(signatures) > SIGNATURE_MAX_V1:
        raise SignatureTooLong(f"the signature header has more than {SIGNATURE_MAX_V1} v1")
    return SignatureParts(timestamps[0], tuple(signatures))


def _ascii(header: str | bytes | None) -> bytes:
    if header is None or not header:
        raise MissingSignature("there is no signature header")
    if not isinstance(header, str | bytes):
        raise TypeError(f"the header is its value, a str or bytes, not {type(header).__name__}")
    if len(header) > SIGNATURE_HEADER_MAX_BYTES:
        raise SignatureTooLong("the signature header is too long to be genuine")
    if isinstance(header, bytes):
        raw = header
    else:
        try:
            raw = header.encode("ascii")
        except UnicodeEncodeError:
            raise MalformedSignature("the signature header is not ASCII") from None
    raw = raw.strip(b" \t")
    if not raw:
        raise MissingSignature("the signature header is empty")
    return raw


def _out_of_time(ahead: int, tolerance: int) -> SignatureError:
    if ahead < 0:
        return TimestampTooOld(f"t is more than {tolerance} s behind this machine's clock")
    return TimestampTooNew(f"t is more than {tolerance} s ahead of this machine's clock")


def _every(secret: AnySecret | Sequence[AnySecret]) -> tuple[AnySecret, ...]:
    if secret is None:
        raise TypeError("the signing secret is None: give the text that the dashboard showed")
    if not isinstance(secret, (*_ONE_SECRET, Iterable)):
        raise TypeError(f"a signing secret is a str, not {type(secret).__name__}")
    every = (secret,) if isinstance(secret, _ONE_SECRET) else tuple(secret)
    if not every:
        raise ValueError("give at least one signing secret")
    return every


def _hexdigest(secret: AnySecret, message: bytes) -> str:
    if type(secret) is not str:
        secret = (secret if type(secret) is Secret else Secret(secret)).reveal()
    keyed = _keyed(secret).copy()
    keyed.update(message)
    return keyed.hexdigest()


@lru_cache(maxsize=16)
def _keyed(secret: str) -> hmac.HMAC:
    # Setting a key up costs more than hashing a delivery with it. And hmac.digest lets go of the
    # interpreter even for a short message: beside a busy thread each would wait to get it back.
    if secret == SIGNING_PREFIX:
        raise ValueError(f"nothing follows {SIGNING_PREFIX}: copy the whole signing secret")
    return hmac.new(Secret(secret).reveal().encode(), digestmod="sha256")
