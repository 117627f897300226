"""What every screen shares: its lines at the top and the bottom, and asking the store on a thread.

A question runs on a worker thread and comes back as a message; only handlers touch widgets. Of two
questions of one kind the later counts: an answer that nobody waits for any more is dropped.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen

from kusanya.errors import StoreError
from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.files import card_path, save_card
from kusanya_console.actions.messages import (
    ActionRequested,
    CopyRequested,
    FetchFailed,
    FetchFinished,
    ScreenRequested,
    TimelineRequested,
)
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.commands import OPENS_A_BOX, commands_of
from kusanya_console.feed import Snapshot
from kusanya_console.screens.result_line import ResultLine
from kusanya_console.screens.save import SaveScreen
from kusanya_console.screens.status_line import StatusBarState, StatusLine
from kusanya_console.ui import language
from kusanya_console.ui.crash import failure_place
from kusanya_console.ui.format import Line
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, WARN
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.key_bar import KeyBar
from kusanya_console.widgets.sheet import PAST, Sheet

SMALLEST = (60, 16)
Grammar = tuple[tuple[str, str], ...]
"""Examples of what may be typed, each with what it means."""
RETRY_S: Final = 5.0
"""A question that failed for a cause in the program is asked again after this long."""
REST_S: Final = 0.08
"""A held key repeats faster than this, a person who reads stops for longer."""


class ConsoleScreen(Screen[None]):
    """A screen with a status line, a body and a key bar."""

    NAME: ClassVar[str] = ""
    CRUMB: ClassVar[str] = ""
    UNREAD: ClassVar[Mapping[str, str]] = {}
    """What each of its questions asks for, in words, for when it could not be read."""
    OF_STORE: ClassVar[str] = "Sheet,RecordTable,TimeRail"
    """Its widgets that show what was read of the store, beside its last line."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.context = context
        self._asked: dict[str, int] = {}
        self._moves = 0
        self._spoken = language.chosen()
        self.lost_at: datetime | None = None
        """Since when the store cannot be read."""

    def compose(self) -> ComposeResult:
        """Lay out the lines that every screen has around its own body."""
        yield StatusLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield ResultLine()
        keys = tuple(
            one
            for one in commands_of(self.NAME)
            if self.context.is_here(one) and (not one.aside or one.id == f"go.{self.NAME}")
        )
        yield KeyBar(keys, here=self.NAME, shown=self.context.shown)
        yield Sheet(id="too-small")

    def compose_body(self) -> ComposeResult:
        """Lay out this screen's own widgets."""
        yield from ()

    @property
    def grammar(self) -> Grammar:
        """Return how its filter is written, for the help; nothing where it has none."""
        return ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - the framework's
        """Leave the key that opens a box to the box that is being typed into."""
        return not (action in OPENS_A_BOX and isinstance(self.focused, Box))

    def on_mount(self) -> None:
        """Say which size is needed where there is too little room."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def _too_small(self, _width: int) -> list[Line]:
        columns, rows = SMALLEST
        needs = translate(
            "The console needs {size}; this is {present}",
            size=f"{columns}x{rows}",
            present=f"{self.size.width}x{self.size.height}",
        )
        return [((needs, WARN),)]

    def on_resize(self) -> None:
        """Name the present size where it is too small."""
        self.query_one("#too-small", Sheet).show(self._too_small)

    def show_status(self, state: StatusBarState) -> None:
        """Show how things stand; called every second and at every change.

        What was read of a store that is lost is drawn in one quiet colour: it is the past.
        """
        self.lost_at = state.lost_at
        is_lost = state.lost_at is not None
        if is_lost is not self.has_class("-lost"):
            self.set_class(is_lost, "-lost")
            if self.OF_STORE:
                read = self.query_one("#body").query(self.OF_STORE).exclude("#foot")
                read.set_class(is_lost, PAST)
        self.query_one(StatusLine).show_state(self.status_state(state), self.context.look)
        self.context.mask()
        self.show_result()
        self.second()

    def show_result(self) -> None:
        """Show how what was asked or done last has ended."""
        shown = self.context
        self.query_one(ResultLine).show_result(
            shown.result, shown.revealed, can_be_stopped=shown.can_be_stopped
        )

    def say(self, sentence: str) -> None:
        """Answer a key that does nothing with its reason."""
        self.context.show(ActionResult(sentence, ActionOutcome.FAILED))
        self.show_result()

    def keep_text(self, what: str, name: str, text: Callable[[], str]) -> None:
        """Copy a text that is made on a thread, and keep it in a file where a person wants it."""
        suggested = card_path(self.context.folder, name)

        def keep(target: Path | None) -> None:
            def run() -> ActionResult:
                made = text()
                if not made:
                    gone = "the store does not know it any more: nothing was copied"
                    return ActionResult(gone, ActionOutcome.FAILED)
                self.post_message(CopyRequested(what, made, quiet=True))
                sent = Said("{our_label} sent to the terminal's clipboard").of(our_label=what)
                if target is None:
                    return ActionResult(sent)
                path = save_card(target, made)
                kept = Said("{our_sent} and saved to {path}").of(
                    our_sent=sent, path=safe(str(path), 400)
                )
                return ActionResult(kept, file=path)

            self.post_message(
                ActionRequested(Said("keeping the {our_what}").of(our_what=what), run)
            )

        self.ask_where(
            Said("Keep the {our_what}").of(our_what=what),
            suggested,
            keep,
            keys="enter saves it to this file, esc only copies it",
        )

    def ask_where(
        self, title: str, suggested: Path, done: Callable[[Path | None], None], *, keys: str
    ) -> None:
        """Ask for the path of a file; in a browser, which asks itself, take the suggested one."""
        if self.app.is_web:
            done(suggested)
            return
        asked = SaveScreen(title, suggested, keys=keys)
        self.app.push_screen(asked, done)

    def on_paste(self, event: events.Paste) -> None:
        """Look up what was pasted where nothing is being typed: a customer's words, mostly."""
        event.stop()
        if pasted := " ".join(event.text.split()):
            self.post_message(TimelineRequested(pasted))

    def on_screen_suspend(self) -> None:
        """Mask a revealed phone: nobody looks at it any more."""
        self.context.mask(now=True)

    def status_state(self, state: StatusBarState) -> StatusBarState:
        """Return `state` as this screen sees it."""
        return msgspec.structs.replace(state, crumb=self.CRUMB)

    def entered(self) -> None:
        """Take up what a person comes here for, who pressed the screen's key."""

    @property
    def unread(self) -> Line:
        """Return what stands in place of figures that were never read: no zero does."""
        if self.lost_at is None:
            return ((f" {translate('reading the store')}…", MUTED),)
        return ((f" {translate('not read: the store cannot be read')}", WARN),)

    def second(self) -> None:
        """Redraw what moves with the time."""

    def advance(self, snapshot: Snapshot) -> None:
        """Apply what the feed brought."""

    def speak(self) -> None:
        """Draw again where another language was chosen since this screen was drawn."""
        if self._spoken is language.chosen():
            return
        self._spoken = language.chosen()
        self.restyle()
        for sheet in self.query(Sheet):
            sheet.redraw()

    def restyle(self) -> None:
        """Draw again with another time format."""

    def fetch(self, what: str, question: Callable[[], Any]) -> None:
        """Run `question` on a thread; `answered` gets its result unless it is asked anew before."""
        generation = self._asked[what] = self._asked.get(what, 0) + 1

        def run() -> None:
            try:
                value = question()
            except Exception as error:  # noqa: BLE001 - shown on the screen; all else goes on
                self.post_message(FetchFailed(what, generation, error))
            else:
                self.post_message(FetchFinished(what, generation, value))

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

    def fetch_broke(self, what: str) -> None:
        """Hide what is no answer to the question that a fault of the program left unanswered."""

    def on_fetch_finished(self, message: FetchFinished) -> None:
        """Apply an answer that is still wanted."""
        message.stop()
        if self._asked.get(message.what) == message.generation:
            with self.app.batch_update():
                self.show_fetched(message.what, message.value)

    def on_fetch_failed(self, message: FetchFailed) -> None:
        """Keep what is shown: a lost store stands in the status line, any other cause is shown."""
        if self._asked.get(message.what) != message.generation:
            return
        if isinstance(message.error, StoreError):
            self.fetch_failed(message.what)
            return
        what = self.UNREAD.get(message.what, message.what)
        self.fetch_broke(message.what)
        self.say(
            Said(
                "could not read {our_what}: {place}. What is shown of it is the last that was "
                "read; it is tried again, and all else goes on"
            ).of(our_what=what, place=failure_place(message.error))
        )

        async def again() -> None:
            await self.context.sleep(RETRY_S)
            if self._asked.get(message.what) == message.generation:
                self.fetch_failed(message.what)

        self.run_worker(again(), group="again", name="again")

    def action_service(self) -> None:
        """Go to the embedded service's screen, or say why there is none."""
        if self.context.service is None:
            self.say(self.context.service_disabled_reason)
        else:
            self.post_message(ScreenRequested("service"))

    def action_step_back(self) -> None:
        """Stop what is under way, or dismiss the result line, or else go one step back."""
        if self.context.can_be_stopped and self.context.stop is not None:
            self.context.stop()
            self.context.show(ActionResult("stopping after this one…", ActionOutcome.UNDER_WAY))
            self.show_result()
            return
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
