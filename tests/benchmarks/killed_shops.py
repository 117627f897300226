"""The usual ways of a shop to do once what an order came to, all under one killer.

    uv run python tests/benchmarks/killed_shops.py          2,000 paid orders for each way
    uv run python tests/benchmarks/killed_shops.py 100000   more

Two processes of a shop act on the same outcomes and are killed together again and again; at the end
one that nobody kills does the rest. What is printed: how often an order was shipped once more, and
how many orders never were. The other ways are those that shops write by hand: they keep in their
database, in a transaction of its own, how far they came or which outcomes they know.
"""

import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.kit.payments import by_event, keep_all  # noqa: E402 - the tests are no installed package
from tests.kusanya.outcomes.consume_until_killed import (  # noqa: E402
    FastClock,
    run_until,
    telling,
)

from kusanya.clock import SystemClock  # noqa: E402
from kusanya.outcomes import Consumer, Kind, Outcome, ddl  # noqa: E402
from kusanya.store import Store  # noqa: E402
from kusanya.wire import Mode  # noqa: E402

ORDERS: Final = 2_000
_NAME: Final = "shipping"
_PAGE: Final = 50
_TABLES: Final = """
CREATE TABLE effect (id);
CREATE TABLE known (id PRIMARY KEY);
CREATE TABLE cursor (place);
INSERT INTO cursor VALUES (0);
"""


class Shop:
    """A shop's database in a file; each `transaction` is one commit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection, and commit what it did."""
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            yield connection

    def ship(self, outcome: Outcome) -> None:
        """Ship, in a transaction of its own, and say so."""
        with telling(self.path) as tx:
            tx.execute("INSERT INTO effect VALUES (?)", (outcome.id,))

    def place(self) -> int:
        """Return how far the feed was read."""
        with self.transaction() as tx:
            [(place,)] = tx.execute("SELECT max(place) FROM cursor")
        return int(place)

    def move(self, place: int) -> None:
        """Keep how far the feed was read."""
        with self.transaction() as tx:
            tx.execute("UPDATE cursor SET place = max(place, ?)", (place,))


def ours(store: Store, shop: Shop) -> None:
    """Let a consumer do it."""
    consumer = Consumer(store, _NAME, mode=Mode.LIVE, clock=store.clock)

    @consumer.on(*Kind)
    def act(outcome: Outcome, tx: Any) -> None:
        tx.execute("INSERT INTO effect VALUES (?)", (outcome.id,))

    while consumer.drain(lambda: telling(shop.path)) or store.outcomes.work(_NAME):
        # What a killed process had taken is free again once its lease is over.
        time.sleep(0.05)


def _each(store: Store, shop: Shop) -> Iterator[Outcome]:
    """Yield what comes after the place that the shop keeps."""
    while page := store.outcomes.page(Mode.LIVE, after=shop.place(), limit=_PAGE):
        yield from page


def ship_then_mark(store: Store, shop: Shop) -> None:
    """Ship, then keep the place: at least once."""
    for outcome in _each(store, shop):
        shop.ship(outcome)
        shop.move(outcome.seq)


def mark_then_ship(store: Store, shop: Shop) -> None:
    """Keep the place, then ship: at most once."""
    for outcome in _each(store, shop):
        shop.move(outcome.seq)
        shop.ship(outcome)


def remember_ids(store: Store, shop: Shop) -> None:
    """Look whether the id is known, ship, keep the id: what most pages about webhooks advise."""
    for outcome in _each(store, shop):
        with shop.transaction() as tx:
            known = tx.execute("SELECT 1 FROM known WHERE id = ?", (outcome.id,)).fetchone()
        if known is None:
            shop.ship(outcome)
            with shop.transaction() as tx:
                tx.execute("INSERT OR IGNORE INTO known VALUES (?)", (outcome.id,))
        shop.move(outcome.seq)


WAYS: Final[dict[str, tuple[str, Callable[[Store, Shop], None]]]] = {
    "ours": ("a consumer: kusanya_done in the transaction of the effect", ours),
    "ship-then-mark": ("ship, then keep the place of the feed", ship_then_mark),
    "mark-then-ship": ("keep the place of the feed, then ship", mark_then_ship),
    "remember-ids": ("look up the id, ship, then remember the id", remember_ids),
}


def main(arguments: list[str]) -> int:
    """Print the table, or be one of the killed processes; return 1 where ours was not exact."""
    if arguments and arguments[0] in WAYS:
        way, folder = arguments
        with Store.open(Path(folder) / "store.sqlite", clock=FastClock()) as store:
            WAYS[way][1](store, Shop(Path(folder) / "shop.sqlite"))
        return 0
    orders = int(arguments[0]) if arguments else ORDERS
    sys.stdout.write(
        f"{'of ' + format(orders, ',') + ' paid orders':56} {'twice':>7} {'never':>7}\n"
    )
    exact = True
    for way, (what, _) in WAYS.items():
        with tempfile.TemporaryDirectory(prefix="kks") as made:
            twice, never = under_kills(way, Path(made), orders)
        sys.stdout.write(f"{what:56} {twice:>7,} {never:>7,}\n")
        sys.stdout.flush()
        exact = exact and (way != "ours" or twice == never == 0)
    return 0 if exact else 1


def under_kills(way: str, folder: Path, orders: int) -> tuple[int, int]:
    """Return how often an order was shipped once more, and how many never were."""
    chance = random.Random(orders)  # noqa: S311 - a repeatable choice
    path = folder / "shop.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_TABLES + ddl("sqlite"))
    ended = SystemClock().now() - timedelta(hours=2)
    with Store.open(folder / "store.sqlite") as store:
        store.outcomes.add(_NAME, mode=Mode.LIVE, begin=None, all_=True, actor="asha")
        keep_all(store, (by_event(n, ended, reference=f"INV-{n}") for n in range(orders)))
        store.outcomes.tell()
        told = {outcome.id for outcome in store.outcomes.page(Mode.LIVE, limit=10**7)}
        command, seen, many = [sys.executable, "-P", __file__, way, str(folder)], 0, 0
        while seen == many and _shipped(path) < orders * 5 // 6:
            many = chance.randint(1, 40)
            seen = run_until(command, effects=many, and_then=partial(_wait, chance))
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    with closing(sqlite3.connect(path)) as connection:
        effects = Counter(row[0] for row in connection.execute("SELECT id FROM effect"))
    return sum(effects.values()) - len(effects), len(told - set(effects))


def _shipped(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        [(count,)] = connection.execute("SELECT count(DISTINCT id) FROM effect")
    return int(count)


def _wait(chance: random.Random) -> None:
    """Let the kill come somewhere between two effects."""
    time.sleep(chance.uniform(0, 0.005))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
