"""A program that ingests until it is killed: run by the crash tests, never imported by them.

Arguments: the store's address and the first number. Prints one line per acknowledged arrival.
"""

import importlib.util
import sys
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from kusanya.store import Store
from kusanya.store.records import DeliveryCommit


def main(url: str, first: int) -> None:
    """Keep 20 arrivals in flight, each an event's first, and every tenth also a repeat."""
    spec = importlib.util.spec_from_file_location("facts", Path(__file__).with_name("conftest.py"))
    if spec is None or spec.loader is None:
        raise FileNotFoundError("conftest.py")
    facts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(facts)
    make: Any = facts.Make()
    in_flight: deque[tuple[int, Future[DeliveryCommit]]] = deque()
    with Store.open(url) as store:
        for number in range(first, first + 1_000_000):
            in_flight.append((number, store.submit(make.arrival(number))))
            if number % 10 == 0:
                store.submit(make.arrival(number))
            if len(in_flight) > 20:
                done, future = in_flight.popleft()
                receipt = future.result()
                sys.stdout.write(f"{done} {receipt.delivery_id}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
