"""What can happen to the files of an SQLite store while programs work on it."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from kusanya.errors import StoreUnavailable
from kusanya.platform.sqlite import sqlite_driver
from kusanya.store import Store


def beside(path: Path, *ends: str) -> list[Path]:
    return [path.with_name(path.name + end) for end in ends]


def remove(path: Path, *ends: str) -> None:
    for one in beside(path, *ends):
        one.unlink()


def copy(source: Path, target: Path) -> None:
    """Copy in a process of its own: closing a file lets go of all locks that this one has on it."""
    subprocess.run(["/bin/cp", str(source), str(target)], check=True)


def move_a_backup_over(path: Path) -> None:
    path.with_name("backup.db").rename(path)


def copy_a_backup_over(path: Path) -> None:
    copy(path.with_name("backup.db"), path)


def take(store: Store, make: Any, numbers: range) -> list[int]:
    """Record arrivals; return those that were acknowledged."""
    acknowledged: list[int] = []
    for number in numbers:
        try:
            store.record(make.arrival(number))
        except StoreUnavailable:
            continue
        acknowledged.append(number)
    return acknowledged


def checkpoint(path: Path) -> None:
    """Bring everything into the main file, as any program on the store may do."""
    with closing(sqlite_driver().connect(str(path))) as other:
        assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def opened_elsewhere(path: Path) -> str:
    """Open the store in a process of its own; return its journal's end and findings, or why not."""
    program = (
        "import sys; from kusanya.store import Store\n"
        "with Store.open(sys.argv[1]) as store: print(store.feed.head(), store.maintenance.check())"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout or ended.stderr
