"""What the service's tests share: endpoints that capture, and services to drive over HTTP."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kusanya_service.loops import new_event_loop
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
Start = Callable[..., AbstractContextManager[PaymentService]]
Loop = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture
def endpoint() -> Iterator[CapturingEndpoint]:
    """Give an endpoint on loopback."""
    one = CapturingEndpoint()
    yield one
    one.close()


@pytest.fixture
def start(tmp_path: Path, endpoint: CapturingEndpoint) -> Start:
    """Give a function that runs a service on this test's data folder, virtual unless told else."""

    def run(
        *, registered: bool = True, loop: Loop = new_event_loop, **options: Any
    ) -> AbstractContextManager[PaymentService]:
        chosen: dict[str, Any] = {
            "data": tmp_path / "data",
            "clock": "virtual",
            "seed": 7,
            "starts_at": START,
            "allow_local": (endpoint.place,),
        }
        return running_service(
            Options(**(chosen | options)),
            endpoint=endpoint if registered else None,
            loop_factory=loop,
        )

    return run


@pytest.fixture
def service(start: Start) -> Iterator[PaymentService]:
    """Give a virtual service whose test deliveries are captured."""
    with start() as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaymentService]:
    """Give one virtual service to a whole file, for tests that look at their own answers alone."""
    options = Options(data=tmp_path_factory.mktemp("shared"), clock="virtual", starts_at=START)
    with running_service(options) as running:
        yield running


@pytest.fixture
def order() -> dict[str, object]:
    """Give the smallest request that becomes a collection."""
    return {"amount": 5000, "phone": "255754000001", "reference": "order-1"}


@pytest.fixture
def paid_event(service: PaymentService, order: dict[str, object]) -> Any:
    """Give the event of a collection that has just succeeded."""
    service.create(order)
    service.advance(20)
    return service.deliveries[-1].event
