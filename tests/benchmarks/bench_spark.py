"""The books matched by DuckDB in a process and by a Spark on this machine, from the same files.

    uv run --group spark python tests/benchmarks/bench_spark.py 1000000

Seconds of the wall and of the CPU are those of the better of two rounds, which Spark's first one
warms up; of more than a million rows there is one round. Memory is the most that the process held:
that of a process of its own for DuckDB, which never made the month, Java's for Spark. Both answers
must be the same frames.
"""

import gc
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final

import msgspec
import pandas as pd
import reconcile_months
from harness import Row
from spark_server import spark_server

from kusanya_books.engine.engine import Dataset
from kusanya_books.match import ledger
from kusanya_books.request.days import period

ROWS: Final = 1_000_000
ROUNDS: Final = 2
_ONCE: Final = 1_000_000
"""Months of more rows are matched once: to warm up is little of it."""
_FRAMES: Final = ("rows", "bridge", "ageing", "doubles")


class Measurement(msgspec.Struct, frozen=True):
    """One engine on one size."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    found: ledger.LedgerMatch


def measure() -> list[Row]:
    """Return the rows of this room; none where Spark is not there, which is said."""
    if find_spec("pyspark") is None or which("java") is None:
        sys.stderr.write("spark is left out: it needs the group spark and a Java runtime\n")
        return []
    ours, theirs = both(ROWS)
    return [
        Row(
            what="1 M x 1 M by DuckDB, by Spark on one machine",
            unit=unit,
            ours=getattr(ours, name),
            against="Spark",
            theirs=getattr(theirs, name),
            goal=1,
            better="lower",
        )
        for unit, name in (("s", "wall_s"), ("CPU s", "cpu_s"), ("MB", "memory_mb"))
    ]


def both(rows: int) -> tuple[Measurement, Measurement]:
    """Match a month of `rows` collections on DuckDB, then on Spark. The answers are equal."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        reconcile_months.write(folder, rows)
        rounds = ROUNDS if rows <= _ONCE else 1
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
            ours = apart.submit(_measured, folder, "", None, rounds).result()
        with spark_server(folder) as server:
            theirs = _measured(folder, server.address, server.process, rounds)
    for name in _FRAMES:
        pd.testing.assert_frame_equal(getattr(theirs.found, name), getattr(ours.found, name))
    return ours, theirs


def _measured(folder: Path, engine: str, server: int | None, rounds: int) -> Measurement:
    """Match the month; `server` is the process that does the work, this one where None."""
    taken: list[tuple[float, float]] = []
    spent = _none if server is None else _cpu_of(server)
    for _ in range(rounds):
        gc.collect()
        began, busy = time.perf_counter(), time.process_time() + spent()
        found = _match(folder, engine)
        taken.append(
            (time.perf_counter() - began, time.process_time() + spent() - busy),
        )
    wall, cpu = min(taken)
    return Measurement(wall, cpu, _peak_mb(server or os.getpid()), found)


def _match(folder: Path, engine: str) -> ledger.LedgerMatch:
    """Match the month in `folder`; only what is no agreement comes back."""
    return ledger.match(
        Dataset((folder / "collections.parquet",), engine=engine),
        Dataset((folder / "ledger.parquet",), engine=engine),
        period=period("2026-03"),
        everything=False,
    )


def _none() -> float:
    return 0.0


def _cpu_of(process: int) -> Callable[[], float]:
    """Return what reads the CPU seconds of a process."""
    ticks = os.sysconf("SC_CLK_TCK")

    def read() -> float:
        text = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / ticks

    return read


def _peak_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) / 1024


def main(*sizes: str) -> None:
    """Measure sizes on both engines, and print a line for each."""
    line = "{:>12}  {:<8}{:>9}{:>9}{:>9}\n"
    sys.stdout.write(line.format("rows", "engine", "wall s", "CPU s", "MB"))
    for size in sizes or (str(ROWS),):
        for name, on in zip(("DuckDB", "Spark"), both(int(size)), strict=True):
            figures = (f"{on.wall_s:.1f}", f"{on.cpu_s:.1f}", f"{on.memory_mb:,.0f}")
            sys.stdout.write(line.format(f"{int(size):,}", name, *figures))
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
