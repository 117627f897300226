"""What every screen shares: its lines at the top and the bottom, and asking the store on a thread.

A question runs on a worker thread and comes back as a message; only handlers touch widgets. Of two
questions of one kind the later counts: an answer that nobody waits for any more is dropped.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

import msgspec
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from kusanya.errors import StoreError
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import Fetched, FetchFailed, ScreenRequested
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.commands import OPENS_A_BOX, commands_of
from kusanya_console.feed import Snapshot
from kusanya_console.screens.result_line import ResultLine
from kusanya_console.screens.status_line import StatusBarState, StatusLine
from kusanya_console.ui.format import Line
from kusanya_console.ui.vocabulary import WARN
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.key_bar import KeyBar
from kusanya_console.widgets.sheet import Sheet

SMALLEST = (60, 16)
REST_S: Final = 0.08
"""A held key repeats faster than this, a person who reads stops for longer."""


class ConsoleScreen(Screen[None]):
    """A screen with a status line, a body and a key bar."""

    NAME: ClassVar[str] = ""
    CRUMB: ClassVar[str] = ""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self._asked: dict[str, int] = {}
        self._moves = 0

    def compose(self) -> ComposeResult:
        """Lay out the lines that every screen has around its own body."""
        yield StatusLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield ResultLine()
        keys = tuple(one for one in commands_of(self.NAME) if self.context.is_here(one))
        yield KeyBar(keys, here=self.NAME, shown=self.context.shown)
        yield Sheet(id="too-small")

    def compose_body(self) -> ComposeResult:
        """Lay out this screen's own widgets."""
        yield from ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - the framework's
        """Leave the key that opens a box to the box that is being typed into."""
        return not (action in OPENS_A_BOX and isinstance(self.focused, Box))

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

    def show_status(self, state: StatusBarState) -> None:
        """Show how things stand; called every second and at every change."""
        self.query_one(StatusLine).show_state(self.status_state(state), self.context.look)
        self.context.mask()
        self.show_result()
        self.second()

    def show_result(self) -> None:
        """Show how what was asked or done last has ended."""
        self.query_one(ResultLine).show_result(self.context.result, self.context.revealed)

    def say(self, sentence: str) -> None:
        """Answer a key that does nothing with its reason."""
        self.context.show(ActionResult(sentence, ActionOutcome.FAILED))
        self.show_result()

    def on_screen_suspend(self) -> None:
        """Mask a revealed phone: nobody looks at it any more."""
        self.context.mask(now=True)

    def status_state(self, state: StatusBarState) -> StatusBarState:
        """Return `state` as this screen sees it."""
        return msgspec.structs.replace(state, crumb=self.CRUMB)

    def entered(self) -> None:
        """Take up what a person comes here for, who pressed the screen's key."""

    def second(self) -> None:
        """Redraw what moves with the time."""

    def advance(self, snapshot: Snapshot) -> None:
        """Apply what the feed brought."""

    def restyle(self) -> None:
        """Draw again with another time format."""

    def fetch(self, what: str, question: Callable[[], Any]) -> None:
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
            await self.context.sleep(REST_S)
            if move == self._moves:
                fetch()

        self.run_worker(wait(), group="rest", name="rest")

    def show_fetched(self, what: str, value: Any) -> None:
        """Apply the answer to a question."""

    def fetch_failed(self, what: str) -> None:
        """Note that the store could not answer; what is shown stays."""

    def on_fetched(self, message: Fetched) -> None:
        """Apply an answer that is still wanted."""
        message.stop()
        if self._asked.get(message.what) == message.generation:
            with self.app.batch_update():
                self.show_fetched(message.what, message.value)

    def on_fetch_failed(self, message: FetchFailed) -> None:
        """Keep what is shown; the status line tells that the store is lost."""
        if self._asked.get(message.what) == message.generation:
            self.fetch_failed(message.what)

    def action_service(self) -> None:
        """Go to the embedded service's screen, or say why there is none."""
        if self.context.service is None:
            self.say(self.context.service_disabled_reason)
        else:
            self.post_message(ScreenRequested("service"))

    def action_step_back(self) -> None:
        """Dismiss the result line, or else go one step back."""
        if self.context.result is None and self.context.revealed is None:
            self.action_back()
            return
        self.context.show(None)
        self.show_result()

    def action_back(self) -> None:
        """Go one step back; a screen with nothing to close goes nowhere."""

    def action_zoom(self) -> None:
        """Give the detail the whole screen, or the list its place again."""
        self.toggle_class("-zoom")
