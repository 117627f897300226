"""When a console is at rest: no worker runs, nothing is unread, and nothing waits for its paint."""

import asyncio
from itertools import chain
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen


async def come_to_rest(pilot: Pilot[Any]) -> None:
    """Wait until nothing that was begun is left to do, but for what a test holds back itself.

    What a worker brings may begin the next one, and a paint may send messages, so that each round
    asks for all of it again.
    """
    app = pilot.app
    while not app._exit:  # one that ends reads nothing any more
        await app.workers.wait_for_complete()
        await pilot.pause()
        await _all_is_read()
        due = [screen for screen in chain(*app._screen_stacks.values()) if _waits(screen)]
        if not due and not len(app.workers):
            return
        for screen in due:
            screen._on_timer_update()


async def _all_is_read() -> None:
    """Let the event loop turn until it has nothing left to call but what a thread may bring."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined] # it has no other name
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 - it counts turns of the loop, not seconds
        await asyncio.sleep(0)


def _waits(screen: Screen[Any]) -> bool:
    """Return whether a screen waits for the sixtieth of a second at which it paints and calls back.

    Also a hidden screen does: what it was asked to call once it is painted is called then.
    """
    asked = (screen._layout_required, screen._scroll_required, screen._dirty_widgets)
    return any((screen._update_timer._active.is_set(), screen.is_current and any(asked)))
