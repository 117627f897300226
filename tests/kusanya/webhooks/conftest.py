"""One delivery, and what signs it."""

import json
from datetime import UTC, datetime

import pytest

NOON = int(datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp())


@pytest.fixture(scope="session")
def payload() -> bytes:
    """Return a delivery's body as it is sent, with text that is not ASCII."""
    data = {
        "id": "col_1",
        "object": "collection",
        "status": "succeeded",
        "amount": 5000,
        "fee": 50,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": "duka/7",
        "description": "Kahawa – Zañzibar",
        "mode": "test",
        "created_at": "2026-03-02T11:59:48Z",
        "completed_at": "2026-03-02T12:00:00Z",
    }
    event = {
        "id": "evt_1",
        "type": "collection.succeeded",
        "created_at": "2026-03-02T12:00:00Z",
        "mode": "test",
        "data": data,
    }
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
