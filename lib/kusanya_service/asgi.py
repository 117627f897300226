"""The few ASGI types we speak, and sending an answer without a framework."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from email.utils import formatdate
from typing import Any, Final

from kusanya_service.simulation.faults import PIECES, pieces_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

REQUEST_ID: Final = b"request-id"
ABORT: Final = "kusanya.abort"
"""The scope's extension that cuts the connection without another byte (protocol.py)."""


class Disconnected(Exception):  # noqa: N818 - reads as the condition it states
    """The caller went away before the request was whole; nothing is done for a part of one."""


def values_of(scope: Scope, name: bytes) -> list[bytes]:
    """Return every value of a header; repeated ones are a mistake that the caller decides on."""
    return [value for key, value in scope["headers"] if key == name]


async def send_json(
    send: Send,
    status: int,
    body: bytes,
    request_id: str,
    *headers: tuple[bytes, bytes],
    over_s: float = 0.0,
) -> None:
    """Answer with a JSON body, trickling over `over_s` seconds where a fault asks for it."""
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (REQUEST_ID, request_id.encode()),
                *headers,
            ],
        }
    )
    if over_s > 0:
        for piece in pieces_of(body):
            await asyncio.sleep(over_s / PIECES)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        body = b""
    await send({"type": "http.response.body", "body": body})


def with_date(send: Send, now_ms: Callable[[], int]) -> Send:
    """Return a `send` that dates each answer by the service's own clock."""

    async def dated(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            date = formatdate(now_ms() / 1000, usegmt=True).encode()
            message["headers"] = [*message["headers"], (b"date", date)]
        await send(message)

    return dated


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """Return the request's body, or None for one over `limit`; raises Disconnected.

    Nothing is read of a body whose length is announced as too large, nor is it asked for.
    """
    if any(
        value.isdigit() and int(value[:20]) > limit for value in values_of(scope, b"content-length")
    ):
        return None
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk: bytes = message.get("body", b"")
        body += chunk
        if len(body) > limit:
            return None
        if not message.get("more_body", False):
            return body


def cut(scope: Scope) -> None:
    """Cut the caller's connection: whatever was answered is lost to it."""
    scope["extensions"][ABORT]["cut"]()
