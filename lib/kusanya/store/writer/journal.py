"""The one writer of a process: what many threads submit becomes durable together.

A batch takes everything that is waiting; while others are submitting too it waits up to about 2 ms
for more, because one fsync costs the same for one row as for hundreds. A future resolves only after
COMMIT. A store that fails takes its batch with it and the writer goes on with the next.
"""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import islice
from time import monotonic
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from kusanya.clock import Clock
from kusanya.errors import StoreBusy, StoreError, StoreUnavailable
from kusanya.platform.forks import ForkAware
from kusanya.store.tables.engine import Engines, is_outage, why
from kusanya.store.writer.batch import Act, Batch, Item, Transaction, WriteFailure
from kusanya.store.writer.outage import Outage
from kusanya.store.writer.rejected import RejectedLimits, RejectedRetention
from kusanya.store.writer.statements import statements

_log: Final = logging.getLogger("kusanya.store")
_CLOSE_WAIT_S: Final = 30.0
_IDLE_S: Final = 1.0
"""So long without a submission, and what can wait is done."""
_CHORE_WORTH: Final = 500
"""So many facts, and the chore is worth a transaction as soon as nobody waits."""
_LULL_S: Final = 0.01
"""So long without a submission, and nobody waits."""
_SLOW_S: Final = 1.0
"""A transaction that takes longer is worth a line in the log: a disk or another writer is slow."""
_CHORE_FORCED: Final = 10_000
"""So many facts, and the chore goes between any two batches: it must not fall behind for ever."""


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait, and how long a batch stays open. Real seconds: a disk knows no other."""

    queue_rows: int
    batch_rows: int
    batch_wait_s: float
    chore_rows: int
    """How many facts one step of the chore does."""


class Journal(ForkAware):
    """A bounded queue and the thread that empties it into transactions.

    The thread starts with the first submission, so that a reader never has one. What waits at a
    fork is written by the parent; a child begins with an empty queue and a thread of its own.
    """

    def __init__(
        self,
        engines: Engines,
        *,
        clock: Clock,
        settings: BatchSettings,
        rejected: RejectedLimits,
        chore: Act,
    ) -> None:
        self._engines = engines
        self._clock = clock
        self._settings = settings
        self._statements = statements(engines.writer.dialect)
        self._retention = RejectedRetention(rejected)
        self._closed = False
        self._chore = chore
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._queue: deque[tuple[Item, Future[Any]]] = deque()
        self._ready = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wanted = 1
        """How many submissions end the writer's wait for more."""
        self._owed = 0
        """Facts written since the chore was last done with everything."""
        self._unfinished = False
        self.outage = Outage(self._engines.shown)
        """Whether the last transaction failed."""

    def after_fork_in_child(self) -> None:
        """Leave the queue and the thread to the parent."""
        self._begin_anew()

    @property
    def depth(self) -> int:
        """Return how many submissions wait for a transaction."""
        return len(self._queue)

    def submit(self, item: Item) -> Future[Any]:
        """Queue `item` and return the future of its result.

        Raises StoreBusy at once when the queue is full, StoreUnavailable when it is closed.
        """
        future: Future[Any] = Future()
        with self._ready:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            if len(self._queue) >= self._settings.queue_rows:
                self.outage.refused(1)
                raise StoreBusy("the store has more to write than it can: try again")
            self._queue.append((item, future))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="kusanya-journal", daemon=True
                )
                self._thread.start()
            # The writer counts what is there when it wakes: one call per batch is enough.
            if len(self._queue) in (1, self._wanted):
                self._ready.notify()
        return future

    def close(self) -> None:
        """Write what is queued, then stop; later submissions are refused."""
        with self._ready:
            self._closed = True
            self._ready.notify()
            thread = self._thread
        if thread is not None:
            thread.join(_CLOSE_WAIT_S)

    def _run(self) -> None:
        together = 1
        while True:
            batch = self._take(together)
            if batch:
                together = len(batch)
                self._write(batch)
                self._owed += together
            elif self._closed:
                return
            idle = not batch
            # Nothing of a finished batch may keep bodies alive while the writer waits.
            del batch
            if idle or self._owed >= _CHORE_FORCED:
                self._do_chore()

    def _do_chore(self) -> None:
        """Do a step of what can wait; where it fails it is tried after the next writing."""
        results = self._attempt([self._chore])
        more = results is not None and results[0] is True
        self._owed = max(1, self._owed - self._settings.chore_rows) if more else 0
        self._unfinished = more

    def _take(self, together: int) -> list[tuple[Item, Future[Any]]]:
        """Wait for submissions and take a batch of them.

        An empty one means the end, or that a chore is owed and nothing has come for a while.
        """
        with self._ready:
            pressing = self._unfinished or self._owed >= _CHORE_WORTH
            patience = _LULL_S if pressing else _IDLE_S if self._owed else None
            while not self._queue and not self._closed:
                if not self._ready.wait(patience):
                    return []
            if together > 1 and not self._closed:
                # Callers of the last batch are likely back in a moment.
                self._wanted = min(together, self._settings.batch_rows)
                deadline = monotonic() + self._settings.batch_wait_s
                while len(self._queue) < self._wanted and not self._closed:
                    left = deadline - monotonic()
                    if left <= 0 or not self._ready.wait(left):
                        break
                self._wanted = 1
            taken = list(islice(self._queue, self._settings.batch_rows))
            for _ in taken:
                self._queue.popleft()
            return taken

    def _write(self, batch: Sequence[tuple[Item, Future[Any]]]) -> None:
        taken = [(item, future) for item, future in batch if future.set_running_or_notify_cancel()]
        results = self._attempt([item for item, _ in taken])
        if results is None:
            # One of them is bad: alone, it cannot fail its neighbours.
            results = [self._alone(item) for item, _ in taken]
        self.outage.refused(sum(isinstance(result, WriteFailure) for result in results))
        for (_, future), result in zip(taken, results, strict=True):
            if isinstance(result, WriteFailure):
                future.set_exception(result.error)
            else:
                future.set_result(result)

    def _alone(self, item: Item) -> Any:
        results = self._attempt([item], alone=True)
        return None if results is None else results[0]

    def _attempt(self, items: Sequence[Item], *, alone: bool = False) -> list[Any] | None:
        """Write `items` in one transaction; None means that one of several must be bad."""
        try:
            with self._engines.writing() as connection:
                began = monotonic()
                results = self._transaction(connection, items)
                took_s = monotonic() - began
        except StoreUnavailable as error:
            self.outage.failed(str(error))
            return [WriteFailure(error) for _ in items]
        except Exception as error:  # noqa: BLE001 - whatever it is, callers wait for an answer
            if is_outage(error):
                self.outage.failed(why(error))
                self._free_the_way(error)
                sentence = f"the store cannot write: {why(error)}; nothing was acknowledged"
            elif not alone and len(items) > 1:
                return None
            else:
                sentence = f"this item cannot be kept: {why(error)}; nothing of it was written"
            return [WriteFailure(StoreUnavailable(sentence)) for _ in items]
        self.outage.committed()
        if took_s > _SLOW_S:
            details = {"took_s": round(took_s, 3), "rows": len(items)}
            _log.warning("slow commit", extra=details)
        return results

    def _free_the_way(self, error: Exception) -> None:
        try:
            self._engines.after_failing(error)
        except StoreError as failure:
            _log.warning("cannot end a stopped writer", extra={"reason": str(failure)})

    def _transaction(self, connection: Connection, items: Sequence[Item]) -> list[Any]:
        try:
            with connection.begin():
                writing = Transaction(
                    connection, statements=self._statements, now=self._clock.now()
                )
                results = Batch(writing, retention=self._retention).run(items)
                writing.finish()
        except Exception as error:
            if is_outage(error):
                # A connection whose commit or fsync failed proves nothing any more.
                connection.invalidate()
            raise
        self._retention.repeats.commit()
        for call in writing.after_commit:
            call()
        return results
