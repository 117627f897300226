"""What starting costs, each in a fresh process: seconds of wall time, and beside it the limit."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Measure, Row, interleaved

from kusanya.store import Store


def process(*arguments: str) -> Measure:
    """Return a measure of one whole process."""

    def once() -> float:
        began = time.perf_counter()
        quiet = subprocess.DEVNULL
        # `find` finds nothing in an empty store and says so with its exit code.
        subprocess.run([sys.executable, *arguments], stdout=quiet, stderr=quiet, check=False)
        return (time.perf_counter() - began) * 1000

    return once


def measure() -> list[Row]:
    """Return the rows of this room."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        Store.open(store).close()
        command = ("-m", "kusanya_console.cli")
        found = interleaved(
            {
                "bare": process("-c", "pass"),
                "httpx": process("-c", "import httpx"),
                "typer": process("-c", "import typer"),
                "sqlalchemy": process("-c", "import typer, sqlalchemy"),
                "kusanya": process("-c", "import kusanya; kusanya.Client"),
                "help": process(*command, "--help"),
                "find": process(*command, "find", "INV-1", f"--store={store}"),
            },
            rounds=7,
        )
    return [
        Row(
            what="import kusanya's client",
            unit="ms",
            ours=found["kusanya"],
            against="import httpx alone",
            theirs=found["httpx"],
            goal=1 / 1.5,
            better="lower",
        ),
        Row(
            what="kusanya --help",
            unit="ms",
            ours=found["help"],
            against="import typer alone",
            theirs=found["typer"],
            goal=1 / 1.5,
            better="lower",
        ),
        Row(
            what="kusanya find, cold",
            unit="ms",
            ours=found["find"],
            against="import typer and sqlalchemy alone",
            theirs=found["sqlalchemy"],
            goal=1 / 1.5,
            better="lower",
        ),
    ]
