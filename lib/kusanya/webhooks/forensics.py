"""Say why a delivery was rejected.

Everything here happens after a verdict and never changes one: that a changed form of a delivery
would have been authentic is a diagnosis, not an acceptance.
Source: Signature. Assumes SIGNING_KEY.
"""

import base64
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from kusanya.clock import SystemClock
from kusanya.domain.limits import SIGNATURE_TOLERANCE_S
from kusanya.errors import WireError
from kusanya.privacy.secret import Secret
from kusanya.say import Said
from kusanya.webhooks.signature import (
    AnySecret,
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
    check,
    parse,
)
from kusanya.webhooks.variants import SENTENCES, bodies
from kusanya.wire import decode_event

Secrets = AnySecret | Sequence[AnySecret]


class DeliveryFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What is the matter with one delivery."""

    authentic: bool
    """Whether the verifier accepts the signature, at that time and with those secrets."""
    reason: str
    """The signature error's stable word; "authentic" or "unparseable" for a good signature."""
    cause: str
    """A stable word for the likely cause; the same as `reason` where nothing more is known."""
    sentence: str
    """The same for a person, with what to do; quotes nothing of the delivery."""
    skew_s: int | None = None
    """How far `t` lies from the time of receipt: below 0 is behind. None where t is unreadable."""
    secret_index: int | None = None
    """Which of the given secrets signed it, where one did."""
    endpoint: str | None = None
    """Whose secret signed it, where that was another endpoint's."""


class _Diagnosis(msgspec.Struct, frozen=True):
    cause: str
    sentence: str
    endpoint: str | None = None
    secret_index: int | None = None


_PLAIN: Final[dict[type[SignatureError], str]] = {
    MissingSignature: (
        "There is no signature header: the request is not from the service, or a proxy drops "
        "headers it does not know."
    ),
    DuplicateSignature: (
        "The signature came twice: two headers, or one with two t. Which one counts cannot be "
        "known; look for a proxy that copies headers or joins requests."
    ),
    SignatureTooLong: "The signature header is longer than any genuine one.",
    MalformedSignature: (
        "The signature header is not a list of name=value in ASCII: cut, quoted or rewritten."
    ),
    TimestampNotInteger: "The header's t is missing or no plain integer of seconds.",
    MissingV1: "The header has no v1: it is cut short, or of another scheme.",
    SignatureMismatch: (
        "No v1 fits any of the secrets, nor any usual change of the body: the secret is another "
        "one (was it rotated?), or the delivery is forged."
    ),
}


def explain(
    payload: bytes,
    header: str | bytes | None,
    secrets: Secrets,
    *,
    now: float | None = None,
    tolerance: int = SIGNATURE_TOLERANCE_S,
    also: Mapping[str, Secrets] | None = None,
) -> DeliveryFinding:
    """Return why the verifier accepts or refuses a delivery.

    `now` is the time of receipt in unix seconds. `also` holds the secrets of other endpoints by
    name, to find a delivery that went to the wrong endpoint. Raises TypeError for a str payload and
    ValueError for no secret or an empty one.
    """
    at = SystemClock().now().timestamp() if now is None else now
    skew = _skew(header, at)
    try:
        signed = check(payload, header, secrets, tolerance=tolerance, now=at)
    except (TimestampTooOld, TimestampTooNew) as error:
        diagnosis = _out_of_time(payload, header, secrets, also or {}, skew)
        reason = error.reason
    except SignatureError as error:
        is_late = skew is not None and abs(skew) > tolerance
        if isinstance(error, SignatureMismatch) and is_late:
            diagnosis = _out_of_time(payload, header, secrets, also or {}, skew)
        else:
            diagnosis = _untangle(payload, header, secrets, also or {}, error)
        reason = error.reason
    else:
        return _authentic(payload, signed.secret_index, skew)
    return DeliveryFinding(
        authentic=False,
        reason=reason,
        cause=diagnosis.cause,
        sentence=diagnosis.sentence,
        skew_s=skew,
        secret_index=diagnosis.secret_index,
        endpoint=diagnosis.endpoint,
    )


