"""A shop that gunicorn loads before it forks its workers. Run by tests, never imported by them.

On loading it opens the store and a client, as the environment says, and uses both. `shop` is a WSGI
application that creates the collection named by the path; `receiver` is ASGI and takes deliveries.
Both answer with the number of their process.
"""

import os
from collections.abc import Callable, Iterable
from typing import Any

from kusanya.client import Client
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely
from kusanya.receiver import app
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.receiver.status_pages import Message, Receive, Scope, Send
from kusanya.store import Store
from kusanya.wire import Mode

store = Store.open(os.environ["SHOP_STORE"])
client = Client(os.environ["SHOP_KEY"], base_url=os.environ["SHOP_SERVICE"])
_receive = app(store, EndpointSecrets("shop", Mode.TEST, os.environ["SHOP_SECRET"]))


def _create(reference: str) -> str:
    made = create_safely(store, client, amount=1000, phone="0754000001", reference=reference)
    return made.collection.reference


_create("before-the-fork")


def shop(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Create a collection and answer with its reference."""
    try:
        status, text = "200 OK", _create(environ["PATH_INFO"].strip("/"))
    except KusanyaError as error:
        status, text = "500 Internal Server Error", f"{type(error).__name__}: {error}"
    start_response(status, [("Content-Type", "text/plain"), ("Worker", str(os.getpid()))])
    return [text.encode()]


async def receiver(scope: Scope, receive: Receive, send: Send) -> None:
    """Take a delivery, and tell which process took it."""

    async def signed(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (b"worker", b"%d" % os.getpid())]
        await send(message)

    await _receive(scope, receive, signed)
