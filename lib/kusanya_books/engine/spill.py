"""Folders for what memory does not hold: only their user opens them, none outlives its process."""

import os
import shutil
import stat
import sys
import tempfile
import weakref
from functools import cache
from pathlib import Path
from typing import Final

_PREFIX: Final = "kusanya-spill-"


def folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder of mode 0700 whose name holds the process id.

    It is removed by `cleanup`, or at the end of the process. The first call of a process also
    removes the folders that killed processes of this user left behind.
    """
    parent = Path(tempfile.gettempdir())
    _purge_once(parent)
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=parent)


class LastingFolder:
    """A spill folder that is removed with this object, or at the end of the process."""

    def __init__(self) -> None:
        made = folder()
        self.path = Path(made.name)
        weakref.finalize(self, made.cleanup)


@cache
def _purge_once(parent: Path) -> None:
    purge(parent)


def purge(parent: Path) -> None:
    """Remove the spill folders in `parent` whose process, of this user, has ended."""
    if sys.platform == "win32":
        # There a signal cannot ask whether a process is alive: it would end it.
        return
    for found in parent.glob(f"{_PREFIX}*"):
        number = found.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdecimal() and _is_ours(found) and not _is_alive(int(number)):
            # Another run may remove it at the same moment.
            shutil.rmtree(found, ignore_errors=True)


def _is_ours(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        # Another user's process, or a number that no process has: leave it alone.
        return True
    return True
