"""The storage as the rest of the service sees it: a folder, one writer, one reader."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from kusanya_service.errors import DataFolderInUse, DataFolderUnusable
from kusanya_service.storage.database import FILE_NAME, Connection, open_database, open_reader
from kusanya_service.storage.writer import Writer

Result = TypeVar("Result")
_LOCK_NAME: Final = "service.lock"


class Storage:
    """An open data folder, locked against a second service process."""

    def __init__(self, folder: Path, connection: Connection, lock: int) -> None:
        self.folder: Final = folder
        self._lock = lock
        self._path = folder / FILE_NAME
        self.reader: Final = open_reader(self._path)
        """For reads on the loop: each is one indexed look-up or one page."""
        self._connection = connection
        self._writer: Writer | None = None

    @classmethod
    def open(cls, folder: Path) -> "Storage":
        """Open a data folder, creating or migrating it as needed.

        The folder and its files are their owner's alone. Raises DataFolderUnusable,
        DataFolderInUse, DataTooNew or DataDamaged.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / _LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise DataFolderUnusable(
                f"the data folder cannot be used: {error.strerror or error}"
            ) from None
        try:
            _lock_folder(lock)
            path = folder / FILE_NAME
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            return cls(folder, open_database(path), lock)
        except OSError as error:
            os.close(lock)
            raise DataFolderUnusable(
                f"the data folder cannot be used: {error.strerror or error}"
            ) from None
        except BaseException:
            os.close(lock)
            raise

    def start(self) -> Writer:
        """Start the writer's thread on the running loop."""
        self._writer = Writer(self._connection, self._path)
        return self._writer

    def fail_writes_while(self, is_full: Callable[[], bool]) -> None:
        """Act as if the disk were full whenever `is_full` returns true."""
        if self._writer is not None:
            self._writer.is_full = is_full

    async def write(
        self, change: Callable[..., Result], *arguments: object, **keywords: object
    ) -> Result:
        """Run a change in the writer's transaction and return once it is durable.

        Raises StorageBusy, StorageError or what the change raised; nothing is kept then.
        """
        if self._writer is None:
            raise AssertionError("the storage is written to between start and close")
        return await self._writer.submit(change, *arguments, **keywords)

    async def close(self) -> None:
        """Commit what waits and release the folder."""
        self.reader.close()
        if self._writer is not None:
            await self._writer.close()
        else:
            self._connection.close()
        os.close(self._lock)


def _lock_folder(lock: int) -> None:
    # Late: each of the two modules exists on its own platform alone.
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        raise DataFolderInUse("another service process works on this data folder") from None
