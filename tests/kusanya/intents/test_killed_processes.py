"""Real processes, killed with SIGKILL at any moment, against the real service and its faults.

In the end: one collection per reference, every intent answered, nothing doubled, nothing lost.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pysqlite3 import dbapi2

from kusanya.client import Client
from kusanya.errors import KusanyaError
from kusanya.intents import open_intents, resume
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya_service.options import Options
from kusanya_service.simulation.faults import FaultKind, FaultRule
from kusanya_service.storage.database import FILE_NAME
from kusanya_service.testing import running_service

NURSERY = Path(__file__).with_name("nursery.py")
FAULTS = (
    FaultRule(kind=FaultKind.LOSE_ANSWER, rate=0.15),
    FaultRule(kind=FaultKind.FAIL_BEFORE_COMMIT, rate=0.1),
    FaultRule(kind=FaultKind.RESET_REQUEST, rate=0.1),
    FaultRule(kind=FaultKind.DELAY_ANSWER, rate=0.1, seconds=0.05),
)


@contextmanager
def _nursery() -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(NURSERY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    with started:
        try:
            yield started
        finally:
            assert started.stdin is not None
            started.stdin.close()
            started.wait(30)


def _kill_once(nursery: subprocess.Popen[str], order: dict[str, Any], after_s: float) -> None:
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps(order) + "\n")
    child = int(nursery.stdout.readline())
    assert nursery.stdout.readline() == "working\n"
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    status = int(nursery.stdout.readline())
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "it ended before it was killed"


@pytest.mark.timeout(3600)
@pytest.mark.scale(6, 300, 5000)
def test_processes_killed_at_any_moment_charge_every_customer_once(
    store_url: str, tmp_path: Path, rounds: int
) -> None:
    chance = random.Random(7)  # noqa: S311 - when to kill, not a secret
    data = tmp_path / "service"
    with running_service(Options(data=data, seed=7, faults=FAULTS)) as service:
        client = Client(service.test_key, base_url=service.base_url)
        with Store.open(store_url) as store, _nursery() as nursery, client:
            for number in range(rounds):
                order = {
                    "store": store_url,
                    "base_url": service.base_url,
                    "key": service.test_key,
                    "first": number * 1_000,
                }
                _kill_once(nursery, order, chance.uniform(0.0, 0.2))
            for _ in range(20):
                for intent in list(open_intents(store)):
                    try:
                        resume(store, client, intent)
                    except KusanyaError:
                        continue
            intents = _all_intents(store)
            assert store.maintenance.check() == ()
    made = _ledger(data / FILE_NAME)
    references = Counter(collection["reference"] for collection in made.values())
    assert references.most_common(1)[0][1] == 1, "a customer was charged twice"
    assert {intent.state for intent in intents} <= {IntentState.ANSWERED, IntentState.SETTLED}
    assert {intent.collection_id for intent in intents} == set(made), "one is not accounted for"
    for intent in intents:
        assert made[intent.collection_id]["reference"] == intent.reference
    assert len(intents) >= rounds // 2, "the processes did too little before they died"
    print(f"{rounds} kills, {len(intents)} intents, {len(made)} collections, 0 doubled")  # noqa: T201 - the tier's figures


def _all_intents(store: Store) -> list[Any]:
    found: list[Any] = []
    page = store.intents.page()
    while True:
        found.extend(page.rows)
        if not page.more:
            return found
        page = store.intents.page(older_than=page.rows[-1].key)


def _ledger(path: Path) -> dict[str, Any]:
    with closing(dbapi2.connect(path)) as connection:
        rows = connection.execute("SELECT id, created_body FROM collection").fetchall()
    return {name: msgspec.json.decode(body) for name, body in rows}
