"""Two processes consume and are killed again and again: nothing is done twice, nothing is lost."""

import random
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from tests.kit.payments import by_event, keep_all
from tests.kusanya.outcomes.consume_until_killed import run_until
from tests.kusanya.outcomes.shop import ShopDatabase

from kusanya.clock import ManualClock, SystemClock
from kusanya.outcomes import Consumer, Kind, ddl
from kusanya.store import Store
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

CHILD = Path(__file__).with_name("consume_until_killed.py")


def consume_until_killed(store_url: str, shop: Path, *, effects: int) -> None:
    """Let two processes consume, and kill both once they did so much together."""
    command = [sys.executable, "-P", str(CHILD), store_url, str(shop)]
    assert run_until(command, effects=effects) == effects


@pytest.mark.scale(24, 300, 50_000)
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_kill_9_of_all_consumers_does_nothing_twice_and_loses_nothing(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, rounds: int
) -> None:
    chance = random.Random(rounds)  # noqa: S311 - a repeatable choice
    url = f"sqlite:///{tmp_path / 'store.db'}"
    if engine == "postgres":
        url = request.getfixturevalue("postgres_url")
    path, now = tmp_path / "shop.db", SystemClock().now()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE effect (outcome_id, reference, seq)")
        connection.execute(ddl("sqlite"))
    with Store.open(url) as store:
        store.outcomes.add("shipping", mode=Mode.LIVE, begin=None, all_=True, actor="asha")
        ended = now - timedelta(hours=2)
        keep_all(store, (by_event(n, ended, reference=f"INV-{n // 3}") for n in range(rounds)))
        left = rounds
        while left > rounds // 6:
            many = chance.randint(1, max(left // 2, 1))
            consume_until_killed(url, path, effects=many)
            with closing(sqlite3.connect(path)) as connection:
                [(done,)] = connection.execute("SELECT count(*) FROM effect")
            left = rounds - done
        told = store.outcomes.page(Mode.LIVE, limit=10**6)
    later = ManualClock(now + timedelta(days=400))
    with Store.open(url, clock=later) as store:
        last = Consumer(store, "shipping", mode=Mode.LIVE, clock=later)
        last.on(*Kind)(
            lambda outcome, tx: tx.execute(
                "INSERT INTO effect VALUES (?, ?, ?)", (outcome.id, outcome.reference, outcome.seq)
            )
        )
        last.drain(ShopDatabase.at(path))
        assert store.outcomes.work("shipping") == ()
        assert store.maintenance.check() == ()
    with closing(sqlite3.connect(path)) as connection:
        effects = connection.execute("SELECT * FROM effect ORDER BY rowid").fetchall()
    assert Counter(effect[0] for effect in effects) == Counter(one.id for one in told)
    assert len(told) == rounds
    for reference in {effect[1] for effect in effects}:
        places = [effect[2] for effect in effects if effect[1] == reference]
        assert places == sorted(places), "of one order the first comes first"
