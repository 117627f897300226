"""The file of an SQLite store before it is opened: made whole or not at all, and never guessed at.

Beside a store lies a small hidden note with the store's id. It tells a store that went away from
one that never was: a new one in its place would know nothing of what was sent to customers.
"""

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any, Final

from kusanya.errors import StoreDamaged, StoreUnavailable
from kusanya.privacy.secret_url import mask_url

_TAKE_AS_IT_IS: Final = "run kusanya store migrate"
"""The word of a person who knows what happened to the files."""
_OTHERS_WAIT_S: Final = 2.0
_LOOK_AGAIN_S: Final = 0.01
_DISTRUSTED: Final = "-wal distrusted"
# SQLite's wal-index: two copies of a header of 48 bytes, then how far checkpoints have come.
# Source: https://sqlite.org/walformat.html, "WAL-Index File Format".
_INDEX_BYTES: Final = 100
_WAL_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_LARGEST_PAGE: Final = 65_536


class SqliteFile:
    """Where an SQLite store lies, and how its driver opens it."""

    def __init__(
        self, path: Path, *, connect: Callable[[str], Any], error: type[Exception]
    ) -> None:
        self.path: Final = path
        self.connect: Final = connect
        """Opens the file with a query of SQLite's URI; returns the driver's connection."""
        self.error: Final = error
        """What the driver raises."""
        # SQLite puts its files beside the file itself, wherever a link to it stands.
        self._real: Final = Path(os.path.realpath(path))
        self.wal: Final = self._real.with_name(f"{self._real.name}-wal")
        """The write-ahead log."""
        self.shm: Final = self._real.with_name(f"{self._real.name}-shm")
        """The log's index, by which programs on one store meet."""
        self._index: int | None = None
        self.note: Final = self._real.with_name(f".{self._real.name}.id")
        """The note that tells which store lies here."""

    def refuse_shared_names(self) -> None:
        """Raise StoreUnavailable where -wal and -shm would not be everybody's.

        They are found by the file's name: who opens it by another name has others, and two
        programs would write over each other.
        """
        found = self.path.stat()
        if not stat.S_ISREG(found.st_mode):
            return
        if found.st_nlink > 1:
            raise StoreUnavailable(
                f"{self.path} has several names (hard links): a store has one; "
                "copy it with kusanya store backup and remove the other names"
            )
        if _is_mount(self._real):
            raise StoreUnavailable(
                f"{self.path} is mounted as a single file: mount the folder that holds it, "
                "because a store is the file together with its -wal and -shm"
            )

    def refuse_foreign_wal(self) -> None:
        """Raise StoreUnavailable where -wal was written for a file that is not here any more."""
        if self._kept().endswith(_DISTRUSTED) and self.wal.exists():
            raise StoreUnavailable(
                f"{self.path} was removed, replaced, overwritten or cut short while it was in "
                f"use, and {self.wal.name} belongs to the former file: if a backup stands there "
                f"now, remove {self.wal.name} and {self.shm.name}; if it is the former file, "
                f"{_TAKE_AS_IT_IS}"
            )

    def refuse_torn_apart(self, *, forgiving: bool) -> None:
        """Raise where -wal or -shm was removed while others use them or what they held is missing.

        Takes a connection more, and only where one of them is missing. A `forgiving` opening gives
        up what is missing. Raises StoreUnavailable and StoreDamaged.
        """
        if self.wal.exists() and self.shm.exists():
            return
        self._refuse_company()
        if not forgiving:
            self._refuse_lost_commits()

    def _refuse_company(self) -> None:
        """Raise while others have the store open without the -shm by which we would meet them."""
        deadline = time.monotonic() + _OTHERS_WAIT_S
        while not self._is_ours_alone():
            if self.wal.exists() and self.shm.exists():
                return  # another program had just begun
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"another program has {self.path} open, and its -wal or -shm was removed: "
                    "stop that program, then start again"
                )
            time.sleep(_LOOK_AGAIN_S)

    def _is_ours_alone(self) -> bool:
        try:
            with contextlib.closing(self.connect("mode=rw")) as connection:
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute("BEGIN EXCLUSIVE")
        except self.error as error:
            # Whatever else is wrong with the file is raised by the opening itself.
            return "locked" not in str(error)
        return True

    def _refuse_lost_commits(self) -> None:
        """Raise where -shm knows of commits that were in a -wal which is gone or was cut short."""
        try:
            written, index = self.shm.stat().st_mtime, self.shm.read_bytes()[:_INDEX_BYTES]
        except FileNotFoundError:
            return
        if len(index) < _INDEX_BYTES or written < _booted_at():
            return  # after a loss of power it may say anything
        copied = int.from_bytes(index[96:100], sys.byteorder)
        size = self.wal.stat().st_size if self.wal.exists() else 0
        if copied < _frames(index) and size < _wal_bytes(index):
            raise StoreDamaged(
                f"{self.wal} was removed or cut short while it held what had been acknowledged: "
                f"put it back or restore a backup; to go on without it, {_TAKE_AS_IT_IS}"
            )

    def wal_bytes_indexed(self) -> int:
        """Return how long the -wal has to be to hold every commit that its index knows of.

        Reads the -shm, and never closes it: that would let go of SQLite's locks on it.
        """
        if self._index is None:
            self._index = os.open(self.shm, os.O_RDONLY)
        return _wal_bytes(os.pread(self._index, _INDEX_BYTES, 0))

    def refuse_new(self) -> None:
        """Raise StoreUnavailable where a store lay before: another one would not know of it."""
        if self.note.exists():
            raise StoreUnavailable(
                f"the store {self.path} is gone: one lay here, and it knows what was sent; "
                f"put it back or restore a backup; to begin an empty one, {_TAKE_AS_IT_IS}"
            )

    def create(self, make: Callable[[Path], None]) -> bool:
        """Let `make` fill a new file and give it its name: it is there whole or not at all.

        Durable on return. Returns False when another process was first. Raises OSError.
        """
        real = self._real
        real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone_in(real.parent):
            if real.exists():
                return False
            growing = real.with_name(f"{real.name}.new")
            for leftover in ("", "-journal", "-wal", "-shm"):
                growing.with_name(growing.name + leftover).unlink(missing_ok=True)
            create_file(growing)
            make(growing)
            growing.rename(real)
            sync_folder(real.parent)
            return True

    def take_note(self, store_id: str) -> None:
        """Say durably beside the file which store lies here."""
        self._keep(store_id)

    def distrust_wal(self) -> None:
        """Say durably that the -wal is not that of the file which lies here now."""
        self._keep(f"{self._kept().partition(' ')[0]} {_DISTRUSTED}")

    def _kept(self) -> str:
        try:
            return self.note.read_text().strip()
        except FileNotFoundError:
            return ""

    def _keep(self, said: str) -> None:
        if self._kept() == said:
            return
        descriptor = os.open(self.note, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, f"{said}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self.note.parent)


def _frames(index: bytes) -> int:
    return int.from_bytes(index[16:20], sys.byteorder)


def _wal_bytes(index: bytes) -> int:
    page = int.from_bytes(index[14:16], sys.byteorder)
    frame = _FRAME_HEADER_BYTES + (_LARGEST_PAGE if page == 1 else page)
    return _WAL_HEADER_BYTES + _frames(index) * frame if _frames(index) else 0


def create_file(path: Path) -> bool:
    """Create the empty file of an SQLite store, readable by its owner alone.

    Returns False when it is there already. Missing folders are created. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except FileExistsError:
        return False
    os.close(descriptor)
    return True


def need_folder(target: Path) -> None:
    """Raise StoreUnavailable where the folder of a file to come is missing.

    It is not made: where its disk is not mounted it would be on another one.
    """
    if not target.parent.is_dir():
        named = mask_url(str(target.parent))
        raise StoreUnavailable(f"there is no folder {named}: make it, or mount its disk")


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable: SQLite ignores it when its own attempt fails."""
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows opens no folders; NTFS keeps its names in a journal of its own
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from creating a store in `folder` until the end of the block."""
    try:
        import fcntl
    except ImportError:
        # Windows renames no file over one that exists.
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_mount(real: Path) -> bool:
    """Return whether something is mounted on this very path."""
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes()
    except OSError:
        # Not Linux: a mount of its own is at least another device.
        return real.stat().st_dev != real.parent.stat().st_dev
    # The kernel writes blanks and backslashes of a path as octal numbers.
    said = os.fsencode(real)
    for sign in (b"\\", b" ", b"\t", b"\n"):
        said = said.replace(sign, b"\\%03o" % sign[0])
    return any(line.split(b" ", 5)[4] == said for line in mounts.splitlines())


def _booted_at() -> float:
    """Return when this machine started, or the end of time where it does not say."""
    clock: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return inf if clock is None else time.time() - time.clock_gettime(clock)
