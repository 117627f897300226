"""The OpenAPI 3.1 document of /v1, written by hand beside the rules it states."""

from functools import lru_cache

import msgspec

from kusanya_service.requests import Bounds


@lru_cache(maxsize=4)
def document(bounds: Bounds) -> bytes:
    """Return the document's JSON."""
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Payment collection service", "version": "1"},
            "paths": {},
            "x-amount": [bounds.least, bounds.most],
        }
    )
