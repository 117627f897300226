"""The service put together: one data folder, one merchant, both modes."""

from collections.abc import Callable
from typing import Final

from kusanya_service.asgi import Receive, Scope, Send, send_json, with_date
from kusanya_service.delivery.address_policy import SocketAddress
from kusanya_service.errors import method_not_allowed, no_such_path
from kusanya_service.http.api import send_error
from kusanya_service.http.auth import Credentials
from kusanya_service.http.openapi import document
from kusanya_service.options import Options
from kusanya_service.parts import Parts, build
from kusanya_service.storage.store import Storage


class Service:
    """A payment collection service, from `start` to `stop` on one event loop.

    `app` is an ASGI application; it answers after `start` and never after `stop`.
    """

    def __init__(self, options: Options) -> None:
        self.options: Final = options
        self._parts: Parts | None = None

    @property
    def parts(self) -> Parts:
        """Return what it consists of, after `start`."""
        if self._parts is None:
            raise AssertionError("the service has not been started")
        return self._parts

    async def start(self, *, own: SocketAddress | None = None) -> Credentials:
        """Open the data folder, go on where earlier runs stopped, and begin.

        `own` is where the service listens: deliveries never go there. Returns the credentials to
        print. Raises the errors of errors.py.
        """
        storage = Storage.open(self.options.data)
        storage.start()
        try:
            self._parts = parts = await build(self.options, storage, own)
            parts.runner.start()
        except BaseException:
            await storage.close()
            raise
        return parts.credentials

    async def stop(self) -> None:
        """Stop every task, commit what waits and release the data folder."""
        if self._parts is None:
            return
        parts = self._parts
        try:
            await parts.runner.stop()
        finally:
            await parts.sender.close()
            if parts.resolver is not None:
                parts.resolver.close()
            await parts.storage.close()

    def when_crashed(self, end: Callable[[], None]) -> None:
        """Call `end` if a bug ends the course of events: nothing would be delivered any more."""
        self.parts.runner.on_crash = end

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError("the service speaks HTTP alone; run it without lifespan")
        if scope["method"] == "HEAD":
            # The server sends the same answer without its body.
            scope = dict(scope, method="GET")
        send = with_date(send, self.parts.clock.now_ms)
        path: str = scope["path"]
        if b"%2f" in scope["raw_path"].lower():
            # Decoded, it would be a slash between two parts of another path.
            await send_error(send, no_such_path(), self.parts.request_ids.next())
        elif path.startswith("/v1/"):
            await self.parts.api(scope, receive, send)
        elif path == "/dashboard" or path.startswith("/dashboard/"):
            await self.parts.dashboard(scope, receive, send)
        elif path == "/openapi.json":
            await self._describe(scope["method"], send)
        else:
            await send_error(send, no_such_path(), self.parts.request_ids.next())

    async def _describe(self, method: str, send: Send) -> None:
        request_id = self.parts.request_ids.next()
        if method == "GET":
            await send_json(
                send, 200, document(self.options.bounds, self.options.signature_header), request_id
            )
        else:
            await send_error(send, method_not_allowed(), request_id, (b"allow", b"GET, HEAD"))
