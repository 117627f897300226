"""A journal that is slow for as long as a test wants."""

import queue

from kusanya.store.records import Arrival, Receipt
from kusanya.store.writer.journal import Promise


class SlowJournal:
    """A store whose commits end when the test says so."""

    def __init__(self) -> None:
        self.queue_depth = 0
        self.submitted: queue.Queue[Promise[Receipt]] = queue.Queue()

    def post(self, item: Arrival, promise: Promise[Receipt], /) -> None:
        """Leave the promise to the test."""
        self.submitted.put(promise)

    def prove_writable(self) -> None:
        """Say that all is well."""
