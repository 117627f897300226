"""Reconciling a month with its books: ours beside plain pandas and the bare scan of the same files.

    python tests/benchmarks/run.py reconcile                a million collections and lines
    python tests/benchmarks/bench_reconcile.py 10000000     ten million, without plain pandas
    python tests/benchmarks/bench_reconcile.py 10000000 naive

Seconds are CPU seconds of a whole process after its imports (pandas alone takes longer to import
than the match); memory is the most that the process ever held, nothing subtracted.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import reconcile_months
from harness import Row, table

ROWS: Final = 1_000_000
ROUNDS: Final = 3
_SIDES: Final = Path(__file__).with_name("reconcile_sides.py")
Runs = dict[str, list[dict[str, Any]]]


def measure() -> list[Row]:
    """Return the rows of this room."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        reconcile_months.write(folder, ROWS)
        reconcile_months.store(folder / "store.db", ROWS)
        found = turns(folder, ("decode", "ours", "naive", "daily"), rounds=ROUNDS)
    return [
        *rows_of(found, "1 M", goal_mb=400),
        _row("1 M x 1 M against plain pandas", found, "naive", goal=8),
        Row(
            what="a store of 1 M to the daily report",
            unit="CPU s",
            ours=_middle(found["daily"], "cpu_s"),
            against="the goal",
            theirs=10,
            goal=1,
            better="lower",
        ),
    ]


def rows_of(found: Runs, size: str, *, goal_mb: int) -> list[Row]:
    """Return the rows that every size has."""
    return [
        _row(f"{size} x {size} against a bare scan", found, "decode", goal=1 / 3),
        Row(
            what=f"{size} x {size}, the most memory",
            unit="MB",
            ours=max(run["peak_mb"] for run in found["ours"]),
            against="the goal",
            theirs=goal_mb,
            goal=1,
            better="lower",
        ),
    ]


def turns(folder: Path, sides: Sequence[str], *, rounds: int) -> Runs:
    """Run the sides in turns, each a process of its own."""
    found: Runs = {side: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            command = [sys.executable, str(_SIDES), side, str(folder)]
            ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found[side].append(json.loads(ran.stdout))
            sys.stderr.write(f"{side}: {ran.stdout.decode()}")
    return found


def _row(what: str, found: Runs, other: str, *, goal: float) -> Row:
    return Row(
        what=what,
        unit="CPU s",
        ours=_middle(found["ours"], "cpu_s"),
        against={"naive": "plain pandas", "decode": "every column read once"}[other],
        theirs=_middle(found[other], "cpu_s"),
        goal=goal,
        better="lower",
    )


def _middle(run: list[dict[str, Any]], name: str) -> float:
    return float(statistics.median(one[name] for one in run))


def main(size: str, *more: str) -> None:
    """Measure another size, and print its table."""
    with tempfile.TemporaryDirectory() as made:
        reconcile_months.write(Path(made), int(size))
        found = turns(Path(made), ("decode", "ours", *more), rounds=1 if more else ROUNDS)
    rows = rows_of(found, f"{int(size) / 1e6:g} M", goal_mb=1_500)
    if "naive" in more:
        rows.append(_row(f"{size} against plain pandas", found, "naive", goal=8))
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
