"""Journals that are slow for as long as a test wants, or cannot do what they are asked."""

import queue
from collections.abc import Callable
from concurrent.futures import Future

from kusanya.errors import StoreBusy
from kusanya.store.records import Arrival, DeliveryCommit


class SlowJournal:
    """A store whose commits end when the test says so."""

    def __init__(self) -> None:
        self.queue_depth = 0
        self.submitted: queue.Queue[Future[DeliveryCommit]] = queue.Queue()

    def submit(self, _item: Arrival, /) -> Future[DeliveryCommit]:
        """Leave the commit to the test."""
        commit: Future[DeliveryCommit] = Future()
        self.submitted.put(commit)
        return commit

    def prove_writable(self) -> None:
        """Say that all is well."""


class FaultyJournal:
    """A store that cannot do what it is asked: busy, failing, or never done."""

    def __init__(
        self, *, busy: bool = False, prove_writable: Callable[[], None] = lambda: None
    ) -> None:
        self.busy = busy
        self.queue_depth = 0
        self.submitted: list[tuple[Arrival, Future[DeliveryCommit]]] = []
        self.prove_writable = prove_writable

    def submit(self, item: Arrival, /) -> Future[DeliveryCommit]:
        """Refuse, or leave the commit to the test."""
        if self.busy:
            raise StoreBusy("full")
        commit: Future[DeliveryCommit] = Future()
        self.submitted.append((item, commit))
        return commit
