"""The console on what a store knew in the past: its clock stands, or runs from one time to another.

The store under it is a copy, an ordinary one, so that every screen works. What differs is said in
the first line of each, with the date, and by every key that would change something.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import msgspec
from textual.binding import Binding, BindingType

from kusanya.errors import StoreError
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import FeedFailed
from kusanya_console.actions.results import ActionResult
from kusanya_console.application.app import ConsoleApp
from kusanya_console.ui.language import translate


class PastClock:
    """Time that runs from `start` to `end` so many times as fast as real time, and can be paused.

    Where both are the same instant it stands. Waiting is waiting in real time.
    """

    def __init__(
        self,
        start: datetime,
        end: datetime,
        *,
        speed: float = 1,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.end: Final = end
        self.speed: Final = speed
        self.is_paused = False
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._at, self._since = start, monotonic()

    def now(self) -> datetime:
        """Return the instant that is looked at."""
        with self._lock:
            return self._now()

    def monotonic(self) -> float:
        """Return real seconds."""
        return self._monotonic()

    def sleep(self, seconds: float) -> None:
        """Block for real seconds."""
        time.sleep(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Suspend for real seconds."""
        await asyncio.sleep(max(0.0, seconds))

    @property
    def is_over(self) -> bool:
        """Return whether the end is reached."""
        return self.now() >= self.end

    def pause(self, *, paused: bool) -> None:
        """Stand still, or go on."""
        with self._lock:
            self._at, self._since = self._now(), self._monotonic()
            self.is_paused = paused

    def _now(self) -> datetime:
        if self.is_paused:
            return self._at
        passed = timedelta(seconds=(self._monotonic() - self._since) * self.speed)
        return min(self._at + passed, self.end)


class PastApp(ConsoleApp):
    """A console on a copy of a store, as of the instant that `clock` shows, which the context gets.

    For a replay `advance` lets into the copy what had become known by an instant; it raises
    StoreError. Without it the clock stands.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause_replay", "Pause the replay, or let it go on.", id="replay.pause")
    ]

    def __init__(
        self,
        context: AppContext,
        clock: PastClock,
        *,
        advance: Callable[[datetime], object] | None = None,
        **options: Any,
    ) -> None:
        context.clock, context.past = clock, True
        super().__init__(context, **options)
        self._past_clock = clock
        self._advance = advance
        if advance is not None:
            self.context.show(ActionResult("a replay: p pauses it and lets it go on"))

    def _read(self) -> None:
        try:
            if self._advance is not None:
                self._advance(self._past_clock.now())
        except StoreError as error:
            self.post_message(FeedFailed(error))
        else:
            super()._read()

    def _show_status(self) -> None:
        self._status = msgspec.structs.replace(self._status, past=self._label())
        super()._show_status()

    def _label(self) -> str:
        clock = self._past_clock
        if self._advance is None:
            return translate("AS OF")
        if clock.is_over:
            return translate("REPLAY over")
        if clock.is_paused:
            return translate("REPLAY paused")
        return translate("REPLAY ×{speed}", speed=f"{clock.speed:g}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action can be taken: what stands cannot be paused."""
        if action == "pause_replay":
            return self._advance is not None
        return super().check_action(action, parameters)

    def action_pause_replay(self) -> None:
        """Pause the replay, or let it go on."""
        self._past_clock.pause(paused=not self._past_clock.is_paused)
        self._show_status()
