"""A journal that is slow for as long as a test wants."""

import queue
from concurrent.futures import Future

from kusanya.store.records import Arrival, Receipt


class SlowJournal:
    """A store whose commits end when the test says so."""

    def __init__(self) -> None:
        self.queue_depth = 0
        self.submitted: queue.Queue[Future[Receipt]] = queue.Queue()

    def submit(self, _item: Arrival, /) -> Future[Receipt]:
        """Leave the commit to the test."""
        commit: Future[Receipt] = Future()
        self.submitted.put(commit)
        return commit

    def prove_writable(self) -> None:
        """Say that all is well."""
