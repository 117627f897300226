"""The event loop that the service runs on: uvloop where it is installed, else Python's own.

uvloop does not exist for every platform, and nothing depends on it: it is faster.
"""

import asyncio
from importlib import import_module
from importlib.util import find_spec


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop; nothing of uvloop is imported before."""
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = import_module("uvloop").new_event_loop()
    return loop
