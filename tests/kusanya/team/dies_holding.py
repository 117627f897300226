"""A member of the team that holds work when it is killed: run by a test, never imported by it.

Arguments: the store's address and the time. It leases every open collection and begins to send an
intent; then it prints a line and waits for its end.
"""

import sys
import time
from datetime import datetime, timedelta

from kusanya.client import Client
from kusanya.client.effects import Reply, Request
from kusanya.clock import ManualClock
from kusanya.intents import create_safely
from kusanya.store import Store
from kusanya.wire import Mode


def main(url: str, noon: str) -> None:
    """Hold two kinds of work and never finish any."""
    clock = ManualClock(datetime.fromisoformat(noon))

    def silent(_request: Request, _within_s: float) -> Reply:
        sys.stdout.write("holding\n")
        sys.stdout.flush()
        time.sleep(600)
        raise AssertionError("it was not killed")

    with Store.open(url, clock=clock, create=False) as store:
        until = clock.now() + timedelta(minutes=1)
        claimed = store.poll_leases.take(Mode.TEST, by="doomed", until=until)
        sys.stdout.write(f"{len(claimed)}\n")
        client = Client(
            "svc_test_sk_4242", base_url="http://127.0.0.1:9", clock=clock, transport=silent
        )
        create_safely(store, client, amount=5000, phone="0754000001", reference="order-left")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
