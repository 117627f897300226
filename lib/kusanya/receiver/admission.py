"""Which requests are read as deliveries, and what the others are answered.

Knows no protocol: the ASGI application and `handle` refuse the same requests in the same words.
"""

import logging
from collections.abc import Callable
from typing import Final

import msgspec

from kusanya.domain.limits import EVENT_BODY_MAX_BYTES
from kusanya.platform.arguments import check_seconds, check_whole
from kusanya.receiver.classification import Headers

_log: Final = logging.getLogger("kusanya.receiver")
_UNCOMPRESSED: Final = (b"accept-encoding", b"identity")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one delivery and all of them together may take; raises ValueError for nothing."""

    body_bytes: int = EVENT_BODY_MAX_BYTES
    """Larger bodies are answered 413."""
    receipt_s: float = 8.0
    """For the whole of a delivery, its commit included; the sender waits 10 s."""
    in_flight: int = 512
    """Deliveries handled at once; further ones are answered 503."""
    health_s: float = 2.0
    """How long /healthz waits for the store."""

    def __post_init__(self) -> None:
        check_whole("body_bytes", self.body_bytes)
        check_whole("in_flight", self.in_flight)
        check_seconds("receipt_s", self.receipt_s)
        check_seconds("health_s", self.health_s)


class Refusal(Exception):  # noqa: N818 - control flow of the receiver, never leaves it
    """Answer `status` without keeping anything, and close the connection."""

    def __init__(self, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(text)
        self.status: Final = status
        self.text: Final = text.encode()
        self.headers: Final = headers


# Made anew each time: an error that is raised again and again keeps all its tracebacks.
def not_durable() -> Refusal:
    """Return the answer to a delivery that the store does not take."""
    return Refusal(503, "cannot be made durable now")


def not_in_time() -> Refusal:
    """Return the answer to a delivery that may yet become durable."""
    return Refusal(503, "not made durable in time")


def admit_headers(headers: Headers, limits: Limits) -> None:
    """Raise Refusal for a delivery whose headers say that it is too large or compressed."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            admit_size(int(value[:20]), limits)
        elif name == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            # Inflating comes after verifying, and a genuine delivery is signed as it is sent.
            raise Refusal(415, "a delivery is not compressed", _UNCOMPRESSED)


def admit_size(size: int, limits: Limits) -> None:
    """Raise Refusal for a body of more bytes than an event has."""
    if size > limits.body_bytes:
        raise Refusal(413, "the body is too large to be an event")


Sender = Callable[[], dict[str, str]]
"""Who sent a request, as fields for the log; called only where a line is written."""


def log_refusal(refusal: Refusal, sender: Sender = dict) -> None:
    """Log a request that was answered without being kept."""
    details = {"status": refusal.status, "why": refusal.text.decode()}
    _log.warning("request refused", extra=details | sender())
