"""One thread writes: changes that wait are committed together, each answered after the commit.

A change is a function of the connection and its arguments. A batch is one transaction; when a
change in it fails, the batch is rolled back and replayed one by one, so that a bad change cannot
fail its neighbours.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from kusanya_service.errors import StorageBusy, StorageError
from kusanya_service.storage.database import Connection, DatabaseError, reopen_writer

Result = TypeVar("Result")

_QueuedChange = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], "asyncio.Future[Any]"]
_Result = tuple["asyncio.Future[Any]", Any, BaseException | None]

DEFAULT_CAPACITY: Final = 4_096
_BATCH: Final = 256
_LINGER_S: Final = 0.001
"""How long a busy writer waits for company before it commits."""


class Writer:
    """The only thread that changes the database; lives on the loop that created it."""

    def __init__(
        self, connection: Connection, path: Path, *, capacity: int = DEFAULT_CAPACITY
    ) -> None:
        self._connection: Connection | None = connection
        self._path = path
        self._capacity = capacity
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_QueuedChange | None] = queue.SimpleQueue()
        self._waiting = 0
        self.is_full: Callable[[], bool] = lambda: False
        """Asked before each batch: a fault may make the storage act as if it were full."""
        self._thread = threading.Thread(target=self._run, name="storage-writer", daemon=True)
        self._thread.start()

    def submit(
        self, change: Callable[..., Result], *arguments: object, **keywords: object
    ) -> "asyncio.Future[Result]":
        """Queue a change; its result comes once it is durable.

        Raises StorageBusy at once when the queue is full. The future raises StorageError when the
        storage refused, and whatever else the change itself raised; nothing of it is kept then.
        """
        if self._waiting >= self._capacity:
            raise StorageBusy("too many changes wait to be stored; try again")
        self._waiting += 1
        future: asyncio.Future[Result] = self._loop.create_future()
        self._queue.put((change, arguments, keywords, future))
        return future

    async def close(self) -> None:
        """Commit what waits, stop the thread and close the connection."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        if self._connection is not None:
            self._connection.close()

    def _run(self) -> None:
        size = 1
        while (first := self._queue.get()) is not None:
            batch, ended = self._gather(first, linger=size > 1)
            size = len(batch)
            self._answer(self._commit(batch))
            if ended:
                return

    def _gather(self, first: _QueuedChange, *, linger: bool) -> tuple[list[_QueuedChange], bool]:
        batch = [first]
        while len(batch) < _BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                if not linger:
                    break
                linger = False
                try:
                    item = self._queue.get(timeout=_LINGER_S)
                except queue.Empty:
                    break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _commit(self, batch: list[_QueuedChange]) -> list[_Result]:
        try:
            return self._transaction(batch)
        except Exception as error:  # noqa: BLE001 - the error is the change's own and is answered
            if len(batch) == 1:
                return [(batch[0][3], None, self._storage_error(error))]
        return [answer for item in batch for answer in self._commit([item])]

    def _transaction(self, batch: list[_QueuedChange]) -> list[_Result]:
        if self.is_full():
            raise StorageError("database or disk is full")
        if self._connection is None:
            self._connection = reopen_writer(self._path)
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            answers: list[_Result] = [
                (future, change(connection, *arguments, **keywords), None)
                for change, arguments, keywords, future in batch
            ]
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answers

    def _storage_error(self, error: BaseException) -> BaseException:
        if not isinstance(error, DatabaseError):
            return error
        # After a failed write or sync the old connection's pages may not be what is on the disk:
        # the next change opens another, as often as it takes.
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        return StorageError(f"the storage refused the change: {error}")

    def _answer(self, answers: list[_Result]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._resolve, answers)
        except RuntimeError:
            # The loop is gone: nobody waits any more, and what was committed stays committed.
            return

    def _resolve(self, answers: list[_Result]) -> None:
        self._waiting -= len(answers)
        for future, result, error in answers:
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
