"""How many bytes a second the console writes on Live in a running demo, and where on the screen.

    uv run python tests/benchmarks/console_output.py [SECONDS]

The demo starts afresh at its usual rate on a pseudo-terminal of 120 by 36. Goal: 6 kB/s at most,
for a slow line.
"""

import re
import sys
import tempfile
import time
from collections import Counter

from console_terminal import Terminal

_MOVE = re.compile(rb"\x1b\[(\d+);(\d+)H")
_WARM_S = 15.0
_PANE_AT = 77
"""The first column of the card beside the list."""
_FIGURES, _LIST = 2, 7
"""The first lines of what stands under the status line."""
_FOOT = 33


def region(line: int, column: int) -> str:
    """Return what stands at a place of Live."""
    if line >= _LIST and line < _FOOT:
        return "list" if column < _PANE_AT else "card"
    if line < _FIGURES:
        return "status line"
    return "figures" if line < _LIST else "last lines"


def count(written: bytes) -> Counter[str]:
    """Return the bytes by region: those behind a move belong to its place."""
    counted: Counter[str] = Counter()
    _, *moves = re.split(rb"(?=\x1b\[\d+;\d+H)", written)
    for piece in moves:
        place = _MOVE.match(piece)
        if place is not None:
            counted[region(int(place[1]), int(place[2]))] += len(piece)
    return counted


def main(seconds: float) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kusanya_console.cli", "demo", "--data", folder]
        with Terminal(command) as terminal:
            terminal.wait_for(rb"INV-\d{6}")
            terminal.read_for(_WARM_S)
            written, cpu, began = bytearray(), terminal.cpu_s, time.perf_counter()
            while time.perf_counter() - began < seconds:
                written += terminal.read_some(0.2)
            took, cpu = time.perf_counter() - began, terminal.cpu_s - cpu
    sys.stdout.write(f"{len(written) / took / 1000:.2f} kB/s (goal 6), CPU {cpu / took:.1%}\n")
    for name, found in count(bytes(written)).most_common():
        sys.stdout.write(f"{name:<12}{found / took:>7.0f} B/s\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
