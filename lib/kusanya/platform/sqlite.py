"""Which SQLite a store file is opened with: one that cannot corrupt its log.

Releases before 3.51.3 can corrupt a WAL when two connections write or checkpoint at once. pysqlite3
brings a newer one on the platforms that it has wheels for; elsewhere the standard library's own is
taken if it is new enough.
"""

import platform
import sys
from importlib import import_module
from typing import Any, Final

SQLITE_MIN: Final = (3, 51, 3)
"""The first SQLite without the WAL-reset corruption of 3.7.0 to 3.51.2."""
WHEELS: Final = frozenset({("linux", "x86_64"), ("darwin", "arm64"), ("win32", "AMD64")})
"""Operating system and processor of the machines that pysqlite3 has wheels for."""
_DRIVERS: Final = ("pysqlite3.dbapi2", "sqlite3")


def sqlite_driver() -> Any:
    """Return the DB-API module of SQLite to use, the first that is new enough.

    When none is, the last that was found is returned and `sqlite_refusal` says why it will not do.
    Raises ImportError where Python was built without SQLite and pysqlite3 is missing too.
    """
    found = None
    for name in _DRIVERS:
        try:
            found = import_module(name)
        except ImportError:  # the next one, or the complaint below
            continue
        if found.sqlite_version_info >= SQLITE_MIN:
            return found
    if found is None:
        raise ImportError(f"this Python has no SQLite: {_remedy()}")
    return found


def sqlite_refusal(driver: Any) -> str | None:
    """Return why `driver` must not open a file that several connections write, and what to do."""
    if driver.sqlite_version_info >= SQLITE_MIN:
        return None
    return (
        f"SQLite {driver.sqlite_version} can corrupt a file that two connections write: {_remedy()}"
    )


def bind_unchanged(driver: Any) -> None:
    """Let `driver` take bytes and None as they are, unless the program adapts them itself.

    It asks each value of another type than int, float or str to adapt itself. These two never do,
    and to find that out costs more than to write the value.
    """
    for kind in (bytes, type(None)):
        if (kind, driver.PrepareProtocol) not in driver.adapters:
            driver.register_adapter(kind, _unchanged)


def _unchanged(value: bytes | None) -> bytes | None:
    return value


def _remedy() -> str:
    oldest = ".".join(map(str, SQLITE_MIN))
    machine = platform.machine()
    if (sys.platform, machine) in WHEELS:
        return "pip install --force-reinstall --only-binary :all: 'pysqlite3>=0.6.1'"
    return (
        f"pysqlite3 has no wheel for {sys.platform} on {machine}, so use a Python whose own "
        f"sqlite3 module has SQLite {oldest} or newer, or keep the store in PostgreSQL: "
        "pip install 'kusanya[postgres]'"
    )
