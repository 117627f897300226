"""A warm parent that forks processes to be killed. Started by a test, never collected as one.

Reads lines of JSON on stdin, {"store", "base_url", "key", "first"}, forks a child for each and
prints its number. A child brings what is open to an end and then creates without end, until it is
killed; it says when its first piece of work is done. The parent opens no store and starts no
thread, so that forking it is sound.
"""

import json
import os
import sys
import traceback

import psycopg
import sqlalchemy.dialects.postgresql.psycopg

from kusanya.client import Client
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely, open_intents, resume
from kusanya.store import Store
from kusanya.wire import Mode

WARM = (psycopg, sqlalchemy.dialects.postgresql.psycopg)
"""Loaded before the first fork, so that children begin at once."""


def work(store_url: str, base_url: str, key: str, first: int) -> None:
    """Resume everything that is open, then create one collection after the other."""
    client = Client(key, base_url=base_url, timeout=5.0)
    with Store.open(store_url, create=False) as store:
        is_reported = False
        for intent in list(open_intents(store, Mode.TEST)):
            attempt(lambda intent=intent: resume(store, client, intent))
            is_reported = report(is_reported)
        for number in range(first, first + 1_000_000):
            attempt(
                lambda number=number: create_safely(
                    store,
                    client,
                    amount=1000 + number,
                    phone="0754000001",
                    reference=f"order-{number}",
                    idempotency_key=f"job-{number}" if number % 2 else None,
                )
            )
            is_reported = report(is_reported)


def report(is_reported: bool) -> bool:
    """Say once that the first piece of work is done; the kill comes some time after it."""
    if not is_reported:
        os.write(1, b"working\n")
    return True


def attempt(act: object) -> None:
    """Do what may fail as the network fails; anything else is a bug and ends the process."""
    try:
        act()  # type: ignore[operator]  # a lambda of this file
    except KusanyaError:
        return


def main() -> None:
    """Fork a child for every line."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            try:
                work(order["store"], order["base_url"], order["key"], order["first"])
            except BaseException:  # noqa: BLE001 - nothing may return into the parent's loop
                traceback.print_exc()
            finally:
                os._exit(1)
        print(child, flush=True)  # noqa: T201 - the answer to the test
        _, status = os.waitpid(child, 0)
        print(status, flush=True)  # noqa: T201 - the answer to the test


if __name__ == "__main__":
    main()
