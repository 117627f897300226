"""The service's connections: the shared bounds, refusals in the envelope, answers to be lost."""

import logging
from http import HTTPStatus
from typing import Final

from kusanya.platform.http_limits import BoundedProtocol, ConnectionLimits, bounded
from kusanya_service.asgi import ABORT
from kusanya_service.errors import ApiError, envelope

LIMITS: Final = ConnectionLimits(
    connections=1_024,
    per_peer=1_024,
    # Far above any body that is taken: who sends too much reads the 413 instead of a reset.
    request_bytes=16 * 1024 * 1024,
)
_UNPARSED: Final = "req_unparsed"
_ERRORS: Final = {
    400: ("invalid_request", "the request is not HTTP we take, or has not exactly one Host"),
    408: ("request_timeout", "the request did not arrive in time"),
    413: ("body_too_large", "the request is too large"),
    414: ("uri_too_long", "the address of the request is too long"),
    431: ("headers_too_large", "the request has too many or too large headers"),
    503: ("too_many_connections", "try again in a moment"),
}


class ServiceProtocol(BoundedProtocol):
    """One connection of the service."""

    log = logging.getLogger("kusanya_service")

    def on_message_begin(self) -> None:
        """Let the application cut the connection."""
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: {"cut": self._abort}}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Leave out the white space around a value: it is no part of it."""
        super().on_header(name, value.strip(b" \t"))

    def refusal(self, status: HTTPStatus) -> bytes:
        """Return the envelope as a whole answer."""
        code, message = _ERRORS[status]
        body = envelope(ApiError(status, code, message), _UNPARSED)
        return (
            b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"request-id: %b\r\nconnection: close\r\n\r\n%b"
            % (status, status.phrase.encode(), len(body), _UNPARSED.encode(), body)
        )

    def _abort(self) -> None:
        self.cycle.disconnected = True
        self.transport.abort()


def service_protocol() -> type[ServiceProtocol]:
    """Return a protocol class with its own places; no address has a bound of its own."""
    return bounded(ServiceProtocol, LIMITS)