def _authentic(payload: bytes, secret_index: int, skew: int | None) -> DeliveryFinding:
    word, sentence = "authentic", "The delivery is authentic, and its body is an event."
    try:
        event = decode_event(payload)
    except WireError as error:
        word = "unparseable"
        sentence = Said("The signature is good, but the body is {what}.").of(what=str(error))
    else:
        if event.data.mode != event.mode:
            sentence = "The delivery is authentic, but event and collection differ in mode."
    return DeliveryFinding(
        authentic=True,
        reason=word,
        cause=word,
        sentence=sentence,
        skew_s=skew,
        secret_index=secret_index,
    )


def _skew(header: str | bytes | None, at: float) -> int | None:
    try:
        return int(parse(header).timestamp) - int(at)
    except SignatureError:
        return None


def _out_of_time(
    payload: bytes,
    header: str | bytes | None,
    secrets: Secrets,
    also: Mapping[str, Secrets],
    skew: int | None,
) -> _Diagnosis:
    distance = abs(skew or 0)
    side = "behind" if (skew or 0) < 0 else "ahead of"
    try:
        signed = check(payload, header, secrets, tolerance=None)
    except SignatureError as error:
        diagnosis = _untangle(payload, header, secrets, also, error)
        sentence = Said(
            "Its t is {seconds} s {our_way} the time of receipt. Besides: {our_said}"
        ).of(seconds=distance, our_way=side, our_said=diagnosis.sentence)
        return _Diagnosis(diagnosis.cause, sentence, diagnosis.endpoint, diagnosis.secret_index)
    advice = (
        "it was held up or sent again by somebody else, or this machine's clock is ahead"
        if side == "behind"
        else "this machine's clock is behind"
    )
    return _Diagnosis(
        "clock",
        Said(
            "The signature is good, but its t is {seconds} s {our_way} the time of receipt: "
            "{our_why}."
        ).of(seconds=distance, our_way=side, our_why=advice),
        secret_index=signed.secret_index,
    )


def _untangle(
    payload: bytes,
    header: str | bytes | None,
    secrets: Secrets,
    also: Mapping[str, Secrets],
    error: SignatureError,
) -> _Diagnosis:
    """Return the likely cause of an error that is not about time."""
    parts = _HeaderParts.of(header)
    owners = [_SecretOwner(None, index, key) for index, key in enumerate(_keys(secrets))]
    owners += [_SecretOwner(name, None, key) for name, held in also.items() for key in _keys(held)]
    if parts is not None:
        diagnosis = next(_diagnoses(payload, parts, owners, error), None)
        if diagnosis is not None:
            return diagnosis
    return _Diagnosis(error.reason, _PLAIN[type(error)])


class _SecretOwner(msgspec.Struct, frozen=True):
    """One secret that might have signed, and whose it is."""

    endpoint: str | None
    index: int | None
    key: bytes

    def __repr__(self) -> str:
        return f"_SecretOwner({self.endpoint!r})"

    @property
    def whose(self) -> str:
        return (
            ""
            if self.endpoint is None
            else Said(" with the secret of endpoint {endpoint}").of(endpoint=self.endpoint)
        )

    def diagnosis(self, cause: str, sentence: str) -> _Diagnosis:
        return _Diagnosis(cause, sentence, self.endpoint, self.index)


class _HeaderParts(msgspec.Struct, frozen=True):
    """A header read with every leniency: what might be its t, and its values by name."""

    timestamps: tuple[bytes, ...]
    values: tuple[tuple[str, bytes], ...]

    @classmethod
    def of(cls, header: str | bytes | None) -> "_HeaderParts | None":
        raw = header.encode("utf-8", "replace") if isinstance(header, str) else header or b""
        found = re.findall(rb"([A-Za-z0-9_]{1,16})\s*=\s*\"?([^,;\"\s]{1,256})", raw[:8192])
        stamps = tuple(value for name, value in found if name.lower() == b"t")
        values = tuple((n.decode().lower(), v) for n, v in found if n.lower() != b"t")
        # Bounded, so that a hostile header cannot buy work.
        return cls(stamps[:4], values[:16]) if stamps and values else None


