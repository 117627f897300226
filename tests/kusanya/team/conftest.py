"""One PostgreSQL, and as many members of a team on it as a test asks for."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kusanya.clock import ManualClock
from kusanya.receiver.classification import classify
from kusanya.receiver.endpoints import Endpoints
from kusanya.store import Store
from kusanya.store.records import Arrival
from kusanya.webhooks import sign
from kusanya.wire import Collection, Mode, decode_collection

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_team"


@pytest.fixture
def clock() -> ManualClock:
    """Return the clock that everyone reads."""
    return ManualClock(NOON)


@pytest.fixture
def join(postgres_url: str, clock: ManualClock) -> Iterator[Callable[..., Store]]:
    """Return a way to open the one store once more, as another member does."""
    opened: list[Store] = []

    def member(**options: Any) -> Store:
        opened.append(Store.open(postgres_url, clock=clock, create=False, **options))
        return opened[-1]

    yield member
    for store in opened:
        store.close()


class Answers:
    """What the service says of collection number n, at its creation and at its end."""

    def __init__(self) -> None:
        self._endpoints = Endpoints.of(SECRET, mode=Mode.TEST, signature_header="Service-Signature")

    def body(self, number: int, status: str) -> dict[str, Any]:
        """Return a collection as the service tells it."""
        return {
            "id": f"col_{number}",
            "object": "collection",
            "status": status,
            "amount": 1000 + number,
            "fee": 50,
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "phone": "255754000001",
            "reference": f"order-{number}",
            "mode": "test",
            "created_at": NOON,
            **({} if status == "created" else {"completed_at": NOON}),
        }

    def collection(self, number: int, status: str) -> Collection:
        """Return a collection as a client reads it."""
        return decode_collection(msgspec.json.encode(self.body(number, status)))

    def delivery(self, number: int) -> Arrival:
        """Return a signed delivery of the event that ended the collection, as a receiver judges it.

        Every attempt carries the same bytes.
        """
        body = msgspec.json.encode(
            {
                "id": f"evt_{number}",
                "type": "collection.succeeded",
                "created_at": NOON,
                "mode": "test",
                "data": self.body(number, "succeeded"),
            }
        )
        signature = sign(body, SECRET, int(NOON.timestamp())).encode()
        headers = ((b"service-signature", signature),)
        return classify(body, headers, arrived_at=NOON, endpoints=self._endpoints)


@pytest.fixture
def said() -> Answers:
    """Return what the service says."""
    return Answers()
