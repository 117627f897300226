"""Consume outcomes of a store into a shop's database until killed; time passes a hundredfold.

Arguments: the store, the shop's database. Prints a line for each effect that is durable.
"""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from kusanya.clock import SystemClock
from kusanya.outcomes import Consumer, Kind, Outcome
from kusanya.store import Store
from kusanya.wire import Mode


class FastClock(SystemClock):
    """A clock by which the lease of who was killed runs out within a second."""

    def now(self) -> datetime:
        """Return the time, a hundred times as far from this morning as it is."""
        now = super().now()
        return now + 99 * (now - now.replace(hour=0, minute=0, second=0, microsecond=0))


@contextmanager
def telling(shop: str | Path) -> Iterator[sqlite3.Connection]:
    """Yield a transaction of a shop's database; prints a line once what it changed is durable."""
    with closing(sqlite3.connect(shop, timeout=60)) as connection, connection:
        before = connection.total_changes
        yield connection
        is_new = connection.total_changes > before
    if is_new:
        sys.stdout.write("done\n")
        sys.stdout.flush()


def run_until(command: list[str], *, effects: int, and_then: Callable[[], object] = int) -> int:
    """Run a command twice at once, and kill both after so many lines; return how many came.

    What is called before the kill may let a moment pass. Fewer came where both ended by themselves.
    """
    reading, writing = os.pipe()
    children = [subprocess.Popen(command, stdout=writing) for _ in range(2)]
    os.close(writing)
    with os.fdopen(reading) as lines:
        seen = sum(1 for _ in islice(lines, effects))
        and_then()
        for child in children:
            child.kill()
        for child in children:
            child.wait()
    return seen


def main(store_url: str, shop: str) -> None:
    """Consume until killed."""
    clock = FastClock()
    with Store.open(store_url, create=False, clock=clock) as store:
        consumer = Consumer(store, "shipping", mode=Mode.LIVE, clock=clock)

        @consumer.on(*Kind)
        def act(outcome: Outcome, tx: Any) -> None:
            row = (outcome.id, outcome.reference, outcome.seq)
            tx.execute("INSERT INTO effect VALUES (?, ?, ?)", row)

        consumer.run(lambda: telling(shop))


if __name__ == "__main__":
    main(*sys.argv[1:])