def _diagnoses(
    payload: bytes, parts: _HeaderParts, owners: Sequence[_SecretOwner], error: SignatureError
) -> Iterator[_Diagnosis]:
    for stamp in parts.timestamps:
        for owner in owners:
            yield from _by_header(payload, stamp, parts, owner, error)
    for stamp in parts.timestamps:
        for owner in owners:
            yield from _by_secret(payload, stamp, parts, owner)
    for change, body in bodies(payload):
        for stamp in parts.timestamps:
            for owner in owners:
                if _fits(parts, _hex(owner.key, stamp + b"." + body)):
                    yield owner.diagnosis(
                        change.value,
                        Said(
                            "The body was changed on its way: {our_what}. Without that it would "
                            "be authentic{our_whose}."
                        ).of(our_what=SENTENCES[change], our_whose=owner.whose),
                    )


def _by_header(
    payload: bytes, stamp: bytes, parts: _HeaderParts, owner: _SecretOwner, error: SignatureError
) -> Iterator[_Diagnosis]:
    """Yield what is wrong with the header alone: body and secret fit."""
    expected = _hex(owner.key, stamp + b"." + payload)
    for name, value in parts.values:
        signature = value.lower()
        if signature == expected and name == "v1" and value == signature:
            if isinstance(error, SignatureMismatch):
                yield owner.diagnosis(
                    "other_endpoint",
                    Said(
                        "It is authentic{our_whose}: the service sends it to the wrong address, "
                        "or this endpoint has the wrong secret."
                    ).of(our_whose=owner.whose),
                )
            elif isinstance(error, DuplicateSignature):
                yield owner.diagnosis(
                    "duplicated",
                    Said(
                        "The signature came twice and one of them is authentic{our_whose}: a "
                        "proxy copies or joins headers."
                    ).of(our_whose=owner.whose),
                )
            elif isinstance(error, TimestampNotInteger):
                yield owner.diagnosis(
                    "timestamp_form",
                    Said("It was signed{our_whose}, but with a t that is no integer.").of(
                        our_whose=owner.whose
                    ),
                )
            else:
                yield owner.diagnosis(
                    "rewritten_header",
                    Said(
                        "The header was rewritten on its way; what it says is authentic{our_whose}."
                    ).of(our_whose=owner.whose),
                )
        elif signature == expected and name != "v1":
            yield owner.diagnosis(
                "other_scheme",
                Said("The signature is right, but it is called {name} and not v1.").of(name=name),
            )
        elif signature == expected:
            yield owner.diagnosis(
                "uppercase", "The signature is right, but not in lowercase letters."
            )
        elif len(signature) >= _PREFIX and expected.startswith(signature):
            yield owner.diagnosis(
                "truncated",
                Said("The signature is right as far as it goes, but it is cut{our_whose}.").of(
                    our_whose=owner.whose
                ),
            )
        elif value.rstrip(b"=") == base64.b64encode(bytes.fromhex(expected.decode())).rstrip(b"="):
            yield owner.diagnosis("base64", "The signature is right, but in base64 and not in hex.")


def _by_secret(
    payload: bytes, stamp: bytes, parts: _HeaderParts, owner: _SecretOwner
) -> Iterator[_Diagnosis]:
    """Yield what is wrong with the key or with what was signed: the body fits."""
    message = stamp + b"." + payload
    if _fits(parts, _hex(owner.key, payload)):
        yield owner.diagnosis("body_alone", "It was signed without its t: this is another scheme.")
    for key in _spellings(owner.key):
        if _fits(parts, _hex(key, message)):
            yield owner.diagnosis(
                "secret_spelling",
                "The secret is the right one, spelled differently: the key is the whole whsec_ "
                "string, without white space around it and not decoded.",
            )


def _spellings(key: bytes) -> Iterator[bytes]:
    for end in (b"\n", b"\r\n", b" "):
        yield key + end
    bare = key.removeprefix(b"whsec_")
    if bare != key:
        yield bare
        try:
            yield base64.b64decode(bare, validate=True)
        except ValueError:
            return
    else:
        yield b"whsec_" + key


_PREFIX: Final = 8
"""Hex digits that a cut signature must still have to be no chance."""


def _fits(parts: _HeaderParts, expected: bytes) -> bool:
    return any(value.lower() == expected for _, value in parts.values)


def _hex(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256").hex().encode()


def _keys(secrets: Secrets) -> tuple[bytes, ...]:
    several = (secrets,) if isinstance(secrets, str | Secret) else secrets
    return tuple(Secret(one).reveal().encode() for one in several)
