"""A shop that is posted to, and what it answers; others are in Node and PHP."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook

Answer = tuple[int, dict[str, str], bytes]
DONE: Answer = (204, {}, b"")


class HttpShop(ThreadingHTTPServer):
    """Verifies each POST by an independent library, keeps it, and answers what it is told to."""

    daemon_threads = True

    def __init__(self, *secrets: str) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.verifiers = [Webhook(one) for one in secrets]
        self.answer: Callable[[dict[str, Any]], Answer] = lambda _event: DONE
        self.events: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """Return the address of its handler."""
        return f"http://127.0.0.1:{self.server_address[1]}/orders"


class _Post(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        shop = self.server
        assert isinstance(shop, HttpShop)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        event = json.loads(body)
        at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        signatures = headers["webhook-signature"].split(" ")
        for verifier in shop.verifiers:
            # Its `verify` asks the machine's clock, and time is played here.
            assert verifier.sign(headers["webhook-id"], at, body.decode()) in signatures
        shop.events.append(event)
        shop.headers.append(headers)
        status, more, content = shop.answer(event)
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def http_shop(*secrets: str) -> Iterator[HttpShop]:
    """Run a shop."""
    with HttpShop(*secrets) as shop:
        thread = threading.Thread(target=shop.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield shop
        finally:
            shop.shutdown()
            thread.join()
