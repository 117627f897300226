"""How many bytes a second the console writes in a running demo, and where on the screen.

    uv run python tests/benchmarks/console_output.py [SECONDS [KEY [RATE]]]

The demo starts afresh on a pseudo-terminal of 120 by 36, with RATE collections a second where one
is given; KEY goes to the screen, 1 for Live, 2 for Deliveries. Goals, for a slow line: 6 kB/s on
Live at the usual rate, 10 kB/s on Deliveries in a burst of 20 a second.
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
_TIMELINE = 21


def region(line: int, column: int, key: str) -> str:
    """Return what stands at a place of a screen."""
    if key == "2" and _TIMELINE <= line < _FOOT:
        return "attempts"
    if line >= (_LIST if key == "1" else _FIGURES + 2) and line < _FOOT:
        return "list" if column < _PANE_AT else "card"
    if line < _FIGURES:
        return "status line"
    return "figures" if line < _LIST else "last lines"


def count(written: bytes, key: str) -> Counter[str]:
    """Return the bytes by region: those behind a move belong to its place."""
    counted: Counter[str] = Counter()
    _, *moves = re.split(rb"(?=\x1b\[\d+;\d+H)", written)
    for piece in moves:
        place = _MOVE.match(piece)
        if place is not None:
            counted[region(int(place[1]), int(place[2]), key)] += len(piece)
    return counted


def main(seconds: float, key: str = "1", rate: str = "") -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "kusanya_console.cli", "demo", "--data", folder]
        command += [f"--rate={rate}"] if rate else []
        with Terminal(command) as terminal:
            terminal.wait_for(rb"INV-\d{6}")
            terminal.press(key.encode())
            terminal.read_for(_WARM_S)
            written, cpu, began = bytearray(), terminal.cpu_s, time.perf_counter()
            while time.perf_counter() - began < seconds:
                written += terminal.read_some(0.2)
            took, cpu = time.perf_counter() - began, terminal.cpu_s - cpu
    sys.stdout.write(f"{len(written) / took / 1000:.2f} kB/s, CPU {cpu / took:.1%}\n")
    for name, found in count(bytes(written), key).most_common():
        sys.stdout.write(f"{name:<12}{found / took:>7.0f} B/s\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0, *sys.argv[2:4])
