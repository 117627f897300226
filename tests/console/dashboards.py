"""A dashboard that answers what a test says, on loopback: the real one draws keys by chance."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from kusanya.privacy.secret import Secret
from kusanya_console.sandbox.dashboard.client import DashboardClient

USUAL: dict[str, Any] = {
    "clock": {"now": "2026-03-04T12:24:07Z", "kind": "virtual", "speed": None, "origin": None},
    "endpoints": {
        "data": [
            {
                "id": "we_7Qm4xT2fWc9Lr0Zb", "url": "http://127.0.0.1:8099/webhooks",
                "mode": "test", "status": "enabled", "failing_since": None, "disabled_at": None,
                "created_at": "2026-03-01T06:00:00Z",
            },
            {
                "id": "we_2hT7pXk1Ld0Vn8Sg", "url": "https://billing.example/hooks/kusanya",
                "mode": "live", "status": "enabled", "failing_since": "2026-03-04T12:02:07Z",
                "disabled_at": None, "created_at": "2026-02-11T09:30:00Z",
            },
            {
                "id": "we_5cK9wDf3Jq6Rt1Ym", "url": "https://pos.example/in",
                "mode": "test", "status": "disabled", "failing_since": "2026-03-01T02:00:00Z",
                "disabled_at": "2026-03-04T02:00:04Z", "created_at": "2026-02-11T09:31:00Z",
            },
        ]
    },
    "keys": {
        "data": [
            {
                "id": "key_1Xr8Gd5Bq2Hs7Tn4", "mode": "test", "access": "full", "hint": "…9f3a",
                "created_at": "2026-03-01T06:00:00Z", "revoked_at": None,
            },
            {
                "id": "key_9Mw3Zc6Kp0Lf1Vb8", "mode": "live", "access": "full", "hint": "…04c1",
                "created_at": "2026-03-01T06:00:00Z", "revoked_at": None,
            },
            {
                "id": "key_4Jt2Yn7Dx5Rg3Qs6", "mode": "test", "access": "read", "hint": "…77be",
                "created_at": "2026-02-20T06:00:00Z", "revoked_at": "2026-03-02T10:00:00Z",
            },
        ]
    },
    "faults": {
        "rules": [
            {"kind": "lose_answer", "rate": 0.2, "times": None, "seconds": 5.0, "struck": 12},
            {"kind": "drop_delivery", "rate": 1.0, "times": 3, "seconds": 5.0, "struck": 3},
        ]
    },
}  # fmt: skip


@contextmanager
def answering(answers: dict[str, Any]) -> Iterator[DashboardClient]:
    """Open a client of a dashboard that answers below /dashboard/ what stands in `answers`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found = answers.get(self.path.removeprefix("/dashboard/"))
            body = json.dumps({"data": []} if found is None else found).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/dashboard/"
        with DashboardClient(url, Secret("dash_of_the_test")) as made:
            yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
