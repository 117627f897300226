"""The receiver as one function, for programs that have their own server: Flask, Django, any WSGI.

Classifies, records and answers exactly as the application does. The caller brings the request and
sends the answer; the connections, their number and their time are its server's.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from weakref import WeakKeyDictionary, proxy

from kusanya.clock import Clock, SystemClock
from kusanya.domain.assumptions import SIGNATURE_HEADER
from kusanya.errors import StoreError
from kusanya.receiver.admission import (
    Limits,
    Refusal,
    admit_headers,
    admit_size,
    log_refusal,
    not_durable,
    not_in_time,
)
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.receiver.classification import Headers, answer_text, classify
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.receiver.handler import log_delivery
from kusanya.store import Store, check_store
from kusanya.store.records import Arrival
from kusanya.wire import Mode

HeaderText = str | bytes
AnyHeaders = Mapping[str, Any] | Mapping[bytes, Any] | Iterable[tuple[HeaderText, HeaderText]]

_NO_LIMITS_GIVEN: Final = Limits()
_resolvers: Final[WeakKeyDictionary[Store, IntentResolver]] = WeakKeyDictionary()


def handle(
    store: Store,
    secrets: AnySecrets,
    body: bytes,
    headers: AnyHeaders,
    *,
    mode: Mode | str | None = None,
    clock: Clock | None = None,
    signature_header: str = SIGNATURE_HEADER,
    path: str = "",
    limits: Limits = _NO_LIMITS_GIVEN,
    resolve_intents: bool = True,
) -> tuple[int, str]:
    """Receive one delivery into `store` and return the status and the text to answer.

    `body` is the exact bytes of the request, `headers` its headers as pairs or as a mapping, in
    str or bytes (`request.headers` of Flask and of Django); a value may be a list where a name
    repeats. `secrets`, `mode`, `signature_header` and `limits` are those of `app`; `path` names the
    endpoint of a delivery whose signature names none. Blocks until the delivery is durable, at most
    `limits.receipt_s`; the sender waits 10 s. A 2xx says that it is durable. Events resolve the
    intents whose answer was lost, on a thread of its own, unless `resolve_intents` is False.
    Raises ConfigurationError for secrets that cannot be used, TypeError for a body that is a str or
    a store that is none. Source: Delivery rules 1 and 4.
    """
    began = time.perf_counter()
    if not isinstance(body, bytes):
        raise TypeError("the body is the exact bytes of the request: never decode before verifying")
    check_store(store)
    clock = clock or SystemClock()
    arrived_at = clock.now()
    endpoints = Endpoints.of(secrets, mode=mode, signature_header=signature_header)
    lines = header_lines(headers)
    try:
        admit_headers(lines, limits)
        admit_size(len(body), limits)
        arrival = classify(
            body,
            lines,
            arrived_at=arrived_at,
            endpoints=endpoints,
            path=path,
            took_us=int((time.perf_counter() - began) * 1_000_000),
        )
        _record(store, arrival, limits, clock if resolve_intents else None)
    except Refusal as refusal:
        log_refusal(refusal)
        return refusal.status, refusal.text.decode()
    return arrival.answer, answer_text(arrival)


def header_lines(headers: AnyHeaders) -> Headers:
    """Return headers of any form as the pairs that came over the wire, names in lower case."""
    pairs: Any = headers.items() if hasattr(headers, "items") else headers
    try:
        return tuple(
            (_raw(name).lower(), _raw(value))
            for name, values in pairs
            for value in (values if isinstance(values, list | tuple) else (values,))
        )
    except (TypeError, ValueError, AttributeError):
        raise TypeError("headers are names with values, as request.headers has them") from None


def _raw(text: HeaderText) -> bytes:
    if isinstance(text, bytes):
        return text
    # As PEP 3333 has it: each character of a header is one byte.
    return text.encode("latin-1", errors="replace")


def _record(store: Store, arrival: Arrival, limits: Limits, clock: Clock | None) -> None:
    """Make a delivery durable; raises Refusal where it is not."""
    try:
        commit = store.submit(arrival).result(timeout=limits.receipt_s)
    except StoreError:
        raise not_durable() from None
    except TimeoutError:
        raise not_in_time() from None
    log_delivery(arrival, commit)
    if clock is not None:
        _resolver(store, clock).offer(arrival, commit)


def _resolver(store: Store, clock: Clock) -> IntentResolver:
    found = _resolvers.get(store)
    if found is None:
        # Not by the store itself, which could then never be let go.
        found = _resolvers.setdefault(store, IntentResolver(proxy(store), clock=clock))
        found.start()
    return found
