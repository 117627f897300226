"""What can go wrong with the service, for whoever starts it and for whoever calls it.

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


def code_places(error: BaseException) -> str:
    """Return where in the code an error was raised, for a log.

    Without the error's own words and without values: both could repeat what was sent.
    """
    return "".join(traceback.format_tb(error.__traceback__))
