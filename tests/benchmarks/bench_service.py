"""The embedded service: durable creates and reads, beside localstripe and a bare route."""

import itertools
import statistics

from harness import Row
from load import drive, get, post
from servers import free_port, our_service, running

CREATES = 4_000
READS = 8_000
PEER_CREATES = 250
"""What localstripe manages in about its first second; it slows down with every write."""
ROUNDS = 3
_number = itertools.count()


def measure() -> list[Row]:
    """Return the rows of this room."""
    ours: list[float] = []
    read: list[float] = []
    theirs: list[float] = []
    bare_get: list[float] = []
    for _ in range(ROUNDS):
        with our_service() as service:
            headers = {"Authorization": f"Bearer {service.test_key}"}
            made = drive(service.port, _creates(CREATES, headers), connections=32)
            assert made.refused == 0
            ours.append(made.per_second)
            known = "/v1/whoami"
            found = drive(service.port, [get(known, **headers)] * READS, connections=32)
            assert found.refused == 0
            read.append(found.per_second)
        port = free_port()
        with running(["-m", "localstripe", "--port", str(port), "--from-scratch"], port):
            requests = [
                post(
                    "/v1/customers",
                    b"description=customer",
                    Authorization="Bearer sk_test_12345",
                    Content_Type="application/x-www-form-urlencoded",
                )
            ] * PEER_CREATES
            theirs.append(drive(port, requests, connections=32).per_second)
        port = free_port()
        with running(["peers.py", "bare", str(port)], port):
            bare_get.append(drive(port, [get("/v1/x")] * READS, connections=32).per_second)
    return [
        Row(
            what="durable create, 32 callers",
            unit="per s",
            ours=statistics.median(ours),
            against="localstripe, its first second",
            theirs=statistics.median(theirs),
            goal=10,
            better="higher",
        ),
        Row(
            what="read with a key, 32 callers",
            unit="per s",
            ours=statistics.median(read),
            against="bare Starlette route",
            theirs=statistics.median(bare_get),
            goal=0.5,
            better="higher",
        ),
    ]


def _creates(count: int, headers: dict[str, str]) -> list[bytes]:
    body = b'{"amount":5000,"phone":"255754000010","reference":"INV-%d"}'
    return [
        post("/v1/collections", body % n, Idempotency_Key=f"bench-{n}", **headers)
        for n in itertools.islice(_number, count)
    ]
