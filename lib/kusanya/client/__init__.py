"""The service's four endpoints, as typed calls that retry safely.

One logic (`core`), two drivers: `Client` blocks, `AsyncClient` awaits.
"""

from typing import TYPE_CHECKING, Any

from kusanya.client.requests import new_idempotency_key
from kusanya.client.sync import Client
from kusanya.wire import ResponseInfo

if TYPE_CHECKING:
    from kusanya.client.async_client import AsyncClient

__all__ = ["AsyncClient", "Client", "ResponseInfo", "new_idempotency_key"]

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "AsyncClient":
            from kusanya.client.async_client import AsyncClient

            return AsyncClient
        raise AttributeError(f"module 'kusanya.client' has no attribute {name!r}")
