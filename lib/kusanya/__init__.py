"""Kusanya: create mobile-money collections safely, receive their webhooks, know their state.

Importing the package costs little: each name below is loaded when it is first used.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kusanya import (
        client,
        clock,
        domain,
        errors,
        filters,
        health,
        intents,
        lookup,
        orders,
        privacy,
        profiles,
        receiver,
        state,
        store,
        telemetry,
        text,
        watch,
        webhooks,
        wire,
        wording,
    )
    from kusanya.client import AsyncClient, Client
    from kusanya.store import Store

    __version__: str

__all__ = [
    "AsyncClient",
    "Client",
    "Store",
    "client",
    "clock",
    "domain",
    "errors",
    "filters",
    "health",
    "intents",
    "lookup",
    "orders",
    "privacy",
    "profiles",
    "receiver",
    "state",
    "store",
    "telemetry",
    "text",
    "watch",
    "webhooks",
    "wire",
    "wording",
]

_HOMES = {
    "AsyncClient": "kusanya.client",
    "Client": "kusanya.client",
    "Store": "kusanya.store",
}

# Silent until the program that imports us sets a handler; without this Python prints warnings.
logging.getLogger("kusanya").addHandler(logging.NullHandler())

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version("kusanya")
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in __all__:
            return import_module(f"kusanya.{name}")
        raise AttributeError(f"module 'kusanya' has no attribute {name!r}")
