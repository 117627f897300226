"""What the console costs to look at: its first paint, and a key, beside peers on the same terminal.

    KUSANYA_MODE=live uv run python tests/benchmarks/console_paint.py STORE [ROUNDS]

STORE comes from console_store.py. First paint: from the start of the process to the first record on
the terminal, beside an application of Textual that shows one line, alone and with SQLAlchemy loaded
as everything that reads a store has it, and a `DataTable` of 10,000 rows.
Key: from the key to the cursor on its next record, and to a page of others. Wall and CPU
milliseconds, medians of turns in one run.
"""

import statistics
import sys
import time

from console_terminal import Terminal

_EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("INV-00000000")
Empty().run()
"""
_TABLE = """
from textual.app import App
from textual.widgets import DataTable
class Peer(App):
    def compose(self):
        yield DataTable(cursor_type="row")
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("created", "reference", "channel", "amount", "fee", "status")
        for i in range(10_000):
            table.add_row("15:23:21", f"INV-{i:08}", "M-Pesa", f"{i * 79:,}", f"{i:,}", "succeeded")
Peer().run()
"""
RECORD = rb"INV-\d{8}"


def first_paint(arguments: list[str]) -> tuple[float, float]:
    """Return wall and CPU milliseconds until the first record stands on the terminal."""
    with Terminal(arguments) as terminal:
        wall = terminal.wait_for(RECORD) - terminal.began
        return wall * 1000, terminal.cpu_s * 1000


def keys(arguments: list[str], key: bytes, times: int) -> list[float]:
    """Return the milliseconds from each press of `key` to what it changes on the terminal."""
    taken = []
    with Terminal(arguments) as terminal:
        terminal.wait_for(RECORD)
        terminal.drain(0.5)
        for _ in range(times):
            at = terminal.press(key)
            taken.append((terminal.wait_for(RECORD, within_s=10) - at) * 1000)
            # The pane follows once the cursor rests; a person's next key comes later than that.
            terminal.read_for(0.25)
    return taken


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(store: str, rounds: int) -> None:
    """Measure and print."""
    console = [sys.executable, "-m", "kusanya_console.cli", "console", "--store", store]
    contestants = {
        "empty Textual app": [sys.executable, "-c", _EMPTY],
        "and SQLAlchemy": [sys.executable, "-c", f"import sqlalchemy\n{_EMPTY}"],
        "console": console,
        "DataTable, 10,000 rows": [sys.executable, "-c", _TABLE],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for arguments in contestants.values():
        first_paint(arguments)
    for _ in range(rounds):
        for name, arguments in contestants.items():
            found[name].append(first_paint(arguments))
    floor_wall = statistics.median(wall for wall, _ in found["empty Textual app"])
    floor_cpu = statistics.median(cpu for _, cpu in found["empty Textual app"])
    say(f"first paint, ms           wall  above empty     CPU  above empty   ({rounds} turns)")
    for name, figures in found.items():
        wall = statistics.median(wall for wall, _ in figures)
        cpu = statistics.median(cpu for _, cpu in figures)
        above = wall - floor_wall, cpu - floor_cpu
        say(f"{name:<24}{wall:>6.0f} {above[0]:>12.0f} {cpu:>7.0f} {above[1]:>12.0f}")
    for label, key in (("j", b"j"), ("PgDn", b"\x1b[6~")):
        taken = sorted(keys(console, key, 60))
        time.sleep(0.2)
        say(
            f"{label:<5} to repaint: p50 {taken[30]:.0f} ms, p95 {taken[57]:.0f} ms, "
            f"max {taken[-1]:.0f} ms   goal p95 <= 60 ms"
        )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
