"""What the library says about its work, for those who run it: one line for each event.

The library logs to `kusanya` and the loggers below it and is silent until a handler is set, by the
program that imports it or by `configure`. A message is a short phrase that stays the same; what it
is about stands in named fields beside it (`extra`). Both formats redact phone numbers, API keys and
secrets as a last line behind code that never logs one.
"""

import json
import logging
import re
import sys
import threading
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, TextIO

from kusanya.privacy import redact
from kusanya.text import safe

LOGGERS: Final = ("kusanya", "kusanya_service")
"""The library's logger and the embedded service's, which is no part of the library."""
_OF_RECORDS: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
_MESSAGE_MAX: Final = 1_000
_FIELD_MAX: Final = 8_000
_ONE_WORD: Final = re.compile(r"[!#-<>-~]+")
"""Printable ASCII without a blank, a quotation mark and an equals sign."""


class LogFormat(StrEnum):
    """How events are written."""

    TEXT = "text"
    JSON = "json"
    OFF = "off"


def configure(kind: LogFormat | str, *, stream: TextIO | None = None) -> None:
    """Write events to `stream` (standard error), from the level of information upwards.

    `text` is one line an event: time, level, logger, message and the fields as name=value. `json`
    is one JSON object a line: `time` (UTC, ISO 8601), `level`, `logger`, `message`, every field,
    and `exception` with a traceback where there is one. `off` writes nothing. What an earlier call
    set up is replaced; handlers that others set are left alone. Raises ValueError for another word.
    """
    chosen = LogFormat(kind)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        for handler in [one for one in logger.handlers if isinstance(one, _Lines)]:
            logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET if chosen is LogFormat.OFF else logging.INFO)
        if chosen is not LogFormat.OFF:
            logger.addHandler(_Lines(sys.stderr if stream is None else stream, chosen))


def writes_json() -> bool:
    """Return whether `configure` set up events as JSON."""
    return any(
        isinstance(one, _Lines) and isinstance(one.formatter, _Json)
        for one in logging.getLogger(LOGGERS[0]).handlers
    )


def configure_other_libraries() -> None:
    """Write what other libraries warn of, and what ends a program or a thread, as JSON events too.

    For a program whose every line of standard error is read by another program.
    """
    root = logging.getLogger()
    handler = _Lines(sys.stderr, LogFormat.JSON)
    handler.setLevel(logging.WARNING)
    handler.addFilter(lambda record: not record.name.startswith(LOGGERS))
    for known in [one for one in root.handlers if isinstance(one, _Lines)]:
        root.removeHandler(known)
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    crash = logging.getLogger("kusanya.crash")

    def ended(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        crash.critical("ended by %s", kind.__name__, exc_info=(kind, error, trace))

    def thread_ended(told: threading.ExceptHookArgs) -> None:
        if told.exc_value is not None:
            ended(told.exc_type, told.exc_value, told.exc_traceback)

    sys.excepthook, threading.excepthook = ended, thread_ended


class _Lines(logging.StreamHandler[TextIO]):
    def __init__(self, stream: TextIO, kind: LogFormat) -> None:
        super().__init__(stream)
        self.setFormatter(_Json() if kind is LogFormat.JSON else _Text())

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base class's name
        """Say nothing: the base class would print the record's arguments, unredacted.

        A stream that takes no lines any more leaves nowhere to say so.
        """


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        fields = _fields(record)
        said = safe(_clean(record.getMessage()), _MESSAGE_MAX)
        pairs = [f"{name}={_plain(value)}" for name, value in fields.items()]
        head = f"{_time(record)} {record.levelname.lower()} {record.name}: {said}"
        return " ".join([head, *pairs])


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON object of `record` in one line."""
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        # In ASCII, so that nothing in it acts on a terminal or ends a line.
        return json.dumps(line | _fields(record))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return what stands beside the message, fit to be written."""
    fields = {
        name: _value(value) for name, value in vars(record).items() if name not in _OF_RECORDS
    }
    if record.exc_info:
        trace = logging.Formatter().formatException(record.exc_info)
        fields["exception"] = redact(trace)
    return fields


def _value(value: object) -> Any:
    if value is None or isinstance(value, int | float):
        return value  # amounts, counts and durations: a phone number is a text everywhere
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return _clean(str(value))


@lru_cache(maxsize=1_024)
def _clean(text: str) -> str:
    # Messages, endpoints and verdicts come again and again, and redacting costs some microseconds.
    return redact(text)


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return str(value)
    if _ONE_WORD.fullmatch(value) is not None:
        return value
    return json.dumps(safe(value, _FIELD_MAX), ensure_ascii=False)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
