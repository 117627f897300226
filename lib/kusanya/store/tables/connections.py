"""The open connections of one store in this process, and what becomes of them at a fork.

SQLite keeps a table, for the whole process, of the locks that its connections hold. A child that
inherits an open connection inherits that table and not the locks: its own connections to the same
file then lock nothing, and when the parent closes as the last one that holds real locks, it removes
the WAL with everything that the children had committed to it. So every connection is closed before
a fork, once nobody uses one, and each side opens its own afterwards. PostgreSQL is treated the same
way, where it can be done at once: two processes must not speak on one socket.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import Any, Final

from sqlalchemy import Engine, event

from kusanya.errors import StoreUnavailable
from kusanya.platform.forks import ForkAware
from kusanya.store.tables.file_identity import FileIdentity

_FORK_WAIT_S: Final = 10.0
"""How long a fork waits for those who use a file's connections; longer than any busy timeout."""
_abandoned: Final[list[Any]] = []
"""What was inherited open. It is never closed: that would speak for the parent."""
_shared_files: Final[set[tuple[int, int]]] = set()
"""The files of which this process inherited an open connection: device and inode."""


class Connections(ForkAware):
    """Counts who uses a connection, so that a fork finds none of them open.

    `identity` is that of an SQLite store's file. Raises StoreUnavailable where this process
    inherited an open connection to it.
    """

    def __init__(self, *pools: Engine, identity: FileIdentity | None) -> None:
        self._path = None if identity is None else identity.path
        if self._path is not None:
            _refuse_shared(self._path)
        self._pools = pools
        self._identity = identity
        self._open: dict[int, Any] = {}
        self._lost = False
        self.closed = False
        """Set for good when the store is closed."""
        self._begin_anew()
        for pool in pools:
            event.listen(pool, "connect", self._opened)
            event.listen(pool, "close", self._closed)
            event.listen(pool, "close_detached", self._closed)
        super().__init__()

    def _begin_anew(self) -> None:
        self._free = threading.Condition()
        self._users: Counter[int] = Counter()
        """Threads that use connections, and how many each."""
        self._forking: int | None = None
        """The thread that is about to fork."""

    @contextmanager
    def use(self) -> Iterator[None]:
        """Use connections inside; waits while the process is about to fork.

        Raises StoreUnavailable in a closed store, and in a child that inherited an open connection
        to an SQLite store.
        """
        if self.closed:
            raise StoreUnavailable("the store is closed")
        if self._lost:
            raise StoreUnavailable(_SHARED)
        thread, users = threading.get_ident(), self._users
        with self._free:
            # A thread that is inside already must come to an end, and so must the one who forks.
            while self._forking not in (None, thread) and not users[thread]:
                self._free.wait()
            users[thread] += 1
        try:
            yield
        finally:
            # A child that was forked in here is none of the users it counts itself.
            if users is self._users:
                with self._free:
                    users[thread] -= 1
                    if not users[thread]:
                        del users[thread]
                        self._free.notify_all()

    def before_fork(self) -> None:
        """Close every connection, as soon as nobody uses one; wait for that only with SQLite."""
        deadline = monotonic() + (0.0 if self._path is None else _FORK_WAIT_S)
        thread = threading.get_ident()
        with self._free:
            self._forking = thread
            while self._users and not self._users.get(thread):
                left = deadline - monotonic()
                if left <= 0 or not self._free.wait(left):
                    break
            idle = not self._users
        if idle:
            with nullcontext() if self._identity is None else self._identity.suspended():
                for pool in self._pools:
                    pool.dispose()

    def after_fork_in_parent(self) -> None:
        """Let everybody use connections again."""
        with self._free:
            self._forking = None
            self._free.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin without connections; a file that was in use at the fork is refused from now on."""
        inherited = list(self._open.values())
        if self._identity is not None:
            inherited += self._identity.inherited()
        self._open.clear()
        self._begin_anew()
        if not inherited:
            return
        _abandoned.extend(inherited)
        _abandoned.extend(pool.pool for pool in self._pools)
        for connection in inherited:
            if self._path is None:
                _cut_off(connection)
            else:
                connection.interrupt()
        if self._path is not None:
            self._lost = True
            _share(self._path)
        for pool in self._pools:
            pool.dispose(close=False)

    def _opened(self, connection: Any, _record: object) -> None:
        self._open[id(connection)] = connection

    def _closed(self, connection: Any, _record: object = None) -> None:
        self._open.pop(id(connection), None)


_SHARED: Final = (
    "this process was forked while its parent used the store, and SQLite cannot be shared that "
    "way: fork while nothing reads or writes, or start workers with multiprocessing's spawn"
)


def _refuse_shared(path: Path) -> None:
    if _shared_files and _identity(path) in _shared_files:
        raise StoreUnavailable(_SHARED)


def _share(path: Path) -> None:
    found = _identity(path)
    if found is not None:
        _shared_files.add(found)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _cut_off(connection: Any) -> None:
    """Take the parent's socket from an inherited connection, without a word to the server.

    Nothing takes its number in its place: the connection may still use it.
    """
    if connection.closed:
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, connection.fileno(), inheritable=False)
    finally:
        os.close(nothing)
