"""Errors as the caller sees them: one envelope for every one (assumption ERROR_BODY)."""

from http import HTTPStatus
from typing import Final

import msgspec

from kusanya_service.asgi import Send, send_json
from kusanya_service.errors import ApiError

_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    409: "conflict_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}


class ErrorDetail(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What went wrong; `param` names the field or header at fault."""

    type: str
    code: str
    message: str
    param: str | None = None
    request_id: str


class ErrorEnvelope(msgspec.Struct):
    """The body of every 4xx and 5xx."""

    error: ErrorDetail


def envelope(error: ApiError, request_id: str) -> bytes:
    """Return the JSON of an error."""
    detail = ErrorDetail(
        type=_TYPES.get(error.status, "api_error"),
        code=error.code,
        message=error.message,
        param=error.param,
        request_id=request_id,
    )
    return msgspec.json.encode(ErrorEnvelope(detail))


async def send_error(
    send: Send, error: ApiError, request_id: str, *headers: tuple[bytes, bytes]
) -> None:
    """Answer with an error."""
    if error.retry_after_s is not None:
        headers = (*headers, (b"retry-after", str(error.retry_after_s).encode()))
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers = (*headers, (b"www-authenticate", b"Bearer"))
    await send_json(send, error.status, envelope(error, request_id), request_id, *headers)


def not_found() -> ApiError:
    """Return the answer to anything that this key's mode does not have."""
    return ApiError(404, "resource_missing", "there is no such object in the mode of this key")


def no_such_path() -> ApiError:
    """Return the answer to a path that does not exist."""
    return ApiError(404, "resource_missing", "there is nothing at this path")


def method_not_allowed() -> ApiError:
    """Return the answer to a method that a path does not take."""
    return ApiError(405, "method_not_allowed", "this path does not take that method")


def unavailable() -> ApiError:
    """Return the answer when the storage refused: nothing was kept."""
    return ApiError(
        503, "storage_unavailable", "nothing was kept; try again with the same key", retry_after_s=1
    )


def broken() -> ApiError:
    """Return the answer to a mistake of our own."""
    return ApiError(500, "internal_error", "the service failed; the request may have had an effect")
