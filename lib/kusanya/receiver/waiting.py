"""A receiver whose database is away when it is started: it listens, and opens the store later.

A database and its receivers are often started together, after a power cut as in a deployment.
Until the store is open the process is alive and not ready, and every delivery is answered 503, so
that the service sends it again. What waiting does not help, such as a store of another version,
ends the program as it would have at its start.
"""

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Final

from kusanya.errors import KusanyaError, StoreAway, StoreUnavailable
from kusanya.receiver.admission import Refusal, log_refusal, not_durable
from kusanya.receiver.asgi import LAST, Receiver, sender_of
from kusanya.receiver.background_resolution import Rest
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.metrics import Gauges
from kusanya.receiver.status_pages import PageAnswer, Pages, Receive, Scope, Send, send_page
from kusanya.telemetry.metrics import expose

_log: Final = logging.getLogger("kusanya.receiver")
_PAUSE_FIRST_S: Final = 0.5
_PAUSE_LAST_S: Final = 8.0
"""The service waits a minute before its first retry: no delivery is late because of this."""
_HEALTH_S: Final = 2.0


class WaitingReceiver:
    """An ASGI 3 application that becomes a `Receiver` once `make` returns one.

    `make` opens the store; it is called on a thread until it raises no StoreAway. `on_end` is
    called when it raises anything else, which is kept as `failure`. `gauges` stand in /metrics
    until then; without them there is no such page.
    """

    def __init__(
        self,
        make: Callable[[], Receiver],
        *,
        gauges: Gauges | None = None,
        rest: Rest = threading.Event.wait,
    ) -> None:
        self._make = make
        self._rest = rest
        self._endpoints: Endpoints | None = None
        self._receiver: Receiver | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._open, name="open the store", daemon=True)
        self._pages = Pages(
            _is_away,
            wait_s=_HEALTH_S,
            exposition=None if gauges is None else partial(expose, gauges),
            gauges=gauges,
        )
        self.on_end: Callable[[], None] = lambda: None
        self.failure: KusanyaError | None = None
        """What opening the store ended with, where waiting does not help."""

    def start(self) -> None:
        """Begin to open the store."""
        self._thread.start()

    def close(self) -> None:
        """Wait no longer, and end what works in the background; the store stays open."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._receiver is not None:
            self._receiver.close()

    def use(self, endpoints: Endpoints) -> None:
        """Verify by these endpoints from the next delivery on; called on the event loop."""
        with self._lock:
            self._endpoints = endpoints
            if self._receiver is not None:
                self._receiver.use(endpoints)

    def drain(self) -> None:
        """Be not ready from now on; called before the end."""
        with self._lock:
            self._pages.is_draining = True
            if self._receiver is not None:
                self._receiver.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if self._receiver is not None:
            await self._receiver(scope, receive, send)
            return
        if scope["type"] != "http":
            raise ValueError(f"the receiver speaks HTTP, not {scope['type']}")
        if scope["method"] == "POST":
            refusal = not_durable()
        else:
            page = await self._pages.answer(scope["method"], scope["path"])
            if page is not None:
                await send_page(send, page)
                return
            refusal = Refusal(405, "deliveries are POSTed", (b"allow", b"POST"))
        log_refusal(refusal, partial(sender_of, scope))
        await send_page(send, PageAnswer(refusal.status, refusal.text), LAST, *refusal.headers)

    def _open(self) -> None:
        pause, said = _PAUSE_FIRST_S, ""
        while not self._stopping.is_set():
            try:
                made = self._make()
            except StoreAway as error:
                if str(error) != said:
                    said = str(error)
                    _log.warning("the store is away", extra={"why": said.partition("; ")[0]})
            except KusanyaError as error:
                self.failure = error
                self.on_end()
                return
            else:
                self._become(made)
                return
            if self._rest(self._stopping, pause):
                return
            pause = min(2 * pause, _PAUSE_LAST_S)

    def _become(self, made: Receiver) -> None:
        with self._lock:
            if self._endpoints is not None:
                made.use(self._endpoints)
            if self._pages.is_draining:
                made.drain()
            made.start()
            self._receiver = made
        _log.info("the store is open")


def _is_away() -> None:
    raise StoreUnavailable("the store could not be opened yet")
