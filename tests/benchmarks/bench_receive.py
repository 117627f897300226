"""Acknowledging deliveries durably, beside the common design and a bare route."""

import itertools
import statistics
import tempfile
import time
from pathlib import Path

from bench_signature import BODY
from harness import Row
from load import Figures, drive, post
from servers import free_port, running

from kusanya.webhooks import sign

DELIVERIES = 6_000
ROUNDS = 3
SECRET = "whsec_bench"
_number = itertools.count()


def measure() -> list[Row]:
    """Return the rows of this room."""
    ours: list[Figures] = []
    common: list[Figures] = []
    bare: list[Figures] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            store = f"--store={Path(folder) / 'store.sqlite'}"
            program = ["-m", "kusanya_console.cli", "receive", f"--port={port}", store]
            with running(program, port, KUSANYA_SECRETS=f"shop={SECRET}", KUSANYA_MODE="test"):
                ours.append(_drive(port))
            port = free_port()
            with running(["peers.py", "common", str(port), f"{folder}/common.sqlite"], port):
                common.append(_drive(port))
            port = free_port()
            with running(["peers.py", "asgi", str(port)], port):
                bare.append(_drive(port))
    rate = {
        name: statistics.median(one.per_second for one in found)
        for name, found in (("ours", ours), ("common", common), ("bare", bare))
    }
    slow = {
        name: statistics.median(one.p99_ms for one in found)
        for name, found in (("ours", ours), ("common", common))
    }
    what = "durable acknowledgement, 64 callers"
    return [
        Row(
            what=what,
            unit="per s",
            ours=rate["ours"],
            against="FastAPI, stripe, SQLite FULL",
            theirs=rate["common"],
            goal=5,
            better="higher",
        ),
        Row(
            what=f"{what}, p99",
            unit="ms",
            ours=slow["ours"],
            against="FastAPI, stripe, SQLite FULL",
            theirs=slow["common"],
            goal=4,
            better="lower",
        ),
        Row(
            what=what,
            unit="per s",
            ours=rate["ours"],
            against="bare ASGI route (the limit)",
            theirs=rate["bare"],
            goal=0.5,
            better="higher",
        ),
    ]


def _drive(port: int) -> Figures:
    found = drive(port, _deliveries(DELIVERIES), connections=64)
    assert found.refused == 0, f"{found.refused} deliveries were refused"
    return found


def _deliveries(count: int) -> list[bytes]:
    now = int(time.time())
    requests = []
    for n in itertools.islice(_number, count):
        body = BODY.replace(b"evt_4xN2cVq81mRtY6Ks", b"evt_%020d" % n)
        body = body.replace(b"col_7Qm4xT2fWc9Lr0Zb", b"col_%020d" % n)
        requests.append(post("/webhooks", body, Service_Signature=sign(body, SECRET, now)))
    return requests
