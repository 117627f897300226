"""The embedded service on a virtual clock, and a console that may change it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.console.service.helpers import NOON, Build

from kusanya.client import Client
from kusanya.clock import ManualClock
from kusanya.privacy.secret import Secret
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.dashboard.reader import ServiceReader
from kusanya_console.sandbox.service_admin import ServiceAdmin
from kusanya_service.options import Options
from kusanya_service.testing import PaymentService, running_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint


@pytest.fixture
def service() -> Iterator[PaymentService]:
    """Run the service on a virtual clock that begins at noon, with an endpoint that captures."""
    endpoint = CapturingEndpoint()
    with tempfile.TemporaryDirectory() as folder:
        options = Options(
            data=Path(folder), clock="virtual", seed=1, starts_at=NOON,
            allow_local=(endpoint.place,),
        )  # fmt: skip
        try:
            with running_service(options, endpoint=endpoint) as running:
                yield running
        finally:
            endpoint.close()


@pytest.fixture
def client(service: PaymentService, clock: ManualClock) -> Iterator[Client]:
    with Client(service.test_key, base_url=service.base_url, clock=clock) as made:
        yield made


@pytest.fixture
def dashboard(service: PaymentService) -> Iterator[DashboardClient]:
    with DashboardClient(service.dashboard_url, Secret(service.dashboard_token)) as made:
        yield made


@pytest.fixture
def context(console: Build, store: Store, client: Client, dashboard: DashboardClient) -> Build:
    """Build a console that may change the service; nothing else about it is unusual."""

    def build(*, writes: bool = True, **options: Any) -> ConsoleApp:
        service_admin = ServiceAdmin(
            store, dashboard, actor="asha", profile="main", client=client, draw=lambda: "5eed5eed"
        )
        usual: dict[str, Any] = {"mode": Mode.TEST, "service": ServiceReader(dashboard)}
        return console(**usual | {"service_admin": service_admin if writes else None} | options)

    return build
