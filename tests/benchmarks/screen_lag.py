"""How long a final state takes from the service to the screen, in a running demo.

Run it as `uv run python tests/benchmarks/screen_lag.py [SECONDS]`. Service, receiver and traffic
run as in `kusanya demo`; the console runs without a terminal. A final state counts as seen once the
snapshot that brought it was applied and the screen was painted. Real milliseconds.
"""

import asyncio
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from textual.message import Message

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import FeedAdvanced
from kusanya_console.application.app import ConsoleApp
from kusanya_console.sandbox.demo.folder import DemoFolder
from kusanya_console.sandbox.demo.stage import Stage


async def watch(store: Store, seconds: float) -> list[timedelta]:
    """Return the lag of every final state that came within `seconds`."""
    app = ConsoleApp(AppContext(store=store, mode=Mode.TEST, clock=SystemClock(), profile="demo"))
    lags: list[timedelta] = []
    seen: set[str] = set()

    def painted(changed: frozenset[str]) -> None:
        now = datetime.now(UTC)
        for row in store.collections.by_id(sorted(changed - seen), Mode.TEST).values():
            if row.completed_at is not None:
                seen.add(row.id)
                lags.append(now - row.completed_at)

    def hook(message: Message) -> None:
        if isinstance(message, FeedAdvanced) and message.snapshot.changed:
            app.call_after_refresh(painted, message.snapshot.changed)

    async with app.run_test(size=(120, 36), message_hook=hook):
        await asyncio.sleep(seconds)
    return sorted(lags)


def main(seconds: float) -> None:
    """Run a demo for `seconds` and print the lags."""
    with (
        tempfile.TemporaryDirectory() as folder,
        DemoFolder(Path(folder)) as place,
        Stage(place, seed=1, speed=1, traffic=["--rate=5", "--seed=1"]) as stage,
        Store.open(stage.folder.store_url, read_only=True) as store,
    ):
        lags = asyncio.run(watch(store, seconds))
    milliseconds = [lag // timedelta(milliseconds=1) for lag in lags]
    sys.stdout.write(
        f"{len(lags)} finals: p50 {milliseconds[len(lags) // 2]} ms, "
        f"p99 {milliseconds[int(len(lags) * 0.99)]} ms\n"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
