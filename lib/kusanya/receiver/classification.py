"""Classify a delivery: is it authentic, can it be read, does it belong here.

Bytes and headers go in, an `Arrival` with its verdict comes out; nothing here does I/O or reads a
clock. The signature is checked over the exact bytes and against the time of arrival before anything
is decoded. Source: Signature; Delivery rules 1 and 4. Assumes SIGNING_KEY and OPEN_SETS.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec.structs import fields as struct_fields

from kusanya.domain.assumptions import REFERENCE_MAX_LENGTH
from kusanya.domain.limits import INTEGER_MAX
from kusanya.errors import WireError
from kusanya.receiver.endpoints import UNKNOWN, Endpoints, EndpointSecrets
from kusanya.state.fold import LATER
from kusanya.state.observation import Dispute, Observation, Source
from kusanya.store.records import Arrival, Verdict
from kusanya.webhooks.signature import (
    DuplicateSignature,
    MissingSignature,
    SignatureError,
    check,
)
from kusanya.wire import (
    Collection,
    Event,
    Instant,
    Mode,
    decode_event,
    is_collection_id,
    is_event_id,
)

Headers = Sequence[tuple[bytes, bytes]]

ACCEPTED: Final = 200
REFUSED: Final = 400
WRONG_MODE: Final = "wrong_mode"
"""The reason of an authentic delivery that belongs to the other mode."""

KEPT_HEADERS: Final = frozenset(
    b"accept content-encoding content-length content-type date forwarded host request-id "
    b"traceparent transfer-encoding user-agent via x-correlation-id x-forwarded-for "
    b"x-forwarded-host x-forwarded-proto x-real-ip x-request-id".split()
)
"""Besides the signature: what tells who sent a delivery and by which way."""
KEPT_HEADER_BYTES: Final = 8 * 1024
"""Of all kept headers together, the longest signature header that is read among them."""
_NOT_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# A string of JSON, read in one pass: no part of the expression can match the same text twice.
# One that is never closed reaches to the end: else each quote in it would be tried again.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_decode_json: Final = msgspec.json.Decoder().decode
_NESTING: Final = frozenset({dict, list})
_modes: Final = frozenset(Mode)
_DEFAULTED: Final = "object"
"""The one field whose value does not tell whether it was said."""
_ALWAYS_SAID: Final = sum(
    field.required for read in (Event, Collection) for field in struct_fields(read)
)


def classify(
    body: bytes,
    headers: Headers,
    *,
    arrived_at: datetime,
    endpoints: Endpoints,
    path: str = "",
    took_us: int = 0,
) -> Arrival:
    """Return what a delivery is and what we answer to it once that is durable.

    `headers` are the request's with lowercase names, `arrived_at` when it began to arrive: the
    signature's age is measured against it. `path` names the endpoint of a delivery whose signature
    names none. Never raises for anything that a delivery can hold.

    What is authentic is accepted, also where its body cannot be read: the bytes are kept, and
    sending them again would change nothing. An event of the other mode is refused: either the
    endpoint or the secret is registered in the wrong mode, and a 2xx would end the sender's retries
    before anybody has seen it.
    """
    signatures = [value for name, value in headers if name == endpoints.header]
    kept = kept_headers(headers, endpoints.header)
    try:
        if len(signatures) != 1:
            raise DuplicateSignature if signatures else MissingSignature
        signed = check(body, signatures[0], endpoints.secrets, now=arrived_at.timestamp())
    except SignatureError as error:
        return _rejected(
            body, kept, error.reason,
            arrived_at=arrived_at, endpoints=endpoints, path=path, took_us=took_us,
        )  # fmt: skip
    endpoint = endpoints.owners[signed.secret_index]
    verdict, reason, observation = Verdict.VERIFIED, None, None
    event = _read(body)
    if isinstance(event, str):
        verdict, reason = Verdict.UNPARSEABLE, event
        says = _claims(body)
    else:
        says = _says(event)
        observation = _observation(event, arrived_at, endpoint)
        if observation.disputed is not None:
            verdict, reason = Verdict.WRONG_MODE, WRONG_MODE
    return Arrival(
        arrived_at=arrived_at,
        endpoint=endpoint.name,
        observed_in=endpoint.mode,
        body=body,
        headers=kept,
        verdict=verdict,
        reason=reason,
        signed_at=_instant(signed.timestamp),
        secrets_tried=len(endpoints.secrets),
        observation=observation,
        answer=REFUSED if verdict is Verdict.WRONG_MODE else ACCEPTED,
        took_us=took_us,
        **says,
    )


def _rejected(
    body: bytes,
    kept: tuple[tuple[bytes, bytes], ...],
    reason: str,
    *,
    arrived_at: datetime,
    endpoints: Endpoints,
    path: str,
    took_us: int,
) -> Arrival:
    says = _claims(body)
    endpoint, mode = _addressee(endpoints, path, says["event_mode"])
    return Arrival(
        arrived_at=arrived_at,
        endpoint=endpoint,
        observed_in=mode,
        body=body,
        headers=kept,
        verdict=Verdict.REJECTED,
        reason=reason,
        secrets_tried=len(endpoints.secrets),
        answer=REFUSED,
        took_us=took_us,
        **says,
    )


def kept_headers(headers: Headers, signature: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that are evidence, as they came: a repeat may add others.

    Those beyond KEPT_HEADER_BYTES are left out, never cut.
    """
    kept, left = [], KEPT_HEADER_BYTES
    for name, value in headers:
        if name == signature or name in KEPT_HEADERS:
            left -= len(name) + len(value)
            if left < 0:
                break
            kept.append((name, value))
    return tuple(kept)


