"""Waiting for an order: it is read again when something was committed to the store."""

from functools import partial
from typing import Final

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call, sleep
from kusanya.intents.creating import mode_of
from kusanya.orders.order import Order, read
from kusanya.platform.arguments import check_seconds
from kusanya.store import Store
from kusanya.store.records.order import OrderStatus

_FIRST_S: Final = 0.05
_LONGEST_S: Final = 1.0
"""Between two looks at the end of the journal, which is one row."""
_OPEN: Final = frozenset({OrderStatus.ASKED, OrderStatus.UNKNOWN})


def waiting(store: Store, core: Core, reference: str, timeout_s: float) -> Effects[Order]:
    """Return the order once it is neither asked nor unknown, or as it is after `timeout_s`."""
    check_seconds("timeout_s", timeout_s, above=None)
    until, pause_s, seen = core.clock.monotonic() + timeout_s, _FIRST_S, -1
    while True:
        head = yield from call(store.feed.head)
        left_s = until - core.clock.monotonic()
        if head != seen or left_s <= 0:
            look = partial(read, store, mode_of(core), reference, now=core.clock.now())
            order = yield from call(look)
            if order.status not in _OPEN or left_s <= 0:
                return order
            seen = head
        yield from sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_S)
