"""Run the benchmarks and print one table: ours, peer or limit, ratio, goal.

    uv run --group bench python tests/benchmarks/run.py            all
    uv run --group bench python tests/benchmarks/run.py signature  one

Each `bench_*.py` beside this file has a `measure()` that returns its rows.
"""

import importlib
import sys
from pathlib import Path

from harness import Row, table

HERE = Path(__file__).parent


def main(names: list[str]) -> int:
    """Run the named rooms, or all, and return 2 for a name that is none."""
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    if unknown := set(names) - set(known):
        sys.stderr.write(f"no such benchmark: {', '.join(unknown)}; there: {', '.join(known)}\n")
        return 2
    rows: list[Row] = []
    for name in names or known:
        sys.stderr.write(f"measuring {name}\n")
        rows += importlib.import_module(f"bench_{name}").measure()
    sys.stdout.write(table(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
