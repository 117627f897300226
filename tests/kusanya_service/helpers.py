"""What the service's tests ask of a running service, and a service in a process of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from kusanya_service.testing import PaymentService

Order = dict[str, object]
PROGRAM = """
import json, sys
from pathlib import Path
from kusanya_service.server import Options, run
data, clock, *ports = sys.argv[1:]
places = tuple(("127.0.0.1", int(port)) for port in ports)
options = Options(data=Path(data), clock=clock, seed=1, allow_local=places)
run(options, lambda running: print(json.dumps(running.info.reveal()), flush=True))
"""


def _every_page(service: PaymentService, path: str) -> list[Any]:
    found: list[Any] = []
    while True:
        after = f"&after={found[-1]['id']}" if found else ""
        page = service.dashboard("GET", f"{path}&limit=1000{after}")["data"]
        found += page
        if len(page) < 1000:
            return found


def deliveries(service: PaymentService, **filters: str) -> list[Any]:
    """Return all deliveries; `filters` are parameters of the list."""
    return _every_page(service, "deliveries?" + "&".join(f"{k}={v}" for k, v in filters.items()))


def collections(service: PaymentService, mode: str = "test") -> list[Any]:
    """Return all collections of a mode."""
    return _every_page(service, f"collections?mode={mode}")


def endpoints(service: PaymentService) -> list[Any]:
    """Return all endpoints that were not deleted."""
    found: list[Any] = service.dashboard("GET", "endpoints")["data"]
    return found


def register(service: PaymentService, url: str, mode: str = "test") -> Any:
    """Register an endpoint; returns it with its secret."""
    return service.dashboard("POST", "endpoints", {"url": url, "mode": mode})


def instant(text: str) -> datetime:
    """Return an instant of the wire."""
    return datetime.fromisoformat(text)


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; a minute is for a busy machine."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # the service's clock runs on real time here


class Process:
    """A service in a process of its own."""

    def __init__(self, data: Path, clock: str, *places: tuple[str, int]) -> None:
        ports = [str(port) for _, port in places]
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(data), clock, *ports],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line, self.child.communicate()[1]
        self.facts = json.loads(line)

    def post(self, path: str, body: object, **headers: str) -> httpx.Response:
        """Send POST with the credential that the path asks for."""
        token = self.facts["test_key" if path.startswith("/v1") else "dashboard_token"]
        sent = {"Authorization": f"Bearer {token}"} | headers
        return httpx.post(self.facts["base_url"] + path, json=body, headers=sent, timeout=60)

    def get(self, path: str) -> Any:
        """Send GET with the credential that the path asks for; returns decoded JSON."""
        token = self.facts["test_key" if path.startswith("/v1") else "dashboard_token"]
        url = self.facts["base_url"] + path
        return httpx.get(url, headers={"Authorization": f"Bearer {token}"}).json()

    def end(self, number: int) -> int:
        """Send a signal and return how the process ended."""
        self.child.send_signal(number)
        self.child.communicate(timeout=20)
        return self.child.returncode


@contextmanager
def process(data: Path, clock: str, *places: tuple[str, int]) -> Iterator[Process]:
    one = Process(data, clock, *places)
    try:
        yield one
    finally:
        if one.child.poll() is None:
            one.child.kill()
        one.child.wait()
        for pipe in (one.child.stdout, one.child.stderr):
            assert pipe is not None
            pipe.close()
