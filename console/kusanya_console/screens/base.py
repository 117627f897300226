"""What every screen shares: its lines at the top and the bottom, and asking the store on a thread.

A question runs on a worker thread and comes back as a message; only handlers touch widgets. Of two
questions of one kind the later counts: an answer that nobody waits for any more is dropped.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from kusanya.clock import Clock
from kusanya.errors import StoreError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.commands import commands_of
from kusanya_console.feed import Snapshot
from kusanya_console.messages import Fetched, FetchFailed
from kusanya_console.present import Line, Look, TimeFormat
from kusanya_console.widgets.key_bar import KeyBar
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.widgets.status_line import Standing, StatusLine
from kusanya_console.words import WARN

SMALLEST = (60, 16)
REST_S: Final = 0.08
"""A held key repeats faster than this, a person who reads stops for longer."""


class Desk(msgspec.Struct, kw_only=True):
    """What the screens are given: sources arrive built, and `times` and `snapshot` move on."""

    store: Store
    mode: Mode
    clock: Clock
    read_only: bool = True
    times: TimeFormat = TimeFormat.EAT
    snapshot: Snapshot | None = None
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    @property
    def look(self) -> Look:
        """Return the present instant and the way to write it."""
        return Look(self.clock.now(), self.times)


class ConsoleScreen(Screen[None]):
    """A screen with a status line, a body and a key bar."""

    NAME: ClassVar[str] = ""
    CRUMB: ClassVar[str] = ""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self._asked: dict[str, int] = {}
        self._moves = 0

    def compose(self) -> ComposeResult:
        """Lay out the lines that every screen has around its own body."""
        yield StatusLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield KeyBar(commands_of(self.NAME), here=self.NAME)
        yield Sheet(id="too-small")

    def compose_body(self) -> ComposeResult:
        """Lay out this screen's own widgets."""
        yield from ()

    def on_mount(self) -> None:
        """Say which size is needed where there is too little room."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def _too_small(self, _width: int) -> list[Line]:
        columns, rows = SMALLEST
        needs = f"The console needs {columns}x{rows}; this is {self.size.width}x{self.size.height}"
        return [((needs, WARN),)]

    def on_resize(self) -> None:
        """Name the present size where it is too small."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def tell(self, standing: Standing) -> None:
        """Show how things stand; called every second and at every change."""
        self.query_one(StatusLine).tell(self.standing(standing), self.desk.look)
        self.second()

    def standing(self, standing: Standing) -> Standing:
        """Return `standing` as this screen sees it."""
        return msgspec.structs.replace(standing, crumb=self.CRUMB)

    def second(self) -> None:
        """Redraw what moves with the time."""

    def advance(self, snapshot: Snapshot) -> None:
        """Apply what the feed brought."""

    def restyle(self) -> None:
        """Draw again with another time format."""

    def ask(self, what: str, question: Callable[[], Any]) -> None:
        """Run `question` on a thread; `answered` gets its result unless it is asked anew before."""
        generation = self._asked[what] = self._asked.get(what, 0) + 1

        def run() -> None:
            try:
                value = question()
            except StoreError as error:
                self.post_message(FetchFailed(what, generation, error))
            else:
                self.post_message(Fetched(what, generation, value))

        self.run_worker(run, thread=True, group=what, name=what)

    def when_rested(self, fetch: Callable[[], None]) -> None:
        """Run `fetch` once the cursor has rested; a move before that lets it wait anew."""
        self._moves = move = self._moves + 1

        async def wait() -> None:
            await self.desk.asleep(REST_S)
            if move == self._moves:
                fetch()

        self.run_worker(wait(), group="rest", name="rest")

    def answered(self, what: str, value: Any) -> None:
        """Apply the answer to a question."""

    def unanswered(self, what: str) -> None:
        """Note that the store could not answer; what is shown stays."""

    def on_fetched(self, message: Fetched) -> None:
        """Apply an answer that is still wanted."""
        message.stop()
        if self._asked.get(message.what) == message.generation:
            with self.app.batch_update():
                self.answered(message.what, message.value)

    def on_fetch_failed(self, message: FetchFailed) -> None:
        """Keep what is shown; the status line tells that the store is lost."""
        if self._asked.get(message.what) == message.generation:
            self.unanswered(message.what)

    def action_back(self) -> None:
        """Go one step back; a screen with nothing to close goes nowhere."""
