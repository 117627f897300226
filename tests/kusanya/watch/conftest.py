"""A running service in virtual time, a store, a client over real HTTP, and one clock for all."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any, Final

import pytest

from kusanya.client import Client
from kusanya.client.observations import answer_observation
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, Verdict
from kusanya.wire import Mode, decode_event
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)


class FollowingClock:
    """The service's virtual time as the test moves it; a pause here lets it pass nowhere else."""

    def __init__(self) -> None:
        self.at = NOON
        self.paused_s = 0.0

    def now(self) -> datetime:
        """Return the time the test has set."""
        return self.at

    def monotonic(self) -> float:
        """Return the seconds since noon and those paused."""
        return (self.at - NOON).total_seconds() + self.paused_s

    def sleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.paused_s += seconds

    async def asleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.sleep(seconds)


class Scene:
    """A merchant in front of the service."""

    def __init__(self, service: PaymentService, store: Store, clock: FollowingClock) -> None:
        self.service = service
        self.store = store
        self.clock = clock
        self.client = Client(
            service.test_key, base_url=service.base_url, clock=clock, random=lambda: 0.5
        )

    def create(self, number: int, phone: str = "255754000001") -> str:
        """Create a collection whose answer is kept; return its id."""
        key = f"key-{number}"
        made = self.client.create_collection(
            amount=1000 + number, phone=phone, reference=f"order-{number}", idempotency_key=key
        )
        self.store.record(answer_observation(made, key=key, at=self.clock.now()))
        return made.id

    def advance(self, seconds: float) -> None:
        """Let time pass, at the service first."""
        self.service.advance(seconds)
        self.clock.at += timedelta(seconds=seconds)

    def receive(self, body: bytes) -> None:
        """Keep a delivery with this body as verified."""
        event = decode_event(body)
        at = self.clock.now()
        self.store.record(
            Arrival(
                arrived_at=at,
                endpoint="shop",
                observed_in=Mode.TEST,
                body=body,
                headers=(),
                verdict=Verdict.VERIFIED,
                signed_at=event.created_at,
                secrets_tried=1,
                event_id=event.id,
                event_type=event.type,
                event_created_at=event.created_at,
                event_mode="test",
                collection_id=event.data.id,
                reference=event.data.reference,
                amount=event.data.amount,
                currency=event.data.currency,
                observation=Observation(
                    source=Source.EVENT,
                    source_id=event.id,
                    observed_at=at,
                    observed_in=Mode.TEST,
                    collection=event.data,
                    event_id=event.id,
                    event_type=event.type,
                    event_created_at=event.created_at,
                ),
                answer=200,
                took_us=500,
            )
        )

    def receive_all(self, **changed: Any) -> None:
        """Keep everything that was delivered, its collection changed where asked for."""
        for delivered in self.service.deliveries:
            event = json.loads(delivered.body)
            event["data"].update(changed)
            self.receive(json.dumps(event).encode() if changed else delivered.body)


@pytest.fixture
def scene(tmp_path: Path, empty_store: Path) -> Iterator[Scene]:
    """Return the merchant at noon."""
    clock = FollowingClock()
    endpoint = CapturingEndpoint()
    options = Options(
        data=tmp_path / "service",
        clock="virtual",
        seed=1,
        starts_at=NOON,
        allow_local=(endpoint.place,),
    )
    try:
        with (
            running_service(options, endpoint=endpoint) as service,
            Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as store,
        ):
            made = Scene(service, store, clock)
            yield made
            made.client.close()
    finally:
        endpoint.close()