def answer_text(arrival: Arrival) -> str:
    """Return the body of our answer: nothing, or what is wrong in words for the sender's log."""
    if arrival.verdict is Verdict.WRONG_MODE:
        return (
            f"wrong_mode: this endpoint and its signing secret are for {arrival.observed_in} mode "
            "and the event is not; register the endpoint in the event's mode"
        )
    return arrival.reason or ""


def _addressee(endpoints: Endpoints, path: str, claimed: str | None) -> tuple[str, Mode]:
    """Return the name and the mode under which a rejected delivery is kept."""
    endpoint = endpoints.named_by(path)
    if endpoint is not None:
        return endpoint.name, endpoint.mode
    # A claim of a mode is not believed; it only chooses whose list shows the rejection.
    return UNKNOWN, Mode(claimed) if claimed in _modes else endpoints.every[0].mode


def _says(event: Event) -> dict[str, Any]:
    data = event.data
    return {
        "event_id": event.id,
        "event_type": event.type,
        "event_created_at": event.created_at,
        "event_mode": str(event.mode),
        "collection_id": data.id,
        "reference": data.reference,
        "amount": data.amount,
        "currency": data.currency,
    }


def _observation(event: Event, arrived_at: datetime, endpoint: EndpointSecrets) -> Observation:
    ours = event.mode == endpoint.mode == event.data.mode
    return Observation(
        source=Source.EVENT,
        source_id=event.id,
        observed_at=arrived_at,
        observed_in=endpoint.mode,
        collection=event.data,
        event_id=event.id,
        event_type=event.type,
        event_created_at=event.created_at,
        disputed=None if ours else Dispute.OTHER_MODE,
    )


def _read(body: bytes) -> Event | str:
    """Return the event, or a stable word for what stops us from reading it."""
    try:
        event = decode_event(body)
    except WireError:
        event = None
    if event is not None and _says_each_once(body, event):
        return event
    try:
        decoded = _decode_json(body)
    except UnicodeDecodeError:
        return "not_utf8"
    except RecursionError:
        return "too_deep"
    except msgspec.MsgspecError:
        return "not_json"
    if _has_duplicate_keys(body, decoded):
        return "duplicate_keys"
    return "not_an_event" if event is None else event


_later: Final[Callable[[Collection], tuple[Any, ...]]] = attrgetter(*LATER)


def _says_each_once(body: bytes, event: Event) -> bool:
    """Return whether surely no key stands twice in `body`, without reading it again.

    Each field that was read stands there at least once. Where no more keys than these stand there,
    none of them stands there twice, and none that we do not know either.
    """
    data = event.data
    metadata = data.metadata or {}
    later = _later(data)
    read = _ALWAYS_SAID + len(later) - later.count(None) + len(metadata)
    if _DEFAULTED not in metadata and body.find(b'"object":') >= 0:
        read += 1
    return body.count(b'":') == read and _is_spelled_as_usual(body)


def _is_spelled_as_usual(body: bytes) -> bool:
    """Return whether each key's closing quote and colon stand side by side."""
    # Not `in`, which first takes the bytes for a number and makes an error of it that nobody sees.
    return body.find(b"\n") == body.find(b"\t") == body.find(b"\r") == body.find(b" :") == -1


def _has_duplicate_keys(body: bytes, decoded: Any) -> bool:
    """Return whether an object names one key twice; decoders let the last one win in silence.

    Outside of strings every colon belongs to one key, so more colons than keys means a repetition.
    """
    keys = _count_keys(decoded)
    if body.count(b'":') == keys and _is_spelled_as_usual(body):
        return False
    return _STRING.sub(b"", body).count(b":") != keys


def _count_keys(decoded: Any) -> int:
    count, nested = 0, [decoded]
    # The list grows while it is read: every object and list inside is visited once.
    for value in nested:
        if type(value) is dict:
            count += len(value)
            nested += [v for v in value.values() if type(v) in _NESTING]
        elif type(value) is list:
            nested += [v for v in value if type(v) in _NESTING]
    return count


def _claims(body: bytes) -> dict[str, Any]:
    """Return what a body that is no authentic event seems to say; what it does not say is None."""
    try:
        decoded = _decode_json(body)
    except _NOT_JSON:
        decoded = None
    event = decoded if isinstance(decoded, dict) else {}
    data = event.get("data")
    collection = data if isinstance(data, dict) else {}
    amount = collection.get("amount")
    event_id, collection_id = _text(event.get("id")), _text(collection.get("id"))
    return {
        "event_id": event_id if event_id and is_event_id(event_id) else None,
        "event_type": _text(event.get("type")),
        "event_created_at": _claimed_instant(event.get("created_at")),
        "event_mode": _text(event.get("mode")),
        "collection_id": collection_id
        if collection_id and is_collection_id(collection_id)
        else None,
        "reference": _text(collection.get("reference")),
        "amount": amount if type(amount) is int and abs(amount) <= INTEGER_MAX else None,
        "currency": _text(collection.get("currency")),
    }


def _text(value: Any) -> str | None:
    return value[:REFERENCE_MAX_LENGTH] if isinstance(value, str) else None


def _claimed_instant(value: Any) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        return msgspec.convert(value, Instant).astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        return None


def _instant(timestamp: int) -> datetime:
    # The check has bound it to minutes from the time of arrival.
    return datetime.fromtimestamp(timestamp, UTC)
