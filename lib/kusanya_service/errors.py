"""What can go wrong with the service, for those who start it and those who call it.

    PaymentServiceError             base; the message is one line and says what to do
    ├── BadOption                   an option's value cannot be used
    ├── PortTaken                   another program listens on the address
    ├── DataFolderUnusable          the folder cannot be created, read or written
    │   └── DataFolderInUse         another service process works on it
    ├── DataTooNew                  a newer version wrote the data; it was left untouched
    ├── DataDamaged                 the data is not a database or does not agree with itself
    ├── ClockBehind                 the data's time is ahead of the chosen clock
    └── StorageError                the storage refused a change; nothing of it was kept
        └── StorageBusy             its queue is full

`ApiError` is what a caller over HTTP sees; it becomes the error envelope.
"""

import traceback
from typing import Final

import msgspec

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


class PaymentServiceError(Exception):
    """Base of every error that leaves this package."""


class BadOption(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """An option's value cannot be used; the message names the option."""


class PortTaken(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """Another program listens on the address, or it may not be listened on."""


class DataFolderUnusable(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """The data folder cannot be created, read or written."""


class DataFolderInUse(DataFolderUnusable):
    """Another service process works on the data folder."""


class DataTooNew(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """A newer version wrote the data; nothing was changed."""


class DataDamaged(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """The data is not a database, or it does not agree with itself."""


class ClockBehind(PaymentServiceError):  # noqa: N818 - reads as the condition it states
    """The time in the data is ahead of the chosen clock, and time never runs backwards."""


class StorageError(PaymentServiceError):
    """The storage refused a change; nothing of it was kept."""


class StorageBusy(StorageError):  # noqa: N818 - reads as the condition it states
    """More changes wait than the storage takes; nothing of this one was kept."""


class ApiError(Exception):
    """An answer of status 4xx or 5xx: becomes the error envelope (assumption ERROR_BODY).

    `param` names the field or header at fault; `retry_after_s` becomes a Retry-After header. The
    message never repeats what the caller sent.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s


class ErrorDetail(msgspec.Struct, kw_only=True):
    """What went wrong; `param` names the field or header at fault."""

    type: str
    code: str
    message: str
    param: str | msgspec.UnsetType = msgspec.UNSET
    request_id: str


class Error(msgspec.Struct):
    """The body of every 4xx and 5xx."""

    error: ErrorDetail


def envelope(error: ApiError, request_id: str) -> bytes:
    """Return the JSON of an error."""
    detail = ErrorDetail(
        type=_TYPES.get(error.status, "api_error"),
        code=error.code,
        message=error.message,
        param=msgspec.UNSET if error.param is None else error.param,
        request_id=request_id,
    )
    return msgspec.json.encode(Error(detail))


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


def code_places(error: BaseException) -> str:
    """Return where in the code an error was raised, for a log.

    Without the error's own words and without values: both could repeat what was sent.
    """
    return "".join(traceback.format_tb(error.__traceback__))
