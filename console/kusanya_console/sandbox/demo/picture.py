"""Draw the README's picture: the console itself, on the store of a demo.

Run it as `python -m kusanya_console.sandbox.demo.picture STORE FILE.svg`.
"""

import asyncio
import re
import sys
from pathlib import Path

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp

_SIZE = (120, 36)


async def draw(store: Store) -> str:
    """Open Live on the store, put the cursor on a failure, and return what is seen as SVG."""
    context = AppContext(store=store, mode=Mode.TEST, clock=SystemClock(), profile="demo")
    app = ConsoleApp(context, store_shown="store.sqlite")
    async with app.run_test(size=_SIZE) as pilot:
        for key in ("", "n", "n"):
            if key:
                await pilot.press(key)
            for _ in range(5):
                await app.workers.wait_for_complete()
                await pilot.pause()
        drawn = app.export_screenshot(title="kusanya demo")
    # A picture loads nothing from elsewhere: the reader's own monospaced font will do.
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", drawn, flags=re.DOTALL)


if __name__ == "__main__":
    with Store.open(sys.argv[1], read_only=True) as opened:
        Path(sys.argv[2]).write_text(asyncio.run(draw(opened)), encoding="utf-8")
