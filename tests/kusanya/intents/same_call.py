"""Makes one and the same call from many threads at once. Run by tests, never imported by them.

Arguments: the store, the service's address, an API key, and how many threads. It says when it is
ready, waits for a line, and prints what each call came to as one JSON list.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from kusanya.client import Client
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely
from kusanya.store import Store


def calls(store: Store, client: Client, threads: int) -> list[str]:
    """Return the collection that each call was given, or its error."""
    together = threading.Barrier(threads)

    def call(_number: int) -> str:
        together.wait()
        try:
            made = create_safely(
                store,
                client,
                amount=5000,
                phone="0754000001",
                reference="order-1",
                idempotency_key="job-1",
            )
        except KusanyaError as error:
            return f"{type(error).__name__}: {error}"
        return made.collection.id

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, range(threads)))


def main(url: str, base_url: str, key: str, threads: str) -> None:
    """Wait for the start, call, and tell."""
    with Store.open(url) as store, Client(key, base_url=base_url, timeout=300.0) as client:
        print("ready", flush=True)  # noqa: T201 - the test waits for it
        sys.stdin.readline()
        print(json.dumps(calls(store, client, int(threads))))  # noqa: T201 - the answer


if __name__ == "__main__":
    main(*sys.argv[1:])
