"""The service's four endpoints, as typed calls that retry safely.

One logic (`core`), two drivers: `Client` blocks, `AsyncClient` awaits.
"""

from kusanya.client.async_client import AsyncClient
from kusanya.client.blocking_client import Client
from kusanya.client.requests import CreateRequest, new_idempotency_key
from kusanya.wire import ResponseInfo

__all__ = ["AsyncClient", "Client", "CreateRequest", "ResponseInfo", "new_idempotency_key"]
