"""From an answer's bytes to a value or to an error of the tree.

Error bodies are read in every shape the field uses (assumption ERROR_BODY): nested, flat,
problem+json, and bodies that are not JSON at all. What the service wrote is cut, cleaned and
redacted before it stands in a message.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final

import msgspec

from kusanya.client.effects import Response
from kusanya.domain.assumptions import RETRY_AFTER_MAX
from kusanya.errors import (
    AuthenticationError,
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    RateLimited,
    ServiceError,
    ServiceUnavailable,
)
from kusanya.privacy import redact
from kusanya.text import safe
from kusanya.wire import ResponseInfo

KEY_REUSED: Final = "idempotency_key_reused"
"""The one error code the specification names. Source: Errors."""
_REQUEST_ID_HEADERS: Final = ("request-id", "x-request-id")
_TEXT_LIMIT: Final = 200
_CLIENT_CLOSED: Final = 499
"""What proxies call a request whose sender went away; in no registry."""
_CUT_SHORT: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, _CLIENT_CLOSED})


def response_info(response: Response) -> ResponseInfo:
    """Return what surrounds the body of `response`."""
    replayed = response.header("idempotent-replayed") or ""
    return ResponseInfo(
        status=response.status,
        headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in response.headers),
        request_id=request_id_of(response),
        replayed=replayed.strip().lower() == "true",
    )


def request_id_of(response: Response) -> str | None:
    """Return the service's id of the exchange from its headers, cut and cleaned."""
    found = next(filter(None, map(response.header, _REQUEST_ID_HEADERS)), None)
    return None if found is None else safe(found, _TEXT_LIMIT)


def retry_after_s(response: Response, *, now: datetime) -> float | None:
    """Return the seconds of Retry-After, from 0 to 60, or None where it is absent or unreadable.

    Both forms are read, seconds and a date. Source: assumption RATE_LIMITS.
    """
    text = (response.header("retry-after") or "").strip()
    limit = RETRY_AFTER_MAX.total_seconds()
    if text.isascii() and text.isdigit():
        # Nineteen digits are already far beyond the limit; int() of thousands raises.
        return min(float(text[:19]), limit)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return min(max((at - now).total_seconds(), 0.0), limit)


def is_undecided(response: Response, *, creates: bool) -> bool:
    """Return whether a 4xx leaves open what became of the request.

    408, 425 and 499 say that somebody on the way did not wait for the end. To a create, any other
    counts as the service's own only where its body says what is wrong, in one of the known shapes:
    a proxy's page may stand for a request that was carried out.
    """
    if response.status in _CUT_SHORT:
        return True
    if not creates or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return False
    detail = _read_body(response.body)
    return not response.complete or (detail.code is None and detail.message is None)


def service_error(response: Response, *, now: datetime) -> ServiceError:
    """Return the error that an answer of 400 and above means."""
    detail = _read_body(response.body)
    code = detail.code
    kind = _kind(response.status, code)
    words = [f"the service answered {response.status}"]
    if code is not None:
        words.append(f"({safe(redact(code), 64)})")
    if detail.message:
        words.append(f": {safe(redact(detail.message), _TEXT_LIMIT)}")
    advice = _ADVICE.get(kind)
    message = " ".join(words).replace(" :", ":")
    return kind(
        message if advice is None else f"{message}; {advice}",
        status=response.status,
        code=code,
        param=detail.param,
        request_id=detail.request_id or request_id_of(response),
        retry_after_s=retry_after_s(response, now=now),
    )


_KINDS: Final[dict[int, type[ServiceError]]] = {
    HTTPStatus.UNAUTHORIZED: AuthenticationError,
    HTTPStatus.FORBIDDEN: PermissionDenied,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimited,
}

_ADVICE: Final[dict[type[ServiceError], str]] = {
    AuthenticationError: "check the API key",
    IdempotencyKeyReused: "this key belongs to another request; look that one up first",
}


def _kind(status: int, code: str | None) -> type[ServiceError]:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServiceUnavailable
    if status == HTTPStatus.CONFLICT and code == KEY_REUSED:
        return IdempotencyKeyReused
    return _KINDS.get(status, InvalidRequest)


class _ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What an error body says, as far as it can be read."""

    code: str | None = None
    message: str | None = None
    param: str | None = None
    request_id: str | None = None


def _read_body(body: bytes) -> _ErrorDetail:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _ErrorDetail()
    if not isinstance(found, dict):
        return _ErrorDetail()
    inner = found.get("error")
    fields: dict[str, Any] = {**found, **inner} if isinstance(inner, dict) else found
    flat = inner[:_TEXT_LIMIT] if isinstance(inner, str) else None
    return _ErrorDetail(
        code=_text(fields, "code", "error_code") or flat or _problem_type(fields),
        message=_text(fields, "message", "detail", "title", "error_description"),
        param=_text(fields, "param", "field"),
        request_id=_text(fields, "request_id", "requestId"),
    )


def _problem_type(fields: dict[str, Any]) -> str | None:
    # RFC 9457 names the problem by a URI, whose last part is the word.
    word = (_text(fields, "type") or "").rstrip("/")
    return re.split(r"[/#:]", word)[-1] or None if word != "about:blank" else None


def _text(fields: dict[str, Any], *names: str) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value[:_TEXT_LIMIT]
    return None
