"""Whether the files of an open SQLite store are still the files that were opened.

SQLite goes on writing into a file that was removed or replaced, and nobody will ever find what it
writes there. So the store's file, its -wal and its -shm are compared with what was opened before a
commit is confirmed and before every read; that costs three calls of stat. A file that was
overwritten in place keeps its identity and changes its contents: whenever the main file changed it
is read past the -wal, and must have gone forward as a checkpoint moves it, never back. A -wal that
became shorter is whole only where a checkpoint emptied it, which its index says; an index that
became shorter is made as long again, because touching what is missing of it ends the process.

Once lost, a store stays refused until it is opened anew: a file that went away and came back may
have been written by others meanwhile.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from kusanya.errors import StoreUnavailable
from kusanya.say import Said
from kusanya.store.tables.sqlite_file import SqliteFile

_LOOKS: Final = 50
_LOOK_AGAIN_S: Final = 0.01
"""A checkpoint may be writing the file while it is read: only what stays wrong is wrong."""
_WAL_LOOKS: Final = 5
_WAL_LOOK_AGAIN_S: Final = 0.002
_WHAT_TO_DO: Final = (
    "nothing more is read or acknowledged; stop every program that uses this store, "
    "put the right files back or restore a backup, and start again"
)


class _FileIds(NamedTuple):
    """Device and inode of the three files; None for one that is not there."""

    main: tuple[int, int] | None
    wal: tuple[int, int] | None
    shm: tuple[int, int] | None
    changed: tuple[int, int, int]
    """Size and times of the main file: they differ whenever somebody wrote into it."""


class _Sizes(NamedTuple):
    """Bytes of the -wal and the -shm."""

    wal: int
    shm: int


class _Contents(NamedTuple):
    """What the main file alone says, without what is only in the -wal."""

    store_id: str
    revision: str
    schema: int
    """SQLite's schema cookie: also a VACUUM, and so a copy by VACUUM INTO, moves it."""
    seq: int
    """The journal's end at the last checkpoint."""


