"""The console while money moves: CPU, how far behind the screen is, and memory over time.

    uv run python tests/benchmarks/console_load.py STORE [SECONDS] [CHANGES_A_SECOND]

STORE comes from console_store.py and is written to. Half of the changes are new collections, the
other half their final states, through the ordinary journal. The console runs on a pseudo-terminal;
what it writes is read for references, so "behind" is commit to terminal: at any moment the age of
the newest record on the screen, less the time since the last commit. Goals: at most 35 % of a core
at 200 changes a second, never more than a second behind, memory flat.
"""

import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from console_terminal import Terminal

from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import decode_collection

RUN = 10 + int(time.time()) % 90
"""Tells the records of this run from those of others in the same store."""
_REFERENCE = re.compile(rb"INV-%d(\d{6})" % RUN)
_STARTED = time.time()
_WARM_S = 5.0
_SAMPLE_S = 5.0


class Traffic(threading.Thread):
    """Writes changes at a rate; `committed` holds when each collection became durable."""

    def __init__(self, store: Store, rate: float) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._gap = 2 / rate
        self.committed: list[float] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Create a collection and end the one of 100 before it, in turns."""
        due = time.perf_counter()
        number = 0
        while not self.ended.is_set():
            waiting = [self._store.submit(_fact(number, "created"))]
            if number >= 100:
                waiting.append(self._store.submit(_fact(number - 100, "succeeded")))
            for future in waiting:
                future.result()
            self.committed.append(time.perf_counter())
            number += 1
            due += self._gap
            time.sleep(max(0.0, due - time.perf_counter()))


def _fact(number: int, status: str) -> Observation:
    now = datetime.now(UTC)
    final: dict[str, Any] = {} if status == "created" else {"completed_at": now}
    said = {
        "id": f"col_{int(_STARTED)}x{number:06}", "status": status, "amount": 5_000 + number % 900,
        "fee": 70, "currency": "TZS", "channel": "MPESA_TZ", "phone": f"2557{number % 10**8:08}",
        "reference": f"INV-{RUN}{number:06}", "mode": "live",
        "created_at": _BORN.setdefault(number, now), **final,
    }  # fmt: skip
    return Observation(
        source=Source.ANSWER if status == "created" else Source.POLL,
        source_id=f"{status}-{_STARTED}-{number}",
        observed_at=now,
        observed_in=decode_collection(msgspec.json.encode(said)).mode,
        collection=decode_collection(msgspec.json.encode(said)),
    )


_BORN: dict[int, datetime] = {}


class Screen:
    """What stands on the terminal: the newest collection, and how far behind it is."""

    def __init__(self, terminal: Terminal, traffic: Traffic) -> None:
        self._terminal, self._traffic = terminal, traffic
        self._shown = -1
        self._tail = b""

    def behind(self) -> float:
        """Return the age of the oldest committed change that is newer than the screen, in s."""
        committed = self._traffic.committed
        unseen = self._shown + 1
        return time.perf_counter() - committed[unseen] if unseen < len(committed) else 0.0

    def watch(self, seconds: float) -> Iterator[float]:
        """Read the terminal for so long; yield how far behind it was, again and again."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            written = self._tail + self._terminal.read_some(0.02)
            self._tail = written[-16:]
            numbers = [int(found) for found in _REFERENCE.findall(written)]
            before = self.behind()
            self._shown = max([self._shown, *numbers])
            yield max(before, self.behind())


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(path: str, seconds: float, rate: float) -> None:
    """Measure and print, a line for every minute and one for the whole."""
    command = [sys.executable, "-m", "kusanya_console.cli", "console", "--store", path]
    with Store.open(Path(path)) as store:
        traffic = Traffic(store, rate)
        with Terminal(command) as terminal:
            terminal.wait_for(rb"INV-\d{8}")
            screen = Screen(terminal, traffic)
            traffic.start()
            list(screen.watch(_WARM_S))
            began, cpu = time.perf_counter(), terminal.cpu_s
            written = len(traffic.committed)
            lags: list[float] = []
            memory: list[float] = []
            while time.perf_counter() - began < seconds:
                lags += screen.watch(_SAMPLE_S)
                memory.append(terminal.memory_mb)
                if len(memory) % 12 == 0:
                    say(f"{len(memory) * _SAMPLE_S / 60:.0f} min: {memory[-1]:.0f} MB")
            took = time.perf_counter() - began
            share = (terminal.cpu_s - cpu) / took
            changes = 2 * (len(traffic.committed) - written) / took
            traffic.ended.set()
            traffic.join()
    lags.sort()
    tenth = max(1, len(memory) // 10)
    first, last = statistics.mean(memory[:tenth]), statistics.mean(memory[-tenth:])
    late = [lag * 1000 for lag in (lags[len(lags) // 2], lags[int(len(lags) * 0.99)], lags[-1])]
    say(f"{changes:.0f} changes/s for {took:.0f} s: {share:.0%} of a core (goal 35 %)")
    say("behind: p50 {:.0f} ms, p99 {:.0f} ms, max {:.0f} ms (goal 1,000)".format(*late))
    say(f"memory: {first:.1f} MB at first, {last:.1f} MB at last, {max(memory):.1f} MB at most")


if __name__ == "__main__":
    main(
        sys.argv[1],
        float(sys.argv[2]) if len(sys.argv) > 2 else 60.0,
        float(sys.argv[3]) if len(sys.argv) > 3 else 200.0,
    )
