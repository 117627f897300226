"""A writer that stops itself in the middle of a transaction: run by the tests of sessions.

Arguments: the store's address, after how many seconds the server may end it, and where it stops:
"idle" between two statements, "copy" in the middle of a COPY. Once it is continued it prints what
became of its fact, then what becomes of a delivery that says the same.
"""

import importlib.util
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from kusanya.clock import SystemClock
from kusanya.errors import StoreUnavailable
from kusanya.store import Store
from kusanya.store.queries.base import StoreParts
from kusanya.store.queries.collections.indexing import index_references
from kusanya.store.tables.engine import engines
from kusanya.store.tables.sessions import SessionLimits
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.journal import BatchSettings, Journal
from kusanya.store.writer.rejected import RejectedLimits


def stop() -> None:
    """Stop before the next line of this thread runs."""
    # Sent to the process, the signal may be taken by another thread while this one goes on.
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def stop_between(_writing: Transaction) -> None:
    """Stop while the journal's row is locked and nothing is under way."""
    stop()


def stop_in_copy(writing: Transaction) -> None:
    """Stop while the server waits for the rest of the data."""
    raw: Any = writing.connection.connection.cursor()
    with raw.copy("COPY observation FROM STDIN"):
        stop()


def main(url: str, idle_s: float, where: str) -> None:
    """Write a delivery, stop, and say what became of it."""
    spec = importlib.util.spec_from_file_location("facts", Path(__file__).with_name("conftest.py"))
    if spec is None or spec.loader is None:
        raise FileNotFoundError("conftest.py")
    facts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(facts)
    make: Any = facts.Make()
    found = engines(url, limits=SessionLimits(lock_s=idle_s, writer_idle_s=idle_s))
    journal = Journal(
        found,
        clock=SystemClock(),
        settings=BatchSettings(queue_rows=100, batch_rows=10, batch_wait_s=0.001, chore_rows=100),
        rejected=RejectedLimits(rows=10, body_bytes=1_000),
        chore=index_references,
    )
    with Store(StoreParts(found, journal, SystemClock(), "")) as store:
        store.record(make.arrival(1))
        # The fact and the act are in one transaction.
        writing = store._queue(
            stop_in_copy if where == "copy" else stop_between, observation=make.observation(2)
        )
        try:
            writing.result()
        except StoreUnavailable:
            sys.stdout.write("refused\n")
        else:
            sys.stdout.write("kept\n")
        sys.stdout.write(f"{store.record(make.arrival(2)).verdict}\n")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3])