class FileIdentity:
    """The files of one open store; every method may be called from any thread."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._anchor: Any = None
        self._logged = False
        """Whether the store has a -wal and a -shm."""
        self._opened: _FileIds | None = None
        self._contents: _Contents | None = None
        self._sizes = _Sizes(0, 0)
        """The largest that were seen since the -wal was last emptied."""
        self._lost: str | None = None
        self._main_lost = False
        self._read_only = False
        self._suspended: _FileIds | None = None
        """What was opened, while nothing is because of a fork."""

    @property
    def path(self) -> Path:
        """Return the path of the store's file."""
        return self._file.path

    def remember(self, *, read_only: bool) -> None:
        """Take note of the files as they are now, and hold them open until `release`.

        As long as they are held, no program that closes the store removes its -wal and -shm.
        Raises StoreUnavailable.
        """
        before = self._look()[0].main
        self._read_only = read_only
        try:
            self._open_anchor()
        except self._file.error as error:
            raise StoreUnavailable(
                Said("cannot open {path}: {why}").of(path=self._file.path, why=str(error))
            ) from None
        seen, self._sizes = self._look()
        if seen.main is None or seen.main != before:
            raise StoreUnavailable(f"{self._file.path} was replaced while it was opened: try again")
        self._contents = self._read_main()
        self._opened = seen

    def _open_anchor(self) -> None:
        self._anchor = self._file.connect("mode=ro" if self._read_only else "mode=rw")
        # Opens all three files and keeps SQLite's shared lock on the first.
        self._anchor.execute("SELECT seq FROM feed_head").fetchone()
        self._logged = self._anchor.execute("PRAGMA journal_mode").fetchone()[0] == "wal"

    def confirm(self) -> None:
        """Return if the files are those that were opened; raise StoreUnavailable if not."""
        if self._lost is not None:
            raise StoreUnavailable(self._lost)
        if self._suspended is not None:
            with self._lock:
                self._resume()
        if self._opened is None:
            return
        seen, sizes = self._look()
        if sizes != self._sizes:
            # The longer the -wal, the more there is to miss.
            if sizes.wal < self._sizes.wal or sizes.shm < self._sizes.shm:
                with self._lock:
                    self._judge_sizes()
            else:
                self._sizes = sizes
        if seen != self._opened:
            with self._lock:
                self._judge()

    @contextlib.contextmanager
    def let_go(self) -> Iterator[None]:
        """Look a last time, let the block close every other connection, then forget the files.

        Of a lost file one connection stays open for ever: closing the last one writes into
        it and removes -wal and -shm by their names, which may belong to what stands there now.
        """
        with contextlib.suppress(StoreUnavailable):  # who closes needs no error any more
            self.confirm()
        yield
        with self._lock:
            if self._anchor is not None and not self._main_lost:
                self._anchor.close()
            self._anchor = self._opened = None

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Let the block close every other connection before a fork; the next use opens them anew.

        -wal and -shm may be others by then, the file may not.
        """
        opened = self._opened
        with self.let_go():
            yield
        self._suspended = opened

    def _resume(self) -> None:
        before, contents = self._suspended, self._contents
        if before is None:
            return
        self.remember(read_only=self._read_only)
        self._suspended = None
        if self._opened is None or self._opened.main != before.main:
            self._lose(self._file.path, "replaced by another file")
        if contents and self._contents and not _follows(contents, self._contents):
            self._lose(self._file.path, "overwritten")

    def inherited(self) -> list[Any]:
        """In a child of a fork: return the connection that is the parent's and forget it."""
        self._lock = threading.Lock()
        anchor, self._anchor, self._opened = self._anchor, None, None
        return [] if anchor is None else [anchor]

    def _look(self) -> tuple[_FileIds, _Sizes]:
        file = self._file
        main = _stat(file.path)
        if main is None:
            return _FileIds(None, None, None, (0, 0, 0)), self._sizes
        wal, shm = (_stat(file.wal), _stat(file.shm)) if self._logged else (None, None)
        ids = _FileIds(
            (main.st_dev, main.st_ino),
            None if wal is None else (wal.st_dev, wal.st_ino),
            None if shm is None else (shm.st_dev, shm.st_ino),
            (main.st_size, main.st_mtime_ns, main.st_ctime_ns),
        )
        # One that is gone has no size: that is judged by the ids.
        known = self._sizes
        return ids, _Sizes(
            known.wal if wal is None else wal.st_size, known.shm if shm is None else shm.st_size
        )

    def _judge_sizes(self) -> None:
        """Look again, alone: a -wal is emptied by a checkpoint, a -shm never becomes shorter."""
        if self._lost is not None:
            raise StoreUnavailable(self._lost)
        seen, sizes = self._look()
        if self._opened is None or seen._replace(changed=self._opened.changed) != self._opened:
            return  # files that are others are judged as such
        if sizes.shm < self._sizes.shm:
            # By its name: closing a descriptor would let go of SQLite's locks on it.
            os.truncate(self._file.shm, self._sizes.shm)
            self._lose(self._file.shm, "cut short", keep=True)
        if sizes.wal < self._sizes.wal and not self._holds_all_indexed():
            self._lose(self._file.wal, "cut short", keep=True)
        self._sizes = sizes

    def _holds_all_indexed(self) -> bool:
        """Return whether the -wal holds what its index knows of.

        Another program may append to it between our looks at the two, so that only what stays
        wrong is wrong; and not for long, for what it appends may cover what is missing.
        """
        for look in range(_WAL_LOOKS):
            if look:
                time.sleep(_WAL_LOOK_AGAIN_S)
            size = self._look()[1].wal
            if size >= self._file.wal_bytes_indexed():
                return True
        return False

    def _judge(self) -> None:
        """Look again, alone: accept what a checkpoint did, refuse everything else."""
        opened = self._opened
        if opened is None:
            return
        if self._lost is not None:
            raise StoreUnavailable(self._lost)
        (seen, _), file = self._look(), self._file
        if seen.main != opened.main:
            self._lose(file.path, "removed" if seen.main is None else "replaced by another file")
        if seen.shm != opened.shm:
            self._lose(file.shm, "removed" if seen.shm is None else "replaced by another file")
        if seen.wal != opened.wal:
            if seen.wal is None:
                self._save_wal()
            self._lose(file.wal, "removed" if seen.wal is None else "replaced by another file")
        if seen.changed != opened.changed and not self._judge_contents():
            return  # looked at again at the next use
        self._opened = seen

    def _save_wal(self) -> None:
        """Bring what a removed -wal holds into the main file: we still have both open."""
        with contextlib.suppress(self._file.error):  # a reader cannot, and the store is lost anyway
            self._anchor.execute("PRAGMA synchronous = FULL")
            self._anchor.execute("PRAGMA wal_checkpoint(FULL)")

    def _judge_contents(self) -> bool:
        """Return whether the main file is whole; False while a checkpoint stands half-way."""
        before = self._contents
        found = None
        for look in range(_LOOKS):
            if look:
                time.sleep(_LOOK_AGAIN_S)
            found = self._read_main()
            if before is None or (found is not None and _follows(before, found)):
                self._contents = found
                return True
            if found is None and self._is_half_way(before):
                return False
        if found is not None:
            self._lose(self._file.path, "overwritten")
        raise StoreUnavailable(f"{self._file.path} cannot be read; nothing was acknowledged")

    def _is_half_way(self, before: _Contents) -> bool:
        """Return whether the store is whole with its -wal, though its main file alone is not.

        A checkpoint leaves out what changed again behind a reader, so that the main file stays
        torn for as long as somebody reads on.
        """
        try:
            [row] = self._anchor.execute(_CONTENTS).fetchall()
        except self._file.error:
            return False
        return None not in row and _follows(before, _Contents._make(row))

    def _lose(self, path: Path, what: str, *, keep: bool = False) -> None:
        self._lost = f"{path} was {what} while this program had it open: {_WHAT_TO_DO}"
        if keep or path == self._file.path:
            # Late: it costs 15 ms, and only a lost store needs it.
            import ctypes

            # Not even closed when the process ends: nobody counts this reference down.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._anchor))
            self._main_lost = True
            self._file.distrust_wal()
        raise StoreUnavailable(self._lost)

    def _read_main(self) -> _Contents | None:
        """Read the main file as it is, without the -wal; None where that cannot be done."""
        try:
            with contextlib.closing(self._file.connect("mode=ro&immutable=1")) as connection:
                row = connection.execute(_CONTENTS).fetchone()
        except self._file.error:
            return None
        return None if None in row else _Contents._make(row)


_CONTENTS: Final = (
    "SELECT (SELECT value FROM store_meta WHERE name = 'store_id'), "
    "(SELECT version_num FROM alembic_version), "
    "(SELECT schema_version FROM pragma_schema_version), (SELECT seq FROM feed_head)"
)


def _follows(before: _Contents, now: _Contents) -> bool:
    """Return whether a checkpoint can have made `now` of `before`."""
    return (
        now.store_id == before.store_id
        and now.seq >= before.seq
        and (now.schema == before.schema or now.revision != before.revision)
    )


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnavailable(
            Said("cannot look at {path}: {why}").of(path=path, why=error.strerror)
        ) from None
