"""The port on which a process that receives nothing answers for itself."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from kusanya_console.cli.extras import NEEDS, lacks
from kusanya_console.output import Refused

if TYPE_CHECKING:
    from kusanya.receiver.metrics import Gauges
    from kusanya.receiver.serve import RunningReceiver
    from kusanya.store import Store

_WAIT_S: Final = 2.0
"""How long a page waits for the store."""
_END_S: Final = 15.0


@contextmanager
def serving_pages(store: "Store", gauges: "Gauges", *, host: str, port: int) -> "Iterator[str]":
    """Answer /livez, /readyz and /metrics from a thread of its own; yield the last one's address.

    Raises Refused where packages are missing, PortTaken and AddressRefused.
    """
    if lacks(NEEDS["receive"]):
        raise Refused("--metrics-port needs more packages: pip install 'kusanya[receiver]'")
    from kusanya.receiver.serve import serve
    from kusanya.receiver.status_pages import Monitor, Pages
    from kusanya.telemetry.metrics import expose

    pages = Pages(
        store.prove_writable, wait_s=_WAIT_S, exposition=partial(expose, gauges), gauges=gauges
    )
    ready: SimpleQueue[RunningReceiver | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            serve(Monitor(pages), host=host, port=port, on_ready=ready.put)
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            ready.put(error)

    thread = threading.Thread(target=run, name="pages", daemon=True)
    thread.start()
    found = ready.get()
    if isinstance(found, BaseException):
        raise found
    try:
        yield f"{found.url}metrics"
    finally:
        found.stop()
        thread.join(_END_S)
